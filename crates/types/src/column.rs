//! Columns of state: an entry for each page of a device, all zero at first.
//!
//! The operating system gives a column memory where it is first written, in pages of 4 KiB. The processor has the places
//! of a few thousand such pages at hand, and must look up the place of any other before it can read there. A column of
//! many megabytes has more pages than that. In large pages, of 2 MiB, it has few. Large pages do not suit a column that
//! is written in few places, because each of these would take a whole one. docs/validation/speed.md has what they gain.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use self_cell::{MutBorrow, self_cell};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of a usual page of memory.
const PAGE: usize = 4 << 10;

/// Bytes of a large page.
const LARGE_PAGE: usize = 2 << 20;

/// Columns of fewer bytes would grow by much of their size when they are rounded up to whole large pages.
const LARGE_FROM: usize = 2 * LARGE_PAGE;

/// A column. It is used as the slice of its entries.
pub struct PageColumn<T: ColumnEntry> {
    held: T::Held,
    in_large_pages: bool,
}

/// What columns hold: unsigned integers.
pub trait ColumnEntry: Pod + Eq {
    /// Memory and the slice of entries in it.
    type Held;

    /// The first `entries` in this memory.
    fn hold(memory: ColumnMemory, entries: usize) -> Self::Held;

    /// All entries.
    fn all(held: &Self::Held) -> &[Self];

    /// All entries, to be changed.
    fn all_mut(held: &mut Self::Held) -> &mut [Self];
}

/// Memory of a column, zero at first.
pub struct ColumnMemory(MemoryPages);

enum MemoryPages {
    Usual(Vec<u64>),
    #[cfg(target_os = "linux")]
    Mapped(memmap2::MmapMut),
}

impl ColumnMemory {
    fn usual(bytes: usize) -> ColumnMemory {
        ColumnMemory(MemoryPages::Usual(vec![0; bytes.div_ceil(size_of::<u64>())]))
    }

    /// Memory in which there can be large pages, once they are asked for.
    #[cfg(target_os = "linux")]
    fn mapped(bytes: usize) -> ColumnMemory {
        // Linux aligns a mapping for large pages only if it consists of whole ones.
        match memmap2::MmapMut::map_anon(bytes.next_multiple_of(LARGE_PAGE)) {
            Ok(map) => ColumnMemory(MemoryPages::Mapped(map)),
            Err(_) => ColumnMemory::usual(bytes),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn mapped(bytes: usize) -> ColumnMemory {
        ColumnMemory::usual(bytes)
    }

    /// Asks for large pages: what is not written yet comes in them, what is written is gathered in them behind our back.
    /// Where they cannot be had, the usual ones stay.
    fn ask_for_large_pages(&self) {
        match &self.0 {
            MemoryPages::Usual(_) => {}
            #[cfg(target_os = "linux")]
            MemoryPages::Mapped(map) => {
                let _ = map.advise(memmap2::Advice::HugePage);
            }
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        match &mut self.0 {
            MemoryPages::Usual(words) => bytemuck::cast_slice_mut(words),
            #[cfg(target_os = "linux")]
            MemoryPages::Mapped(map) => map,
        }
    }
}

/// Makes columns of some integers. An access finds the slice of entries beside its memory, and does not ask what kind
/// of memory that is.
macro_rules! columns {
    ($($entry:ident in $held:ident, $slice:ident;)+) => {$(
        type $slice<'a> = &'a mut [$entry];

        self_cell!(
            #[doc = concat!("A column of `", stringify!($entry), "`.")]
            pub struct $held {
                owner: MutBorrow<ColumnMemory>,
                #[covariant]
                dependent: $slice,
            }
        );

        impl ColumnEntry for $entry {
            type Held = $held;

            fn hold(memory: ColumnMemory, entries: usize) -> $held {
                $held::new(MutBorrow::new(memory), |memory| {
                    &mut bytemuck::cast_slice_mut(memory.borrow_mut().bytes())[..entries]
                })
            }

            #[inline(always)]
            fn all(held: &$held) -> &[$entry] {
                held.borrow_dependent()
            }

            #[inline(always)]
            fn all_mut(held: &mut $held) -> &mut [$entry] {
                held.with_dependent_mut(|_, entries| &mut **entries)
            }
        }
    )+};
}

columns! {
    u8 in BytesHeld, Bytes;
    u32 in HalfWordsHeld, HalfWords;
    u64 in WordsHeld, Words;
}

impl<T: ColumnEntry> PageColumn<T> {
    /// A column of `entries` entries.
    pub fn new(entries: usize) -> PageColumn<T> {
        PageColumn::made(entries, false, |_| ())
    }

    /// So many entries, all of which will be written: in large pages, if the operating system has them and the column
    /// is not small.
    pub fn new_in_large_pages(entries: usize) -> PageColumn<T> {
        PageColumn::made(entries, entries * size_of::<T>() >= LARGE_FROM, |memory| memory.ask_for_large_pages())
    }

    /// A column in memory at which `begin` has been.
    fn made(entries: usize, in_large_pages: bool, begin: impl FnOnce(&mut ColumnMemory)) -> PageColumn<T> {
        let bytes = entries * size_of::<T>();
        let mut memory = if in_large_pages { ColumnMemory::mapped(bytes) } else { ColumnMemory::usual(bytes) };
        begin(&mut memory);
        PageColumn { held: T::hold(memory, entries), in_large_pages }
    }
}

/// Lays entries into memory that is zero. Pages of zeroes are not written, so that they take no memory.
fn lay<T: ColumnEntry>(entries: &[T], memory: &mut ColumnMemory) {
    let some = PAGE / size_of::<T>();
    let places = bytemuck::cast_slice_mut(memory.bytes());
    for (places, entries) in places.chunks_mut(some).zip(entries.chunks(some)) {
        if entries.iter().any(|&entry| entry != T::zeroed()) {
            places[..entries.len()].copy_from_slice(entries);
        }
    }
}

impl<T: ColumnEntry> Deref for PageColumn<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        T::all(&self.held)
    }
}

impl<T: ColumnEntry> DerefMut for PageColumn<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        T::all_mut(&mut self.held)
    }
}

