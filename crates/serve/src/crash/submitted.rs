//! What the lab's device makes of a session: the requests that it gets when clients ask for the same once more.
//!
//! Layers differ in that. One that gives up what is trimmed makes a trim of zeroes, another one writes them, and a device
//! without trims gets none. So the session is performed once by a device like any that is served, and that is what the
//! lab's devices replay.

use pumice_config::Config;
use pumice_engine::SimError;
use pumice_types::HostRequest;

use crate::device::pages::{DataPath, ServedPages};
use crate::device::submitted::SubmittedRequests;
use crate::device::{Device, Kept};
use crate::recording::RecordedSession;

/// Requests of a session on the lab's device, in their order.
#[derive(Debug, Default)]
pub struct SubmittedSession {
    /// The requests.
    pub requests: Vec<HostRequest>,
    /// Data of all writes, one after the other; `None` if only the requests are known.
    pub data: Option<Vec<u8>>,
    /// Marks, each with the number of requests before it.
    pub marks: Vec<(usize, String)>,
}

impl SubmittedSession {
    /// What a device makes of a recorded session.
    ///
    /// # Errors
    /// A device that cannot be built, or a simulation that ends in an error.
    pub fn of(config: &Config, scale: f64, recorded: RecordedSession) -> Result<SubmittedSession, SimError> {
        let RecordedSession { operations, marks } = recorded;
        let path = DataPath::new(config.mapped_page_bytes(), ServedPages::default());
        let kept = Kept { submitted: Some(SubmittedRequests::default()), ..Kept::default() };
        let mut device = Device::new(config, scale, path, kept, &|| true)?;
        // Requests before each operation, and before the end.
        let mut before = vec![0];
        for operation in operations {
            device.begin(operation, ());
            device.complete();
            while device.take_done(device.now()).is_some() {}
            before.push(device.submitted_requests());
        }
        device.check_is_well()?;
        let SubmittedRequests { requests, data } = device.take_submitted();
        let marks = marks.into_iter().map(|(operations, text)| (before[operations], text)).collect();
        Ok(SubmittedSession { requests, data: Some(data), marks })
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use pumice_config::SpecSource;
    use pumice_engine::Session;
    use pumice_ftl::FtlKind;
    use pumice_types::{Choice, RequestKind};
    use pumice_workload::RandomStream;

    use super::*;
    use crate::device::exchange::{exchange, settle};
    use crate::protocol::transmission::Reply;
    use crate::recording::operation::{ClientOperation, Place, request};
    use crate::recording::spec::served_config;
    use crate::recording::{RecordedSpec, RecordingHeader, RecordingWriter};
    use pumice_engine::data::Transfer;

    const SECTOR: u64 = 512;

    /// The part of the device that is used: small, so that zeroes fall on what was written.
    const SPAN: u64 = 1 << 20;

    /// Every served layer, in every way to recover that it knows, with and without a write buffer.
    fn configs() -> Vec<(String, Config)> {
        let mut all = Vec::new();
        for &kind in FtlKind::ALL {
            for way in kind.facts().recoveries {
                for buffer in ["0", "256"] {
                    let sets = [
                        ("ftl.kind", kind.name()),
                        ("ftl.recovery", way.name()),
                        ("ftl.over_provisioning", "0.25"),
                        ("host.write_buffer_kib", buffer),
                    ];
                    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).into();
                    let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
                    let what = format!("{}, {}, buffer {buffer}", kind.name(), way.name());
                    all.push((what, served_config(&source, None).expect("a spec that is served")));
                }
            }
        }
        all
    }

    /// What a client asks for, and what the device must hold then.
    fn asked() -> (Vec<ClientOperation>, Vec<u8>) {
        let (mut random, mut shadow) = (RandomStream::new(3, "asked"), vec![0; SPAN as usize]);
        let mut operations = Vec::new();
        for nth in 0..600u64 {
            let offset = random.below(SPAN / SECTOR) * SECTOR;
            let bytes = ((1 + random.below(200)) * SECTOR).min(SPAN - offset) as u32;
            let (place, fua) = (Place { offset, bytes }, nth % 7 == 0);
            let held = &mut shadow[offset as usize..offset as usize + bytes as usize];
            operations.push(match random.below(4) {
                0 => ClientOperation::Flush,
                1 | 2 => {
                    held.fill(nth as u8 | 1);
                    ClientOperation::Write { place, data: held.to_vec(), fua }
                }
                _ => {
                    held.fill(0);
                    ClientOperation::WriteZeroes { place, stored: nth % 3 == 0, fua }
                }
            });
        }
        (operations, shadow)
    }

