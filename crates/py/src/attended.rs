//! Long calls. Their work goes on in a thread of its own, and the calling thread looks for Ctrl-C meanwhile: whatever
//! the work is at, reading, computing or waiting for a pipe, a signal ends the call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Longest time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// How long a call that was stopped waits for its work to put its things away. Work that is stuck in a system call
/// is left behind; it holds nothing that anyone needs.
const GRACE: Duration = Duration::from_millis(300);

/// Stack of the thread: what the main thread of a process has.
const STACK_BYTES: usize = 8 << 20;

/// What the work has of the thread that waits for it: somebody to ask, and a word when to stop.
pub struct Desk<Q> {
    questions: Sender<Q>,
    answers: Mutex<Receiver<bool>>,
    stop: Arc<AtomicBool>,
}

impl<Q> Desk<Q> {
    /// Hands a question to the calling thread and waits for its answer. `false` if the work is to stop.
    pub fn ask(&self, question: Q) -> bool {
        let Ok(answers) = self.answers.lock() else { return false };
        self.questions.send(question).is_ok() && answers.recv().unwrap_or(false)
    }

    /// Whether the work is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does `work` in another thread. `serve` answers its questions in this one, holding the interpreter; an answer
/// `false` tells the work to stop by itself.
///
/// # Errors
/// What a signal handler or `serve` raises, within `LOOK` and `GRACE`; or the system has no thread left.
pub fn attend<Q: Send + 'static, T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Desk<Q>) -> T + Send + 'static,
    serve: impl FnMut(Python<'_>, Q) -> PyResult<bool>,
) -> PyResult<T> {
    attend_watching(py, work, serve, &mut ())
}

/// Looks after work that goes on.
pub trait Watch {
    /// Called every now and then.
    ///
    /// # Errors
    /// The work must end.
    fn look(&mut self) -> PyResult<()> {
        Ok(())
    }

    /// The work was told to stop, for whatever reason.
    fn stop(&mut self) {}
}

impl Watch for () {}

/// As [`attend`]; `watch` looks after the work, and an error of it ends the call as well.
///
/// # Errors
/// As [`attend`].
pub fn attend_watching<Q: Send + 'static, T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Desk<Q>) -> T + Send + 'static,
    mut serve: impl FnMut(Python<'_>, Q) -> PyResult<bool>,
    watch: &mut dyn Watch,
) -> PyResult<T> {
    let (asked, mut questions) = mpsc::channel();
    let (answered, answers) = mpsc::channel();
    let (ended, end) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let desk = Desk { questions: asked, answers: Mutex::new(answers), stop: Arc::clone(&stop) };
    let job = move || drop(ended.send(work(&desk)));
    let worker = thread::Builder::new().name("pumice".into()).stack_size(STACK_BYTES).spawn(job);
    let worker = worker.map_err(|error| PyOSError::new_err(format!("no thread could be started: {error}")))?;
    loop {
        let question;
        (question, questions) = py.detach(move || (questions.recv_timeout(LOOK), questions));
        let served = match question {
            Ok(question) => serve(py, question).map(|answer| {
                // If nobody takes it, the work has ended: the next question finds that out.
                let _ = answered.send(answer);
            }),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            // The work has ended and put its end of the line away.
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if let Err(error) = served.and_then(|()| py.check_signals()).and_then(|()| watch.look()) {
            stop.store(true, Ordering::Relaxed);
            drop(answered);
            watch.stop();
            py.detach(move || drop(end.recv_timeout(GRACE)));
            return Err(error);
        }
    }
    match end.recv() {
        Ok(result) => Ok(result),
        Err(_) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(PyOSError::new_err("the work ended without a result")),
        },
    }
}
