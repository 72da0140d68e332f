//! A workload as a run reads it: on the spot, or ahead on a thread of its own.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use pumice_types::{HostRequest, Time};

use crate::error::TraceError;
use crate::registry::Workload;

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
    /// that wants the workload's own word in the end takes them all. What is no long trace is read on the spot.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn ahead(workload: Workload, max: Option<u64>) -> Result<WorkloadReader, TraceError> {
        if !workload.is_read_ahead() {
            return Ok(WorkloadReader::here(workload));
        }
        let ahead = RequestsAhead::start(workload, max.unwrap_or(u64::MAX));
        let no_thread = |e| TraceError::option(format!("the trace cannot be read ahead: no thread: {e}"));
        Ok(WorkloadReader(ReaderPlace::Ahead(ahead.map_err(no_thread)?)))
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
            ReaderPlace::Ahead(ahead) => ahead.progress,
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

/// Some requests, in their order.
struct TakenRequests {
    /// Of which the first `count` are meant.
    requests: Vec<HostRequest>,
    count: usize,
    /// What ended the workload behind them.
    fault: Option<TraceError>,
    /// The workload's share, behind them.
    progress: Option<f64>,
}

/// Requests that a thread takes from a workload while the run works on those taken before.
struct RequestsAhead {
    told: Receiver<TakenRequests>,
    /// Takes memory back that was used up.
    spent: Sender<Vec<HostRequest>>,
    thread: JoinHandle<Workload>,
    batch: TakenRequests,
    /// How many of the batch were handed on.
    at: usize,
    progress: Option<f64>,
}

impl RequestsAhead {
    fn start(workload: Workload, max: u64) -> io::Result<RequestsAhead> {
        let (tell, told) = sync_channel(BATCHES_AHEAD);
        let (spent, used_up) = channel();
        let progress = workload.progress();
        let take = move || take_on(workload, max, &tell, &used_up);
        let thread = thread::Builder::new().name("requests".to_owned()).spawn(take)?;
        let batch = TakenRequests { requests: Vec::new(), count: 0, fault: None, progress };
        Ok(RequestsAhead { told, spent, thread, batch, at: 0, progress })
    }

    #[inline]
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        if self.at == self.batch.count && !self.turn()? {
            return Ok(false);
        }
        *request = self.batch.requests[self.at];
        self.at += 1;
        Ok(true)
    }

    /// Goes on to the next batch; `false` if there is none.
    #[cold]
    fn turn(&mut self) -> Result<bool, TraceError> {
        if let Some(fault) = &self.batch.fault {
            return Err(fault.clone());
        }
        // The thread has nothing more to tell once it has ended.
        let Ok(batch) = self.told.recv() else { return Ok(false) };
        let used_up = std::mem::replace(&mut self.batch, batch);
        let _ = self.spent.send(used_up.requests);
        (self.at, self.progress) = (0, self.batch.progress);
        match (self.batch.count, &self.batch.fault) {
            (0, Some(fault)) => Err(fault.clone()),
            (count, _) => Ok(count > 0),
        }
    }

    fn into_workload(self) -> Workload {
        let RequestsAhead { told, thread, .. } = self;
        // Wakes a thread that waits for room.
        drop(told);
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
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
        let (mut count, mut fault) = (0, None);
        while count < BATCH && left > 0 {
            match workload.take_next(&mut requests[count]) {
                Ok(true) => (count, left) = (count + 1, left - 1),
                Ok(false) => left = 0,
                Err(e) => (left, fault) = (0, Some(e)),
            }
        }
        let progress = workload.progress();
        if tell.send(TakenRequests { requests, count, fault, progress }).is_err() || left == 0 {
            return workload;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::path::{Path, PathBuf};

    use tempfile::TempDir;

    use super::*;
    use crate::open::open_trace;
    use crate::placement::{AddressPolicy, Placement};

    const LINES: u64 = 60_000;

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
        for (bad, max) in [(None, u64::MAX), (None, LINES / 2), (Some(LINES - 1_000), u64::MAX), (Some(40_000), 30_000)]
        {
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
        let mut reader = WorkloadReader::ahead(open(&trace(&directory, None)), None).expect("a thread");
        let mut request = HostRequest::flush(Time::ZERO);
        assert!(matches!(reader.take_next(&mut request), Ok(true)));
        assert!(reader.progress().is_some());
        drop(reader.into_workload());
    }
}
