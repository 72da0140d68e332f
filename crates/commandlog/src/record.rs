//! One record of a command log: 44 bytes, little-endian.
//!
//! | Byte | Size | Field | Byte | Size | Field |
//! |---|---|---|---|---|---|
//! | 0 | 8 | start, ns | 32 | 4 | pages searched, PB index or set of sub-blocks |
//! | 8 | 8 | end, ns | 36 | 2 | target page |
//! | 16 | 4 | target block | 38 | 2 | source page |
//! | 20 | 4 | source block | 40 | 1 | version, or expectation of a search |
//! | 24 | 4 | logical page | 41 | 1 | kind of record |
//! | 28 | 4 | sequence number; nanoseconds of a pause | 42 | 1 | cause |
//!
//! A search expects (byte 40): 0 found, 1 absent, 2 scan. Causes: 0 host, 1 garbage collection, 2 map, 3 read before
//! a partial write, 4 padding of a zone. A set of sub-blocks has a bit for each. Byte 43 is 0.
//!
//! Kinds: 0 read, 1 spare search, 2 program, 3 copy, 4 erase, 5 partial erase, 6 sub-block erase, 7 pause (the die is
//! kept from other work). Before any command, 240 marks a bad block (target block), 241 a block of the initial fill
//! (target block; first logical page; the step from page to page in byte 20; pages in byte 32; sequence number).
//! 242 is a mapping unit of the next program: its place as target, logical unit, version, where it is moved from as
//! source, and as cause whether the host wrote it (0), it is moved (1), or it is padding (2). Before any
//! command, 243 is a page of the layer's own (as target; logical page). 255 ends the log; its start is the number of
//! records before it.
//!
//! Commands are in the order in which they took effect. The parts of a multi-plane command follow each other with the
//! same times, and so do reads of units of one page. A suspended erase has the times of its last part. Ageing and
//! untimed runs have times 0.

use pumice_types::{BlockId, Cause, FlashCommand, FlashOp, Lpn, PageAddress, PageUnit, Time, UnitSource};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 44;

const BAD_BLOCK: u8 = 240;
const FILL: u8 = 241;
const UNIT: u8 = 242;
const OWN: u8 = 243;
const END: u8 = 255;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogRecord {
    /// A block that was bad from the factory. Such records come before any command.
    BadBlock(BlockId),
    /// Pages that the initial fill stored, from the first page of a block. As above.
    Fill {
        /// The block.
        block: BlockId,
        /// First logical page, and the step from one page to the next.
        lpns: [u32; 2],
        /// Pages filled.
        pages: u16,
        /// Sequence number of the block.
        sequence: u32,
    },
    /// A page of the translation layer's own that lay there before the first command. The pages of a block come together,
    /// in their order.
    Own {
        /// Place of the page.
        place: PageAddress,
        /// Logical page stored there.
        lpn: Lpn,
    },
    /// What the next program puts into a mapping unit of its page. There is one such record for each unit, in order.
    Unit {
        /// Place of the unit.
        place: PageAddress,
        /// What it holds from then on.
        unit: PageUnit,
    },
    /// A flash command that held its die from `start` to `end`.
    Command {
        /// Start of the command.
        start: Time,
        /// End of the command.
        end: Time,
        /// The command.
        command: FlashCommand,
    },
    /// The end of a complete log.
    End {
        /// Records before this one.
        records: u64,
    },
}

/// The fields as they lie in the file.
#[derive(Clone, Copy, Default)]
struct Fields {
    times: [u64; 2],
    words: [u32; 5],
    halves: [u16; 2],
    version: u8,
    kind: u8,
    cause: u8,
}

