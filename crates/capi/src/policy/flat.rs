//! Functions of plain numbers and columns, given by their addresses: what numba and ctypes make.

use pumice_ftl::policy::{AskingPlane, Decisions, PageToPlace, SuspensionPoint};
use pumice_ftl::victims::columns::{BlockRow, NO_BLOCK};

use super::table::FROM_HOST;

/// `pumice_flat_plane`
pub type FlatPlane = unsafe extern "C" fn(u32, u64, *const BlockRow, u32, *const u32, *const f64, u32) -> u32;
/// `pumice_flat_page`
pub type FlatPage = unsafe extern "C" fn(u32, u32, u64, u32) -> u32;
/// `pumice_flat_erase`
pub type FlatErase = unsafe extern "C" fn(u32, u64, u64, u64, u32, u32, u32) -> u32;

/// Addresses of functions; 0 where a decision has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    /// Address of a [`FlatPlane`] that names victims.
    pub victim: usize,
    /// Address of a [`FlatPage`] that names streams.
    pub placement: usize,
    /// Address of a [`FlatErase`] that decides suspensions.
    pub suspend: usize,
    /// Address of a [`FlatPlane`] that names blocks to move.
    pub wear_swap: usize,
}

/// Decisions by functions at addresses, without a state.
pub struct FlatDecisions {
    victim: Option<FlatPlane>,
    placement: Option<FlatPage>,
    suspend: Option<FlatErase>,
    wear_swap: Option<FlatPlane>,
}

/// The decisions of functions at these addresses. Whoever gives an address vouches that it is that of a function of
/// the type that the header has for it, and stays so as long as the decisions live; nobody can check that.
pub fn at_addresses(addresses: Addresses) -> FlatDecisions {
    let Addresses { victim, placement, suspend, wear_swap } = addresses;
    // SAFETY: an optional function pointer has the size of an address, and a null one is `None`. That the others are
    // functions of these types is the caller's word, as with any function that ctypes calls.
    unsafe {
        FlatDecisions {
            victim: std::mem::transmute::<usize, Option<FlatPlane>>(victim),
            placement: std::mem::transmute::<usize, Option<FlatPage>>(placement),
            suspend: std::mem::transmute::<usize, Option<FlatErase>>(suspend),
            wear_swap: std::mem::transmute::<usize, Option<FlatPlane>>(wear_swap),
        }
    }
}

/// Asks a function about a plane.
fn about_plane(function: FlatPlane, asking: &mut AskingPlane) -> u32 {
    let (plane, now) = (asking.plane.0, asking.now);
    let columns = asking.blocks.columns(now);
    let (rows, oldest) = (columns.rows(), columns.oldest());
    let (blocks, counts) = (rows.len() as u32, oldest.len() as u32);
    // SAFETY: the pointers are to columns of these lengths, which `asking` keeps borrowed during the call; the atomic
    // numbers in them have the layout of plain ones.
    unsafe {
        function(plane, now, rows.as_ptr(), blocks, oldest.as_ptr().cast(), columns.ages().as_ptr().cast(), counts)
    }
}

impl Decisions for FlatDecisions {
    fn victim(&mut self, asking: &mut AskingPlane) -> Result<u32, String> {
        let Some(victim) = self.victim else { return Err("decides no victim".into()) };
        let block = about_plane(victim, asking);
        if block == NO_BLOCK { Err("victim named no block".into()) } else { Ok(block) }
    }

    fn placement(&mut self, page: &PageToPlace) -> Result<u8, String> {
        let Some(placement) = self.placement else { return Err("places no page".into()) };
        let from = page.copied_from.map_or(FROM_HOST, u32::from);
        // SAFETY: all arguments are numbers.
        let stream = unsafe { placement(page.lpn.0, page.plane.0, page.now, from) };
        Ok(stream.min(u8::MAX.into()) as u8)
    }

    fn suspend(&mut self, erase: &SuspensionPoint) -> Result<bool, String> {
        let Some(suspend) = self.suspend else { return Err("decides no suspension".into()) };
        let SuspensionPoint { die, now, done, total, suspensions, waiting_reads, is_urgent } = *erase;
        // SAFETY: all arguments are numbers.
        let answer = unsafe { suspend(die.0, now.0, done.0, total.0, suspensions, waiting_reads, is_urgent.into()) };
        Ok(answer != 0)
    }

    fn wear_swap(&mut self, asking: &mut AskingPlane) -> Result<Option<u32>, String> {
        let Some(wear_swap) = self.wear_swap else { return Err("swaps no blocks".into()) };
        let block = about_plane(wear_swap, asking);
        Ok((block != NO_BLOCK).then_some(block))
    }
}
