//! A device in a file: what is kept of it, and how it goes on in the next session.

use pumice_engine::SimError;
use pumice_ftl::Recovery;
use pumice_types::Time;

use super::{Device, check};
use crate::device::exchange::settle;
use crate::recording::journal::DeviceEvent;
use crate::store::Store;
use crate::store::file::in_file;
use pumice_engine::data::Transfer;
use pumice_engine::data::VolatileBytes;

impl<T> Device<T> {
    /// Commits the device to its store if something is done that a client may rely on.
    pub fn keep_promises(&mut self) {
        if self.operations.take_owed() && self.failure.is_none() {
            let kept = self.commit();
            self.note_failure(kept);
        }
    }

    /// Commits the device to its store, if it has one and is another than it was.
    pub(super) fn commit(&mut self) -> Result<(), SimError> {
        if !self.kept.store.as_ref().is_some_and(Store::is_changed) {
            return Ok(());
        }
        // Whatever else happens at this instant comes first, as when the store is opened.
        self.pass_time(self.now())?;
        let at = self.now() - self.session.behind();
        let volatile = if self.loses_ram() { self.path().volatile_but_lost() } else { self.path().volatile() };
        let (loses_ram, is_idle) = (self.loses_ram(), self.operations.under_way() == 0);
        let Some(store) = &mut self.kept.store else { return Ok(()) };
        // What is buffered or under way would be lost, so a flush behind this commit has something to keep.
        let is_all = !loses_ram || (is_idle && store.is_flushed());
        let kept = volatile.encode().and_then(|ram| store.commit(at, &ram, is_all));
        kept.and_then(|()| self.path().medium.commit(false))
    }

    /// Whether a session that breaks off becomes a power cut that takes all of the RAM.
    fn loses_ram(&self) -> bool {
        self.config.ftl.shared.recovery != Recovery::Off && !self.config.power.protection.empties_queues()
    }

    /// Brings the device into the state that its store has kept.
    pub(super) fn replay(&mut self, goes_on: &dyn Fn() -> bool) -> Result<(), SimError> {
        let Some(mut store) = self.kept.store.take() else { return Ok(()) };
        let ram = store.replay(|event| self.replay_event(event, goes_on))?;
        let (has_broken_off, path) = (store.has_broken_off(), store.path().to_owned());
        self.kept.store = Some(store);
        if has_broken_off {
            let ram = VolatileBytes::decode(&ram).map_err(in_file(&path))?;
            self.path().go_on_with(ram);
            let what = self.recover(goes_on)?;
            self.recovered = Some(format!("{}: its last session did not end well; {what}", path.display()));
        }
        self.end_all_under_way(goes_on)
    }

    fn end_all_under_way(&mut self, goes_on: &dyn Fn() -> bool) -> Result<(), SimError> {
        while let Some(next) = self.session.ssd.next_event() {
            check(goes_on)?;
            self.session.run_until(next)?;
            settle(&mut self.session)?;
            while self.path().take_finished().is_some() {}
        }
        Ok(())
    }

    /// The last session broke off: the device loses its power at the last commit, if it can recover. If it cannot, it
    /// goes on there with what was in its RAM.
    fn recover(&mut self, goes_on: &dyn Fn() -> bool) -> Result<String, SimError> {
        let what = "what was written behind the last flush, or write with force unit access, is gone";
        if self.config.ftl.shared.recovery == Recovery::Off {
            self.end_all_under_way(goes_on)?;
            return Ok(format!(
                "{what}; ftl.recovery = \"off\": the device goes on as if its power had lasted until then"
            ));
        }
        let took = self.lose_power_now()?;
        Ok(format!("{what}; the device lost its power then, and has recovered in {:.0} us", took.as_us()))
    }

    /// Cuts the power behind everything that happens at this instant. Returns how long the device takes to recover.
    pub(super) fn lose_power_now(&mut self) -> Result<Time, SimError> {
        let at = self.now() + Time(1);
        if let Some(store) = &mut self.kept.store {
            store.add(&DeviceEvent::Cut(at - self.session.behind()))?;
        }
        let cut = self.lose_power(at).and_then(|()| settle(&mut self.session));
        while self.path().take_finished().is_some() {}
        cut.map(|()| self.session.ssd.now - at)
    }

