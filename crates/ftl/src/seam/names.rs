//! Names that a user's own code has in specs.

/// Longest name of a plug-in or of a key of the user's own code, in characters.
const NAME_CHARS: usize = 40;

/// Checks a name; the error says what is allowed.
pub(crate) fn check_name(name: &str, joint: char) -> Result<(), String> {
    let is_allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == joint;
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    if begins && name.len() <= NAME_CHARS && name.chars().all(is_allowed) {
        return Ok(());
    }
    Err(format!("small letters, digits and '{joint}', a letter first, at most {NAME_CHARS}"))
}
