//! The cores of the controller: a queue in front of the translation layer.
//!
//! A request takes a core for a fixed time; then the translation layer decides, its commands go out at once, and the
//! core stays busy for each of them. Commands that no request has just caused (later stages of an access, programs out
//! of the write buffer, collection on an idle die) are owed: the core that is free next works for all of them before it
//! takes a request. Requests of a flow are taken in the order in which they came; flows take turns, those of the highest
//! priority among themselves first, and each is served as many requests a turn as its weight. When work ends is an event of the [`Link`],
//! whose queue of events the cores share.

use std::collections::VecDeque;

use pumice_config::Config;
use pumice_types::Time;

use super::link::{Due, Link};

/// Requests of one flow that wait.
#[derive(Clone, Debug)]
struct FlowQueue {
    waiting: VecDeque<u32>,
    /// Place of its class among all, the one served first being 0.
    class: u8,
    /// Requests that are taken in its turn.
    weight: u32,
}

/// The cores, what waits for them, and what they are owed.
#[derive(Clone, Debug)]
pub struct Cores {
    t_request: Time,
    t_command: Time,
    count: u32,
    idle: u32,
    /// What waits, by flow; one queue without flows.
    queues: Vec<FlowQueue>,
    /// Requests that wait.
    waiting: usize,
    /// The flow whose turn it is, and the requests that are left of its turn.
    turn: (usize, u32),
    /// Commands that a core has to work for still.
    owed: u64,
    /// Time that cores have worked up to `since`, all of them together.
    worked: Time,
    /// When a core last began or ended its work.
    since: Time,
}

impl Cores {
    /// Idle cores; `None` if nothing takes them time.
    pub fn new(config: &Config) -> Option<Cores> {
        let keys = &config.controller;
        let queue = |class, weight| FlowQueue { waiting: VecDeque::new(), class, weight };
        let mut queues: Vec<FlowQueue> =
            config.flows.iter().map(|flow| queue(flow.class(), flow.keys.weight.unwrap_or(1))).collect();
        if queues.is_empty() {
            queues.push(queue(0, 1));
        }
        keys.takes_time().then(|| Cores {
            turn: (0, queues[0].weight),
            queues,
            t_request: keys.t_request(),
            t_command: keys.t_command(),
            count: keys.cores,
            idle: keys.cores,
            waiting: 0,
            owed: 0,
            worked: Time::ZERO,
            since: Time::ZERO,
        })
    }

    /// A request of a flow has come in and waits for a core.
    pub fn enter(&mut self, (request, flow): (u32, u8), now: Time, link: &mut Link) {
        self.queues[usize::from(flow)].waiting.push_back(request);
        self.waiting += 1;
        self.take_work(now, link);
    }

    /// The core whose request was just decided goes on with the commands of that request.
    pub fn go_on(&mut self, commands: u64, now: Time, link: &mut Link) {
        if commands > 0 && self.t_command > Time::ZERO {
            return link.push(now + self.t_command * commands, Due::CoreFree);
        }
        self.free(now, link);
    }

    /// A core has ended its work.
    pub fn free(&mut self, now: Time, link: &mut Link) {
        debug_assert!(self.idle < self.count, "a core that ends its work was busy");
        self.set_idle(self.idle + 1, now);
        self.take_work(now, link);
    }

    /// Commands have gone out that no request has just caused.
    pub fn owe(&mut self, commands: u64, now: Time, link: &mut Link) {
        if self.t_command > Time::ZERO {
            self.owed += commands;
            self.take_work(now, link);
        }
    }

    /// Idle cores take what there is to do.
    fn take_work(&mut self, now: Time, link: &mut Link) {
        while self.idle > 0 {
            let (time, due) = match std::mem::take(&mut self.owed) {
                0 => match self.take_request() {
                    Some(request) => (self.t_request, Due::Handled(request)),
                    None => return,
                },
                owed => (self.t_command * owed, Due::CoreFree),
            };
            self.set_idle(self.idle - 1, now);
            link.push(now + time, due);
        }
    }

    /// The request that is served next: of the highest class that waits, of the flow whose turn it is.
    fn take_request(&mut self) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let class = self.queues.iter().filter(|queue| !queue.waiting.is_empty()).map(|queue| queue.class).min()?;
        let (current, left) = self.turn;
        let is_next = |flow: &usize| self.queues[*flow].class == class && !self.queues[*flow].waiting.is_empty();
        let flows = self.queues.len();
        // Its turn goes on, or else the next flow behind it has one; the last of these is the flow itself again.
        let goes_on = Some(current).filter(|flow| left > 0 && is_next(flow));
        let flow = goes_on.or_else(|| (1..=flows).map(|nth| (current + nth) % flows).find(is_next))?;
        let left = if goes_on.is_some() { left } else { self.queues[flow].weight };
        self.turn = (flow, left - 1);
        self.waiting -= 1;
        self.queues[flow].waiting.pop_front()
    }

    fn set_idle(&mut self, idle: u32, now: Time) {
        (self.worked, self.since) = (self.worked(now), now);
        self.idle = idle;
    }

    /// Forgets everything under way; all cores are idle.
    pub fn clear(&mut self, now: Time) {
        self.queues.iter_mut().for_each(|queue| queue.waiting.clear());
        self.waiting = 0;
        self.owed = 0;
        self.set_idle(self.count, now);
    }

    /// Time that cores have worked up to `now`, all of them together.
    pub fn worked(&self, now: Time) -> Time {
        self.worked + (now - self.since) * u64::from(self.count - self.idle)
    }

    /// How many cores there are.
    pub fn count(&self) -> u32 {
        self.count
    }
}
