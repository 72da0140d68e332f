//! Translation layers and policies that lie: what they answer is drawn. Whatever it is, a run ends well or with one
//! line, and the process lives. What no check can find is left out: pointers to memory that is not there.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use pumice_capi::ftl::{
    CChips, CCommand, CCounter, CKey, CLayer, CLayerDevice, CPageAddress, CPlan, CRequest, CSpareArea, CValue,
    FTL_VERSION, from_table,
};
use pumice_capi::policy::{self, CDevice, CErase, CPage, CPlane, CPolicy, POLICY_VERSION};
use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use pumice_ftl::policy::OwnPolicy;

use super::Random;

/// Numbers that stand at the edge of something.
const EDGES: [u32; 12] = [0, 1, 2, 3, 63, 64, 255, 256, 65_535, 65_536, u32::MAX - 1, u32::MAX];

/// Texts of failures: without one, empty, with control characters, not UTF-8, and long.
const FAILURES: [&[u8]; 4] = [b"\0", b"two\nlines\x1b[31m\0", b"\xff\xfe\xfd\0", LONG];
const LONG: &[u8] = &{
    let mut text = [b'x'; 2000];
    text[1999] = 0;
    text
};

thread_local! {
    /// Seed of the state that is made next, and how many calls there were.
    static SEED: Cell<u64> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// What a recovery was given, for calls that come too late.
    static CHIPS: Cell<Option<CChips>> = const { Cell::new(None) };
}

impl Random {
    fn edge(&mut self) -> u32 {
        if self.one_in(3) { self.below(1 << 32) as u32 } else { EDGES[self.below(EDGES.len() as u64) as usize] }
    }

    fn failure(&mut self) -> *const c_char {
        let text = FAILURES.get(self.below(5) as usize);
        text.map_or(null(), |text| text.as_ptr().cast())
    }
}

/// A log that never collects, and now and then lies.
struct Liar {
    random: Random,
    /// One call in so many lies.
    honest: u64,
    pages_per_block: u32,
    next: u32,
    end: u32,
    page_of: BTreeMap<u32, u32>,
    own: Vec<u8>,
}

impl Liar {
    fn lies(&mut self) -> bool {
        CALLS.set(CALLS.get() + 1);
        self.random.one_in(self.honest)
    }

    /// A plan that is not what it should be.
    fn lie(&mut self, plan: &mut CPlan) {
        let random = &mut self.random;
        match random.below(9) {
            0 => plan.commands = random.edge().max(1 << 18),
            1 => (plan.command, plan.commands) = (null_mut(), random.edge()),
            2 => plan.completes = random.edge(),
            3 => plan.commands = 0,
            4 => plan.commands = random.below(5) as u32,
            5 | 6 => {
                // Bytes of the plug-in's own, aligned or not.
                let (commands, offset) = (random.below(4) as u32, random.below(2) as usize);
                let bytes = (commands as usize + 1) * size_of::<CCommand>() + 1;
                self.own = (0..bytes)
                    .map(|_| if random.one_in(2) { random.below(8) } else { random.below(256) } as u8)
                    .collect();
                // SAFETY: the offset lies in the list, which is one byte longer than its commands.
                plan.command = unsafe { self.own.as_mut_ptr().add(offset).cast() };
                plan.commands = commands;
            }
            _ if plan.commands > 0 && !plan.command.is_null() => {
                // SAFETY: the plan has at least one command.
                let command = unsafe { &mut *plan.command };
                match random.below(9) {
                    0 => command.block = random.edge(),
                    1 => command.page = random.edge() as u16,
                    2 => command.from_block = random.edge(),
                    3 => command.lpn = random.edge(),
                    4 => command.operand = random.edge(),
                    5 => command.op = random.below(9) as u8,
                    6 => (command.op, command.cause) = (random.below(9) as u8, random.below(3) as u8),
                    7 => command.version = random.edge() as u8,
                    _ => command.reserved_1 = random.edge() as u8,
                }
            }
            _ => read_late(),
        }
    }

    fn push(plan: &mut CPlan, command: CCommand) {
        if plan.commands < plan.room {
            // SAFETY: the plan has room for it.
            unsafe { plan.command.add(plan.commands as usize).write(command) };
            plan.commands += 1;
        }
    }

    fn at(&self, page: u32) -> CCommand {
        let (block, page) = (page / self.pages_per_block, (page % self.pages_per_block) as u16);
        CCommand { block, page, ..CCommand::default() }
    }
}

