//! A workload as a run reads it: on the spot, or ahead on a thread of its own.

use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use pumice_types::{HostRequest, Time};

use crate::kinds::registry::Workload;
use crate::source::error::{TraceError, TraceErrorKind};

/// Requests that are handed over at a time.
const BATCH: usize = 1 << 10;

/// Batches that are ready at the most.
const BATCHES_AHEAD: usize = 4;

/// A workload of which a run takes one request after the other.
pub struct WorkloadReader(ReaderPlace);

enum ReaderPlace {
    Here(Box<Workload>),
    Ahead(RequestsAhead),
}

impl WorkloadReader {
    /// The run takes the requests from the workload itself.
    pub fn here(workload: Workload) -> WorkloadReader {
        WorkloadReader(ReaderPlace::Here(Box::new(workload)))
    }

    /// A thread takes the requests from the workload, and the run takes them from there. They are the same; only
    /// [`WorkloadReader::progress`] may say more than the run has taken. No more than `max` of them are taken, and a run
    /// that wants the workload's own word in the end takes them all. Anything but a long trace file is read on the spot.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn ahead(workload: Workload, max: Option<u64>) -> Result<WorkloadReader, TraceError> {
        let Some(path) = workload.long_file().map(Path::to_path_buf) else {
            return Ok(WorkloadReader::here(workload));
        };
        let ahead = RequestsAhead::start(workload, max.unwrap_or(u64::MAX)).map_err(|e| no_thread(&path, &e))?;
        Ok(WorkloadReader(ReaderPlace::Ahead(ahead)))
    }

    /// Puts the next request into `request`; `false` after the last. Arrivals never decrease.
    ///
    /// # Errors
    /// A bad line of a trace, or a request that does not fit the device.
    #[inline]
    pub fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        match &mut self.0 {
            ReaderPlace::Here(workload) => workload.take_next(request),
            ReaderPlace::Ahead(ahead) => ahead.take_next(request),
        }
    }

    /// Share of the work done, 0 to 1; `None` if it is not known.
    pub fn progress(&self) -> Option<f64> {
        match &self.0 {
            ReaderPlace::Here(workload) => workload.progress(),
            ReaderPlace::Ahead(ahead) => ahead.batch.progress,
        }
    }

    /// The workload, after what was taken from it.
    pub fn into_workload(self) -> Workload {
        match self.0 {
            ReaderPlace::Here(workload) => *workload,
            ReaderPlace::Ahead(ahead) => ahead.into_workload(),
        }
    }
}

fn no_thread(path: &Path, error: &io::Error) -> TraceError {
    TraceError::in_file(TraceErrorKind::File, path, format!("cannot be read ahead: no thread: {error}"))
}

/// Some requests, in their order.
struct TakenRequests {
    /// The requests; the first `count` are meant.
    requests: Vec<HostRequest>,
    count: usize,
    /// Whether nothing comes behind them: they were the last, or the workload failed there.
    end: Option<Result<(), TraceError>>,
    /// The workload's share, behind them.
    progress: Option<f64>,
}

/// Requests that a thread takes from a workload while the run works on those taken before.
struct RequestsAhead {
    told: Receiver<TakenRequests>,
    /// Takes memory back that was used up.
    spent: Sender<Vec<HostRequest>>,
    /// None once it was seen to panic.
    thread: Option<JoinHandle<Workload>>,
    batch: TakenRequests,
    /// How many of the batch were handed on.
    at: usize,
}

impl RequestsAhead {
    fn start(workload: Workload, max: u64) -> io::Result<RequestsAhead> {
        let (tell, told) = sync_channel(BATCHES_AHEAD);
        let (spent, used_up) = channel();
        let progress = workload.progress();
        let take = move || take_on(workload, max, &tell, &used_up);
        let thread = thread::Builder::new().name("requests".to_owned()).spawn(take)?;
        let batch = TakenRequests { requests: Vec::new(), count: 0, end: None, progress };
        Ok(RequestsAhead { told, spent, thread: Some(thread), batch, at: 0 })
    }

