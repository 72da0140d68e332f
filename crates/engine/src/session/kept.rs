//! A session at one instant, kept to go back to: the device, its host and what was measured, but nobody who watches.

use std::sync::Arc;

use pumice_config::Config;
use pumice_types::Time;

use super::{Session, SessionCourse};
use crate::controller::Controller;
use crate::host::Host;
use crate::metrics::PowerFigures;
use crate::observe::ObserverSlot;
use crate::ssd::Ssd;

/// A session at one instant. What came later is not in it, so a session that goes back has never seen it.
pub struct KeptSession {
    host: Host,
    controller: Controller,
    now: Time,
    power: PowerFigures,
    course: SessionCourse,
}

impl KeptSession {
    /// A copy of a session's parts. Of no observer, so that copying a device is compiled once.
    fn of(
        (host, controller): (&Host, &Controller),
        (now, power): (Time, PowerFigures),
        (course, config): (&SessionCourse, &Config),
    ) -> Result<KeptSession, String> {
        let layer = controller.ftl.copied().filter(|_| config.ftl.own_policy.is_none());
        let layer = layer.ok_or("the state of a policy or translation layer of your own cannot be kept")?;
        Ok(KeptSession { host: host.clone(), controller: controller.copied(layer), now, power, course: course.clone() })
    }
}

impl<O: ObserverSlot> Session<O> {
    /// The session as it is now.
    ///
    /// # Errors
    /// A policy or translation layer of the user's own, whose state is its own affair.
    pub fn keep(&self) -> Result<KeptSession, String> {
        KeptSession::of(
            (&self.ssd.host, &self.ssd.controller),
            (self.ssd.now, self.ssd.power),
            (&self.course, &self.config),
        )
    }

    /// A second session in the same state, with an observer of its own; each goes on alone.
    ///
    /// # Errors
    /// As [`Session::keep`].
    pub fn forked<P: ObserverSlot>(&self, observer: P) -> Result<Session<P>, String> {
        let KeptSession { host, controller, now, power, course } = self.keep()?;
        Ok(Session {
            ssd: Ssd { host, controller, now, power, observer },
            config: Arc::clone(&self.config),
            scale: self.scale,
            geometry: self.geometry,
            timing: self.timing.clone(),
            course,
        })
    }

    /// Goes back to an instant of this session, or of another one of the same configuration and scale.
    pub fn go_back_to(&mut self, kept: KeptSession) {
        let KeptSession { host, controller, now, power, course } = kept;
        (self.ssd.host, self.ssd.controller, self.ssd.now, self.ssd.power) = (host, controller, now, power);
        self.course = course;
    }
}