/// Reads chips when no recovery goes on: that is refused.
fn read_late() {
    let Some(chips) = CHIPS.get() else { return };
    let mut areas = [CSpareArea::default(); 64];
    // SAFETY: the places are writable, and null is allowed.
    unsafe {
        assert_ne!((chips.page)(0, 0, areas.as_mut_ptr()), 0);
        assert_ne!((chips.block)(0, areas.as_mut_ptr()), 0);
        assert_ne!((chips.page)(0, 0, null_mut()), 0);
    }
}

fn state<'a>(state: *mut c_void) -> &'a mut Liar {
    // SAFETY: `create` or `recover` made it.
    unsafe { &mut *state.cast::<Liar>() }
}

unsafe extern "C" fn capacity(device: *const CLayerDevice, _: *const CValue) -> u64 {
    let mut random = Random::new(SEED.get() + CALLS.get());
    // SAFETY: the engine gives a device.
    let device = unsafe { &*device };
    let planes = device.channels * device.chips_per_channel * device.dies_per_chip * device.planes_per_die;
    let pages = u64::from(planes * device.blocks_per_plane * device.pages_per_block);
    match random.below(60) {
        0 => random.edge().into(),
        1 => u64::MAX,
        _ => pages / (2 + random.below(3)),
    }
}

unsafe extern "C" fn create(device: *const CLayerDevice, _: *const CValue) -> *mut c_void {
    let mut random = Random::new(SEED.get());
    if random.one_in(60) {
        return null_mut();
    }
    // SAFETY: the engine gives a device.
    let device = unsafe { &*device };
    let planes = device.channels * device.chips_per_channel * device.dies_per_chip * device.planes_per_die;
    let end = planes * device.blocks_per_plane * device.pages_per_block;
    let (page_of, own, honest) = (BTreeMap::new(), Vec::new(), [50, 500][random.below(2) as usize]);
    Box::into_raw(Box::new(Liar {
        random,
        honest,
        pages_per_block: device.pages_per_block,
        next: 0,
        end,
        page_of,
        own,
    }))
    .cast()
}

unsafe extern "C" fn destroy(made: *mut c_void) {
    // SAFETY: `create` or `recover` made it, and it is ended once.
    drop(unsafe { Box::from_raw(made.cast::<Liar>()) });
}

unsafe extern "C" fn write(made: *mut c_void, lpn: u32, version: u32, plan: *mut CPlan) -> c_int {
    // SAFETY: the engine gives a plan.
    let (liar, plan) = (state(made), unsafe { &mut *plan });
    let lies = liar.lies();
    if liar.next == liar.end || lies && liar.random.one_in(6) {
        return liar.random.edge() as c_int;
    }
    liar.page_of.insert(lpn, liar.next);
    Liar::push(plan, CCommand { lpn, version: version as u8, op: 2, ..liar.at(liar.next) });
    liar.next += 1;
    if lies {
        liar.lie(plan);
    }
    0
}

unsafe extern "C" fn read(made: *mut c_void, lpn: u32, version: u32, plan: *mut CPlan) -> c_int {
    // SAFETY: the engine gives a plan.
    let (liar, plan) = (state(made), unsafe { &mut *plan });
    let lies = liar.lies();
    if lies && liar.random.one_in(3) {
        return liar.random.edge() as c_int;
    }
    let Some(&page) = liar.page_of.get(&lpn) else { return 1 };
    Liar::push(plan, CCommand { lpn, version: version as u8, op: 0, ..liar.at(page) });
    if lies {
        liar.lie(plan);
    }
    0
}

unsafe extern "C" fn locate(made: *mut c_void, lpn: u32, page: *mut CPageAddress) -> c_int {
    let liar = state(made);
    let found = match (liar.lies(), liar.page_of.get(&lpn)) {
        (true, _) if liar.random.one_in(3) => return liar.random.edge() as c_int,
        (true, _) => CPageAddress { block: liar.random.edge(), page: liar.random.edge() },
        (false, Some(&page)) => CPageAddress { block: page / liar.pages_per_block, page: page % liar.pages_per_block },
        (false, None) => return 1,
    };
    // SAFETY: the engine gives a place.
    unsafe { page.write(found) };
    0
}

unsafe extern "C" fn trim(made: *mut c_void, lpn: u32) -> c_int {
    let liar = state(made);
    if liar.lies() {
        return liar.random.edge() as c_int;
    }
    liar.page_of.remove(&lpn);
    0
}

