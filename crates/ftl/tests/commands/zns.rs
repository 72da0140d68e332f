//! 61x: the flash commands of zones and their host, in order.

use pumice_ftl::{
    CleaningPace, FinishFill, FinishPace, LayoutConfig, Plan, ResetErases, ResetTime, TranslationLayer, UnitKind, Zns,
    ZnsConfig, ZoneInterface, ZoneLimits, ZoneMapping, ZoneOperations, ZoneVictim,
};
use pumice_types::{BlockId, Cause, DieId, FlashCommand, FlashOp, Geometry, Lpn, UnitPages};

/// Two dies of one plane with eight blocks of four pages: eight zones of eight pages, the host stores 24.
fn zns(resets: ResetTime) -> Zns {
    zns_with(|config| config.resets = resets)
}

fn zns_with(change: impl FnOnce(&mut ZnsConfig)) -> Zns {
    let geometry = Geometry {
        channels: 2,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 8,
        pages_per_block: 4,
        page_bytes: 4096,
        spare_bytes: 64,
        units_per_page: 1,
    };
    let mut config = ZnsConfig {
        interface: ZoneInterface::Log,
        layout: LayoutConfig { geometry, units: UnitPages::whole_block(4), width: 2, depth: 1, run: 1, first: None },
        units: UnitKind::Blocks,
        mapping: ZoneMapping::Fixed,
        zone_size: 8,
        limits: ZoneLimits { open: 2, active: 2 },
        resets: ResetTime::AtOnce,
        erases: ResetErases::Together,
        finish_pace: FinishPace::AtOnce,
        finish: FinishFill::Pad,
        user_pages: 24,
        used_pages: 8,
        streams: 2,
        clean_start: 2,
        reserve: 0,
        victim: ZoneVictim::Greedy,
        pace: CleaningPace::Paced,
    };
    change(&mut config);
    let mut ftl = Zns::new(config, &[]);
    ftl.fill(0.0, |_| ());
    ftl
}

/// The commands of a write, and of the zone operations behind it.
fn write(ftl: &mut Zns, lpn: u32, version: u8) -> Vec<FlashCommand> {
    let mut plan = Plan::default();
    ftl.write(Lpn(lpn), version, &mut plan).expect("there is room");
    let mut commands = plan.commands.clone();
    loop {
        plan.clear();
        match ftl.next_operation(&mut plan) {
            Some(_) => commands.append(&mut plan.commands),
            None => return commands,
        }
    }
}

/// Each command as one word: what, on whose behalf, the block.
fn words(commands: &[FlashCommand]) -> Vec<String> {
    let word = |command: &FlashCommand| {
        let by = match command.cause {
            Cause::Host => "host",
            Cause::Gc => "moved",
            Cause::Padding => "padding",
            Cause::Map | Cause::Rmw => "other",
        };
        match command.op {
            FlashOp::Program => format!("program {by} {}.{}", command.target.block.0, command.target.page),
            FlashOp::Read => format!("read {by} {}.{}", command.target.block.0, command.target.page),
            op => format!("{op:?} {}", command.target.block.0),
        }
    };
    commands.iter().map(word).collect()
}

/// Writes pages 0 to 23, and then page 1 to 15 again and again: five zones are full, and one of 24 has its first
/// page valid alone. Returns the versions given so far.
fn grown(ftl: &mut Zns) {
    (0..24).for_each(|lpn| drop(write(ftl, lpn, 1)));
    // Zones 3 and 4: the data of zones 0 and 1 but for page 0.
    (1..16).for_each(|lpn| drop(write(ftl, lpn, 2)));
    drop(write(ftl, 16, 2));
}

#[test]
fn t610_pages_of_a_zone_go_to_the_dies_in_turn() {
    let mut ftl = zns(ResetTime::AtOnce);
    let programs: Vec<String> = (0..9).flat_map(|lpn| words(&write(&mut ftl, lpn, 1))).collect();
    let expected = ["0.0", "8.0", "0.1", "8.1", "0.2", "8.2", "0.3", "8.3", "1.0"];
    assert_eq!(programs, expected.map(|page| format!("program host {page}")));
}

#[test]
fn t611_cleaning_reads_a_page_and_programs_it_elsewhere_before_the_write_and_erases_behind_it() {
    let mut ftl = zns(ResetTime::AtOnce);
    grown(&mut ftl);
    // Three zones are empty, one more is opened: two are left, and the host cleans.
    assert_eq!(words(&write(&mut ftl, 17, 2)), ["program host 5.0"]);
    let commands = write(&mut ftl, 18, 2);
    // Zone 1 holds nothing valid and is won for nothing.
    assert_eq!(words(&commands), ["program host 13.0", "Erase 1", "Erase 9"]);
}

