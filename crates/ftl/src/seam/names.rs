//! Names that a user's own code has in specs.

use pumice_types::{SpecError, refuse};

/// Longest name of a plug-in or of a key of the user's own code, in characters.
const NAME_CHARS: usize = 40;

/// Checks a name of `what`.
pub(crate) fn check_name(name: &str, joint: char, what: &str) -> Result<(), SpecError> {
    let is_allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == joint;
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    if begins && name.len() <= NAME_CHARS && name.chars().all(is_allowed) {
        return Ok(());
    }
    Err(refuse!(
        "{name:?} is no name of a {what}; allowed: small letters, digits and '{joint}', a letter first, at most {NAME_CHARS}"
    ))
}
