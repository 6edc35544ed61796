// SPDX-License-Identifier: GPL-2.0

//! What a target tells security modules of the device it makes.
//!
//! C header: [`include/linux/security.h`](srctree/include/linux/security.h)

use crate::{
    bindings,
    context::MaySleep,
    target::Target, //
};
use core::ptr;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// Tells the root digest of a verity device and the algorithm that made it. May sleep.
///
/// # Errors
///
/// Those of the security modules.
pub fn set_verity_root_digest(
    target: &Target,
    digest: &[u8],
    algorithm: &CStr,
    _: MaySleep<'_>,
) -> Result {
    let root = bindings::dm_verity_digest {
        alg: algorithm.as_char_ptr(),
        digest: digest.as_ptr(),
        digest_len: digest.len(),
    };
    set(
        target,
        bindings::lsm_integrity_type_LSM_INT_DMVERITY_ROOTHASH,
        ptr::from_ref(&root).cast(),
        size_of_val(&root),
    )
}

/// Takes back what [`set_verity_root_digest`] told. May sleep.
pub fn clear_verity_root_digest(target: &Target, _: MaySleep<'_>) {
    let kind = bindings::lsm_integrity_type_LSM_INT_DMVERITY_ROOTHASH;
    // Nothing can be done about a failure to forget.
    let _ = set(target, kind, ptr::null(), 0);
}

/// Tells the signature of the root digest, or that there is none. May sleep.
///
/// # Errors
///
/// Those of the security modules.
pub fn set_verity_signature(target: &Target, signature: Option<&[u8]>, _: MaySleep<'_>) -> Result {
    let (data, size) = match signature {
        Some(bytes) => (bytes.as_ptr().cast(), bytes.len()),
        None => (ptr::null(), 0),
    };
    set(
        target,
        bindings::lsm_integrity_type_LSM_INT_DMVERITY_SIG_VALID,
        data,
        size,
    )
}

fn set(
    target: &Target,
    kind: bindings::lsm_integrity_type,
    data: *const core::ffi::c_void,
    size: usize,
) -> Result {
    // SAFETY: The device is valid as long as its table; `data` is NULL or valid for `size` bytes
    // and of the kind that the security modules expect.
    to_result(unsafe {
        bindings::security_bdev_setintegrity(target.mapped_bdev(), kind, data, size)
    })
}