    fn lose_power(&mut self, at: Time) -> Result<(), SimError> {
        self.cuts_s.push(at.as_s());
        self.session.cut_power(at)
    }

    fn replay_event(&mut self, event: &DeviceEvent, goes_on: &dyn Fn() -> bool) -> Result<(), SimError> {
        let request = match event {
            DeviceEvent::Cut(at) => return self.lose_power(*at + self.session.behind()),
            DeviceEvent::Fault(at, block) => {
                self.replay_until(*at, goes_on)?;
                return self.session.fail_next_erase(*block).map_err(SimError::Simulation);
            }
            DeviceEvent::Age(at, ageing) => {
                self.replay_until(*at, goes_on)?;
                return self.do_age(*ageing, goes_on);
            }
            DeviceEvent::Commit(at, _) => {
                self.replay_until(*at, goes_on)?;
                self.path().medium.retrace_commit();
                return Ok(());
            }
            DeviceEvent::Request(request) => request,
        };
        if let Some(record) = &mut self.kept.record {
            record.write(request)?;
        }
        self.replay_until(request.arrival, goes_on)?;
        self.path().prepare(Transfer::new(*request, Vec::new()));
        self.session.submit(request, request.arrival + self.session.behind())
    }

    fn replay_until(&mut self, instant: Time, goes_on: &dyn Fn() -> bool) -> Result<(), SimError> {
        while self.session.run_until(instant + self.session.behind())? {
            check(goes_on)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::ops::Range;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};

    use pumice_config::{Config, SpecSource};
    use pumice_ftl::FtlKind;
    use pumice_types::Choice;
    use pumice_workload::RandomStream;

    use super::*;
    use crate::device::Kept;
    use crate::device::pages::DataPath;
    use crate::protocol::transmission::Reply;
    use crate::recording::operation::{ClientOperation, Place};
    use crate::recording::spec::served_config;
    use crate::store::file::{CHANGES, FileChange};

    const PAGE: u64 = 4096;

    /// Pages that are used.
    const PAGES: u64 = 300;

    fn config(sets: &[(&str, &str)]) -> Config {
        let more = [("ftl.kind", "page"), ("ftl.over_provisioning", "0.25")];
        let sets = more.iter().chain(sets).map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
        served_config(&source, None).expect("a spec")
    }

    /// Lets a device in a file do something.
    fn with_device<R>(config: &Config, file: &Path, does: impl FnOnce(&mut Device<()>) -> R) -> R {
        let geometry = config.device_geometry(1.0).expect("a geometry");
        let store = Store::open(file, &config.digest(), 1.0, &geometry).expect("a store");
        let path = DataPath::new(config.mapped_page_bytes(), store.pages().expect("a handle").into());
        let kept = Kept { store: Some(store), ..Kept::default() };
        let mut device = Device::new(config, 1.0, path, kept, &|| true).expect("a device");
        does(&mut device)
    }

    fn done(device: &mut Device<()>, operation: ClientOperation) -> Reply {
        device.begin(operation, ());
        device.complete();
        device.keep_promises();
        assert_eq!(device.failure(), None);
        device.take_done(device.now()).expect("is done").reply
    }

    /// The values that each page may hold: the promised one, and those that were written since.
    struct Promised(Vec<Vec<u8>>);

    impl Promised {
        fn zeroes() -> Promised {
            Promised(vec![vec![0]; PAGES as usize])
        }

        /// An operation is about to be done.
        fn ask(&mut self, operation: &ClientOperation) {
            let Some((pages, value)) = written(operation) else { return };
            self.0[pages].iter_mut().for_each(|values| values.push(value));
        }

        /// Does an operation that was asked for.
        fn perform(&mut self, device: &mut Device<()>, operation: ClientOperation) {
            let promises = operation.lasts().then(|| written(&operation).map_or(0..PAGES as usize, |(pages, _)| pages));
            assert_eq!(done(device, operation), Reply::Done);
            if let Some(pages) = promises {
                self.0[pages].iter_mut().for_each(|values| drop(values.drain(..values.len() - 1)));
            }
        }

        /// Looks at every page, and goes on with what is there.
        fn check(&mut self, device: &mut Device<()>, what: &str) {
            for (page, values) in self.0.iter_mut().enumerate() {
                let place = Place { offset: page as u64 * PAGE, bytes: PAGE as u32 };
                let Reply::Data(_, found) = done(device, ClientOperation::Read(place)) else {
                    panic!("{what}: no data")
                };
                assert!(found.iter().all(|&byte| byte == found[0]), "{what}: page {page} is of several writes");
                assert!(values.contains(&found[0]), "{what}: page {page} holds {}, allowed: {values:?}", found[0]);
                *values = vec![found[0]];
            }
        }
    }

    /// The pages that an operation writes, and the value that they hold then.
    fn written(operation: &ClientOperation) -> Option<(Range<usize>, u8)> {
        let (place, value) = match operation {
            ClientOperation::Write { place, data, .. } => (place, data[0]),
            ClientOperation::WriteZeroes { place, .. } => (place, 0),
            ClientOperation::Flush => return None,
            ClientOperation::Read(_) | ClientOperation::Trim { .. } | ClientOperation::Status { .. } => {
                panic!("nothing is known of what {operation:?} leaves")
            }
        };
        let first = (place.offset / PAGE) as usize;
        Some((first..first + (u64::from(place.bytes) / PAGE) as usize, value))
    }

    /// What was done to the file, and what a client knew when so much of it was done: of each page the values that it may
    /// hold if nothing more is done, the promised one first.
    struct Witnessed {
        changes: Vec<FileChange>,
        known: Vec<(usize, Vec<Vec<u8>>)>,
    }

    fn changes_so_far() -> usize {
        CHANGES.with_borrow(|changes| changes.as_ref().map_or(0, Vec::len))
    }

    /// Uses a device, and notes everything that is done to its file.
    fn witness(config: &Config, file: &Path) -> Witnessed {
        CHANGES.set(Some(Vec::new()));
        let mut known = Vec::new();
        with_device(config, file, |device| {
            let mut random = RandomStream::new(23, "witness");
            let mut promised = Promised::zeroes();
            for nth in 0..200u64 {
                let page = random.below(PAGES - 8);
                let place = Place { offset: page * PAGE, bytes: ((1 + random.below(8)) * PAGE) as u32 };
                let data = vec![nth as u8; place.bytes as usize];
                let operation = match nth % 12 {
                    11 => ClientOperation::Flush,
                    _ => ClientOperation::Write { place, data, fua: nth % 9 == 0 },
                };
                promised.ask(&operation);
                known.push((changes_so_far(), promised.0.clone()));
                promised.perform(device, operation);
            }
            known.push((changes_so_far(), promised.0));
        });
        Witnessed { changes: CHANGES.take().expect("was noted"), known }
    }

    /// The file as it is if only some of the changes are done.
    fn made_of<'a>(changes: impl Iterator<Item = &'a FileChange>, path: &Path) {
        let file = File::create(path).expect("a file");
        for change in changes {
            match change {
                FileChange::Write(at, bytes) => file.write_all_at(bytes, *at).expect("writes"),
                FileChange::Length(bytes) => file.set_len(*bytes).expect("gets a length"),
                FileChange::Punch(at, bytes) => {
                    // A hole, or the end of the file before it.
                    let end = file.metadata().expect("is there").len().min(at + bytes);
                    let zeroes = vec![0; end.saturating_sub(*at) as usize];
                    file.write_all_at(&zeroes, *at).expect("writes");
                }
                FileChange::Sync => {}
            }
        }
    }

