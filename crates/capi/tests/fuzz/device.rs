//! Calls of the device that make no sense, in any order and from two threads: each is an error value, and changes
//! nothing.

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use pumice_capi::device::*;

use super::{Random, chosen, text};

/// Illegal calls in a round.
const ILLEGAL: u64 = 1_000_000;

fn opened(settings: &std::ffi::CStr) -> u64 {
    opened_for(&CDeviceOptions { settings: settings.as_ptr(), ..default_options() })
}

fn opened_for(options: &CDeviceOptions) -> u64 {
    let mut device = 0;
    // SAFETY: live variables.
    assert_eq!(unsafe { pumice_device_open(options, &raw mut device) }, 0, "{}", said());
    device
}

fn default_options() -> CDeviceOptions {
    CDeviceOptions {
        version: DEVICE_VERSION.code(),
        size: size_of::<CDeviceOptions>() as u32,
        request_bytes: size_of::<CDeviceRequest>() as u32,
        completion_bytes: size_of::<CDeviceCompletion>() as u32,
        preset: c"tiny".as_ptr(),
        file: null(),
        spec: null(),
        settings: null(),
        data: 0,
        reserved: 0,
    }
}

fn said() -> String {
    text(pumice_device_message())
}

fn info(device: u64) -> CDeviceInfo {
    let mut info = CDeviceInfo { size: size_of::<CDeviceInfo>() as u32, ..CDeviceInfo::default() };
    // SAFETY: a struct of the size that it says.
    assert_eq!(unsafe { pumice_device_get_info(device, &raw mut info) }, 0, "{}", said());
    info
}

fn result(device: u64) -> String {
    let mut bytes = 0;
    // SAFETY: live variables; no room for the text.
    let status = unsafe { pumice_device_result(device, null_mut(), 0, &raw mut bytes) };
    assert_eq!(status, DeviceStatus::NoRoom as c_int);
    let mut document = vec![1; bytes];
    // SAFETY: as much room as it says.
    assert_eq!(unsafe { pumice_device_result(device, document.as_mut_ptr(), bytes, null_mut()) }, 0);
    text(document.as_ptr())
}

fn write(at_ns: u64, page: u64) -> CDeviceRequest {
    CDeviceRequest { at_ns, offset_bytes: page * 4096, bytes: 4096, kind: 1, ..CDeviceRequest::default() }
}

fn submit(device: u64, requests: &[CDeviceRequest]) -> (c_int, usize) {
    let mut taken = 7;
    // SAFETY: an array of the length that is given.
    let status = unsafe { pumice_device_submit(device, requests.as_ptr(), requests.len(), null_mut(), &raw mut taken) };
    (status, taken)
}

fn advance(device: u64, to: u64, done: &mut [CDeviceCompletion]) -> (c_int, usize) {
    let mut count = 0;
    // SAFETY: an array of the length that is given.
    let status = unsafe { pumice_device_advance(device, to, done.as_mut_ptr(), done.len(), &raw mut count) };
    (status, count)
}

