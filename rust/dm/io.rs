// SPDX-License-Identifier: GPL-2.0

//! Synchronous I/O of a target's own, by dm-io.
//!
//! C header: [`include/linux/dm-io.h`](srctree/include/linux/dm-io.h)

use crate::{
    alloc,
    bindings,
    context::MaySleep,
    target::device::Device, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*,
};

/// The bytes of a sector.
pub const SECTOR_SIZE: usize = 512;

/// The right to do I/O without allocating: dm-io keeps reserves for each client.
///
/// # Invariants
///
/// `ptr` is a valid client that `self` owns.
pub struct Client {
    ptr: NonNull<bindings::dm_io_client>,
}

// SAFETY: Clients may be used and destroyed by any thread.
unsafe impl Send for Client {}
// SAFETY: dm-io synchronises the users of a client.
unsafe impl Sync for Client {}

impl Client {
    /// Creates a client. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(_: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        // SAFETY: The function has no requirements.
        let ptr = from_err_ptr(unsafe { bindings::dm_io_client_create() })?;
        // INVARIANT: The client was made just now and nobody else knows it.
        Ok(Self {
            ptr: NonNull::new(ptr).ok_or(ENOMEM)?,
        })
    }

    /// Reads from `sector` (512 bytes each) of `dev` until `data` is full, and waits for it.
    ///
    /// `data` is a multiple of 512 bytes long, and neither on the stack nor from `vmalloc`.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `data` is not as it has to be, `EIO` if the device fails.
    pub fn read(&self, dev: &Device, sector: u64, data: &mut [u8], _: MaySleep<'_>) -> Result {
        // SAFETY: The function only looks at the address.
        let mapped = unsafe { bindings::is_vmalloc_addr(data.as_ptr().cast()) };
        if mapped || data.len() % SECTOR_SIZE != 0 {
            return Err(EINVAL);
        }
        let mut request = bindings::dm_io_request {
            bi_opf: bindings::req_op_REQ_OP_READ,
            mem: bindings::dm_io_memory {
                type_: bindings::dm_io_mem_type_DM_IO_KMEM,
                offset: 0,
                ptr: bindings::dm_io_memory__bindgen_ty_1 {
                    addr: data.as_mut_ptr().cast(),
                },
            },
            notify: bindings::dm_io_notify {
                fn_: None,
                context: ptr::null_mut(),
            },
            client: self.ptr.as_ptr(),
        };
        let mut region = bindings::dm_io_region {
            bdev: dev.bdev(),
            sector,
            count: (data.len() / SECTOR_SIZE) as u64,
        };
        // SAFETY: The request reads into `data`, which is exclusively borrowed until the call
        // returns; the call is synchronous as there is no notification. `dev` is open.
        to_result(unsafe {
            bindings::dm_io(
                &mut request,
                1,
                &mut region,
                ptr::null_mut(),
                ptr::null_mut(),
                0,
            )
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the client.
        unsafe { bindings::dm_io_client_destroy(self.ptr.as_ptr()) }
    }
}
