//! The form of words in which a spec is refused.

use std::fmt::Display;

/// Refuses `what` if something stands in its way. Each rule says whether it does, what is needed instead, and what was
/// found.
///
/// # Errors
/// `WHAT needs NEEDED, found FOUND`, of the first rule that applies.
pub fn needs<const N: usize>(what: impl Display, rules: [(bool, &str, String); N]) -> Result<(), String> {
    match rules.into_iter().find(|(applies, ..)| *applies) {
        Some((_, needed, found)) => Err(format!("{what} needs {needed}, found {found}")),
        None => Ok(()),
    }
}

/// A value as a spec has it in quotes.
pub fn quoted(value: impl Display) -> String {
    format!("\"{value}\"")
}