/// A call that a device with power refuses at `now`, after some use.
fn illegal(device: u64, random: &mut Random, now: u64, capacity: u64) -> c_int {
    let good = write(now, 0);
    let past = random.below(now);
    let handle = match random.below(3) {
        0 => random.below(1 << 40),
        1 => device ^ (1 << (32 + random.below(32))),
        _ => u64::MAX - random.below(1 << 20),
    };
    let mut id = 0;
    // SAFETY: null pointers are allowed, and all others are to live variables.
    unsafe {
        match random.below(23) {
            0 => submit(device, &[CDeviceRequest { at_ns: past, ..good }]).0,
            1 => submit(device, &[CDeviceRequest { offset_bytes: capacity - random.below(4096), ..good }]).0,
            2 => submit(device, &[CDeviceRequest { offset_bytes: u64::MAX - random.below(9999), ..good }]).0,
            3 => submit(device, &[CDeviceRequest { bytes: 0, ..good }]).0,
            4 => submit(device, &[CDeviceRequest { kind: 4 + random.below(252) as u8, ..good }]).0,
            5 => submit(device, &[CDeviceRequest { at_ns: u64::MAX - random.below(1 << 62), ..good }]).0,
            6 => submit(device, &[CDeviceRequest { kind: 3, ..good }]).0,
            7 => submit(device, &[CDeviceRequest { flow: 1 + random.below(255) as u8, ..good }]).0,
            8 => pumice_device_submit(device, null(), 1 + random.below(9) as usize, &raw mut id, null_mut()),
            9 => pumice_device_submit(device, &raw const good, usize::MAX, null_mut(), null_mut()),
            10 => advance(device, past, &mut [CDeviceCompletion::default(); 2]).0,
            11 => pumice_device_advance(device, now, null_mut(), 3, null_mut()),
            12 => pumice_device_take(device, null_mut(), usize::MAX, &raw mut id as *mut usize),
            13 => pumice_device_next_event(device, null_mut()),
            14 => pumice_device_cut(device, now),
            15 => pumice_device_restart(device, now),
            16 => pumice_device_fork(device, null_mut()),
            17 => pumice_device_get_info(device, null_mut()),
            18 => advance(device, (1 << 62) + 1 + random.below(1 << 61), &mut []).0,
            19 => pumice_device_submit_data(device, &raw const good, [0_u8; 9].as_ptr().cast(), 9, &raw mut id),
            20 => pumice_device_submit_data(device, null(), null(), 0, null_mut()),
            21 => pumice_device_take_data(device, random.below(1 << 20), null_mut(), 0, null_mut()),
            _ => on_no_device(handle, random, now),
        }
    }
}

/// A call to a handle of no device.
fn on_no_device(handle: u64, random: &mut Random, now: u64) -> c_int {
    let (mut copy, call) = (5, random.below(8));
    let status = match call {
        0 => submit(handle, &[write(now, 1)]).0,
        1 => advance(handle, now, &mut []).0,
        2 => pumice_device_close(handle),
        // SAFETY: live variables, or null.
        3 => unsafe { pumice_device_fork(handle, &raw mut copy) },
        4 => pumice_device_cut(handle, now),
        5 => pumice_device_finish(handle),
        // SAFETY: null is allowed.
        6 => unsafe { pumice_device_result(handle, null_mut(), 0, null_mut()) },
        // SAFETY: the same.
        _ => unsafe { pumice_device_take(handle, null_mut(), 0, null_mut()) },
    };
    assert_eq!((status, copy), (DeviceStatus::NoDevice as c_int, if call == 3 { 0 } else { 5 }), "{handle:#x}");
    status
}

#[test]
fn t079_illegal_calls_of_a_device_are_error_values_and_change_nothing() {
    let (seed, calls) = chosen(ILLEGAL);
    let mut random = Random::new(seed);
    let (device, other) = (opened(c""), opened(c""));
    let capacity = info(device).capacity_bytes;
    let mut statuses = [0_u64; DeviceStatus::ALL.len()];
    for nth in 1..=calls {
        let now = 1_000 + nth / 1_000 * 2_000_000;
        if nth % 1_000 < 2 {
            let legal = [write(now, nth % 5_000), write(now, nth * 7 % 5_000)];
            assert_eq!([submit(device, &legal), submit(other, &legal)], [(0, 2); 2]);
        }
        let before = info(device);
        let status = illegal(device, &mut random, now, capacity);
        statuses[status as usize] += 1;
        assert!(status != 0 && status != DeviceStatus::Internal as c_int, "call {nth}");
        let line = said();
        assert!(!line.is_empty() && !line.contains('\n'), "{line}");
        let times = |info: CDeviceInfo| [info.now_ns, info.outstanding, info.waiting];
        assert_eq!(times(before), times(info(device)));
    }
    assert_eq!(statuses.iter().filter(|&&count| count > 0).count(), 6, "{statuses:?}");
    check_same_completions(device, other);
    assert_eq!((pumice_device_finish(device), pumice_device_finish(other)), (0, 0));
    assert_eq!(result(device), result(other));
    assert_eq!(pumice_device_finish(device), DeviceStatus::Ended as c_int);
    assert_eq!((pumice_device_close(device), pumice_device_close(other)), (0, 0));
    (0..1_000).for_each(|_| {
        on_no_device(device, &mut random, 1 << 40);
    });
}