    /// What a device finds in such a file.
    fn check(config: &Config, file: &Path, known: &[Vec<u8>], what: &str) {
        with_device(config, file, |device| Promised(known.to_vec()).check(device, what));
    }

    /// The process or the machine comes to an end between any two changes of the file. A process leaves all that it did;
    /// of what was not synced a machine leaves some, in part, in any order.
    #[test]
    fn s170_a_file_holds_what_was_promised_after_each_of_its_changes() {
        for (nth, sets) in [
            &[("ftl.recovery", "off")][..],
            &[("ftl.recovery", "scan")],
            &[("ftl.recovery", "off"), ("host.write_buffer_kib", "128"), ("host.flush", "lru")],
            &[("ftl.recovery", "checkpoint"), ("host.write_buffer_kib", "128"), ("host.flush", "lru")],
        ]
        .into_iter()
        .enumerate()
        {
            let config = config(sets);
            let of = |name: &str| -> PathBuf {
                std::env::temp_dir().join(format!("pumice-witnessed-{}-{nth}-{name}", std::process::id()))
            };
            let Witnessed { changes, known } = witness(&config, &of("used"));
            assert!(changes.len() > 400, "{}", changes.len());
            let mut random = RandomStream::new(29, "subsets");
            // The header comes first: before, there is no device.
            let made = changes.iter().position(|change| matches!(change, FileChange::Sync)).expect("a header") + 1;
            for end in (made..=changes.len()).filter(|end| end % 17 == nth) {
                let known = &known[known.partition_point(|&(before, _)| before <= end) - 1].1;
                let what = format!("{sets:?}, {end} of {} changes", changes.len());
                made_of(changes[..end].iter(), &of("killed"));
                check(&config, &of("killed"), known, &what);
                let is_sync = |change: &FileChange| matches!(change, FileChange::Sync);
                let synced = changes[..end].iter().rposition(is_sync).unwrap_or(0);
                let mut left: Vec<FileChange> = changes[synced..end].to_vec();
                left.retain(|_| random.below(2) == 0);
                if let Some(FileChange::Write(_, bytes)) = left.last_mut().filter(|_| random.below(2) == 0) {
                    // Disks write sectors.
                    bytes.truncate(bytes.len() / 2 / 512 * 512);
                }
                made_of(changes[..synced].iter().chain(&left), &of("machine"));
                check(&config, &of("machine"), known, &format!("{what}, not all of them on the disk"));
            }
            ["used", "killed", "machine"].iter().for_each(|name| std::fs::remove_file(of(name)).expect("was written"));
        }
    }

