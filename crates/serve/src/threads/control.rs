//! The control socket: one JSON object a line in, one JSON object a line out.
//!
//! A question is `{"do": "status"}`; the answer has `ok`, and either `answer` or `error`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use socket2::Socket;

use crate::threads::address::{Address, connect};
use pumice_engine::SimError;
use pumice_types::{SpecError, refuse};

/// Longest question, in bytes.
const QUESTION_MAX: u64 = 1 << 16;

/// What may be asked. Variants have braces, so that fields that are not theirs are refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlRequest {
    /// How the device is.
    Status {},
    /// The result so far.
    Result {},
    /// Cut the power, and let the device recover. Every client loses its connection.
    Cut {},
    /// Let the next erase of a block fail; the layer then uses the block no more.
    Fault {
        /// The block.
        block: u32,
    },
    /// Wear the device, and write it until it is as one that was used for long.
    Age {
        /// P/E cycles that every block takes.
        #[serde(default)]
        pec: u32,
        /// Random writes of whole pages with what they hold, in user capacities.
        #[serde(default)]
        writes: f64,
    },
    /// Keep the device as it is now.
    Snapshot {
        /// The name to keep it under.
        name: String,
    },
    /// Go back to a snapshot. Every client loses its connection.
    Restore {
        /// Name of the snapshot.
        name: String,
    },
    /// Let go of a snapshot.
    Forget {
        /// Name of the snapshot.
        name: String,
    },
    /// Note in the recording of the session how far the program is that uses the device.
    Mark {
        /// The program's own words.
        text: String,
    },
    /// End the device, as a signal does.
    Stop {},
}

/// Names of what may be asked.
const ASKED: &str = "status, result, cut, fault, age, snapshot, restore, forget, mark, stop";

impl ControlRequest {
    /// Reads a question.
    ///
    /// # Errors
    /// What was found and what is allowed, in one line.
    pub fn parse(line: &str) -> Result<ControlRequest, SpecError> {
        serde_json::from_str(line)
            .map_err(|error| refuse!("no question: {error}; allowed: {{\"do\": \"NAME\"}} with NAME one of {ASKED}"))
    }

    /// Whether clients lose their connections by it: what they know of the device is no longer true.
    pub fn parts_clients(&self) -> bool {
        match self {
            ControlRequest::Cut {} | ControlRequest::Restore { .. } => true,
            ControlRequest::Status {}
            | ControlRequest::Result {}
            | ControlRequest::Fault { .. }
            | ControlRequest::Age { .. }
            | ControlRequest::Snapshot { .. }
            | ControlRequest::Forget { .. }
            | ControlRequest::Mark { .. }
            | ControlRequest::Stop {} => false,
        }
    }

    /// Whether the device may be at it for minutes.
    fn takes_long(&self) -> bool {
        match self {
            ControlRequest::Age { .. } | ControlRequest::Snapshot { .. } | ControlRequest::Restore { .. } => true,
            ControlRequest::Status {}
            | ControlRequest::Result {}
            | ControlRequest::Cut {}
            | ControlRequest::Fault { .. }
            | ControlRequest::Forget { .. }
            | ControlRequest::Mark { .. }
            | ControlRequest::Stop {} => false,
        }
    }
}

/// Refuses an address at which questions are not answered. A port of this machine is open to every page that a browser
/// shows, and to every user; a socket of the file system to those who may open its file.
///
/// # Errors
/// Refuses an address that is a port, in one line.
pub fn check_address(address: &Address) -> Result<(), SpecError> {
    match address {
        Address::Unix(_) => Ok(()),
        Address::Tcp(_) => Err(refuse!(
            "--control {address}: web pages and other users could send orders to a port; allowed: unix:PATH"
        )),
    }
}

/// How long a question waits for its answer, unless it is one that takes long. A device that is busy answers behind what
/// it is at.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks a device that another process serves. Returns the line of its answer; it is empty if the device has ended.
///
/// # Errors
/// Nobody listens at the address, or no answer comes.
pub fn ask(address: &Address, question: &str) -> io::Result<String> {
    let mut socket = connect(address)?;
    let takes_long = ControlRequest::parse(question).is_ok_and(|request| request.takes_long());
    socket.set_read_timeout((!takes_long).then_some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.write_all(format!("{question}\n").as_bytes())?;
    let mut line = String::new();
    let answered = BufReader::new(socket).read_line(&mut line);
    answered.map(|_| line).map_err(no_answer)
}

/// What is told of an answer that did not come.
fn no_answer(error: io::Error) -> io::Error {
    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
        return io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", PATIENCE.as_secs()));
    }
    error
}

/// Answers one control client until it leaves.
///
/// # Errors
/// The connection broke.
pub fn converse(socket: Socket, answer: &dyn Fn(ControlRequest) -> Result<Value, SimError>) -> io::Result<()> {
    let mut out = socket.try_clone()?;
    let mut input = BufReader::new(socket);
    loop {
        let mut line = Vec::new();
        input.by_ref().take(QUESTION_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < QUESTION_MAX;
        let text = std::str::from_utf8(&line).map_err(|_| SpecError::from("no UTF-8; allowed: JSON"));
        let text = text.and_then(|text| if is_whole { Ok(text) } else { Err("longer than 64 KiB".into()) });
        let reply = match text.and_then(ControlRequest::parse).map_err(SimError::from).and_then(answer) {
            Ok(answer) => json!({ "ok": true, "answer": answer }),
            Err(error) => json!({ "ok": false, "error": error.to_string() }),
        };
        out.write_all(format!("{reply}\n").as_bytes())?;
        if !is_whole {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s041_who_waits_in_vain_is_told_how_long_and_of_other_errors_what_they_are() {
        for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut] {
            assert_eq!(no_answer(kind.into()).to_string(), "no answer within 60 s");
        }
        assert_eq!(no_answer(io::ErrorKind::ConnectionReset.into()).kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn s040_a_question_is_an_object_with_a_known_name() {
        assert_eq!(ControlRequest::parse(r#"{"do": "status"}"#), Ok(ControlRequest::Status {}));
        for wrong in ["", "status", r#"{"do": "fly"}"#, r#"{"do": "stop", "now": 1}"#, "[]"] {
            let text = ControlRequest::parse(wrong).expect_err(wrong);
            assert!(
                text.0.contains("one of status, result, cut, fault, age, snapshot, restore, forget, mark, stop")
                    && !text.0.contains('\n'),
                "{text}"
            );
        }
    }
}
