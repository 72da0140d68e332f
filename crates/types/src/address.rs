//! Addresses as newtypes: a logical page cannot be passed where a block is wanted.
//!
//! Conversions between them live in [`crate::Geometry`] alone.

use serde::{Deserialize, Serialize};

macro_rules! index_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// The value as an index into a column.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index_newtype!(
    /// Logical page number, in units of the flash page, from 0 over the user capacity.
    Lpn
);
index_newtype!(
    /// Physical block, numbered over the whole device (plane by plane).
    BlockId
);
index_newtype!(
    /// Plane, numbered over the whole device (die by die).
    PlaneId
);
index_newtype!(
    /// Die, numbered over the whole device (chip by chip, channel by channel).
    DieId
);
index_newtype!(
    /// Channel.
    ChannelId
);

/// A physical page: its block and its index inside the block (program order of the write sequence).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(C)]
pub struct PageAddress {
    /// The block.
    pub block: BlockId,
    /// Page index inside the block.
    pub page: u16,
}

impl PageAddress {
    /// Most pages of a device. Maps hold the number of a page plus one in 32 bits, and two values that are no page.
    pub const COUNT_MAX: u64 = (1 << 32) - 2;

    /// Page `page` of `block`.
    #[inline]
    pub fn new(block: BlockId, page: u16) -> PageAddress {
        PageAddress { block, page }
    }
}
