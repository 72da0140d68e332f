//! Faults in recovery after a power cut, which tests switch on to see that the tests notice them.
//!
//! Without the feature `recovery-faults` no fault can be switched on, and every question after one is answered when
//! the program is compiled.

use crate::choice;

choice! {
    /// One thing done wrong.
    pub enum RecoveryFault {
        /// The oldest copy of a page counts.
        OldCopyWins = "old-copy-wins",
        /// The earliest copy of the newest data counts, although its block may have been under erase.
        EarliestCopyWins = "earliest-copy-wins",
        /// A page whose program may not have ended stays where it is.
        UnprovenPageKept = "unproven-page-kept",
        /// A page whose program may not have ended is copied to the very next page, which may have been cut too.
        MovedToNextPage = "moved-to-next-page",
        /// Pages whose programs may not have ended are entered in the map as copied, and are not.
        MovesNotDone = "moves-not-done",
        /// Only one such page is copied, of the whole device.
        OneMoveForAll = "one-move-for-all",
        /// The block that such a page goes to is written as it is.
        MovesTrustBlank = "moves-trust-blank",
        /// Blocks that were being written are written further.
        OpenBlocksContinued = "open-blocks-continued",
        /// Write numbers have six bits.
        NumbersTooShort = "numbers-too-short",
        /// Blocks that look erased are written as they are.
        BlankBlocksTrusted = "blank-blocks-trusted",
        /// Blocks that hold nothing current are written as they are.
        OldBlocksTrusted = "old-blocks-trusted",
        /// Write numbers begin at 1 again.
        NumbersBeginAnew = "numbers-begin-anew",
        /// The first program after a start has the number of the last one before the cut.
        LastNumberReused = "last-number-reused",
        /// Erases do not wait for programs on other dies.
        ErasesDoNotWait = "erases-do-not-wait",
        /// A block with a page that fails its code counts as empty.
        UnreadableSpoilsBlock = "unreadable-spoils-block",
        /// Pages of the initial fill do not count.
        FillForgotten = "fill-forgotten",
        /// The last block of the device is not looked at.
        LastBlockForgotten = "last-block-forgotten",
        /// Bad blocks are used again.
        BadBlocksForgotten = "bad-blocks-forgotten",
        /// Blocks that were found are never reclaimed.
        BlocksNotClosed = "blocks-not-closed",
        /// The valid pages of planes are not counted.
        ValidNotCounted = "valid-not-counted",
        /// Blocks that cuts have taken are not reclaimed.
        RoomNotRestored = "room-not-restored",
        /// Collection works while spare areas are still being read.
        CollectsWhileStarting = "collects-while-starting",
        /// Blocks without a summary count as free.
        BlocksWithoutSummaryForgotten = "blocks-without-summary-forgotten",
        /// Where the summary of a block fails its code, the block counts as free.
        TornSummaryIsBlank = "torn-summary-is-blank",
        /// The journal is not read.
        JournalForgotten = "journal-forgotten",
        /// What is younger than the journal is not looked for.
        TailForgotten = "tail-forgotten",
        /// What is younger than the journal is not looked for in blocks that were open.
        OpenBlocksForgotten = "open-blocks-forgotten",
        /// What is younger than the journal is not looked for in blocks that were free.
        YoungBlocksForgotten = "young-blocks-forgotten",
        /// Blocks are erased before the journal says that they are not needed.
        ErasedBeforeJournal = "erased-before-journal",
        /// Pages that are not proven are forgotten when a new journal page is written.
        SuspectsNotNamed = "suspects-not-named",
        /// The host is served before the map is written anew.
        NoNewRound = "no-new-round",
        /// Writes are acknowledged before they are programmed.
        AcknowledgedEarly = "acknowledged-early",
        /// U-blocks are taken for D-blocks.
        RolesIgnored = "roles-ignored",
        /// A block that a merge has copied into counts as if it held everything, proven.
        TargetsCountAsWhole = "targets-count-as-whole",
        /// What D-blocks have blank is programmed without an erase.
        BlankPagesTrusted = "blank-pages-trusted",
        /// A D-block with a U-block counts as undisturbed.
        PairsUndisturbed = "pairs-undisturbed",
        /// A D-block that an M-Merge has restored counts as undisturbed.
        RestoredUndisturbed = "restored-undisturbed",
        /// A logical block that is to be copied is erased before.
        CopiedBlocksErasedFirst = "copied-blocks-erased-first",
        /// Blocks that hold nothing that counts are erased while the page that replaces theirs is not proven.
        SupersededErasedFirst = "superseded-erased-first",
        /// Where room is wanted, the first block is erased that comes.
        SpareBlocksUnchecked = "spare-blocks-unchecked",
        /// In blocks that logical blocks share, only the pages of one of them are looked at.
        SharedPagesForgotten = "shared-pages-forgotten",
        /// A flush is done when its programs have begun.
        FlushDoneEarly = "flush-done-early",
        /// A write with force unit access is done when it is in the write buffer.
        UnitAccessIgnored = "unit-access-ignored",
        /// A flush does not write down what was trimmed.
        TrimsNotKept = "trims-not-kept",
        /// The pages are not read that say what is trimmed.
        TrimPagesForgotten = "trim-pages-forgotten",
        /// What was written after a trim counts as trimmed.
        TrimsOutlastWrites = "trims-outlast-writes",
        /// The pages that say what is trimmed do not wait for the programs that were decided before.
        TrimsDoNotWait = "trims-do-not-wait",
        /// Units that gather in open pages are not programmed before the pages that say what is trimmed.
        TrimsOvertakeUnits = "trims-overtake-units",
        /// A trimmed page is given up before its trim is written down.
        TrimmedAtOnce = "trimmed-at-once",
        /// Blocks that look erased take pages of the map as they are.
        MapBlocksTrusted = "map-blocks-trusted",
        /// Only the last page of all may be unfinished, although a die works on several planes at once.
        PlanesAsOne = "planes-as-one",
        /// Erases that join another one in a multi-plane command do not wait for programs on other dies.
        JoinedErasesDoNotWait = "joined-erases-do-not-wait",
        /// Where commands may overtake others, those that change a plane do not keep their order there.
        ChangesOvertake = "changes-overtake",
        /// Only the first page tells whether a block is blank, although its parts are erased apart.
        OnePartForAll = "one-part-for-all",
        /// Parts of a block that look erased beside data are written as they are.
        BlankPartsTrusted = "blank-parts-trusted",
        /// Parts of a block count as undisturbed.
        DisturbsForgotten = "disturbs-forgotten",
        /// With handles, all blocks that are found count as the first handle's.
        HandlesForgotten = "handles-forgotten",
        /// With handles, a page whose program may not have ended is copied among the first handle's.
        MovedToFirstHandle = "moved-to-first-handle",
        /// Where wear is levelled, all blocks count as never erased.
        WearForgotten = "wear-forgotten",
        /// A page whose program may not have ended is copied into the least worn free block, whatever that holds.
        LeastWornTaken = "least-worn-taken",
        /// A zone ends before its first hole, whatever was appended behind it.
        PagesBehindHolesForgotten = "pages-behind-holes-forgotten",
        /// The end of a zone is looked for on one of its planes only.
        OnePlaneForZone = "one-plane-for-zone",
        /// Zones that are full, or that the host had finished, are written further.
        FinishesForgotten = "finishes-forgotten",
        /// What the dies have begun when the power is cut does not end, although the device has the energy for it.
        OperationsNotEnded = "operations-not-ended",
        /// The write buffer is not programmed, although the device has the energy for it.
        BufferNotSaved = "buffer-not-saved",
    }
}

#[cfg(feature = "recovery-faults")]
mod switched {
    use std::cell::Cell;

    use super::RecoveryFault;

    thread_local! {
        static ON: Cell<Option<RecoveryFault>> = const { Cell::new(None) };
    }

    /// Switches a fault on for the calling thread, in place of the one before; or off.
    pub fn switch(fault: Option<RecoveryFault>) {
        ON.set(fault);
    }

    /// Whether this fault is on.
    pub fn is_on(fault: RecoveryFault) -> bool {
        ON.get() == Some(fault)
    }
}

#[cfg(feature = "recovery-faults")]
pub use switched::switch;

impl RecoveryFault {
    /// Whether it is switched on.
    #[inline]
    pub fn is_on(self) -> bool {
        #[cfg(feature = "recovery-faults")]
        return switched::is_on(self);
        #[cfg(not(feature = "recovery-faults"))]
        false
    }
}
