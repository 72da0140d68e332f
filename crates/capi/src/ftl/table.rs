//! The structures of `pumice_ftl.h`, which both a plug-in and the engine are compiled with.

use std::ffi::{c_char, c_int, c_void};

use pumice_types::{BlockId, Cause, FlashCommand, FlashOp, Lpn, PageAddress, Pb, UnitSet};

use crate::InterfaceVersion;

/// Version of the interface.
pub const FTL_VERSION: InterfaceVersion = InterfaceVersion::new(1, 0);

/// `PUMICE_FTL_OK`
pub const OK: c_int = 0;
/// `PUMICE_FTL_NOT_STORED`
pub const NOT_STORED: c_int = 1;
/// `PUMICE_FTL_FAILED`
pub const FAILED: c_int = 2;

/// `PUMICE_FTL_LAST`
pub const LAST: u32 = u32::MAX;
/// `PUMICE_FTL_AT_ONCE`
pub const AT_ONCE: u32 = u32::MAX - 1;

/// `PUMICE_FTL_WHOLE_NUMBER`
pub const WHOLE_NUMBER: u32 = 0;
/// `PUMICE_FTL_NUMBER`
pub const NUMBER: u32 = 1;
/// `PUMICE_FTL_SWITCH`
pub const SWITCH: u32 = 2;
/// `PUMICE_FTL_CHOICE`
pub const CHOICE: u32 = 3;

/// `PUMICE_FTL_READ` and the other operations, in the order of their numbers.
pub const OPERATIONS: [FlashOp; 6] =
    [FlashOp::Read, FlashOp::Program, FlashOp::Copy, FlashOp::Erase, FlashOp::PartialErase, FlashOp::SubBlockErase];

/// `struct pumice_ftl_command`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CCommand {
    /// What it does, a place in [`OPERATIONS`].
    pub op: u32,
    /// Block.
    pub block: u32,
    /// Page.
    pub page: u32,
    /// Block copied from.
    pub from_block: u32,
    /// Page copied from.
    pub from_page: u32,
    /// Logical page.
    pub lpn: u32,
    /// Version, partial block or sub-blocks.
    pub operand: u32,
    /// Zero.
    pub reserved: u32,
}

/// `struct pumice_ftl_plan`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CPlan {
    /// The commands.
    pub command: *mut CCommand,
    /// Room for so many.
    pub room: u32,
    /// How many there are.
    pub commands: u32,
    /// Which one completes the access.
    pub completes: u32,
    /// Zero.
    pub reserved: u32,
}

/// `struct pumice_ftl_key`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CKey {
    /// Name.
    pub name: *const c_char,
    /// Default.
    pub default_value: *const c_char,
    /// Unit.
    pub unit: *const c_char,
    /// What it means.
    pub text: *const c_char,
    /// Names of a choice.
    pub choices: *const c_char,
    /// Least number.
    pub low: f64,
    /// Largest number.
    pub high: f64,
    /// Least whole number.
    pub least: i64,
    /// Largest whole number.
    pub most: i64,
    /// Kind.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
}

/// `struct pumice_ftl_value`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CValue {
    /// Of a number.
    pub number: f64,
    /// Of whole numbers, switches and choices.
    pub whole: i64,
    /// Whether there is a value.
    pub given: u32,
    /// Zero.
    pub reserved: u32,
}

/// `struct pumice_ftl_device`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CLayerDevice {
    /// Channels.
    pub channels: u32,
    /// Chips on one channel.
    pub chips_per_channel: u32,
    /// Dies of one chip.
    pub dies_per_chip: u32,
    /// Planes of one die.
    pub planes_per_die: u32,
    /// Blocks of one plane.
    pub blocks_per_plane: u32,
    /// Pages of one block.
    pub pages_per_block: u32,
    /// Bytes of one page.
    pub page_bytes: u32,
    /// Spare bytes of one page.
    pub spare_bytes: u32,
    /// Whether pages are programmed in order.
    pub in_order: u32,
    /// Halvings of a block.
    pub max_splits: u32,
    /// Physical sub-blocks.
    pub sub_blocks: u32,
    /// Bad blocks of each plane.
    pub bad_blocks_per_plane: u32,
    /// Bad blocks.
    pub bad_block: *const u32,
    /// How many.
    pub bad_blocks: u64,
    /// Share that the host shall not address.
    pub over_provisioning: f64,
    /// Seed.
    pub seed: u64,
}

/// `struct pumice_ftl_page`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CPageAddress {
    /// Block.
    pub block: u32,
    /// Page.
    pub page: u32,
}

/// Makes or tells the capacity of something for a device.
pub type ForDevice<T> = unsafe extern "C" fn(*const CLayerDevice, *const CValue) -> T;
/// Plans an access to a page.
pub type PlansAccess = unsafe extern "C" fn(*mut c_void, u32, u32, *mut CPlan) -> c_int;
/// Finds a page.
pub type FindsPage = unsafe extern "C" fn(*mut c_void, u32, *mut CPageAddress) -> c_int;
/// Is told of a page, or of a block.
pub type TakesNote = unsafe extern "C" fn(*mut c_void, u32) -> c_int;
/// Plans a step on a die.
pub type PlansStep = unsafe extern "C" fn(*mut c_void, u32, *mut CPlan) -> c_int;
/// Tells something of a state.
pub type Tells<T> = unsafe extern "C" fn(*mut c_void) -> T;