    fn drawn(random: &mut RandomStream, nth: u64) -> ClientOperation {
        let page = random.below(PAGES);
        let pages = (1 + random.below(8)).min(PAGES - page);
        let place = Place { offset: page * PAGE, bytes: (pages * PAGE) as u32 };
        let (value, fua) = (random.bits() as u8, random.below(6) == 0);
        match random.below(8) {
            0 => ClientOperation::Flush,
            1 => ClientOperation::WriteZeroes { place, fua, stored: nth % 2 == 1 },
            _ => ClientOperation::Write { place, data: vec![value; place.bytes as usize], fua },
        }
    }

    /// Uses a device in a file, whose process ends again and again, at once or in the middle of what it does behind its
    /// last commit.
    fn use_and_end(config: &Config, file: &Path, name: &str, seed: u64) {
        let mut random = RandomStream::new(seed, name);
        let mut promised = Promised::zeroes();
        for session in 0..6 {
            with_device(config, file, |device| {
                promised.check(device, &format!("{name}, ended {session} times"));
                let operations = random.below(66);
                for nth in 0..operations {
                    let operation = drawn(&mut random, nth);
                    promised.ask(&operation);
                    promised.perform(device, operation);
                }
            });
        }
        std::fs::remove_file(file).expect("was written");
    }

    /// A flush behind a write with force unit access was not committed, because nothing else had come in between: what
    /// was buffered before both of them was lost.
    #[test]
    fn s175_every_layer_in_a_file_keeps_its_promises_however_often_its_process_ends() {
        for &kind in FtlKind::ALL {
            for recovery in kind.facts().recoveries {
                for buffer in ["0", "128"] {
                    let sets = [
                        ("ftl.kind", kind.name()),
                        ("ftl.recovery", recovery.name()),
                        ("host.write_buffer_kib", buffer),
                        ("host.flush", "lru"),
                    ];
                    let name = format!("ended-{}-{}-{buffer}", kind.name(), recovery.name());
                    let file = std::env::temp_dir().join(format!("pumice-{name}-{}", std::process::id()));
                    (0..2).for_each(|seed| use_and_end(&config(&sets), &file, &name, seed));
                }
            }
        }
    }
}
