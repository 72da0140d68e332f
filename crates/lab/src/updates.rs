//! The merges that a short sequence of updates causes under an FTL, on a device just large enough: the
//! worked example of EMSOFT'06, figure 4.

use pumice_config::{Config, SpecError, SpecSource};
use pumice_engine::observe::ObserverRef;
use pumice_engine::{SimError, Ssd, build};
use pumice_ftl::{FtlKind, GcCounters};
use pumice_types::{Choice, HostRequest, Lpn, ProgramOrder, Time, refuse};

/// Figure 4: pages P5, P2, P3, P7, twice, on two logical blocks of four pages.
pub const FIGURE_4: Updates = Updates { pages_per_block: 4, logical_blocks: 2, pages: &[5, 2, 3, 7, 5, 2, 3, 7] };

/// Updates of single pages.
#[derive(Clone, Copy, Debug)]
pub struct Updates<'a> {
    /// Pages of a block.
    pub pages_per_block: u16,
    /// Logical blocks; with `superblock-2006` they form one superblock.
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
    let Some(kind) = FtlKind::from_name(kind).filter(|kind| kind.facts().reports.partial_and_switch_merges) else {
        let allowed = FtlKind::ALL.iter().filter(|kind| kind.facts().reports.partial_and_switch_merges);
        let allowed: Vec<&str> = allowed.map(|kind| kind.name()).collect();
        let text = format!("the merges of {kind} are not counted by kind; allowed: {}", allowed.join(", "));
        return Err(SpecError(text).into());
    };
    let config = config_of(kind, updates)?;
    let mut ssd = Ssd::new(&config, build(&config, 1.0)?, ObserverRef::nobody());
    let mut distinct: Vec<u32> = Vec::new();
    for &page in updates.pages {
        if !distinct.contains(&page) {
            distinct.push(page);
        }
    }
    update(&mut ssd, &distinct, &config)?;
    ssd.controller.merge_all_untimed()?;
    ssd.restart_measuring(Time::ZERO);
    update(&mut ssd, updates.pages, &config)?;
    ssd.controller.merge_all_untimed()?;
    let GcCounters { full, partial, switch, dead, .. } = ssd.ftl().counters();
    Ok(Merges { full: full.merges, partial: partial.merges, switch: switch.merges, dead: dead.block_erases })
}

fn config_of(kind: FtlKind, updates: &Updates) -> Result<Config, SimError> {
    let pages = u32::from(updates.pages_per_block) * updates.logical_blocks;
    if let Some(page) = updates.pages.iter().find(|&&page| page >= pages) {
        return Err(refuse!("page {page} does not exist; allowed: below {pages}").into());
    }
    // FAST's sequential log block comes on top of the random ones.
    let sequential = u32::from(kind == FtlKind::Fast);
    let u_blocks = updates.pages.len() as u32 / u32::from(updates.pages_per_block) + sequential;
    let u_blocks = u_blocks.max(updates.logical_blocks);
    let blocks = updates.logical_blocks + u_blocks + 1;
    let order = if kind == FtlKind::ReplacementBlock { ProgramOrder::Any } else { ProgramOrder::InOrder };
    let sets = [
        ("ftl.kind", kind.to_string()),
        ("ftl.u_blocks", u_blocks.to_string()),
        ("ftl.superblock.logical", updates.logical_blocks.to_string()),
        ("ftl.over_provisioning", (1.0 - f64::from(updates.logical_blocks) / f64::from(blocks)).to_string()),
        ("geometry.blocks_per_plane", blocks.to_string()),
        ("geometry.pages_per_block", updates.pages_per_block.to_string()),
        ("geometry.program_order", order.to_string()),
    ];
    let sets = sets.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    Ok(Config::resolve(&SpecSource { preset: Some("superblock-2006-2g".into()), sets, ..SpecSource::default() })?)
}

fn update(ssd: &mut Ssd<ObserverRef>, pages: &[u32], config: &Config) -> Result<(), SimError> {
    let bytes = config.chip.geometry.page_bytes;
    pages.iter().try_for_each(|&page| ssd.run_untimed(&HostRequest::page_write(Lpn(page), bytes, 0), false))
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
        assert_eq!(merges_of("superblock-2006", &FIGURE_4).expect("it runs"), switch);
        let refused = merges_of("nftl", &FIGURE_4).expect_err("no U-blocks of this sort").to_string();
        assert!(refused.contains("superblock-2006, replacement-block"), "{refused}");
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
