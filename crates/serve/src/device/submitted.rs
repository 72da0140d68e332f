//! Requests as a device gets them.

use pumice_types::{HostRequest, RequestKind};

/// Requests in the order in which they are submitted.
#[derive(Debug, Default)]
pub struct SubmittedRequests {
    /// The requests.
    pub requests: Vec<HostRequest>,
    /// Data of all writes, one after the other.
    pub data: Vec<u8>,
}

impl SubmittedRequests {
    /// A request is submitted; `data` is what it writes.
    pub fn add(&mut self, request: &HostRequest, data: &[u8]) {
        debug_assert!(
            request.kind != RequestKind::Write || request.bytes as usize == data.len(),
            "a write has its data"
        );
        self.requests.push(*request);
        self.data.extend_from_slice(data);
    }
}