    /// Asks a device of this configuration, and records it.
    fn record(config: &Config, operations: &[ClientOperation], to: &Path) {
        let header = RecordingHeader { capacity_bytes: u64::MAX, spec: RecordedSpec::default() };
        let recording = Some(RecordingWriter::create(to, &header).expect("a file"));
        let path = DataPath::new(config.mapped_page_bytes(), ServedPages::default());
        let kept = Kept { recording, ..Kept::default() };
        let mut device: Device<()> = Device::new(config, 1.0, path, kept, &|| true).expect("a device");
        for operation in operations {
            device.begin(operation.clone(), ());
            device.complete();
            assert_eq!(device.take_done(device.now()).map(|done| done.reply), Some(Reply::Done));
        }
        device.finish().expect("ends");
    }

    /// What the lab's device of this configuration holds behind the session.
    fn replayed(config: &Config, session: &SubmittedSession) -> Vec<u8> {
        let path = DataPath::new(config.mapped_page_bytes(), ServedPages::default());
        let mut device = Session::new(config, 1.0, path).expect("a device");
        let mut left = &session.data.as_ref().expect("data")[..];
        let mut exchanged = |request: HostRequest, data: Vec<u8>| {
            let request = HostRequest { arrival: device.ssd.now, ..request };
            let done = exchange(&mut device, Transfer::new(request, data), &mut |_| Ok(())).expect("is done");
            settle(&mut device).expect("bytes move");
            done.data
        };
        for request in &session.requests {
            let bytes = if request.kind == RequestKind::Write { request.bytes as usize } else { 0 };
            let (data, rest) = left.split_at(bytes);
            left = rest;
            exchanged(*request, data.to_vec());
        }
        let whole = Place { offset: 0, bytes: SPAN as u32 };
        exchanged(request(RequestKind::Read, whole, false), Vec::new())
    }

    /// A recording held what its device had made of the requests: on a layer that gives up what is trimmed, zeroes were
    /// trims. A lab with another layer, which keeps what is trimmed, then found old data where zeroes belong.
    #[test]
    fn t945_a_session_holds_what_was_asked_for_and_gives_every_layer_the_same_bytes() {
        let (operations, shadow) = asked();
        let path: PathBuf = std::env::temp_dir().join(format!("pumice-submitted-{}", std::process::id()));
        for (what, config) in &configs() {
            record(config, &operations, &path);
            let recorded = RecordedSession::read(&path).expect("a recording");
            assert!(recorded.operations == operations, "{what}: records something else");
            let session = SubmittedSession::of(config, 1.0, recorded).expect("a session");
            let found = replayed(config, &session);
            let wrong = found.iter().zip(&shadow).position(|(found, expected)| found != expected);
            assert_eq!(wrong, None, "{what}: first wrong byte");
        }
        std::fs::remove_file(path).expect("was written");
    }

    #[test]
    fn s092_a_mark_stays_behind_the_requests_of_what_was_asked_before_it() {
        let (_, config) = configs().into_iter().find(|(what, _)| what.starts_with("nftl, scan")).expect("is served");
        let place = Place { offset: 0, bytes: 4 << 20 };
        let operations = vec![
            ClientOperation::WriteZeroes { place, stored: true, fua: true },
            ClientOperation::Trim { place, fua: true },
            ClientOperation::Read(place),
        ];
        let marks = (0..=3).map(|nth| (nth, nth.to_string())).collect();
        let session = SubmittedSession::of(&config, 1.0, RecordedSession { operations, marks }).expect("a session");
        let kinds: Vec<RequestKind> = session.requests.iter().map(|request| request.kind).collect();
        let (write, flush) = (RequestKind::Write, RequestKind::Flush);
        assert_eq!(kinds, [write, write, write, write, flush, RequestKind::Trim, flush, RequestKind::Read]);
        let behind: Vec<usize> = session.marks.iter().map(|&(requests, _)| requests).collect();
        assert_eq!(behind, [0, 5, 7, 8]);
    }
}