unsafe extern "C" fn step(made: *mut c_void, _die: u32, plan: *mut CPlan) -> c_int {
    // SAFETY: the engine gives a plan.
    let (liar, plan) = (state(made), unsafe { &mut *plan });
    if liar.lies() {
        liar.lie(plan);
        return if liar.random.one_in(4) { liar.random.edge() as c_int } else { 0 };
    }
    0
}

unsafe extern "C" fn own_pages(_: *const CValue, user_pages: u64) -> u64 {
    let mut random = Random::new(SEED.get() ^ user_pages);
    if random.one_in(30) { u64::MAX } else { random.below(3) }
}

unsafe extern "C" fn look_up(made: *mut c_void, lpn: u32, kind: u32, plan: *mut CPlan) -> c_int {
    assert!(kind < 3, "no page of a flush is looked up");
    // SAFETY: the engine gives a plan.
    let (liar, at) = (state(made), unsafe { &mut *plan });
    if liar.random.one_in(2) {
        Liar::push(
            at,
            CCommand { lpn, version: 3, op: 1, operand: 1, cause: 2, ..liar.at(liar.next.saturating_sub(1)) },
        );
    }
    // SAFETY: as above.
    unsafe { step(made, 0, plan) }
}

unsafe extern "C" fn write_to_stream(made: *mut c_void, lpn: u32, version: u32, _: u32, plan: *mut CPlan) -> c_int {
    // SAFETY: the engine gives a plan.
    unsafe { write(made, lpn, version, plan) }
}

unsafe extern "C" fn holds(made: *mut c_void, _: u32) -> c_int {
    let liar = state(made);
    if liar.lies() { liar.random.edge() as c_int } else { 0 }
}

unsafe extern "C" fn begin_request(made: *mut c_void, request: *const CRequest) -> c_int {
    // SAFETY: the engine gives a request.
    let request = unsafe { &*request };
    assert!(request.kind < 4 && (request.pages > 0) == (request.kind < 3), "{request:?}");
    let liar = state(made);
    if liar.lies() { liar.random.edge() as c_int } else { 0 }
}

unsafe extern "C" fn counts(made: *mut c_void, count: *mut u64) -> c_int {
    let liar = state(made);
    // SAFETY: there is a place for the one counter.
    unsafe { count.write(bytes(made)) };
    if liar.random.one_in(50) { liar.random.edge() as c_int } else { 0 }
}

/// Counters of the liar. The pointers are to texts that stay.
struct Counters([CCounter; 1]);

// SAFETY: nobody changes them.
unsafe impl Sync for Counters {}

static COUNTERS: Counters = Counters([CCounter { name: c"lies".as_ptr(), text: c"".as_ptr() }]);

unsafe extern "C" fn tell(made: *mut c_void) -> c_int {
    let liar = state(made);
    if liar.lies() { liar.random.edge() as c_int } else { 1 }
}

unsafe extern "C" fn bytes(made: *mut c_void) -> u64 {
    let liar = state(made);
    if liar.random.one_in(2) { u64::MAX } else { liar.random.edge().into() }
}

unsafe extern "C" fn failure(made: *mut c_void) -> *const c_char {
    match made.is_null() {
        true => Random::new(SEED.get()).failure(),
        false => state(made).random.failure(),
    }
}

unsafe extern "C" fn recover(
    device: *const CLayerDevice,
    value: *const CValue,
    chips: *const CChips,
    plan: *mut CPlan,
) -> *mut c_void {
    // SAFETY: the engine gives what the header says.
    let (made, chips, plan) = unsafe { (create(device, value), *chips, &mut *plan) };
    CALLS.set(CALLS.get() + 1);
    CHIPS.set(None);
    if made.is_null() {
        return made;
    }
    let liar = state(made);
    let mut areas = [CSpareArea::default(); 64];
    for page in 0..liar.end {
        let at = liar.at(page);
        let lies = liar.random.one_in(20_000);
        let (block, page_in_block) =
            if lies { (liar.random.edge(), liar.random.edge()) } else { (at.block, at.page.into()) };
        let mut area = CSpareArea::default();
        // SAFETY: the place is writable.
        unsafe { (chips.page)(block, page_in_block, &raw mut area) };
        if area.state == 2 {
            liar.page_of.insert(area.lpn, page);
            liar.next = (page / liar.pages_per_block + 1) * liar.pages_per_block;
        }
        if liar.random.one_in(200) {
            let block = if liar.random.one_in(4) { liar.random.edge() } else { at.block };
            // SAFETY: the places are writable, as many as a block of these devices has pages; and null is allowed.
            unsafe {
                (chips.block)(block, areas.as_mut_ptr());
                (chips.block)(block, null_mut());
            }
        }
    }
    while liar.random.one_in(3) {
        let (block, op) = (liar.random.below(64) as u32, liar.random.below(7) as u8);
        Liar::push(plan, CCommand { block, op, cause: u8::from(op > 2), ..CCommand::default() });
    }
    if liar.random.one_in(3) {
        liar.lie(plan);
    }
    CHIPS.set(Some(chips));
    made
}

