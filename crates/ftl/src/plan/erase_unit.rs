//! What a layer erases apart, as a spec asks for it.

use pumice_types::choice;

choice! {
    /// What a layer erases at once.
    pub enum EraseUnit {
        /// A block.
        Block = "block",
        /// Partial blocks of a block.
        PartialBlock = "partial-block",
        /// Physical sub-blocks of a block.
        SubBlock = "sub-block",
    }
}