impl<T: ColumnEntry> Clone for PageColumn<T> {
    fn clone(&self) -> PageColumn<T> {
        // A virtual machine may get memory for large pages only now: to be laid into them at once took thrice as long on one.
        PageColumn::made(self.len(), self.in_large_pages, |memory| {
            lay(self, memory);
            memory.ask_for_large_pages();
        })
    }
}

impl<T: ColumnEntry + Serialize> Serialize for PageColumn<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.in_large_pages, &self[..]).serialize(serializer)
    }
}

impl<'de, T: ColumnEntry + Deserialize<'de>> Deserialize<'de> for PageColumn<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PageColumn<T>, D::Error> {
        let (in_large_pages, entries) = <(bool, Vec<T>)>::deserialize(deserializer)?;
        Ok(PageColumn::made(entries.len(), in_large_pages, |memory| {
            memory.ask_for_large_pages();
            lay(&entries, memory);
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of both kinds, of a size at which memory in large pages ends within the last.
    fn both<T: ColumnEntry>() -> [PageColumn<T>; 2] {
        let entries = (LARGE_FROM + 40) / size_of::<T>() - 1;
        [PageColumn::new(entries), PageColumn::new_in_large_pages(entries)]
    }

    #[test]
    fn t1050_columns_in_large_pages_hold_what_others_hold() {
        for mut column in both::<u32>() {
            let entries = column.len();
            assert_eq!(entries, (LARGE_FROM + 40) / 4 - 1);
            assert!(column.iter().all(|&entry| entry == 0), "zero at first");
            (column[0], column[entries - 1]) = (7, u32::MAX);
            let copy = column.clone();
            column[0] = 8;
            assert_eq!((copy[0], copy[1], copy[entries - 1], copy.len()), (7, 0, u32::MAX, entries));
            assert_eq!(copy.in_large_pages, column.in_large_pages);
            assert_eq!(column.get(entries), None, "no entry behind the last");
        }
        let [heap, large] = both::<u8>();
        assert!(!heap.in_large_pages && large.in_large_pages);
    }

    #[test]
    fn t1051_small_columns_take_no_large_page() {
        assert!(!PageColumn::<u64>::new_in_large_pages(LARGE_FROM / 8 - 1).in_large_pages);
        assert_eq!(PageColumn::<u64>::new_in_large_pages(0).len(), 0);
    }
}
