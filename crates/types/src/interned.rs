//! Texts that are known only while the program runs, in the form in which keys hold them. Each distinct one is kept
//! once, until the process ends: they are the names and keys of the plug-ins that a process loads, and few.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());

/// The one kept copy of a text.
pub fn text(text: &str) -> &'static str {
    // A panic while the set is locked leaves it whole: what is inserted is made before.
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = texts.get(text) {
        return kept;
    }
    let kept: &'static str = Box::leak(text.into());
    texts.insert(kept);
    kept
}

/// The one kept copy of a list of names.
pub fn list(names: &[&str]) -> &'static [&'static str] {
    let names: Vec<&'static str> = names.iter().map(|name| text(name)).collect();
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = lists.get(&names[..]) {
        return kept;
    }
    let kept: &'static [&'static str] = Box::leak(names.into());
    lists.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::{list, text};

    #[test]
    fn t025_a_text_is_kept_once() {
        let (one, other) = (text(&String::from("ftl.mine")), text(&String::from("ftl.mine")));
        assert!(std::ptr::eq(one, other));
        let names = [String::from("a"), String::from("b")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(std::ptr::eq(list(&names), list(&["a", "b"])));
        assert_eq!(list(&names), ["a", "b"]);
    }
}
