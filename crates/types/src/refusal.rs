//! What refuses a spec, and the form of words in which it does.

use std::fmt::Display;

use thiserror::Error;

/// A spec, a setting or an order that is refused, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SpecError(pub String);

impl From<String> for SpecError {
    fn from(text: String) -> SpecError {
        SpecError(text)
    }
}

impl From<&str> for SpecError {
    fn from(text: &str) -> SpecError {
        SpecError(text.into())
    }
}

impl From<SpecError> for String {
    fn from(error: SpecError) -> String {
        error.0
    }
}

/// A [`SpecError`] whose text is put together as [`format!`] does it.
#[macro_export]
macro_rules! refuse {
    ($($text:tt)+) => { $crate::SpecError(format!($($text)+)) };
}

/// Refuses `what` if something stands in its way. Each rule says whether it does, what is needed instead, and what was
/// found.
///
/// # Errors
/// `WHAT needs NEEDED, found FOUND`, of the first rule that applies.
pub fn needs<const N: usize>(what: impl Display, rules: [(bool, &str, String); N]) -> Result<(), SpecError> {
    match rules.into_iter().find(|(applies, ..)| *applies) {
        Some((_, needed, found)) => Err(refuse!("{what} needs {needed}, found {found}")),
        None => Ok(()),
    }
}

/// A value as a spec has it in quotes.
pub fn quoted(value: impl Display) -> String {
    format!("\"{value}\"")
}
