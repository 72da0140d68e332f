//! The smallest device of a spec's kind on which a recorded trace fits.

use pumice_config::{Config, SpecError};

use crate::error::SimError;

/// A device found for a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FittedDevice {
    /// `geometry.channels`
    pub channels: u32,
    /// `geometry.chips_per_channel`
    pub chips_per_channel: u32,
    /// `geometry.dies_per_chip`
    pub dies_per_chip: u32,
    /// User capacity of the device, in bytes.
    pub user_bytes: u64,
}

/// Most chips on a channel that `geometry.chips_per_channel` allows.
const CHIPS_MAX: u32 = 1024;

/// The smallest device with a user capacity of at least `bytes`.
///
/// The candidates are the devices that `scale` gives, by halving dies, then chips, then channels, and larger ones with
/// twice, four times, … the chips on a channel. Planes, blocks and pages stay as they are.
///
/// # Errors
/// A trace that is larger than the largest of these devices.
pub fn fit_device(config: &Config, bytes: u64) -> Result<FittedDevice, SimError> {
    let mut largest = 0;
    for config in candidates(config) {
        let geometry = &config.chip.geometry;
        if geometry.check().is_err() {
            continue;
        }
        let user_bytes = config.user_bytes(1.0)?;
        if user_bytes >= bytes {
            return Ok(FittedDevice {
                channels: geometry.channels,
                chips_per_channel: geometry.chips_per_channel,
                dies_per_chip: geometry.dies_per_chip,
                user_bytes,
            });
        }
        largest = largest.max(user_bytes);
    }
    let text = format!(
        "--fit-device: the trace needs a user capacity of {bytes} bytes, and the largest device of this kind has {largest}; \
         set workload.address = \"compact\" or \"wrap\""
    );
    Err(SpecError(text).into())
}

/// The devices to try, the smallest first.
fn candidates(config: &Config) -> Vec<Config> {
    let mut scales = Vec::new();
    let mut scale = 1.0;
    while config.chip.geometry.scaled(scale).is_ok() {
        scales.push(scale);
        scale /= 2.0;
    }
    let smaller = scales.into_iter().rev().filter_map(|scale| {
        let shape = config.chip.geometry.scaled(scale).ok()?;
        let mut config = config.clone();
        let geometry = &mut config.chip.geometry;
        (geometry.channels, geometry.chips_per_channel) = (shape.channels, shape.chips_per_channel);
        geometry.dies_per_chip = shape.dies_per_chip;
        Some(config)
    });
    let chips = std::iter::successors(Some(config.chip.geometry.chips_per_channel), |chips| chips.checked_mul(2));
    let larger = chips.skip(1).take_while(|&chips| chips <= CHIPS_MAX).map(|chips| {
        let mut config = config.clone();
        config.chip.geometry.chips_per_channel = chips;
        config
    });
    smaller.chain(larger).collect()
}
