//! One workload for several threads that all want every request of it: whoever comes first to where nothing was drawn
//! yet draws, so the drawing is dealt out to the threads by the time that they have.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{BatchSource, Batches, ReaderPlace, TakenRequests, WorkloadReader};
use crate::registry::Workload;

/// Batches that the first of the threads may be ahead of the last.
const BATCHES_APART: u64 = 64;

/// The number of no batch.
const NEVER: u64 = u64::MAX;

/// A workload that several threads read to its end, each all of it.
pub struct SharedWorkload(Arc<SharedRequests>);

impl SharedWorkload {
    /// The workload for so many readers, that take no more than `max` requests of it.
    pub fn new(workload: Workload, readers: usize, max: Option<u64>) -> SharedWorkload {
        let source = SharedSource { workload, left: max.unwrap_or(u64::MAX), drawn: 0 };
        let ring = SharedBatches { batches: VecDeque::new(), first: 0, wanted: vec![0; readers] };
        SharedWorkload(Arc::new(SharedRequests {
            source: Mutex::new(source),
            ring: Mutex::new(ring),
            moved: Condvar::new(),
        }))
    }

    /// The reader of one thread, below the number of readers; each is to be taken once.
    pub fn reader(&self, own: usize) -> WorkloadReader {
        let progress = lock(&self.0.source).workload.progress();
        let source = BatchSource::Shared(SharedReader { shared: Arc::clone(&self.0), own });
        WorkloadReader(ReaderPlace::Elsewhere(Batches::of(source, progress)))
    }

    /// The workload, after what was taken from it; `None` while there are readers.
    pub fn into_workload(self) -> Option<Workload> {
        let shared = Arc::into_inner(self.0)?;
        Some(shared.source.into_inner().unwrap_or_else(PoisonError::into_inner).workload)
    }
}

struct SharedRequests {
    /// Locked while requests are drawn; then, for a moment, the ring.
    source: Mutex<SharedSource>,
    ring: Mutex<SharedBatches>,
    /// The last of the threads went on.
    moved: Condvar,
}

struct SharedSource {
    workload: Workload,
    /// Requests that may still be taken.
    left: u64,
    /// Batches drawn by now.
    drawn: u64,
}

/// The batches that some thread still wants.
struct SharedBatches {
    batches: VecDeque<Arc<TakenRequests>>,
    /// Number of the first of them.
    first: u64,
    /// Number of the batch that each thread takes next.
    wanted: Vec<u64>,
}

impl SharedBatches {
    fn last_wanted(&self) -> u64 {
        self.wanted.iter().copied().min().unwrap_or(NEVER)
    }

    /// Lets go what nobody wants any more.
    fn let_go(&mut self) {
        let gone = (self.last_wanted() - self.first).min(self.batches.len() as u64);
        self.batches.drain(..gone as usize);
        self.first += gone;
    }
}

/// One thread's place in a shared workload.
pub(super) struct SharedReader {
    shared: Arc<SharedRequests>,
    own: usize,
}

impl SharedReader {
    /// The next batch of this thread. Waits for the others if it is far ahead of one of them.
    pub(super) fn next_batch(&self) -> Arc<TakenRequests> {
        loop {
            let mut ring = lock(&self.shared.ring);
            let next = ring.wanted[self.own];
            if let Some(batch) = ring.batches.get((next - ring.first) as usize).cloned() {
                ring.wanted[self.own] += 1;
                ring.let_go();
                self.shared.moved.notify_all();
                return batch;
            }
            if next - ring.last_wanted() >= BATCHES_APART {
                drop(self.shared.moved.wait(ring));
                continue;
            }
            drop(ring);
            self.draw(next);
        }
    }

    /// Draws a batch, unless another thread has drawn it by now.
    fn draw(&self, number: u64) {
        let mut source = lock(&self.shared.source);
        if source.drawn == number {
            let SharedSource { workload, left, drawn } = &mut *source;
            let batch = TakenRequests::take(workload, left, Vec::new());
            *drawn += 1;
            lock(&self.shared.ring).batches.push_back(Arc::new(batch));
        }
    }
}

impl Drop for SharedReader {
    fn drop(&mut self) {
        lock(&self.shared.ring).wanted[self.own] = NEVER;
        self.shared.moved.notify_all();
    }
}

/// A thread that panics with a lock ends the run of all, so what it leaves behind is read no more.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
