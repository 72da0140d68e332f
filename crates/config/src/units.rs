//! Numbers with a unit behind them, as the command line takes them: `4k`, `64g`, `900ns`, `7%`, `1e6`.

use pumice_types::key::{Key, ValueKind};
use toml::Value;

/// What a unit measures, with the unit's size in the smallest of its kind.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Bytes(f64),
    Nanoseconds(f64),
    Share(f64),
}

/// The value that `text` means for a key: a number in the key's own unit. `None` if the key takes no number, the text
/// is none, or its unit measures something else.
pub fn read(key: &Key, text: &str) -> Option<Value> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E') || c == '%');
    let (number, unit) = text.split_at(exponent_end(text).or(split)?);
    let number: f64 = number.trim_end().parse().ok()?;
    let value = number * ratio(measure(unit.trim())?, of_key(key.unit)?)?;
    match key.shape {
        ValueKind::Int | ValueKind::Float | ValueKind::FloatOrFloats => Some(Value::Float(value)),
        ValueKind::Bool | ValueKind::Text | ValueKind::Choice(_) | ValueKind::Floats => None,
    }
}

/// Where a number with an exponent ends, so that the `e` of `1e3k` is no unit.
fn exponent_end(text: &str) -> Option<usize> {
    let (mantissa, rest) = text.split_once(['e', 'E'])?;
    mantissa.parse::<f64>().ok()?;
    let sign = rest.len() - rest.trim_start_matches(['+', '-']).len();
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(mantissa.len() + 1 + sign + digits)
}

/// Sizes count in 1,024 with one letter, as in fio, and as KiB; kB and the like count in 1,000.
fn measure(unit: &str) -> Option<Measure> {
    let time = match unit {
        "ns" => Some(1.0),
        "us" | "µs" | "μs" => Some(1e3),
        "ms" => Some(1e6),
        "s" | "sec" => Some(1e9),
        "min" => Some(60e9),
        "h" => Some(3600e9),
        _ => None,
    };
    let share = (unit == "%").then_some(Measure::Share(0.01));
    time.map(Measure::Nanoseconds).or(share).or_else(|| bytes(unit).map(Measure::Bytes))
}

fn bytes(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    if matches!(unit.as_str(), "b" | "byte" | "bytes") {
        return Some(1.0);
    }
    let power = "kmgt".find(unit.chars().next()?)? as u32 + 1;
    match &unit[1..] {
        "" | "i" | "ib" => Some(1024_u64.pow(power) as f64),
        "b" => Some(1000_u64.pow(power) as f64),
        _ => None,
    }
}

/// What a key's own unit measures; `None` for counts.
fn of_key(unit: &str) -> Option<Measure> {
    match unit {
        "bytes" => Some(Measure::Bytes(1.0)),
        "KiB" => Some(Measure::Bytes(1024.0)),
        "MiB" => Some(Measure::Bytes(1_048_576.0)),
        "GiB" => Some(Measure::Bytes(1_073_741_824.0)),
        "us" => Some(Measure::Nanoseconds(1e3)),
        "s" => Some(Measure::Nanoseconds(1e9)),
        _ if unit.starts_with("share") || unit.starts_with("spare") => Some(Measure::Share(1.0)),
        _ => None,
    }
}

fn ratio(found: Measure, wanted: Measure) -> Option<f64> {
    match (found, wanted) {
        (Measure::Bytes(a), Measure::Bytes(b))
        | (Measure::Nanoseconds(a), Measure::Nanoseconds(b))
        | (Measure::Share(a), Measure::Share(b)) => Some(a / b),
        _ => None,
    }
}
