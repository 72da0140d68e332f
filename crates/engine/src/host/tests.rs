//! What the oracle says that a device may return after a power cut.

use pumice_types::{HostRequest, Lpn, RequestKind, TagFormat, Time};

use super::oracle::Oracle;
use super::programs::{OpenPage, StoredVersion};
use super::promises::PromiseRules;

const WITHOUT_BUFFER: PromiseRules =
    PromiseRules { is_buffered: false, has_buffer: false, is_protected: false, gives_up_trimmed: true };

const BUFFERED: PromiseRules = PromiseRules { is_buffered: true, has_buffer: true, ..WITHOUT_BUFFER };

/// The page that everything happens to.
const PAGE: Lpn = Lpn(7);

/// An oracle, and a device that does what it is told; programs have numbers from 1 on.
struct ToldDevice {
    oracle: Oracle,
    programs: u64,
}

impl ToldDevice {
    fn new(rules: PromiseRules) -> ToldDevice {
        let mut oracle = Oracle::new(16, 4, TagFormat::new(16));
        oracle.prepare_for_cuts(rules);
        ToldDevice { oracle, programs: 0 }
    }

    /// The write buffer takes a write.
    fn buffer(&mut self, request: u32) {
        self.oracle.note_buffered(PAGE, Some(request));
    }

    /// A program is given its place, which this request brings, if none is buffered.
    fn place(&mut self, request: Option<u32>) {
        self.programs += 1;
        self.oracle.next_version(PAGE, request);
        self.oracle.note_placed(PAGE, self.programs);
    }

    fn write(&mut self, request: u32) {
        self.place(Some(request));
    }

    fn trim(&mut self, request: u32) {
        self.oracle.note_trim(PAGE, Some(request));
    }

    /// A request is done.
    fn done(&mut self, id: u32, kind: RequestKind, fua: bool) {
        let request = HostRequest { kind, fua, ..HostRequest::flush(Time::ZERO) };
        self.oracle.note_done(id, &request, [PAGE].into_iter());
    }

    fn flush(&mut self, id: u32) {
        self.oracle.note_flush(id);
        self.done(id, RequestKind::Flush, false);
    }

    /// Programs that may be returned of all so far, 0 for nothing; `None` if only the newest may. The power is cut.
    fn allowed(&mut self) -> Option<Vec<u64>> {
        let (lpn, page) = self.oracle.take_unsettled().pop()?;
        assert_eq!(lpn, PAGE);
        Some((0..=self.programs).filter(|&program| allows(&page, program)).collect())
    }
}

/// Versions count as programs do, up to 255.
fn allows(page: &OpenPage, program: u64) -> bool {
    let version = |program| ((program - 1) % 255 + 1) as u8;
    page.allows((program > 0).then(|| StoredVersion { program, version: version(program) }))
}

#[test]
fn t830_without_a_buffer_an_acknowledged_write_is_promised() {
    let mut device = ToldDevice::new(WITHOUT_BUFFER);
    device.write(0);
    device.write(1);
    device.done(0, RequestKind::Write, false);
    assert_eq!(device.allowed(), Some(vec![1, 2]), "the first, or the one in flight");
    device.write(2);
    device.done(2, RequestKind::Write, false);
    assert_eq!(device.allowed(), None);
}

#[test]
fn t831_with_a_buffer_a_flush_promises_what_was_written_before_it() {
    let mut device = ToldDevice::new(BUFFERED);
    device.buffer(0);
    device.done(0, RequestKind::Write, false);
    assert_eq!(device.allowed(), Some(vec![0]), "it may be lost");
    device.buffer(0);
    device.oracle.note_program_begun(PAGE);
    device.buffer(1);
    device.oracle.note_flush(2);
    device.place(None);
    device.oracle.note_program_begun(PAGE);
    device.place(None);
    device.done(2, RequestKind::Flush, false);
    assert_eq!(device.allowed(), None, "both writes are in the newest version");
    device.buffer(3);
    device.flush(4);
    assert_eq!(device.allowed(), Some(vec![]), "a flush that programs nothing cannot be kept");
}

#[test]
fn t832_with_a_buffer_force_unit_access_promises_its_own_page() {
    let mut device = ToldDevice::new(BUFFERED);
    device.buffer(0);
    device.oracle.note_program_begun(PAGE);
    device.place(None);
    device.buffer(1);
    device.done(0, RequestKind::Write, true);
    assert_eq!(device.allowed(), Some(vec![1]), "not nothing, and the second write has no version");
}

