//! 76x: data placed by the streams that the host names.

use pumice_ftl::{CollectedPlace, Figures, Handles, HotCold, PageConfig};
use pumice_types::BlockId;

use crate::hot_cold::Addresses;
use crate::rig::{Rig, config};

const ALL: [CollectedPlace; 3] = [CollectedPlace::Shared, CollectedPlace::Apart, CollectedPlace::WithHost];

/// Pages of the hot stream, of all.
const HOT: u32 = 10;

/// A device whose host overwrites a tenth of its pages with nine tenths of its writes, and says so.
fn written(hot_cold: HotCold) -> Rig {
    let small = config(1, 128, 32);
    let user_pages = (small.geometry.pages() * 80 / 100) as u32;
    let mut rig = Rig::new(PageConfig { user_pages, hot_cold, ..small }, 0.0);
    rig.stream_of = |lpn| u8::from(lpn % HOT == 0);
    let mut addresses = Addresses(1);
    (0..user_pages).for_each(|lpn| rig.write(lpn));
    for _ in 0..user_pages * 8 {
        let tens = addresses.below(user_pages / HOT) * HOT;
        rig.write(if addresses.below(100) < 90 { tens } else { tens + 1 + addresses.below(HOT - 1) });
    }
    rig.check();
    rig
}

/// Blocks that hold data of both streams.
fn mixed_blocks(rig: &Rig) -> usize {
    let streams = |block: BlockId| rig.stored_in(block).map(|lpn| (rig.stream_of)(lpn));
    let is_mixed = |&block: &BlockId| streams(block).min() != streams(block).max();
    (0..rig.blocks()).map(BlockId).filter(is_mixed).count()
}

#[test]
fn t765_streams_share_no_block_until_they_are_collected_or_never() {
    for collected in ALL {
        let rig = written(HotCold::Handles(Handles { count: 2, collected }));
        let is_isolated = collected != CollectedPlace::Shared;
        assert_eq!(mixed_blocks(&rig) == 0, is_isolated, "{collected:?}: {} blocks", mixed_blocks(&rig));
        let placed = rig.ftl.counters().placed;
        assert_eq!(placed.iter().map(|group| group.written).sum::<u64>(), rig.writes);
        assert_eq!(placed.iter().map(|group| group.copied).sum::<u64>(), rig.ftl.counters().copied_pages);
        assert!(placed[0].written > 0 && placed[1].written > 0);
        assert_eq!(placed[pumice_ftl::COLLECTED].copied == 0, is_isolated);
    }
}

#[test]
fn t766_streams_apart_are_copied_less_the_longer_they_stay_apart() {
    let amplification = |hot_cold| written(hot_cold).write_amplification((0, 0));
    let none = amplification(HotCold::Copies);
    let [initial, apart, with_host] =
        ALL.map(|collected| amplification(HotCold::Handles(Handles { count: 2, collected })));
    println!("none {none:.3}, initial {initial:.3}, persistent {apart:.3}, with host data {with_host:.3}");
    assert!(initial < 0.95 * none);
    assert!(apart < initial && with_host < initial);
}

#[test]
fn t767_one_handle_is_no_placement() {
    let one = HotCold::Handles(Handles { count: 1, collected: CollectedPlace::Shared });
    let (placed, plain) = (written(one), written(HotCold::Copies));
    assert_eq!(placed.programs, plain.programs);
    assert_eq!(placed.ftl.counters().placed[0].written, placed.writes, "a stream without a handle goes to the first");
    assert_eq!(plain.ftl.counters().placed[0].written, 0, "nothing is counted by handles that there are not");
}

#[test]
fn t768_a_handle_tells_what_its_open_blocks_still_take() {
    let handles = Handles { count: 2, collected: CollectedPlace::Shared };
    let mut rig = Rig::new(PageConfig { hot_cold: HotCold::Handles(handles), ..config(1, 16, 8) }, 0.0);
    rig.stream_of = |lpn| (lpn % 3) as u8;
    let open = |rig: &Rig| [0, 1, 2].map(|stream| rig.ftl.open_pages_of(stream));
    assert_eq!(open(&rig), [16, 16, 0], "a whole block in each of the two planes; there is no third handle");
    rig.write(1);
    assert_eq!(open(&rig), [16, 15, 0]);
    rig.write(2);
    assert_eq!(open(&rig), [15, 15, 0], "stream 2 goes to handle 0");
    (0..14).for_each(|_| rig.write(0));
    assert_eq!(open(&rig), [1 + 8, 15, 0], "one of its blocks is full");
    rig.write(0);
    assert_eq!(open(&rig), [16, 15, 0], "both are");
}