/// `struct pumice_ftl_layer`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CLayer {
    /// Version of the interface that it was built for.
    pub version: u32,
    /// Its size.
    pub size: u32,
    /// Name.
    pub name: *const c_char,
    /// Keys.
    pub key: *const CKey,
    /// How many.
    pub keys: u64,
    /// Logical pages.
    pub capacity: Option<ForDevice<u64>>,
    /// Makes a state.
    pub create: Option<ForDevice<*mut c_void>>,
    /// Ends it.
    pub destroy: Option<Tells<()>>,
    /// Plans a write.
    pub write: Option<PlansAccess>,
    /// Plans a read.
    pub read: Option<PlansAccess>,
    /// Finds a page.
    pub locate: Option<FindsPage>,
    /// Gives a page up.
    pub trim: Option<TakesNote>,
    /// Plans a step of collection.
    pub step: Option<PlansStep>,
    /// Whether it has steps.
    pub works_when_idle: Option<Tells<c_int>>,
    /// Hears of a block that will fail.
    pub note_failing: Option<TakesNote>,
    /// RAM of the map.
    pub map_ram_bytes: Option<Tells<u64>>,
    /// Bytes of the state.
    pub state_bytes: Option<Tells<u64>>,
    /// Why a call failed.
    pub failure: Option<Tells<*const c_char>>,
}

impl CCommand {
    /// A command as C has it; `None` if plug-ins may not plan it.
    #[inline]
    pub fn of(command: &FlashCommand) -> Option<CCommand> {
        let FlashCommand { target, source, lpn, version, op, cause, .. } = *command;
        if cause != Cause::Host && matches!(op, FlashOp::Read | FlashOp::Program) {
            return None;
        }
        let plain =
            CCommand { op: op_number(op)?, block: target.block.0, page: target.page.into(), ..CCommand::default() };
        Some(match op {
            FlashOp::Read | FlashOp::Program => CCommand { lpn: lpn.0, operand: version.into(), ..plain },
            FlashOp::Copy => {
                CCommand { lpn: lpn.0, from_block: source.block.0, from_page: source.page.into(), ..plain }
            }
            FlashOp::Erase => plain,
            FlashOp::PartialErase | FlashOp::SubBlockErase => CCommand { operand: command.operand(), ..plain },
            FlashOp::SpareSearch | FlashOp::Pause => return None,
        })
    }

    /// The command that C means.
    ///
    /// # Errors
    /// A number that no such field can have, in one line.
    #[inline]
    pub fn command(&self) -> Result<FlashCommand, String> {
        let Some(&op) = OPERATIONS.get(self.op as usize) else {
            return Err(format!("planned a command with op {}; allowed: 0 to {}", self.op, OPERATIONS.len() - 1));
        };
        let (block, lpn) = (BlockId(self.block), Lpn(self.lpn));
        let target = PageAddress::new(block, narrow("page", self.page)?);
        Ok(match op {
            FlashOp::Read => FlashCommand::read(Cause::Host, target, lpn, narrow("version", self.operand)?),
            FlashOp::Program => FlashCommand::program(Cause::Host, target, lpn, narrow("version", self.operand)?, 0),
            FlashOp::Copy => {
                let source = PageAddress::new(BlockId(self.from_block), narrow("page", self.from_page)?);
                FlashCommand::copy(source, target, lpn, 0)
            }
            FlashOp::Erase => FlashCommand::erase(block),
            FlashOp::PartialErase => FlashCommand::partial_erase(block, Pb(narrow("partial block", self.operand)?)),
            FlashOp::SubBlockErase => FlashCommand::sub_block_erase(block, UnitSet(self.operand.into())),
            FlashOp::SpareSearch | FlashOp::Pause => unreachable!("no place in OPERATIONS"),
        })
    }
}

/// The number of an operation; `None` if it has none.
#[inline]
fn op_number(op: FlashOp) -> Option<u32> {
    match op {
        FlashOp::Read => Some(0),
        FlashOp::Program => Some(1),
        FlashOp::Copy => Some(2),
        FlashOp::Erase => Some(3),
        FlashOp::PartialErase => Some(4),
        FlashOp::SubBlockErase => Some(5),
        FlashOp::SpareSearch | FlashOp::Pause => None,
    }
}

#[inline]
fn narrow<T: TryFrom<u32>>(what: &str, number: u32) -> Result<T, String> {
    T::try_from(number).map_err(|_| format!("planned a command with {what} {number}, which no device has"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t491_commands_come_back_from_c_as_they_went() {
        let page = |block, page| PageAddress::new(BlockId(block), page);
        let commands = [
            FlashCommand::read(Cause::Host, page(3, 4), Lpn(9), 7),
            FlashCommand::program(Cause::Host, page(3, 5), Lpn(8), 255, 0),
            FlashCommand::copy(page(1, 2), page(3, 6), Lpn(7), 0),
            FlashCommand::erase(BlockId(1)),
            FlashCommand::partial_erase(BlockId(2), Pb(5)),
            FlashCommand::sub_block_erase(BlockId(2), UnitSet(0b1010)),
        ];
        for (nth, command) in commands.iter().enumerate() {
            let plain = CCommand::of(command).expect("C has it");
            assert_eq!(OPERATIONS[nth], command.op);
            assert_eq!((plain.op as usize, plain.command()), (nth, Ok(*command)));
        }
        assert_eq!(CCommand::of(&FlashCommand::pause(BlockId(0), pumice_types::Time(1))), None);
        let wrong = |change: fn(&mut CCommand)| {
            let mut command = CCommand::default();
            change(&mut command);
            command.command().expect_err("refused")
        };
        assert!(wrong(|command| command.op = 6).contains("op 6; allowed: 0 to 5"));
        assert_eq!(CCommand::of(&FlashCommand::read(Cause::Gc, page(0, 0), Lpn(0), 0)), None);
        assert!(wrong(|command| command.page = 65_536).contains("page 65536"));
        assert!(wrong(|command| command.operand = 256).contains("version 256"));
    }
}
