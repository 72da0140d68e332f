//! The three ways of merging, as plans carry them out and counters tell them apart.

/// The three ways of making one D-block out of a D-block and newer pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// The U-block becomes the D-block as it is; nothing is copied, one block less.
    Switch,
    /// The U-block becomes the D-block once the rest was copied into it.
    Partial,
    /// Everything is copied into a free block.
    Full,
}
