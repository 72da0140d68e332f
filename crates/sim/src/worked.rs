//! The merges that a short sequence of updates causes under an FTL, on a device just large enough: the
//! worked example of EMSOFT'06, figure 4.

use pumice_ftl::{Ftl, FtlError, GcCounters, Plan};
use pumice_types::{HostRequest, RequestKind, Time};

use crate::build;
use crate::error::SimError;
use crate::host::Host;
use crate::spec::{Spec, SpecError, SpecSource};

/// Figure 4: pages P5, P2, P3, P7, twice, on two logical blocks of four pages.
pub const FIGURE_4: Updates = Updates { pages_per_block: 4, logical_blocks: 2, pages: &[5, 2, 3, 7, 5, 2, 3, 7] };

/// Updates of single pages.
#[derive(Clone, Copy, Debug)]
pub struct Updates<'a> {
    /// Pages of a block.
    pub pages_per_block: u16,
    /// Logical blocks; with `superblock` they form one superblock.
    pub logical_blocks: u32,
    /// Logical pages updated, in this order.
    pub pages: &'a [u32],
}

/// Merges, and U-blocks without valid pages that were erased without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    /// Full merges.
    pub full: u64,
    /// Partial merges.
    pub partial: u64,
    /// Switch merges.
    pub switch: u64,
    /// Blocks erased without a merge.
    pub dead: u64,
}

/// The merges that free every U-block after the updates. The device starts with every page written and
/// with the updated pages updated and merged once before, because figure 4(c) shows a superblock whose
/// pages have been rearranged; nothing of that is counted. There are as many U-blocks as the updates fill.
///
/// # Errors
/// A kind without U-blocks of this sort, or pages that do not exist, in one line.
pub fn merges_of(kind: &str, updates: &Updates) -> Result<Merges, SimError> {
    let spec = spec_of(kind, updates)?;
    let built = build::build(&spec, 1.0)?;
    let mut host = Host::new(&spec, built.ftl, built.device);
    let mut distinct: Vec<u32> = Vec::new();
    for &page in updates.pages {
        if !distinct.contains(&page) {
            distinct.push(page);
        }
    }
    update(&mut host, &distinct, &spec)?;
    merge_all(&mut host)?;
    host.restart_measuring(Time::ZERO);
    update(&mut host, updates.pages, &spec)?;
    merge_all(&mut host)?;
    let GcCounters { full, partial, switch, dead, .. } = host.ftl.counters();
    Ok(Merges { full: full.merges, partial: partial.merges, switch: switch.merges, dead: dead.block_erases })
}

fn spec_of(kind: &str, updates: &Updates) -> Result<Spec, SimError> {
    let pages = u32::from(updates.pages_per_block) * updates.logical_blocks;
    if let Some(page) = updates.pages.iter().find(|&&page| page >= pages) {
        return Err(SpecError(format!("page {page} does not exist; allowed: below {pages}")).into());
    }
    // FAST's sequential log block comes on top of the random ones.
    let u_blocks = updates.pages.len() as u32 / u32::from(updates.pages_per_block) + u32::from(kind == "fast");
    let u_blocks = u_blocks.max(updates.logical_blocks);
    let blocks = updates.logical_blocks + u_blocks + 1;
    let sets = [
        ("ftl.kind", format!("\"{kind}\"")),
        ("ftl.u_blocks", u_blocks.to_string()),
        ("ftl.superblock.variant", "2006".into()),
        ("ftl.superblock.logical", updates.logical_blocks.to_string()),
        ("ftl.over_provisioning", (1.0 - f64::from(updates.logical_blocks) / f64::from(blocks)).to_string()),
        ("geometry.blocks_per_plane", blocks.to_string()),
        ("geometry.pages_per_block", updates.pages_per_block.to_string()),
        ("geometry.program_order", if kind == "replacement-block" { "any" } else { "in-order" }.into()),
    ];
    let sets = sets.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    Ok(Spec::resolve(&SpecSource { preset: Some("superblock-2006-2g".into()), sets, ..SpecSource::default() })?)
}

fn update(host: &mut Host, pages: &[u32], spec: &Spec) -> Result<(), SimError> {
    let bytes = spec.geometry.page_bytes;
    for &page in pages {
        let offset_bytes = u64::from(page) * u64::from(bytes);
        let write = HostRequest { arrival: Time::ZERO, offset_bytes, bytes, kind: RequestKind::Write };
        host.run_untimed(&write, false, &mut ())?;
    }
    Ok(())
}

/// Frees every U-block.
fn merge_all(host: &mut Host) -> Result<(), SimError> {
    let mut plan = Plan::default();
    let merged: Result<(), FtlError> = match &mut host.ftl {
        Ftl::ReplacementBlock(ftl) => ftl.merge_all(&mut plan),
        Ftl::LogBlock(ftl) => ftl.merge_all(&mut plan),
        Ftl::Fast(ftl) => ftl.merge_all(&mut plan),
        Ftl::Superblock2006(ftl) => ftl.merge_all(&mut plan),
        Ftl::Nftl(_) | Ftl::Gftl(_) | Ftl::Page(_) | Ftl::SuperblockPen(_) => {
            let allowed = "replacement-block, log-block, fast, superblock";
            return Err(SpecError(format!("this FTL's merges are not counted by kind; allowed: {allowed}")).into());
        }
    };
    merged?;
    plan.commands.iter().try_for_each(|command| host.device.execute(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t322_figure_4_needs_two_full_merges_or_one_switch_merge() {
        let full = Merges { full: 2, ..Merges::default() };
        assert_eq!(merges_of("log-block", &FIGURE_4).expect("it runs"), full);
        // U-block 0 holds nothing valid any more.
        assert_eq!(merges_of("fast", &FIGURE_4).expect("it runs"), Merges { dead: 1, ..full });
        let switch = Merges { switch: 1, dead: 1, ..Merges::default() };
        assert_eq!(merges_of("superblock", &FIGURE_4).expect("it runs"), switch);
        assert!(merges_of("nftl", &FIGURE_4).is_err());
    }

    #[test]
    fn t323_whole_blocks_in_order_are_switched_and_the_rest_of_a_block_is_copied_once() {
        let whole = Updates { pages_per_block: 4, logical_blocks: 2, pages: &[0, 1, 2, 3, 4, 5, 6, 7] };
        let half = Updates { pages: &[0, 1], ..whole };
        for kind in ["log-block", "fast", "replacement-block"] {
            let merges = merges_of(kind, &whole).expect("it runs");
            assert_eq!(merges, Merges { switch: 2, ..Merges::default() }, "{kind}");
            let merges = merges_of(kind, &half).expect("it runs");
            assert_eq!(merges, Merges { partial: 1, ..Merges::default() }, "{kind}");
        }
    }
}