#[test]
fn t837_a_trim_is_promised_by_a_flush_and_what_was_written_behind_it_when_it_is_acknowledged() {
    let mut device = ToldDevice::new(WITHOUT_BUFFER);
    let stored = |device: &mut ToldDevice| {
        device.write(0);
        device.done(0, RequestKind::Write, false);
    };
    stored(&mut device);
    device.trim(1);
    device.flush(2);
    assert_eq!(device.allowed(), None, "only nothing may be returned");
    stored(&mut device);
    device.oracle.note_flush(1);
    device.trim(2);
    device.done(1, RequestKind::Flush, false);
    assert_eq!(device.allowed(), Some(vec![0, 2]), "it was not there before the flush");
    device.oracle.settle(PAGE, Some(StoredVersion { program: 2, version: 2 }));
    device.oracle.note_flush(3);
    device.write(4);
    device.done(3, RequestKind::Flush, false);
    assert_eq!(device.allowed(), Some(vec![2, 3]), "it is not done");
    device.oracle.settle(PAGE, Some(StoredVersion { program: 3, version: 3 }));
    device.trim(5);
    device.write(6);
    device.flush(7);
    assert_eq!(device.allowed(), Some(vec![0, 4]), "the write is in flight");
}

#[test]
fn t970_a_trim_takes_the_place_of_what_was_buffered_and_nothing_older_comes_back() {
    // The oracle once took a page that came back behind a flushed trim for one that was stored after all.
    let mut device = ToldDevice::new(BUFFERED);
    device.buffer(0);
    device.oracle.note_program_begun(PAGE);
    device.place(None);
    device.flush(1);
    device.buffer(2);
    device.trim(3);
    assert_eq!(device.allowed(), Some(vec![0, 1]), "the buffered write is gone with the buffer");
    device.oracle.settle(PAGE, Some(StoredVersion { program: 1, version: 1 }));
    device.buffer(4);
    device.oracle.note_program_begun(PAGE);
    device.place(None);
    device.trim(5);
    device.flush(6);
    assert_eq!(device.allowed(), None, "only nothing may be returned");
    assert!(device.oracle.is_trimmed(PAGE));
}

#[test]
fn t971_where_the_buffer_is_saved_the_end_of_a_write_or_trim_promises_it() {
    let mut device = ToldDevice::new(PromiseRules { is_protected: true, ..BUFFERED });
    device.buffer(0);
    device.oracle.note_program_begun(PAGE);
    device.place(None);
    device.done(0, RequestKind::Write, false);
    device.buffer(1);
    device.done(1, RequestKind::Write, false);
    device.trim(2);
    assert_eq!(device.allowed(), Some(vec![0]), "not the write before the one that was trimmed");
    device.oracle.settle(PAGE, None);
    device.buffer(3);
    device.done(3, RequestKind::Write, false);
    device.trim(4);
    device.done(4, RequestKind::Trim, false);
    assert_eq!(device.allowed(), None);
}

#[test]
fn t972_a_layer_that_keeps_what_is_trimmed_may_return_anything_of_the_page_until_a_later_write_is_promised() {
    let mut device = ToldDevice::new(PromiseRules { gives_up_trimmed: false, ..BUFFERED });
    for request in [0, 1] {
        device.buffer(request);
        device.oracle.note_program_begun(PAGE);
        device.place(None);
        device.flush(9);
    }
    device.trim(2);
    assert_eq!(device.allowed(), None);
    device.buffer(3);
    assert_eq!(device.allowed(), Some(vec![0, 1, 2]));
    device.buffer(4);
    device.oracle.note_program_begun(PAGE);
    device.place(None);
    device.flush(9);
    assert_eq!(device.allowed(), None, "the write behind the trim is promised");
    assert!(!device.oracle.is_newest(PAGE, StoredVersion { program: 2, version: 2 }));
}

#[test]
fn t973_of_any_number_of_outstanding_writes_each_is_told_from_the_others() {
    // The oracle once knew 128 versions, and versions repeat behind 255: honest devices were convicted under a long queue.
    const WRITES: u32 = 1000;
    let mut device = ToldDevice::new(WITHOUT_BUFFER);
    (0..WRITES).for_each(|request| device.write(request));
    assert_eq!(device.allowed().map(|allowed| allowed.len()), Some(WRITES as usize + 1), "or nothing");
    device.oracle.settle(PAGE, Some(StoredVersion { program: u64::from(WRITES), version: (WRITES % 255) as u8 }));
    (0..WRITES).for_each(|request| device.write(request));
    device.done(600, RequestKind::Write, false);
    let expected: Vec<u64> = (u64::from(WRITES) + 601..=2 * u64::from(WRITES)).collect();
    assert_eq!(device.allowed(), Some(expected), "not one with the same version 255 writes before");
}