/// The settings of one run.
fn settings(random: &mut Random) -> Vec<(String, String)> {
    let cuts = random.below(4).to_string();
    let has_power = cuts != "0";
    let sets = [
        ("ftl.kind", "plugin:liar"),
        ("ftl.merge", "block-erase"),
        ("partial_erase.unit", ["none", "partial-block"][random.below(2) as usize]),
        ("geometry.blocks_per_plane", "16"),
        ("geometry.pages_per_block", "64"),
        ("workload.requests", "400"),
        ("workload.footprint", "0.2"),
        ("workload.trim_fraction", if has_power { "0" } else { "0.1" }),
        ("workload.read_fraction", "0.4"),
        ("initial.fill", "0.1"),
        ("run.check", ["rules", "integrity"][random.below(2) as usize]),
        ("run.timed", if has_power || random.one_in(2) { "true" } else { "false" }),
        ("ftl.recovery", if has_power { "scan" } else { "off" }),
        ("power.cuts", &*cuts),
    ];
    sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// The first words of how a run ended, without names and numbers. The text is one line.
fn kind_of(end: &str) -> String {
    assert!(!end.contains(char::is_control) && end.chars().count() < 700 && !end.is_empty(), "{end:?}");
    let words = end.split([' ', ':', '\'']).filter(|word| !word.contains(|c: char| c.is_ascii_digit() || c == '"'));
    words.take(6).collect::<Vec<_>>().join(" ")
}

/// Runs a device with a source of specs; how it ended.
fn end_of(source: &SpecSource) -> String {
    let config = match Config::resolve(source) {
        Ok(config) => config,
        Err(error) => return error.to_string(),
    };
    match run(&config, 1.0, &mut |_| true) {
        Ok(outcome) => outcome.integrity_error.unwrap_or_else(|| "well".into()),
        Err(error) => error.to_string(),
    }
}

/// A liar with some of the entries that version 1.2 has.
fn liar(seed: u64) -> CLayer {
    let mut random = Random::new(seed);
    let mut has = || random.one_in(2);
    let (looks_up, buffers, counters) = (has(), has(), has());
    CLayer {
        version: FTL_VERSION.code(),
        size: size_of::<CLayer>() as u32,
        name: c"liar".as_ptr(),
        key: null(),
        keys: 0,
        capacity: Some(capacity),
        create: Some(create),
        destroy: Some(destroy),
        write: Some(write),
        read: Some(read),
        locate: Some(locate),
        trim: Some(trim),
        step: Some(step),
        works_when_idle: Some(tell),
        note_failing: Some(trim),
        map_ram_bytes: Some(bytes),
        state_bytes: Some(bytes),
        failure: Some(failure),
        recover: Some(recover),
        own_pages: has().then_some(own_pages as _),
        look_up: looks_up.then_some(look_up as _),
        write_to_stream: has().then_some(write_to_stream as _),
        holds: buffers.then_some(holds as _),
        force_out: buffers.then_some(step as _),
        begin_request: has().then_some(begin_request as _),
        counter: COUNTERS.0.as_ptr(),
        counters: counters.into(),
        counts: counters.then_some(counts as _),
        moves_between_dies: has().into(),
        reserved_2: 0,
    }
}

/// Runs with liars until there were so many calls. Returns how they ended, and how often so.
fn lie_for(calls: u64, seed: u64) -> BTreeMap<String, u64> {
    let mut ends = BTreeMap::new();
    CALLS.set(0);
    for nth in 0.. {
        if CALLS.get() >= calls {
            break;
        }
        SEED.set(seed * 1_000_000 + nth);
        let mut random = Random::new(SEED.get());
        // SAFETY: the functions of the table keep what the header promises of pointers.
        let layer = unsafe { from_table(&liar(SEED.get())) }.expect("a table that is whole");
        let sets = settings(&mut random);
        let source = SpecSource { preset: Some("tiny".into()), sets, plugins: vec![layer], ..SpecSource::default() };
        *ends.entry(kind_of(&end_of(&source))).or_default() += 1;
    }
    ends
}

#[test]
fn t075_a_translation_layer_that_lies_ends_the_run_with_one_line_and_not_the_process() {
    let (seed, calls) = super::chosen(100_000);
    let ends = lie_for(calls, seed);
    assert!(ends.len() > 25 && ends.contains_key("well"), "{ends:#?}");
}

/// A table of which anything may be wrong but where its pointers point.
fn odd_table(random: &mut Random, keys: &[CKey]) -> CLayer {
    let names = [c"odd", c"", c"Odd", c"odd name", c"\xff", c"merge", c"kind"];
    let whole = liar(random.below(64));
    let mut odd = CLayer { name: names[random.below(7) as usize].as_ptr(), ..whole };
    match random.below(12) {
        0 => odd.name = null(),
        1 => odd.capacity = None,
        2 => odd.create = None,
        3 => odd.write = None,
        4 => odd.read = None,
        5 => odd.locate = None,
        6 => (odd.trim, odd.step, odd.recover, odd.failure) = (None, None, None, None),
        7 => odd.keys = random.edge().max(1).into(),
        _ => (odd.key, odd.keys) = (keys.as_ptr(), keys.len() as u64),
    }
    odd
}

fn odd_key(random: &mut Random) -> CKey {
    let mut text = |texts: &[&std::ffi::CStr]| match random.below(12) {
        0 => null(),
        _ => texts[random.below(texts.len() as u64) as usize].as_ptr(),
    };
    let name = text(&[c"a", c"b", c"A b", c"", c"kind", c"\xff"]);
    let default_value =
        text(&[c"", c"1", c"-7", c"1e999", c"nan", c"true", c"\"x\"", c"[1", c"\"", c"99999999999999999999"]);
    let (unit, about) = (text(&[c"", c"us"]), text(&[c"What it means.", c"", c"two\nlines"]));
    let choices = text(&[c"x", c"x|y", c"x|x", c"|", c"", c"a \"b\"|c"]);
    let limits = [f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::NAN, f64::INFINITY];
    let mut limit = || limits[random.below(6) as usize];
    let (low, high) = (limit(), limit());
    let wholes = [i64::MIN, -1, 0, 1, i64::MAX];
    let mut whole = || wholes[random.below(5) as usize];
    let (least, most) = (whole(), whole());
    CKey {
        name,
        default_value,
        unit,
        text: about,
        choices,
        low,
        high,
        least,
        most,
        kind: random.below(6) as u32,
        reserved: 0,
    }
}

#[test]
fn t076_tables_with_odd_members_are_refused_in_one_line_or_serve() {
    let (seed, rounds) = super::chosen(2_000);
    let mut random = Random::new(seed);
    let mut ends = BTreeSet::new();
    for _ in 0..rounds {
        let keys: Vec<CKey> = (0..random.below(3)).map(|_| odd_key(&mut random)).collect();
        let table = odd_table(&mut random, &keys);
        // SAFETY: null pointers aside, those of the table are good, and the list of keys has the length that it says or is null.
        let end = match unsafe { from_table(&table) } {
            Err(error) => error.0,
            Ok(layer) => {
                for key in layer.source.keys() {
                    let told = pumice_config::explain(key.path, std::slice::from_ref(&layer));
                    ends.extend(told.err().map(|error| kind_of(&error.to_string())));
                }
                let sets = vec![("ftl.kind".to_string(), layer.source.name().kind().to_string())];
                let source =
                    SpecSource { preset: Some("tiny".into()), sets, plugins: vec![layer], ..SpecSource::default() };
                Config::resolve(&source).err().map_or("well".to_string(), |error| error.to_string())
            }
        };
        ends.insert(kind_of(&end));
    }
    assert!(cfg!(miri) || ends.len() > 12 && ends.contains("well"), "{ends:#?}");
}

/// A policy that lies.
unsafe extern "C" fn policy_create(_: *const CDevice) -> *mut c_void {
    let mut random = Random::new(SEED.get());
    if random.one_in(60) { null_mut() } else { Box::into_raw(Box::new(random)).cast() }
}

unsafe extern "C" fn policy_destroy(context: *mut c_void) {
    // SAFETY: `policy_create` made it, and it is ended once.
    drop(unsafe { Box::from_raw(context.cast::<Random>()) });
}

/// The random numbers of a policy, and whether it lies.
fn drawn<'a>(context: *mut c_void) -> (&'a mut Random, bool) {
    CALLS.set(CALLS.get() + 1);
    // SAFETY: `policy_create` made it.
    let random = unsafe { &mut *context.cast::<Random>() };
    let lies = random.one_in(500);
    (random, lies)
}

