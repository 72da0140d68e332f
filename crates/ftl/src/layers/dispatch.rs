//! Each call on a translation layer, handed to the one that runs.

use pumice_types::{BlockId, DieId, Lpn, PageAddress, RequestKind};

use super::Ftl;
use crate::plan::{FtlError, GcCounters, Plan};
use crate::seam::{LogSize, TranslationLayer, ZoneOperation, ZoneReport};

impl Ftl {
    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        each!(self, ftl => ftl.user_pages())
    }
}

impl TranslationLayer for Ftl {
    #[inline]
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.write(lpn, version, plan))
    }

    #[inline]
    fn write_to_stream(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.write_to_stream(lpn, version, stream, plan))
    }

    fn open_pages_of(&self, stream: u8) -> u64 {
        each!(self, ftl => ftl.open_pages_of(stream))
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        each!(self, ftl => ftl.read(lpn, version, plan))
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        each!(self, ftl => ftl.locate(lpn))
    }

    #[inline]
    fn trim(&mut self, lpn: Lpn) {
        each!(self, ftl => ftl.trim(lpn));
    }

    fn keep_trims(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.keep_trims(plan))
    }

    fn flush_trims(&mut self, again: bool, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.flush_trims(again, plan))
    }

    fn loads_map(&self) -> bool {
        each!(self, ftl => ftl.loads_map())
    }

    #[inline]
    fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.load_map(lpn, kind, plan))
    }

    fn reads_map_in_spare(&self) -> bool {
        each!(self, ftl => ftl.reads_map_in_spare())
    }

    fn spans_dies(&self) -> bool {
        each!(self, ftl => ftl.spans_dies())
    }

    fn holds_die(&self) -> bool {
        each!(self, ftl => ftl.holds_die())
    }

    fn moves_between_dies(&self) -> bool {
        each!(self, ftl => ftl.moves_between_dies())
    }

    fn works_when_idle(&self) -> bool {
        each!(self, ftl => ftl.works_when_idle())
    }

    #[inline]
    fn internal_step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.internal_step(die, plan))
    }

    fn note_failing(&mut self, block: BlockId) {
        each!(self, ftl => ftl.note_failing(block));
    }

    #[inline]
    fn expect(&self, lpn: Lpn) {
        each!(self, ftl => ftl.expect(lpn));
    }

    #[inline]
    fn expect_overwrite(&self, lpn: Lpn) {
        each!(self, ftl => ftl.expect_overwrite(lpn));
    }

    #[inline]
    fn expect_look_up(&self, lpn: Lpn) -> Option<PageAddress> {
        each!(self, ftl => ftl.expect_look_up(lpn))
    }

    fn merge_all(&mut self, plan: &mut Plan) -> Result<bool, FtlError> {
        each!(self, ftl => ftl.merge_all(plan))
    }

    fn counters(&self) -> &GcCounters {
        each!(self, ftl => ftl.counters())
    }

    fn log_size(&self) -> LogSize {
        each!(self, ftl => ftl.log_size())
    }

    fn reset_counters(&mut self) {
        each!(self, ftl => ftl.reset_counters());
    }

    fn take_fault(&mut self) -> Option<FtlError> {
        each!(self, ftl => ftl.take_fault())
    }

    fn next_operation(&mut self, plan: &mut Plan) -> Option<ZoneOperation> {
        each!(self, ftl => ftl.next_operation(plan))
    }

    fn zones(&self) -> Option<ZoneReport> {
        each!(self, ftl => ftl.zones())
    }

    fn map_ram_bytes(&self) -> u64 {
        each!(self, ftl => ftl.map_ram_bytes())
    }

    fn state_bytes(&self) -> u64 {
        each!(self, ftl => ftl.state_bytes())
    }
}
