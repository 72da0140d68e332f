//! The array with the check of what it returns: every page read must be the page that the controller was after.

use pumice_types::{BlockId, FlashCommand, FlashOp, Lpn, PageAddress, PageUnit, UnitSource, bits};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::array::{NandArray, PageContent, Returned, Torn};
use crate::last_copies::LastCopies;
use crate::rules::Violation;

/// A command that the chip refuses, or that did not return what the controller believed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChipError {
    /// A rule of the chip.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// A page that is not the one the controller was after, in one line.
    #[error("{0}")]
    Integrity(String),
}

/// An array that executes commands and compares every tag that comes back with the command's belief.
#[derive(Clone, Serialize, Deserialize)]
pub struct CheckedArray {
    /// The array.
    pub array: NandArray,
    /// Logical pages of the host; those beyond are the controller's own.
    host_pages: u32,
    /// Logical pages that returned corrupt data, one bit each; empty until the first.
    corrupt: Vec<u64>,
    /// Pages whose tag was checked.
    pub pages_checked: u64,
    /// Distinct logical pages of the host that returned corrupt data.
    pub corrupt_pages: u64,
    /// Sound copies of the newest data, if erases are to be checked against them.
    #[serde(skip)]
    copies: Option<Box<LastCopies>>,
}

impl CheckedArray {
    /// Checks `array` under a host of `host_pages` logical pages.
    pub fn new(array: NandArray, host_pages: u32) -> CheckedArray {
        CheckedArray { array, host_pages, corrupt: Vec::new(), pages_checked: 0, corrupt_pages: 0, copies: None }
    }

    /// From now on no erase may take the last copy of a page's newest data; on devices that may lose power, whose
    /// host trims nothing.
    pub fn guard_copies(&mut self) {
        self.copies = Some(Box::new(LastCopies::of(&self.array, self.host_pages)));
    }

    /// The host trims, or has: a last copy may go.
    pub fn leave_copies_unguarded(&mut self) {
        self.copies = None;
    }

    /// Executes one command: rules and tags.
    ///
    /// # Errors
    /// A broken rule, or a page that is not what the controller believes.
    #[inline]
    pub fn execute(&mut self, command: &FlashCommand) -> Result<(), ChipError> {
        if self.copies.is_some() {
            self.guard_erase(command)?;
            self.execute_checked(command)?;
            self.note_stored(command);
            return Ok(());
        }
        self.execute_checked(command)
    }

    /// Refuses an erase that takes the last copy of a page's newest data.
    #[cold]
    fn guard_erase(&mut self, command: &FlashCommand) -> Result<(), ChipError> {
        let lost = self.copies.as_mut().and_then(|copies| copies.note_erase(&self.array, command));
        lost.map_or(Ok(()), |lpn| {
            Err(ChipError::Integrity(format!(
                "integrity: {:?} in block {} takes the last copy of logical page {}",
                command.op, command.target.block.0, lpn.0
            )))
        })
    }

    #[cold]
    fn note_stored(&mut self, command: &FlashCommand) {
        if let Some(copies) = &mut self.copies
            && matches!(command.op, FlashOp::Program | FlashOp::Copy)
        {
            self.array.units_of(command.target).for_each(|unit| copies.note_stored(&self.array, unit));
        }
    }

    /// Power is cut while a command is under way: see [`NandArray::tear`].
    ///
    /// # Errors
    /// A broken rule, or an erase that should not have begun.
    pub fn tear(
        &mut self,
        command: &FlashCommand,
        left: Torn,
        draw: impl FnMut(PageAddress) -> Torn,
    ) -> Result<(), ChipError> {
        self.guard_erase(command)?;
        Ok(self.array.tear(command, left, draw)?)
    }

    #[inline]
    fn execute_checked(&mut self, command: &FlashCommand) -> Result<(), ChipError> {
        // Most commands are these two. No result is made for them that could be of another kind.
        if matches!(command.op, FlashOp::Read | FlashOp::Copy) {
            let content = self.array.fetch(command)?;
            return self.check(command, content);
        }
        if command.op == FlashOp::Program {
            self.check_sources(command)?;
        }
        match self.array.execute(command)? {
            Returned::Done | Returned::Expected => Ok(()),
            Returned::Page(content) => self.check(command, content),
            Returned::Unexpected => Err(ChipError::Integrity(format!(
                "integrity: spare search of {} pages in block {} for logical page {} did not end where the FTL believes",
                command.searched_pages(),
                command.target.block.0,
                command.lpn.0
            ))),
        }
    }

    /// Checks what a page read or a copy returned against the belief in its command.
    #[inline]
    fn check(&mut self, command: &FlashCommand, content: PageContent) -> Result<(), ChipError> {
        self.pages_checked += 1;
        if content.corrupt && content.lpn.0 < self.host_pages {
            self.note_corrupt(content.lpn);
        }
        let stale = command.op == FlashOp::Read && content.version != command.version && !command.takes_any_version();
        if content.lpn != command.lpn || stale {
            return Err(mismatch(command, content));
        }
        Ok(())
    }

    /// Checks that units which a program moves lie where the controller believes.
    #[inline]
    fn check_sources(&mut self, command: &FlashCommand) -> Result<(), ChipError> {
        if self.array.config().geometry.units_per_page == 1 { Ok(()) } else { self.check_units(command) }
    }

    #[inline(never)]
    fn check_units(&mut self, command: &FlashCommand) -> Result<(), ChipError> {
        let (mut checked, mut finds_corrupt) = (0, false);
        for &PageUnit { lpn, source, .. } in self.array.staged_list(command) {
            let UnitSource::Copied(from) = source else { continue };
            let content = self.array.peek(from).map_err(|rule| Violation { rule, command: *command })?;
            if content.lpn != lpn {
                return Err(mismatch(&FlashCommand::copy(from, command.target, lpn, command.sequence), content));
            }
            (checked, finds_corrupt) = (checked + 1, finds_corrupt | content.corrupt);
        }
        self.pages_checked += checked;
        if finds_corrupt {
            self.note_corrupt_units(command);
        }
        Ok(())
    }

    /// Notes which of the units that a program moves are corrupt.
    #[cold]
    fn note_corrupt_units(&mut self, command: &FlashCommand) {
        for nth in 0..usize::from(self.array.config().geometry.units_per_page) {
            if let Some(PageUnit { lpn, source: UnitSource::Copied(from), .. }) = self.array.staged_unit(command, nth)
                && lpn.0 < self.host_pages
                && self.array.peek(from).is_ok_and(|content| content.corrupt)
            {
                self.note_corrupt(lpn);
            }
        }
    }

    /// Notes that `lpn` returned corrupt data.
    pub fn note_corrupt(&mut self, lpn: Lpn) {
        if self.corrupt.is_empty() {
            self.corrupt = vec![0; bits::words_for(self.host_pages as usize)];
        }
        if !bits::get(&self.corrupt, lpn.index()) {
            bits::set(&mut self.corrupt, lpn.index());
            self.corrupt_pages += 1;
        }
    }

    /// Marks a block bad after its erase failed. Any later command to it breaks the rule `bad-block`.
    #[cold]
    pub fn retire(&mut self, block: BlockId) {
        self.array.mark_bad(block);
    }
}

#[cold]
fn mismatch(command: &FlashCommand, content: PageContent) -> ChipError {
    let source = if command.op == FlashOp::Copy { command.source } else { command.target };
    ChipError::Integrity(format!(
        "integrity: {:?} of logical page {} version {} at block {} page {} returned logical page {} version {}",
        command.op, command.lpn.0, command.version, source.block.0, source.page, content.lpn.0, content.version
    ))
}
