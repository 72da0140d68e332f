//! `[controller]`: the processor between host and translation layer.

use pumice_types::Time;
use pumice_types::key::{ANY_US, CHOSEN, TIMED, When, int};
use pumice_types::keys;

/// Some work takes a core time.
const TAKES_TIME: When = When::All(&[
    TIMED,
    When::Any(&[When::Positive("controller.t_request_us"), When::Positive("controller.t_command_us")]),
]);

keys! {
    /// `[controller]`
    pub struct ControllerKeys in "controller" {
        t_request_us: f64 = "0.0", ANY_US, "us", CHOSEN, TIMED,
            "Core time of a request before the translation layer sees it; requests wait in order. At most cores / (t_request_us + commands a request x t_command_us) requests a second are served.";
        t_command_us: f64 = "0.0", ANY_US, "us", CHOSEN, TIMED,
            "Core time of each flash command, on the core of its request; for later stages and background collection on the next free one.";
        cores: u32 = "1", int(1, 1024), "cores", CHOSEN, TAKES_TIME,
            "Cores of the controller, each at work for one request at a time.";
    }
}

impl ControllerKeys {
    /// Whether any work of the controller takes time.
    pub fn takes_time(&self) -> bool {
        self.t_request() > Time::ZERO || self.t_command() > Time::ZERO
    }

    /// Time of a core for a request.
    pub fn t_request(&self) -> Time {
        Time::from_us(self.t_request_us)
    }

    /// Time of a core for a flash command.
    pub fn t_command(&self) -> Time {
        Time::from_us(self.t_command_us)
    }
}
