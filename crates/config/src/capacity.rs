//! Devices made small by `geometry.capacity_gib`: fewer blocks a plane, and everything else as it was.

use pumice_types::chip::GeometryKeys;
use pumice_types::geometry::greatest_common_divisor;
use pumice_types::refuse;

use crate::{Config, SpecError};

/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

/// Steps of a share in which the least over-provisioning is looked for.
const MILLION: f64 = 1e6;

/// The device of `config` with the user capacity that it asks for, if it asks for one.
///
/// # Errors
/// A capacity that no device of this kind has, with the smallest or the largest that there is.
pub fn sized(config: Config, scale: Option<f64>) -> Result<Config, SpecError> {
    let Some(gib) = config.chip.geometry.capacity_gib else { return Ok(config) };
    if let Some(scale) = scale.filter(|&scale| scale != 1.0) {
        return Err(refuse!(
            "geometry.capacity_gib = {gib} and a scale of {scale} both make the device small; allowed: one of them"
        ));
    }
    checked(&config).map_err(|error| match spare_for(&config, gib) {
        Some(spare) => refuse!("{error}; with geometry.capacity_gib = {gib}, ftl.over_provisioning = {spare} works"),
        None => error,
    })?;
    let largest = capacity_gib(&config)?;
    if largest < gib {
        return Err(refuse!(
            "geometry.capacity_gib = {gib} is more than the device has; allowed: at most {}",
            (largest * MILLION).floor() / MILLION
        ));
    }
    let (small, found) = fitted(&config, gib)?;
    if let Some(least) = found {
        let spare = spare_for(&config, gib)
            .map(|spare| format!(", or ftl.over_provisioning = {spare} or more"))
            .unwrap_or_default();
        return Err(refuse!(
            "geometry.capacity_gib = {gib} leaves too few {} for the translation layer; allowed: {} or more{spare}",
            if keeps_blocks(&config) { "pages in a block" } else { "blocks in a plane" },
            (least * MILLION).ceil() / MILLION
        ));
    }
    Ok(small)
}

/// The smallest device that works and holds `gib`, which the whole one does; and its capacity, if that is more because
/// no smaller one works.
fn fitted(config: &Config, gib: f64) -> Result<(Config, Option<f64>), SpecError> {
    let (count, small) = fewest(config, gib);
    let is_least = count == 1 || checked(&with_count(config, count - 1)).is_err();
    let found = capacity_gib(&small)?;
    Ok((small, Some(found).filter(|&found| is_least && found > gib)))
}

/// The least over-provisioning above the given one, in millionths, with which a device of `gib` works; `None` if that
/// would not help.
fn spare_for(config: &Config, gib: f64) -> Option<f64> {
    let with = |millionths: u32| {
        let mut other = config.clone();
        other.ftl.shared.over_provisioning = f64::from(millionths) / MILLION;
        other
    };
    // With too much spare the whole device is smaller than `gib`.
    let is_too_little = |device: &Config| {
        checked(device).is_err() || capacity_gib(device).is_ok_and(|whole| whole >= gib) && !fits(device, gib)
    };
    let given = (config.ftl.shared.over_provisioning * MILLION) as u32;
    let least = least(given, MILLION as u32, |millionths| !is_too_little(&with(millionths)));
    fits(&with(least), gib).then(|| f64::from(least) / MILLION)
}

/// The least number above `low` that is enough, where `high` is taken to be: with one that is enough every larger one
/// is.
fn least(mut low: u32, mut high: u32, is_enough: impl Fn(u32) -> bool) -> u32 {
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        match is_enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// Whether a device can be made as small as `gib`.
fn fits(config: &Config, gib: f64) -> bool {
    let holds = checked(config).is_ok() && capacity_gib(config).is_ok_and(|whole| whole >= gib);
    holds && fitted(config, gib).is_ok_and(|(_, above)| above.is_none())
}

/// The least count with which the device works and holds `gib`, and the device; the whole device is known to.
fn fewest(config: &Config, gib: f64) -> (u32, Config) {
    let holds = |device: &Config| checked(device).is_ok() && capacity_gib(device).is_ok_and(|found| found >= gib);
    let least = least(0, count(config), |fewer| holds(&with_count(config, fewer)));
    (least, with_count(config, least))
}

fn checked(config: &Config) -> Result<(), SpecError> {
    config.chip.check()?;
    config.ftl.check(&config.chip, &config.initial)
}

fn capacity_gib(config: &Config) -> Result<f64, SpecError> {
    Ok(config.user_bytes(1.0)? as f64 / GIB)
}

fn keeps_blocks(config: &Config) -> bool {
    config.ftl.kind.facts().keeps_blocks
}

/// What is made smaller: the blocks of a plane, or the pages of a block, as many at a time as belong together.
fn count(config: &Config) -> u32 {
    let GeometryKeys { blocks_per_plane, pages_per_block, .. } = config.chip.geometry;
    if keeps_blocks(config) { u32::from(pages_per_block) / together(config) } else { blocks_per_plane }
}

/// Pages of a block that belong together: the fewest in whole programs and in whole runs of zones.
fn together(config: &Config) -> u32 {
    let (program, run) = (u32::from(config.chip.program.pages_per_command).max(1), config.ftl.zns.run_pages.max(1));
    (program / greatest_common_divisor(program, run)).saturating_mul(run)
}

fn with_count(config: &Config, count: u32) -> Config {
    let mut small = config.clone();
    let geometry = &mut small.chip.geometry;
    if keeps_blocks(config) {
        geometry.pages_per_block = u16::try_from(count * together(config)).unwrap_or(geometry.pages_per_block);
        return small;
    }
    let bad = u64::from(geometry.bad_blocks_per_plane) * u64::from(count);
    geometry.bad_blocks_per_plane = (bad / u64::from(geometry.blocks_per_plane)) as u32;
    geometry.blocks_per_plane = count;
    small
}