unsafe extern "C" fn policy_victim(context: *mut c_void, plane: *const CPlane) -> u32 {
    // SAFETY: the engine gives a plane, with columns of these lengths.
    let (plane, oldest) = unsafe { (&*plane, std::slice::from_raw_parts((*plane).oldest, (*plane).counts as usize)) };
    match drawn(context) {
        (random, true) => [random.edge(), random.below(plane.blocks.into()) as u32][random.below(2) as usize],
        (_, false) => oldest.iter().copied().find(|&block| block != u32::MAX).unwrap_or(u32::MAX),
    }
}

unsafe extern "C" fn policy_placement(context: *mut c_void, page: *const CPage) -> u32 {
    // SAFETY: the engine gives a page.
    let lpn = unsafe { (*page).lpn };
    match drawn(context) {
        (random, true) => random.edge(),
        (_, false) => lpn % 2,
    }
}

unsafe extern "C" fn policy_suspend(context: *mut c_void, _: *const CErase) -> u32 {
    drawn(context).0.edge()
}

unsafe extern "C" fn policy_swap(context: *mut c_void, plane: *const CPlane) -> u32 {
    // SAFETY: the engine gives a plane.
    let blocks = unsafe { (*plane).blocks };
    match drawn(context) {
        (random, true) => random.below(u64::from(blocks) + 2) as u32,
        (_, false) => u32::MAX,
    }
}