impl Fields {
    fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..8].copy_from_slice(&self.times[0].to_le_bytes());
        bytes[8..16].copy_from_slice(&self.times[1].to_le_bytes());
        for (nth, word) in self.words.iter().enumerate() {
            bytes[16 + 4 * nth..20 + 4 * nth].copy_from_slice(&word.to_le_bytes());
        }
        for (nth, half) in self.halves.iter().enumerate() {
            bytes[36 + 2 * nth..38 + 2 * nth].copy_from_slice(&half.to_le_bytes());
        }
        bytes[40..43].copy_from_slice(&[self.version, self.kind, self.cause]);
        bytes
    }

    fn decode(bytes: &[u8; RECORD_BYTES]) -> Fields {
        let number = |from: usize, size: usize| {
            bytes[from..from + size].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let word = |nth: usize| number(16 + 4 * nth, 4) as u32;
        let half = |nth: usize| number(36 + 2 * nth, 2) as u16;
        Fields {
            times: [number(0, 8), number(8, 8)],
            words: [word(0), word(1), word(2), word(3), word(4)],
            halves: [half(0), half(1)],
            version: bytes[40],
            kind: bytes[41],
            cause: bytes[42],
        }
    }
}

impl LogRecord {
    /// The record's bytes.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        match *self {
            LogRecord::BadBlock(block) => Fields { words: [block.0, 0, 0, 0, 0], kind: BAD_BLOCK, ..Fields::default() },
            LogRecord::Fill { block, lpns: [first, stride], pages, sequence } => {
                Fields { words: [block.0, stride, first, sequence, u32::from(pages)], kind: FILL, ..Fields::default() }
            }
            LogRecord::Command { start, end, command } => Fields {
                times: [start.0, end.0],
                words: [
                    command.target.block.0,
                    command.source.block.0,
                    command.lpn.0,
                    command.sequence,
                    command.operand(),
                ],
                halves: [command.target.page, command.source.page],
                version: command.version,
                kind: command.op as u8,
                cause: command.cause as u8,
            },
            LogRecord::Own { place, lpn } => Fields {
                words: [place.block.0, 0, lpn.0, 0, 0],
                halves: [place.page, 0],
                kind: OWN,
                ..Fields::default()
            },
            LogRecord::Unit { place, unit } => unit_fields(place, unit),
            LogRecord::End { records } => Fields { times: [records, 0], kind: END, ..Fields::default() },
        }
        .encode()
    }

    /// The record in these bytes.
    ///
    /// # Errors
    /// What no record has.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<LogRecord, String> {
        let fields = Fields::decode(bytes);
        if bytes[43] != 0 {
            return Err("byte 43 is not 0".into());
        }
        let [target, source, lpn, sequence, operand] = fields.words;
        let at = |block: u32, page: u16| PageAddress::new(BlockId(block), page);
        Ok(match fields.kind {
            BAD_BLOCK => LogRecord::BadBlock(BlockId(target)),
            FILL => {
                let pages = u16::try_from(operand).map_err(|_| format!("no block has {operand} pages"))?;
                LogRecord::Fill { block: BlockId(target), lpns: [lpn, source], pages, sequence }
            }
            UNIT => {
                let source = match fields.cause {
                    HOST => UnitSource::Host,
                    MOVED => UnitSource::Copied(at(source, fields.halves[1])),
                    PADDING => UnitSource::Padding,
                    number => return Err(format!("no unit comes from where the number {number} says")),
                };
                let unit = PageUnit { lpn: Lpn(lpn), version: fields.version, source, written: 0 };
                LogRecord::Unit { place: at(target, fields.halves[0]), unit }
            }
            OWN => LogRecord::Own { place: at(target, fields.halves[0]), lpn: Lpn(lpn) },
            END => LogRecord::End { records: fields.times[0] },
            kind => {
                let op = *OPS.get(usize::from(kind)).ok_or_else(|| format!("no record is of kind {kind}"))?;
                let number = fields.cause;
                let cause =
                    *CAUSES.get(usize::from(number)).ok_or_else(|| format!("no cause has the number {number}"))?;
                let mut command = FlashCommand::raw(op, cause, at(target, fields.halves[0]), operand);
                command.source = at(source, fields.halves[1]);
                (command.lpn, command.sequence, command.version) = (Lpn(lpn), sequence, fields.version);
                LogRecord::Command { start: Time(fields.times[0]), end: Time(fields.times[1]), command }
            }
        })
    }
}

/// Numbers of where a unit comes from.
const HOST: u8 = 0;
const MOVED: u8 = 1;
const PADDING: u8 = 2;