#[test]
fn t614_moved_pages_keep_pace_with_written_ones_and_their_zone_is_reset_behind_the_last() {
    let mut ftl = zns(ResetTime::AtOnce);
    (0..24).for_each(|lpn| drop(write(&mut ftl, lpn, 1)));
    // Every zone keeps its first page, so cleaning moves one page for every seven that are written.
    let others = || (0..24).filter(|lpn| lpn % 8 != 0);
    let plans: Vec<_> = others().chain(others()).map(|lpn| write(&mut ftl, lpn, 2)).collect();
    let first = plans.iter().position(|commands| commands.len() > 1).expect("the host cleans");
    let commands = &plans[first];
    // Writes 0, 8 and 16 open a zone, so from write 17 on two are empty; seven writes pay for one page.
    assert_eq!(first, 17 + 6);
    assert_eq!(words(commands)[0], "read moved 0.0");
    assert_eq!((commands[1].source, commands[1].lpn, commands[1].version), (commands[0].target, Lpn(0), 1));
    assert_eq!((commands[1].op, commands[1].cause), (FlashOp::Program, Cause::Gc));
    assert_eq!(commands[2].cause, Cause::Host);
    assert_eq!(words(&commands[3..]), ["Erase 0", "Erase 8"]);
    assert_eq!(ftl.locate(Lpn(0)), Some(commands[1].target));
}

#[test]
fn t612_a_zone_is_erased_when_it_is_written_again_or_die_by_die_in_idle_time() {
    let erases = |commands: &[FlashCommand]| commands.iter().filter(|command| command.op == FlashOp::Erase).count();
    for resets in [ResetTime::WhenOpened, ResetTime::Idle] {
        let mut ftl = zns(resets);
        grown(&mut ftl);
        drop(write(&mut ftl, 17, 2));
        assert_eq!(erases(&write(&mut ftl, 18, 2)), 0, "the zone is reset, not erased");
        let mut plan = Plan::default();
        ftl.step(DieId(1), &mut plan).expect("legal");
        let idle = if resets == ResetTime::Idle { vec!["Erase 9".to_string()] } else { Vec::new() };
        assert_eq!(words(&plan.commands), idle);
        // Zones 6 and 7 are written before zone 1, which was reset after them.
        let rest = (0..60).map(|nth| write(&mut ftl, nth % 24, 4)).find(|commands| erases(commands) > 0);
        let rest = rest.expect("zone 1 is opened");
        let found: Vec<BlockId> = rest.iter().filter(|c| c.op == FlashOp::Erase).map(|c| c.target.block).collect();
        let left: &[BlockId] = if resets == ResetTime::Idle { &[BlockId(1)] } else { &[BlockId(1), BlockId(9)] };
        assert_eq!(found, left, "{resets}");
        let place = rest.iter().position(|command| command.op == FlashOp::Erase).expect("found");
        assert_eq!(rest[place + left.len()].target.block.0 % 8, 1, "the zone's first page follows");
    }
}

#[test]
fn t615_a_finished_zone_is_filled_in_whole_or_unit_by_unit_or_left() {
    let finished = |finish: FinishFill, used_pages: u32| {
        let mut ftl = zns_with(|config| {
            config.layout.depth = 2;
            (config.zone_size, config.finish, config.used_pages, config.user_pages) = (16, finish, used_pages, 8);
        });
        (0..used_pages - 1).for_each(|lpn| assert_eq!(write(&mut ftl, lpn, 1).len(), 1));
        words(&write(&mut ftl, used_pages - 1, 1)[1..])
    };
    // Zone 0 has blocks 0 and 1 of the first die, 8 and 9 of the second, of four pages each.
    let rest_of_first = ["8.1", "0.2", "8.2", "0.3", "8.3"];
    let second = ["1.0", "9.0", "1.1", "9.1", "1.2", "9.2", "1.3", "9.3"];
    let padded = |pages: &[&str]| pages.iter().map(|page| format!("program padding {page}")).collect::<Vec<_>>();
    assert_eq!(finished(FinishFill::Pad, 3), padded(&[&rest_of_first[..], &second].concat()));
    assert_eq!(finished(FinishFill::PadUnits, 3), padded(&rest_of_first));
    assert_eq!(finished(FinishFill::PadUnits, 1), padded(&["0.1", "0.2", "0.3"]), "block 8 is blank");
    assert!(finished(FinishFill::Leave, 3).is_empty());
}

#[test]
fn t616_a_zone_built_when_it_is_written_takes_the_units_that_were_free_longest() {
    let mut ftl = zns_with(|config| {
        (config.layout.depth, config.layout.geometry.blocks_per_plane) = (2, 16);
        (config.zone_size, config.used_pages, config.user_pages) = (16, 4, 8);
        (config.mapping, config.finish) = (ZoneMapping::OnDemand, FinishFill::PadUnits);
    });
    // Four pages end a zone of two blocks a die. The first block is filled, the second goes back, behind all others.
    let mut block = |nth: u32| {
        let commands = write(&mut ftl, nth % 8, 1);
        commands.iter().find(|c| c.cause == Cause::Host && c.op == FlashOp::Program).map(|c| c.target.block.0)
    };
    let blocks: Vec<u32> = (0..40).filter_map(&mut block).collect();
    let opened: Vec<u32> = blocks.chunks(4).map(|zone| zone[0]).collect();
    assert_eq!(opened, [0, 2, 4, 6, 8, 10, 12, 14, 1, 5], "blank blocks come back in the order in which zones ended");
}
