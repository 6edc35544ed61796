// SPDX-License-Identifier: GPL-2.0

//! Filling blocks without reading them.

use super::{
    cache::Cache,
    fetch::check_context,
    memory::Head,
    wait, //
};
use crate::context::MaySleep;
use core::ptr::NonNull;
use kernel::prelude::*;

/// The references of a buffer that the caller fills.
const PRODUCER: usize = 1;

impl Cache {
    /// Returns a busy buffer with the block, zeroed, of which the caller is the producer. Waits
    /// until nobody else holds it.
    pub(super) fn produce(&self, block: u64, token: MaySleep<'_>) -> Result<NonNull<Head>> {
        check_context()?;
        loop {
            wait::announce();
            let head = match self.join(block) {
                Some(held) => self.claim(held, token),
                None => {
                    // One that failed, and that nobody wants to read.
                    self.forget(block);
                    self.enter_empty(block, token)
                }
            };
            if let Some(head) = head {
                wait::released();
                let bytes = self.shape.block_size;
                // SAFETY: The caller is the producer: nobody else has access to the data.
                unsafe { head.as_ref().data.write_bytes(0, bytes) };
                return Ok(head);
            }
        }
    }

    /// Makes a buffer busy if nobody else holds it; else waits a while. Takes the reference.
    fn claim(&self, head: NonNull<Head>, token: MaySleep<'_>) -> Option<NonNull<Head>> {
        // SAFETY: The reference is this function's.
        let state = unsafe { &head.as_ref().state };
        wait::until_filled(state, token);
        if state.try_claim() {
            // SAFETY: The buffer is busy for this function, so nobody else has the typed data.
            unsafe { self.shape.init(head) };
            return Some(head);
        }
        // SAFETY: The buffer is not used any more.
        unsafe { self.put(head) };
        wait::until_released(token);
        None
    }

    /// Enters a busy buffer for a block, of which the caller is the producer, unless the block has
    /// a buffer.
    pub(super) fn enter_empty(&self, block: u64, token: MaySleep<'_>) -> Option<NonNull<Head>> {
        let buffer = self.obtain_now().unwrap_or_else(|| self.obtain(token));
        match self.enter_waiting(block, PRODUCER, buffer, || {}, token) {
            Ok(head) => Some(head),
            Err(buffer) => {
                self.give(buffer);
                None
            }
        }
    }
}