fn unit_fields(place: PageAddress, unit: PageUnit) -> Fields {
    let (source, number) = match unit.source {
        UnitSource::Host => (PageAddress::default(), HOST),
        UnitSource::Copied(from) => (from, MOVED),
        UnitSource::Padding => (PageAddress::default(), PADDING),
    };
    Fields {
        words: [place.block.0, source.block.0, unit.lpn.0, 0, 0],
        halves: [place.page, source.page],
        version: unit.version,
        kind: UNIT,
        cause: number,
        ..Fields::default()
    }
}

/// Operations by their numbers.
const OPS: [FlashOp; 8] = [
    FlashOp::Read,
    FlashOp::SpareSearch,
    FlashOp::Program,
    FlashOp::Copy,
    FlashOp::Erase,
    FlashOp::PartialErase,
    FlashOp::SubBlockErase,
    FlashOp::Pause,
];

/// Causes by their numbers.
const CAUSES: [Cause; 5] = [Cause::Host, Cause::Gc, Cause::Map, Cause::Rmw, Cause::Padding];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(record: LogRecord) {
        assert_eq!(LogRecord::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn t060_records_other_than_commands_are_read_as_written() {
        same(LogRecord::BadBlock(BlockId(u32::MAX)));
        same(LogRecord::Fill { block: BlockId(7), lpns: [1 << 29, 3], pages: 576, sequence: 9 });
        same(LogRecord::End { records: u64::MAX });
    }

    #[test]
    fn t027_records_lie_in_the_file_as_the_table_says_and_what_they_do_not_use_is_zero() {
        let target = PageAddress::new(BlockId(7), 8);
        let mut command = FlashCommand::raw(FlashOp::Copy, Cause::Rmw, target, 9);
        command.source = PageAddress::new(BlockId(10), 11);
        (command.lpn, command.sequence, command.version) = (Lpn(12), 13, 14);
        for (record, set) in [
            (LogRecord::BadBlock(BlockId(7)), &[(16, 7), (41, 240)][..]),
            (
                LogRecord::Fill { block: BlockId(1), lpns: [2, 3], pages: 4, sequence: 5 },
                &[(16, 1), (20, 3), (24, 2), (28, 5), (32, 4), (41, 241)],
            ),
            (LogRecord::End { records: 6 }, &[(0, 6), (41, 255)]),
            (
                LogRecord::Command { start: Time(5), end: Time(6), command },
                &[
                    (0, 5),
                    (8, 6),
                    (16, 7),
                    (20, 10),
                    (24, 12),
                    (28, 13),
                    (32, 9),
                    (36, 8),
                    (38, 11),
                    (40, 14),
                    (41, 3),
                    (42, 3),
                ],
            ),
        ] {
            let mut expected = [0; RECORD_BYTES];
            set.iter().for_each(|&(at, byte)| expected[at] = byte);
            assert_eq!(record.encode(), expected, "{record:?}");
        }
    }

    #[test]
    fn t061_no_record_has_an_unknown_kind_or_cause() {
        let mut bytes = [0; RECORD_BYTES];
        bytes[41] = 8;
        assert!(LogRecord::decode(&bytes).expect_err("unknown").contains("kind 8"));
        bytes[41..43].copy_from_slice(&[0, 5]);
        assert!(LogRecord::decode(&bytes).expect_err("unknown").contains("cause"));
        bytes[42..44].copy_from_slice(&[0, 1]);
        assert!(LogRecord::decode(&bytes).expect_err("not 0").contains("43"));
    }

    proptest! {
        #[test]
        fn t062_commands_are_read_as_written(
            times in any::<[u64; 2]>(),
            words in any::<[u32; 5]>(),
            halves in any::<[u16; 2]>(),
            version in any::<u8>(),
            kinds in (0usize..OPS.len(), 0usize..CAUSES.len()),
        ) {
            let target = PageAddress::new(BlockId(words[0]), halves[0]);
            let mut command = FlashCommand::raw(OPS[kinds.0], CAUSES[kinds.1], target, words[4]);
            command.source = PageAddress::new(BlockId(words[1]), halves[1]);
            (command.lpn, command.sequence, command.version) = (Lpn(words[2]), words[3], version);
            same(LogRecord::Command { start: Time(times[0]), end: Time(times[1]), command });
        }
    }
}
