//! `pumice_chip.h`: the chip as a library for people who write firmware. The header says what each function does.

mod handle;
mod open;
mod operations;
mod state;

pub use handle::{ChipHandle, ChipStatus, OnRefusal};
pub use open::{BYTE_PROGRAMS, CHIP_VERSION, ChipOptions, pumice_chip_close, pumice_chip_open, pumice_chip_version};
pub use operations::{
    pumice_chip_copy, pumice_chip_erase, pumice_chip_erase_partial, pumice_chip_erase_sub_blocks, pumice_chip_is_blank,
    pumice_chip_program, pumice_chip_program_at, pumice_chip_read, pumice_chip_read_at, pumice_chip_read_oob,
    pumice_chip_read_raw,
};
pub use state::{
    CChipCounts, CChipInfo, pumice_chip_cancel_cut, pumice_chip_cut_after, pumice_chip_draw_from,
    pumice_chip_fail_after, pumice_chip_get_counts, pumice_chip_get_erases, pumice_chip_get_info, pumice_chip_grow_bad,
    pumice_chip_is_bad, pumice_chip_load, pumice_chip_mark_bad, pumice_chip_message, pumice_chip_notes,
    pumice_chip_power_off, pumice_chip_power_on, pumice_chip_rule, pumice_chip_save, pumice_chip_settle,
    pumice_chip_settle_after, pumice_chip_snapshot_free, pumice_chip_snapshot_restore, pumice_chip_snapshot_take,
    pumice_chip_wait,
};