    #[inline]
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        while self.at == self.batch.count {
            if let Some(end) = &self.batch.end {
                return end.clone().map(|()| false);
            }
            self.turn();
        }
        *request = self.batch.requests[self.at];
        self.at += 1;
        Ok(true)
    }

    /// Goes on to the next batch.
    #[cold]
    fn turn(&mut self) {
        match self.told.recv() {
            Ok(batch) => {
                let used_up = std::mem::replace(&mut self.batch, batch);
                // Nobody takes it once the thread has come to the end.
                let _ = self.spent.send(used_up.requests);
                self.at = 0;
            }
            // The thread tells of the end, so it must have panicked, and so does the run.
            Err(_) => drop(self.join()),
        }
    }

    fn into_workload(mut self) -> Workload {
        // Wakes a thread that waits for room.
        self.told = channel().1;
        self.join()
    }

    fn join(&mut self) -> Workload {
        let ended = self.thread.take().expect("a thread is joined once").join();
        ended.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// What the thread does: takes batch after batch, until there is no more or nobody wants more of them.
fn take_on(
    mut workload: Workload,
    max: u64,
    tell: &SyncSender<TakenRequests>,
    used_up: &Receiver<Vec<HostRequest>>,
) -> Workload {
    let mut left = max;
    loop {
        let mut requests = used_up.try_recv().unwrap_or_default();
        requests.resize(BATCH, HostRequest::flush(Time::ZERO));
        let (mut count, mut end) = (0, None);
        while count < BATCH && end.is_none() {
            match left {
                0 => end = Some(Ok(())),
                _ => match workload.take_next(&mut requests[count]) {
                    Ok(true) => (count, left) = (count + 1, left - 1),
                    Ok(false) => end = Some(Ok(())),
                    Err(fault) => end = Some(Err(fault)),
                },
            }
        }
        let (is_last, progress) = (end.is_some(), workload.progress());
        if tell.send(TakenRequests { requests, count, end, progress }).is_err() || is_last {
            return workload;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::kinds::open::open_trace;
    use crate::source::placement::{AddressPolicy, Placement};

    /// More than a trace's window of requests that are put in order, and a whole number of batches.
    const LINES: u64 = 147 * BATCH as u64;

    /// A trace that is long enough to be read ahead; `bad`: a line of it that is none.
    fn trace(directory: &TempDir, bad: Option<u64>) -> PathBuf {
        let mut text = String::new();
        for line in 0..LINES {
            let kind = if line % 3 == 0 { "Read" } else { "Write" };
            let time = 128_166_372_002_061_629 + line * 31_337;
            let bytes = if bad == Some(line) { "many" } else { "4096" };
            writeln!(text, "{time},src1,1,{kind},{},{bytes},1331", line * 7_919 % 1_000_000 * 4096).expect("in memory");
        }
        let path = directory.path().join("trace.csv");
        std::fs::write(&path, text).expect("writable");
        path
    }

    fn open(path: &Path) -> Workload {
        let placement = Placement { capacity_bytes: 1 << 40, page_bytes: 16_384, policy: AddressPolicy::Exact };
        open_trace(path, None, &placement).expect("a trace")
    }

    /// All that a run sees of a workload of which it takes `max` requests: them, the error that ends them, and what the
    /// workload says of itself behind them.
    fn seen(mut reader: WorkloadReader, max: u64) -> (Vec<HostRequest>, Option<String>, String) {
        let (mut requests, mut error, mut request) = (Vec::new(), None, HostRequest::flush(Time::ZERO));
        while (requests.len() as u64) < max {
            match reader.take_next(&mut request) {
                Ok(true) => requests.push(request),
                Ok(false) => break,
                Err(e) => {
                    let again = reader.take_next(&mut request).expect_err("the same again").to_string();
                    assert_eq!(again, e.to_string());
                    error = Some(again);
                    break;
                }
            }
        }
        let workload = reader.into_workload();
        (requests, error, format!("{:?} {:?} {}", workload.notes(), workload.facts(), workload.streams()))
    }

    #[test]
    fn w200_a_workload_that_is_read_ahead_is_the_same() {
        let directory = TempDir::new().expect("a temporary directory");
        let batches = |count: u64| count * BATCH as u64;
        for (bad, max) in [
            (None, u64::MAX),
            (None, 60_000),
            (None, batches(20)),
            (Some(LINES - 1_000), u64::MAX),
            (Some(batches(100)), u64::MAX),
            (Some(batches(100)), 30_000),
        ] {
            let path = trace(&directory, bad);
            let ahead = WorkloadReader::ahead(open(&path), Some(max)).expect("a thread");
            assert!(matches!(ahead.0, ReaderPlace::Ahead(_)), "the trace is long enough");
            let here = seen(WorkloadReader::here(open(&path)), max);
            let ahead = seen(ahead, max);
            assert!(here == ahead, "{bad:?}, {max}: {:?} {:?}, {} {}", here.1, ahead.1, here.2, ahead.2);
            assert_eq!(here.1.is_some(), bad.is_some() && max == u64::MAX);
            assert_eq!(here.0.len() as u64, max.min(bad.unwrap_or(LINES)));
        }
    }

    /// A run that fails leaves no thread behind that waits for it for ever.
    #[test]
    fn w201_a_workload_need_not_be_read_to_its_end() {
        let directory = TempDir::new().expect("a temporary directory");
        let path = trace(&directory, None);
        let (tell, told) = sync_channel(BATCHES_AHEAD);
        let (_spent, used_up) = channel();
        let workload = open(&path);
        let thread = thread::spawn(move || take_on(workload, u64::MAX, &tell, &used_up));
        assert!(matches!(told.recv(), Ok(batch) if batch.count == BATCH && batch.end.is_none()));
        drop(told);
        thread.join().expect("ended");
        let mut reader = WorkloadReader::ahead(open(&path), None).expect("a thread");
        assert!(matches!(reader.take_next(&mut HostRequest::flush(Time::ZERO)), Ok(true)));
        assert!(reader.progress().is_some());
        drop(reader.into_workload());
    }

    /// What went wrong in the thread goes wrong in the run; the requests do not just come to an end.
    #[test]
    fn w202_a_thread_that_panics_takes_the_run_along() {
        let directory = TempDir::new().expect("a temporary directory");
        let mut ahead = RequestsAhead::start(open(&trace(&directory, None)), 0).expect("a thread");
        ahead.told = channel().1;
        ahead.thread = Some(thread::spawn(|| panic!("cut short")));
        let taken = catch_unwind(AssertUnwindSafe(|| ahead.take_next(&mut HostRequest::flush(Time::ZERO))));
        assert_eq!(taken.expect_err("a panic").downcast_ref(), Some(&"cut short"));
    }
}
