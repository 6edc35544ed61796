// SPDX-License-Identifier: GPL-2.0

//! The CRC-32 of Ethernet.
//!
//! C header: [`include/linux/crc32.h`](srctree/include/linux/crc32.h)

use crate::bindings;

/// Returns the little-endian checksum of bytes that goes on from `start`, neither inverted at the
/// start nor at the end. Any context.
pub fn crc32_le(start: u32, bytes: &[u8]) -> u32 {
    // SAFETY: `bytes` is valid for reads.
    unsafe { bindings::crc32_le(start, bytes.as_ptr().cast(), bytes.len()) }
}
