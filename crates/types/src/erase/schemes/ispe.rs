//! ISPE, incremental step pulse erase (AERO, ASPLOS'24, §3.2): full pulses at rising levels until a verify read passes.

use super::SchemeRules;

pub(super) struct Ispe;

impl SchemeRules for Ispe {
    const NAME: &'static str = "ispe";
    const ABOUT: &'static str = "full pulses at rising voltage until a verify passes";
}