/// Takes all completions of two devices, which are equal.
fn check_same_completions(device: u64, other: u64) {
    let mut count = 64;
    while count == 64 {
        let [mut done, mut same] = [[CDeviceCompletion::default(); 64]; 2];
        let found = [advance(device, u64::MAX, &mut done), advance(other, u64::MAX, &mut same)];
        count = found[0].1;
        assert_eq!(found, [(0, count); 2]);
        assert_eq!(format!("{:?}", &done[..count]), format!("{:?}", &same[..count]));
    }
}

#[test]
fn t080_two_threads_at_one_device_get_answers_or_are_told_that_it_is_busy() {
    let (seed, calls) = chosen(ILLEGAL / 4);
    let device = opened(c"");
    let calls_of = |nth: u64| {
        let mut random = Random::new(seed + nth);
        let mut statuses = [0_u64; DeviceStatus::ALL.len()];
        for _ in 0..calls {
            let status = match random.below(6) {
                0 | 1 => submit(device, &[write(1 << 40, random.below(5_000))]).0,
                2 => advance(device, 1 << 40, &mut [CDeviceCompletion::default(); 8]).0,
                3 => submit(device, &[write(random.below(1_000), 1)]).0,
                _ => on_no_device(device ^ (1 << 63), &mut random, 1 << 40),
            };
            statuses[status as usize] += 1;
        }
        statuses
    };
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(|| calls_of(1));
        (calls_of(0), other.join().expect("no panic"))
    });
    for statuses in [one, two] {
        let known = [DeviceStatus::Ok, DeviceStatus::Time, DeviceStatus::NoDevice, DeviceStatus::Busy];
        let told: u64 = known.iter().map(|&status| statuses[status as usize]).sum();
        assert_eq!(told, calls, "{statuses:?}");
    }
    // One of two threads closes it, and the calls of both find no device from then on.
    let closed = std::thread::scope(|scope| {
        let other = scope.spawn(|| pumice_device_close(device));
        [pumice_device_close(device), other.join().expect("no panic")]
    });
    assert_eq!(closed.iter().sum::<c_int>(), DeviceStatus::NoDevice as c_int, "{closed:?}");
    assert_eq!(submit(device, &[write(1 << 40, 0)]).0, DeviceStatus::NoDevice as c_int);
}

