//! Prefetches memory that will be needed soon.
//!
//! The columns of a large device lie far beyond the caches, and most look-ups in them are of random pages: each would
//! wait some hundred cycles for memory. Code that knows the next entry beforehand prefetches it here. Nothing is read
//! or changed, so no result depends on it. What it gains is written down in docs/validation/speed.md.

/// Begins to bring an entry of a column into the cache; nothing if there is no such entry, or no such
/// instruction.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "a hint that cannot fault"))]
pub fn prefetch<T>(entry: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = entry {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86_64 processor has the instruction, and it never faults; the address is that
        // of a living entry anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}
