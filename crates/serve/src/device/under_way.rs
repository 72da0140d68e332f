//! Operations of clients that are under way.

use std::collections::VecDeque;

use pumice_types::Time;

use crate::protocol::transmission::Reply;
use crate::recording::operation::OperationStep;

/// One operation.
struct RunningOperation<T> {
    /// What is left to do, one after the other.
    steps: VecDeque<OperationStep>,
    /// What the last step has brought.
    reply: Reply,
    to: T,
    began: Time,
    /// What the device holds must last once it is done.
    lasts: bool,
}

/// An operation that is done.
pub struct DoneOperation<T> {
    /// The client that waits for the operation.
    pub to: T,
    /// What it has brought.
    pub reply: Reply,
    /// When it came, on the device's clock.
    pub began: Time,
    /// When it was done, on the device's clock.
    pub at: Time,
    /// What the device held then must last.
    pub lasts: bool,
}

/// Operations under way, by number, and those that are done. `T` names who waits.
pub struct Operations<T> {
    table: Vec<Option<RunningOperation<T>>>,
    free: Vec<u32>,
    /// Operations whose next step can be done.
    ready: VecDeque<u32>,
    done: VecDeque<DoneOperation<T>>,
    /// One is done since this was last asked after which the device must last.
    owes: bool,
}

impl<T> Operations<T> {
    /// None.
    pub fn new() -> Operations<T> {
        Operations { table: Vec::new(), free: Vec::new(), ready: VecDeque::new(), done: VecDeque::new(), owes: false }
    }

    /// How many are under way.
    pub fn under_way(&self) -> usize {
        self.table.len() - self.free.len()
    }

    /// Begins an operation: its first step can be done. `lasts`: what the device holds must last once it is done.
    pub fn begin(&mut self, steps: VecDeque<OperationStep>, lasts: bool, to: T, began: Time) {
        let operation = Some(RunningOperation { steps, reply: Reply::Done, to, began, lasts });
        let number = match self.free.pop() {
            Some(number) => {
                self.table[number as usize] = operation;
                number
            }
            None => {
                self.table.push(operation);
                (self.table.len() - 1) as u32
            }
        };
        self.ready.push_back(number);
    }

    /// An operation that is done as it begins.
    pub fn at_once(&mut self, to: T, reply: Reply, at: Time) {
        self.done.push_back(DoneOperation { to, reply, began: at, at, lasts: false });
    }

    /// An operation that can go on.
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// Takes the next step of an operation. `None`: none is left, and it is done at `now`.
    pub fn next_step(&mut self, number: u32, now: Time) -> Option<OperationStep> {
        let place = self.table.get_mut(number as usize)?;
        if let Some(step) = place.as_mut().and_then(|operation| operation.steps.pop_front()) {
            return Some(step);
        }
        let RunningOperation { reply, to, began, lasts, .. } = place.take()?;
        self.free.push(number);
        self.owes |= lasts;
        self.done.push_back(DoneOperation { to, reply, began, at: now, lasts });
        None
    }

    /// Puts steps in front of those that an operation has left.
    pub fn insert_steps(&mut self, number: u32, steps: impl DoubleEndedIterator<Item = OperationStep>) {
        if let Some(operation) = self.table.get_mut(number as usize).and_then(Option::as_mut) {
            steps.rev().for_each(|step| operation.steps.push_front(step));
        }
    }

    /// A step of an operation is done at `now`.
    pub fn step_done(&mut self, number: u32, reply: Reply, now: Time) {
        let Some(operation) = self.table.get_mut(number as usize).and_then(Option::as_mut) else { return };
        operation.reply = reply;
        if operation.steps.is_empty() {
            self.next_step(number, now);
        } else {
            self.ready.push_back(number);
        }
    }

    /// Ends everything under way with this reply.
    pub fn end_all(&mut self, reply: &Reply, now: Time) {
        self.ready.clear();
        for number in 0..self.table.len() as u32 {
            if let Some(RunningOperation { to, began, .. }) = self.table[number as usize].take() {
                self.free.push(number);
                self.done.push_back(DoneOperation { to, reply: reply.clone(), began, at: now, lasts: false });
            }
        }
    }

    /// Whether one is done, since this was last asked, after which what the device holds must last.
    pub fn take_owed(&mut self) -> bool {
        std::mem::take(&mut self.owes)
    }

    /// When the next operation is done whose end is known.
    pub fn next_done(&self) -> Option<Time> {
        self.done.front().map(|done| done.at)
    }

    /// The next operation that is done.
    pub fn take_done(&mut self) -> Option<DoneOperation<T>> {
        self.done.pop_front()
    }
}