#[test]
fn t084_a_device_that_was_written_to_a_file_is_opened_again() {
    let path = std::env::temp_dir().join(format!("pumice-capi-{}.snap", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().expect("a path")).expect("no 0 in it");
    let (device, key) = (opened(c"\n  \n"), c"key".as_ptr());
    assert_eq!(submit(device, &[write(0, 3), write(0, 4)]), (0, 2));
    // SAFETY: texts that end with a 0, and live variables.
    unsafe {
        assert_eq!(pumice_device_snapshot(device, name.as_ptr(), key), DeviceStatus::Snapshot as c_int);
        assert!(said().contains("under way"), "{}", said());
        assert_eq!(advance(device, u64::MAX, &mut [CDeviceCompletion::default(); 4]), (0, 2));
        assert_eq!(pumice_device_snapshot(device, name.as_ptr(), key), 0, "{}", said());
        let (options, mut again) = (default_options(), 0);
        assert_eq!(
            pumice_device_open_snapshot(&raw const options, name.as_ptr(), key, &raw mut again),
            0,
            "{}",
            said()
        );
        assert_eq!((info(again).now_ns, submit(again, &[write(5, 3)])), (0, (0, 1)));
        assert_eq!([pumice_device_close(device), pumice_device_close(again)], [0, 0]);
    }
    std::fs::remove_file(&path).expect("it was there");
}

#[test]
fn t081_what_is_no_device_is_not_opened() {
    let good = default_options();
    let cases = [
        (CDeviceOptions { version: DEVICE_VERSION.code() + 1, ..good }, DeviceStatus::BadVersion, "version 1.3"),
        (CDeviceOptions { size: 8, ..good }, DeviceStatus::Misuse, "options has 8 bytes"),
        (CDeviceOptions { request_bytes: 16, ..good }, DeviceStatus::Misuse, "request_bytes = 16"),
        (CDeviceOptions { preset: c"tini".as_ptr(), ..good }, DeviceStatus::BadSpec, "tiny"),
        (CDeviceOptions { file: c"/no/such.toml".as_ptr(), ..good }, DeviceStatus::BadSpec, "/no/such.toml: "),
        (
            CDeviceOptions { file: c"a".as_ptr(), spec: c"b".as_ptr(), ..good },
            DeviceStatus::Misuse,
            "both file and spec",
        ),
        (
            CDeviceOptions { settings: c"run.until".as_ptr(), ..good },
            DeviceStatus::BadSpec,
            "'run.until' is no setting",
        ),
        (CDeviceOptions { settings: c"run.timed = false".as_ptr(), ..good }, DeviceStatus::BadSpec, "run.timed"),
        (CDeviceOptions { settings: c"run.no = 1".as_ptr(), ..good }, DeviceStatus::BadSpec, "run.no"),
        (CDeviceOptions { spec: c"[geometry]\nchanels = 2".as_ptr(), ..good }, DeviceStatus::BadSpec, "chanels"),
    ];
    for (options, expected, part) in cases {
        let mut device = 9;
        // SAFETY: live variables.
        let status = unsafe { pumice_device_open(&raw const options, &raw mut device) };
        assert_eq!((status, device), (expected as c_int, 0), "{}", said());
        assert!(said().contains(part) && !said().contains('\n'), "{}", said());
    }
    // SAFETY: null pointers are allowed.
    unsafe {
        let (path, mut device) = (c"/no/such.snap".as_ptr(), 9);
        let status = pumice_device_open_snapshot(&raw const good, path, c"key".as_ptr(), &raw mut device);
        assert_eq!((status, device), (DeviceStatus::Snapshot as c_int, 0), "{}", said());
        let status = pumice_device_open_snapshot(&raw const good, path, null(), &raw mut device);
        assert_eq!(status, DeviceStatus::Misuse as c_int, "{}", said());
        assert_eq!(pumice_device_snapshot(9, path, path), DeviceStatus::NoDevice as c_int);
        assert_eq!(pumice_device_open(null(), &mut 0), DeviceStatus::Misuse as c_int);
        assert_eq!(pumice_device_open(&raw const good, null_mut()), DeviceStatus::Misuse as c_int);
    }
}

#[test]
fn t083_arrays_of_a_caller_whose_structs_are_wider_are_read_and_written_in_its_steps() {
    let wide = CDeviceOptions { request_bytes: 48, completion_bytes: 40, ..default_options() };
    let mut device = 0;
    // SAFETY: live variables; arrays of two elements of 48 and 40 bytes.
    unsafe {
        assert_eq!(pumice_device_open(&raw const wide, &raw mut device), 0);
        let requests = [[write(0, 1), write(9, 9)], [write(5, 2), write(9, 9)]];
        let mut taken = 0;
        assert_eq!(pumice_device_submit(device, requests.as_ptr().cast(), 2, null_mut(), &raw mut taken), 0);
        let mut done = [[7_u64; 5]; 2];
        let mut count = 0;
        assert_eq!(pumice_device_advance(device, u64::MAX, done.as_mut_ptr().cast(), 2, &raw mut count), 0);
        assert_eq!((taken, count, done[0][4], done[1][4]), (2, 2, 7, 7));
        assert_eq!([done[0][0], done[1][0]], [0, 1]);
    }
    assert_eq!(pumice_device_close(device), 0);
}

/// A call that a device with data refuses, which has done a read of one page as its request 1.
fn illegal_with_data(device: u64, random: &mut Random) -> c_int {
    let (mut page, mut id, mut bytes) = ([7_u8; 8192], 99, 99);
    let (good, length) = (write(1 << 40, 1), random.below(8192) as usize);
    let (given, room) = (page.as_ptr().cast(), page.as_mut_ptr().cast());
    // SAFETY: null pointers are allowed, and all others are to live variables, as long as is said.
    let status = unsafe {
        match random.below(11) {
            0 => pumice_device_submit_data(
                device,
                &raw const good,
                given,
                length + usize::from(length == 4096),
                &raw mut id,
            ),
            1 => pumice_device_submit_data(device, &raw const good, null(), 4096, &raw mut id),
            2 => pumice_device_submit_data(device, &raw const good, null(), 0, &raw mut id),
            3 => pumice_device_submit_data(device, null(), given, 4096, &raw mut id),
            4 => pumice_device_submit_data(device, &raw const good, given, usize::MAX, &raw mut id),
            5 => {
                let read = CDeviceRequest { kind: 0, offset_bytes: 1 + random.below(511), ..good };
                pumice_device_submit_data(device, &raw const read, null(), 0, &raw mut id)
            }
            6 => submit(device, &[good]).0,
            7 => pumice_device_take_data(device, 1, null_mut(), 4096, &raw mut bytes),
            8 => pumice_device_take_data(device, 1, room, random.below(4096) as usize, null_mut()),
            9 => pumice_device_take_data(device, random.below(2) * (2 + random.below(1 << 40)), room, 8192, null_mut()),
            _ => pumice_device_take_data(device ^ (1 << (32 + random.below(32))), 1, room, 8192, &raw mut bytes),
        }
    };
    assert_eq!((id, bytes == 99 || bytes == 4096, page), (99, true, [7; 8192]), "nothing was written");
    status
}

#[test]
fn t085_bytes_go_in_and_come_out_and_calls_that_do_not_fit_them_are_refused() {
    let (seed, calls) = chosen(ILLEGAL / 4);
    let mut random = Random::new(seed);
    let device = opened_for(&CDeviceOptions { data: 1, ..default_options() });
    let page: Vec<u8> = (0..4096).map(|nth| (nth * 7 + nth / 256) as u8).collect();
    let read = CDeviceRequest { kind: 0, ..write(5_000_000, 1) };
    let mut id = 9;
    // SAFETY: live variables, as long as is said.
    unsafe {
        let given = page.as_ptr().cast();
        assert_eq!(pumice_device_submit_data(device, &write(0, 1), given, 4096, &raw mut id), 0, "{}", said());
        assert_eq!((id, submit(device, &[read])), (0, (0, 1)));
    }
    assert_eq!(advance(device, u64::MAX, &mut [CDeviceCompletion::default(); 4]), (0, 2));
    let before = info(device);
    for nth in 0..calls {
        let status = illegal_with_data(device, &mut random);
        assert!(status != 0 && status != DeviceStatus::Internal as c_int, "call {nth}");
        assert!(!said().is_empty() && !said().contains('\n'), "{}", said());
    }
    assert_eq!(format!("{before:?}"), format!("{:?}", info(device)));
    let mut copy = 0;
    // SAFETY: a live variable.
    assert_eq!(unsafe { pumice_device_fork(device, &raw mut copy) }, 0);
    for device in [device, copy] {
        let (mut found, mut bytes) = (vec![0_u8; 8192], 0);
        // SAFETY: live variables, as long as is said.
        let status = unsafe { pumice_device_take_data(device, 1, found.as_mut_ptr().cast(), 8192, &raw mut bytes) };
        assert_eq!((status, bytes, &found[..4096], found[4096]), (0, 4096, &page[..], 0));
        assert_eq!(pumice_device_close(device), 0);
    }
    // SAFETY: a live variable.
    assert_ne!(unsafe { pumice_device_fork(device, &raw mut copy) }, 0, "it is closed");
    assert_eq!(copy, 0, "no copy was made");
    // Programs that were built before there were bytes have shorter options.
    let old = CDeviceOptions { data: 1, size: size_of::<CDeviceOptions>() as u32 - 8, ..default_options() };
    let device = opened_for(&CDeviceOptions { version: DEVICE_VERSION.code() - 1, ..old });
    assert_eq!(submit(device, &[write(0, 1)]), (0, 1));
    assert_eq!(pumice_device_close(device), 0);
}
