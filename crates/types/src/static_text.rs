//! Texts and lists of names that are put together when the program is compiled, because keys hold only those.

/// Length of all parts in bytes.
pub const fn length(parts: &[&str]) -> usize {
    let (mut bytes, mut part) = (0, 0);
    while part < parts.len() {
        bytes += parts[part].len();
        part += 1;
    }
    bytes
}

/// The bytes of all parts, one part after the other. `N` is the [`length`] of the parts.
pub const fn joined<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut bytes = [0; N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let from = parts[part].as_bytes();
        let mut letter = 0;
        while letter < from.len() {
            bytes[at] = from[letter];
            at += 1;
            letter += 1;
        }
        part += 1;
    }
    assert!(at == N, "N is the length of the parts");
    bytes
}

/// How many of the flags are set.
pub const fn count(flags: &[bool]) -> usize {
    let (mut set, mut flag) = (0, 0);
    while flag < flags.len() {
        set += flags[flag] as usize;
        flag += 1;
    }
    set
}

/// The names whose flag is set. `N` is the [`count`] of the flags.
pub const fn chosen<const N: usize>(names: &[&'static str], flags: &[bool]) -> [&'static str; N] {
    let mut list = [""; N];
    let (mut at, mut name) = (0, 0);
    while name < names.len() {
        if flags[name] {
            list[at] = names[name];
            at += 1;
        }
        name += 1;
    }
    assert!(at == N, "N is the number of flags that are set");
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t024_texts_and_lists_are_put_together_in_order() {
        const PARTS: &[&str] = &["ab", "", "c"];
        const BYTES: [u8; length(PARTS)] = joined(PARTS);
        assert_eq!(&BYTES, b"abc");
        const FLAGS: &[bool] = &[true, false, true];
        const CHOSEN: [&str; count(FLAGS)] = chosen(PARTS, FLAGS);
        assert_eq!(CHOSEN, ["ab", "c"]);
    }
}