unsafe extern "C" fn policy_failure(context: *mut c_void) -> *const c_char {
    // SAFETY: `policy_create` made it.
    let random = unsafe { &mut *context.cast::<Random>() };
    if random.one_in(3000) { random.failure() } else { null() }
}

fn lying_policy(random: &mut Random) -> CPolicy {
    CPolicy {
        version: POLICY_VERSION.code(),
        size: size_of::<CPolicy>() as u32,
        name: c"liar".as_ptr(),
        create: Some(policy_create),
        destroy: Some(policy_destroy),
        victim: random.one_in(2).then_some(policy_victim as _),
        placement: random.one_in(2).then_some(policy_placement as _),
        streams: if random.one_in(10) { random.edge() } else { 2 },
        reserved: 0,
        suspend: random.one_in(2).then_some(policy_suspend as _),
        wear_swap: random.one_in(2).then_some(policy_swap as _),
        failure: random.one_in(2).then_some(policy_failure as _),
        key: null(),
        keys: u64::from(random.one_in(20)) * random.below(3),
    }
}

/// A spec in which a policy takes every decision that it names.
fn spec_of_policy(policy: OwnPolicy) -> SpecSource {
    let suspends = policy.0.decides().suspend;
    let sets = [
        ("ftl.kind", "page"),
        ("ftl.merge", "block-erase"),
        ("partial_erase.unit", "none"),
        ("ftl.over_provisioning", "0.4"),
        ("host.read_priority", "true"),
        ("erase.suspension", if suspends { "pulse" } else { "off" }),
        ("geometry.blocks_per_plane", "16"),
        ("geometry.pages_per_block", "8"),
        ("workload.requests", "600"),
        ("workload.footprint", "1.0"),
        ("workload.read_fraction", "0.2"),
        ("initial.fill", "0.9"),
        ("run.check", "integrity"),
    ];
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, own_policy: Some(policy), ..SpecSource::default() }
}

#[test]
fn t077_a_policy_that_lies_ends_the_run_with_one_line_and_not_the_process() {
    let (seed, calls) = super::chosen(100_000);
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    CALLS.set(0);
    for nth in 0.. {
        if CALLS.get() >= calls {
            break;
        }
        SEED.set(seed * 1_000_000 + nth);
        let table = lying_policy(&mut Random::new(SEED.get()));
        // SAFETY: the functions of the table keep what the header promises of pointers.
        let policy = unsafe { policy::from_table(&table) };
        let end = policy.map_or_else(|error| error.0, |policy| end_of(&spec_of_policy(policy)));
        *ends.entry(kind_of(&end)).or_default() += 1;
    }
    assert!(ends.len() > 8 && ends.contains_key("well"), "{ends:#?}");
}
