//! Where requests go: which slot of the footprint each begins at.

use crate::TraceError;
use crate::generator::scatter::Scatter;
use crate::generator::zipf::Zipf;
use crate::random::Stream;
use crate::workload::Fact;

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    /// One after the other, starting again at the first byte.
    Sequential,
    /// Every slot equally likely.
    Uniform,
    /// The k-th most popular slot is as likely as 1 / k^theta. Which slot has which rank is random,
    /// so popular slots lie spread over the footprint.
    Zipf {
        /// Exponent, a number from 0 (uniform) to 10.
        theta: f64,
    },
    /// A share of the slots, spread at random over the footprint, takes a share of the requests;
    /// within the hot and within the cold slots each is equally likely.
    HotCold {
        /// Share of the slots that is hot, above 0 and below 1.
        hot_space: f64,
        /// Share of the requests that goes there, 0 to 1.
        hot_share: f64,
    },
}

/// Shares of the space, in percent, that the workloads `w10` to `w40` write most of the time.
pub const W_PERCENT: [u32; 4] = [10, 20, 30, 40];

impl Access {
    /// The places of `w10` to `w40` (Buddhanoy et al., GLSVLSI'24, section 5.2): of w`x`, 100 − x percent
    /// of the requests go to x percent of the space. `None` if `kind` is not one of them.
    pub fn of_w(kind: &str) -> Option<Access> {
        let percent = W_PERCENT.into_iter().find(|percent| kind == format!("w{percent}"))?;
        let hot_space = f64::from(percent) / 100.0;
        Some(Access::HotCold { hot_space, hot_share: f64::from(100 - percent) / 100.0 })
    }

    fn validate(self) -> Result<(), TraceError> {
        let refuse = |what: String| Err(TraceError::option(what));
        match self {
            Access::Zipf { theta } if !(0.0..=10.0).contains(&theta) => {
                refuse(format!("zipf_theta = {theta} found; allowed are numbers from 0 to 10"))
            }
            Access::HotCold { hot_space, .. } if !(hot_space > 0.0 && hot_space < 1.0) => {
                refuse(format!("hot_space = {hot_space} found; allowed are numbers above 0 and below 1"))
            }
            Access::HotCold { hot_share, .. } if !(0.0..=1.0).contains(&hot_share) => {
                refuse(format!("hot_share = {hot_share} found; allowed are numbers from 0 to 1"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn facts(self) -> Vec<(&'static str, Fact)> {
        let name = |name: &str| ("access", Fact::Text(name.to_owned()));
        match self {
            Access::Sequential => vec![name("sequential")],
            Access::Uniform => vec![name("uniform")],
            Access::Zipf { theta } => vec![name("zipf"), ("zipf_theta", Fact::Real(theta))],
            Access::HotCold { hot_space, hot_share } => {
                vec![name("hot-cold"), ("hot_space", Fact::Real(hot_space)), ("hot_share", Fact::Real(hot_share))]
            }
        }
    }
}

/// Draws slots.
#[derive(Debug)]
pub(super) struct Slots {
    count: u64,
    stride: u64,
    addresses: Stream,
    law: Law,
}

#[derive(Debug)]
enum Law {
    Sequential,
    Uniform,
    Zipf(Zipf, Scatter),
    /// Number of hot slots, chance of one of them, and which slots they are.
    HotCold(u64, f64, Scatter),
}

impl Slots {
    /// `count` slots (at least 1) of `stride` bytes.
    pub fn new(access: Access, count: u64, stride: u64, seed: u64) -> Result<Slots, TraceError> {
        access.validate()?;
        let scatter = || Scatter::new(count, &mut Stream::new(seed, "places"));
        let law = match access {
            Access::Sequential => Law::Sequential,
            Access::Uniform => Law::Uniform,
            Access::Zipf { theta } => Law::Zipf(Zipf::new(count, theta), scatter()),
            Access::HotCold { hot_space, hot_share } => {
                if count < 2 {
                    let message = "a footprint of one request found; hot and cold need at least two";
                    return Err(TraceError::option(message.to_owned()));
                }
                let hot = libm::round(hot_space * count as f64) as u64;
                Law::HotCold(hot.clamp(1, count - 1), hot_share, scatter())
            }
        };
        Ok(Slots { count, stride, addresses: Stream::new(seed, "addresses"), law })
    }

    /// Bytes between two slots.
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// First byte of the next request's slot; `None` if it is the one behind the last request.
    #[inline]
    pub fn draw(&mut self) -> Option<u64> {
        let stream = &mut self.addresses;
        let slot = match &self.law {
            Law::Sequential => return None,
            Law::Uniform => stream.below(self.count),
            Law::Zipf(zipf, scatter) => scatter.place(zipf.rank(stream)),
            Law::HotCold(hot, share, scatter) => {
                let is_hot = stream.unit() < *share;
                let rank = if is_hot { stream.below(*hot) } else { hot + stream.below(self.count - hot) };
                scatter.place(rank)
            }
        };
        Some(slot * self.stride)
    }
}
