//! What a `pumice_chip` of C is, and what every call on it does.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pumice_chip::{Chip, ChipFailure};

/// What every call returns: `enum pumice_chip_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ChipStatus {
    /// Done.
    Ok = 0,
    /// A rule of the chip.
    Refused = 1,
    /// The page fails its code.
    Uncorrectable = 2,
    /// A program or erase reported a failure.
    Failed = 3,
    /// The power is off.
    PowerLost = 4,
    /// A call that means nothing.
    Misuse = 5,
    /// A spec that is not allowed.
    BadSpec = 6,
    /// Another version is needed.
    BadVersion = 7,
    /// A fault of the library.
    Internal = 8,
}

impl ChipStatus {
    fn of(failure: &ChipFailure) -> ChipStatus {
        match failure {
            ChipFailure::Rule(_) | ChipFailure::Address { .. } => ChipStatus::Refused,
            ChipFailure::Uncorrectable(_) => ChipStatus::Uncorrectable,
            ChipFailure::ProgramFailed(_) | ChipFailure::EraseFailed(_) => ChipStatus::Failed,
            ChipFailure::PowerLost => ChipStatus::PowerLost,
            ChipFailure::Usage(_) => ChipStatus::Misuse,
        }
    }
}

/// `pumice_chip_on_refusal`.
pub type OnRefusal = unsafe extern "C" fn(context: *mut c_void, status: c_int, text: *const c_char);

/// `pumice_chip`.
pub struct ChipHandle {
    chip: Chip,
    /// Message of the last call that failed, ended by a 0.
    message: Vec<u8>,
    rule: Vec<u8>,
    notes: Vec<u8>,
    on_refusal: Option<OnRefusal>,
    context: *mut c_void,
    /// A call has panicked: nobody knows what state the chip is in.
    is_broken: bool,
}

impl ChipHandle {
    /// The handle of a chip that was just opened.
    pub fn new(chip: Chip, on_refusal: Option<OnRefusal>, context: *mut c_void) -> ChipHandle {
        let notes = c_text(&chip.notes().join("\n"));
        ChipHandle { chip, message: vec![0], rule: vec![0], notes, on_refusal, context, is_broken: false }
    }

    /// The chip itself.
    pub fn chip(&mut self) -> &mut Chip {
        &mut self.chip
    }

    /// The text of the last failure, its rule, and the notes on the spec, each ended by a 0.
    pub fn texts(&self) -> [&[u8]; 3] {
        [&self.message, &self.rule, &self.notes]
    }

    /// Does the work of a call. Whatever it does, the caller gets a status.
    fn work(&mut self, work: impl FnOnce(&mut Chip) -> Result<(), ChipFailure>) -> ChipStatus {
        if self.is_broken {
            return ChipStatus::Internal;
        }
        // A chip that panicked is not used again, so it does not matter what it was left in.
        match catch_unwind(AssertUnwindSafe(|| work(&mut self.chip))) {
            Ok(Ok(())) => ChipStatus::Ok,
            Ok(Err(failure)) => self.note(&failure),
            Err(_) => {
                self.is_broken = true;
                self.message = c_text("a fault of the library; the chip can only be closed");
                ChipStatus::Internal
            }
        }
    }

    #[cold]
    fn note(&mut self, failure: &ChipFailure) -> ChipStatus {
        self.message = c_text(&failure.to_string());
        self.rule = c_text(failure.rule().unwrap_or_default());
        ChipStatus::of(failure)
    }
}

/// A text as C reads it. A 0 inside it would end it early, so there is none.
fn c_text(text: &str) -> Vec<u8> {
    text.bytes().filter(|&byte| byte != 0).chain([0]).collect()
}

/// Does what an entry point is for, and tells the caller's function of refusals.
///
/// # Safety
/// `handle` is null, or came from `pumice_chip_open`, was not closed, and is used by no other thread meanwhile.
pub unsafe fn call(handle: *mut ChipHandle, work: impl FnOnce(&mut Chip) -> Result<(), ChipFailure>) -> c_int {
    if handle.is_null() {
        return ChipStatus::Misuse as c_int;
    }
    let (status, told) = {
        // SAFETY: not null, and by the caller's promise a live handle that nobody else uses. The reference ends before
        // the caller's function runs, which may call this interface again.
        let handle = unsafe { &mut *handle };
        let status = handle.work(work);
        let tells = matches!(status, ChipStatus::Refused | ChipStatus::Misuse);
        (status, handle.on_refusal.filter(|_| tells).map(|tell| (tell, handle.context, handle.message.clone())))
    };
    if let Some((tell, context, message)) = told {
        let text = CStr::from_bytes_until_nul(&message).unwrap_or_default();
        // SAFETY: whoever opened the chip gave this function for these arguments. The text is a copy, which lives until
        // the function returns.
        unsafe { tell(context, status as c_int, text.as_ptr()) };
    }
    status as c_int
}

/// Declares entry points: each body is what is done with the chip, whose promises are those of the module.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        extern "C" fn $name:ident($chip:ident: *mut ChipHandle $(, $argument:ident: $type:ty)* $(,)?) -> c_int $work:block
    )+) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// See the module.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($chip: *mut ChipHandle $(, $argument: $type)*) -> c_int {
                let work = |$chip: &mut Chip| -> Result<(), ChipFailure> { $work };
                // SAFETY: the promises of this function's caller.
                unsafe { call($chip, work) }
            }
        )+
    };
}

pub(super) use calls;
