//! Which fault a test has switched on. The faults are in a copy of the sources alone, which `make faults` makes from
//! `crates/engine/tests/engine/recovery_faults.toml`.

use std::cell::Cell;

thread_local! {
    static ON: Cell<&'static str> = const { Cell::new("") };
}

/// Switches a fault on for the calling thread, in place of the one before; "" switches all off.
pub fn switch(fault: &'static str) {
    ON.set(fault);
}

/// Whether this fault is on.
pub fn is_on(fault: &str) -> bool {
    ON.get() == fault
}
