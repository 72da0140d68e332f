//! 66x: devices fitted to a recorded trace.

use pumice_config::{Config, SpecSource};
use pumice_engine::{FittedDevice, fit_device};

fn config(preset: &str, sets: &[(&str, String)]) -> Config {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    Config::resolve(&SpecSource { preset: Some(preset.to_owned()), sets, ..SpecSource::default() }).expect("legal")
}

fn user_bytes(config: &Config) -> u64 {
    config.user_bytes(1.0).expect("legal")
}

fn fitted(preset: &str, found: &FittedDevice) -> Config {
    let geometry = [
        ("geometry.channels", found.channels.to_string()),
        ("geometry.chips_per_channel", found.chips_per_channel.to_string()),
        ("geometry.dies_per_chip", found.dies_per_chip.to_string()),
    ];
    config(preset, &geometry)
}

#[test]
fn t660_the_fitted_device_is_the_smallest_that_is_large_enough() {
    for preset in ["pen-1tb", "sfws-256gb", "tiny", "small"] {
        let base = config(preset, &[]);
        for needed in [1, 1 << 20, 3 << 30, 40 << 30, user_bytes(&base), user_bytes(&base) + 1] {
            let found = fit_device(&base, needed).expect("chips can be added");
            let device = fitted(preset, &found);
            assert_eq!(user_bytes(&device), found.user_bytes, "{preset} {needed}");
            assert!(found.user_bytes >= needed, "{preset} {needed}");
            let (shape, of) = (&device.chip.geometry, &base.chip.geometry);
            assert_eq!((shape.planes_per_die, shape.blocks_per_plane), (of.planes_per_die, of.blocks_per_plane));
            // The next smaller device has half the dies; where it exists, the trace does not fit on it.
            if let Ok(half) = shape.scaled(0.5) {
                let smaller = fitted(
                    preset,
                    &FittedDevice {
                        channels: half.channels,
                        chips_per_channel: half.chips_per_channel,
                        dies_per_chip: half.dies_per_chip,
                        user_bytes: 0,
                    },
                );
                assert!(user_bytes(&smaller) < needed, "{preset} {needed}: {found:?}");
            }
        }
    }
}

#[test]
fn t661_a_trace_beyond_the_largest_device_is_refused_in_one_line() {
    let message = fit_device(&config("tiny", &[]), u64::MAX).expect_err("too large").to_string();
    for part in ["--fit-device: the trace needs a user capacity of 18446744073709551615 bytes", "compact"] {
        assert!(message.contains(part) && !message.contains('\n'), "{message}");
    }
}
