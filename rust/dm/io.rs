// SPDX-License-Identifier: GPL-2.0

//! I/O of a target's own, by dm-io.
//!
//! All of it is waited for, one by one or in a [`Batch`].
//!
//! C header: [`include/linux/dm-io.h`](srctree/include/linux/dm-io.h)

mod batch;
mod metadata;

pub use batch::Batch;
pub use metadata::{
    read_with_metadata,
    write_with_metadata, //
};

use crate::{
    alloc,
    bindings,
    context::MaySleep,
    memory::Shared,
    target::device::Device, //
};
use core::{
    ops::Range,
    ptr::{
        self,
        NonNull, //
    },
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
    pub fn read(&self, dev: &Device, sector: u64, data: &mut [u8], token: MaySleep<'_>) -> Result {
        let place = Place { dev, sector };
        let (ptr, len) = (data.as_mut_ptr(), data.len());
        // SAFETY: `data` is exclusively borrowed until the call returns.
        unsafe { self.slice(bindings::req_op_REQ_OP_READ, place, ptr, len, token) }
    }

    /// Writes `data` to `sector` (512 bytes each) of `dev`, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn write(
        &self,
        dev: &Device,
        sector: u64,
        data: &[u8],
        how: Write,
        token: MaySleep<'_>,
    ) -> Result {
        let place = Place { dev, sector };
        let (ptr, len) = (data.as_ptr().cast_mut(), data.len());
        // SAFETY: `data` is borrowed until the call returns, and a write does not change it.
        unsafe { self.slice(how.opf(), place, ptr, len, token) }
    }

    /// # Safety
    ///
    /// `ptr` must be valid for `len` bytes until the call returns: for writes if `opf` is a read,
    /// for reads otherwise.
    unsafe fn slice(
        &self,
        opf: bindings::blk_opf_t,
        place: Place<'_>,
        ptr: *mut u8,
        len: usize,
        _: MaySleep<'_>,
    ) -> Result {
        // SAFETY: The function only looks at the address.
        let mapped = unsafe { bindings::is_vmalloc_addr(ptr.cast()) };
        if mapped || len % SECTOR_SIZE != 0 {
            return Err(EINVAL);
        }
        let memory = bindings::dm_io_memory {
            type_: bindings::dm_io_mem_type_DM_IO_KMEM,
            offset: 0,
            ptr: bindings::dm_io_memory__bindgen_ty_1 { addr: ptr.cast() },
        };
        // SAFETY: By the requirements of this function; the call is synchronous.
        unsafe { self.submit(opf, place, memory, len, None) }
    }

    /// Reads `len` bytes from `sector` (512 bytes each) of `dev` to `offset` in `memory`, and
    /// waits for it. All three are multiples of 512 bytes.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_shared(
        &self,
        dev: &Device,
        sector: u64,
        memory: &Shared,
        part: Range<usize>,
        _: MaySleep<'_>,
    ) -> Result {
        let (memory, len) = shared(memory, part)?;
        let place = Place { dev, sector };
        // SAFETY: The memory is borrowed until the call returns, and copes with races.
        unsafe { self.submit(bindings::req_op_REQ_OP_READ, place, memory, len, None) }
    }

    /// Writes bytes of `memory` to `sector` (512 bytes each) of `dev`, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn write_shared(
        &self,
        dev: &Device,
        sector: u64,
        memory: &Shared,
        part: Range<usize>,
        how: Write,
        _: MaySleep<'_>,
    ) -> Result {
        let (memory, len) = shared(memory, part)?;
        let place = Place { dev, sector };
        // SAFETY: As above.
        unsafe { self.submit(how.opf(), place, memory, len, None) }
    }

    /// Has the device write its cache to the medium, and waits for it.
    ///
    /// # Errors
    ///
    /// `EIO` if the device fails.
    pub fn flush(&self, dev: &Device, _: MaySleep<'_>) -> Result {
        let memory = bindings::dm_io_memory {
            type_: bindings::dm_io_mem_type_DM_IO_KMEM,
            offset: 0,
            ptr: bindings::dm_io_memory__bindgen_ty_1 {
                addr: ptr::null_mut(),
            },
        };
        let opf =
            bindings::req_op_REQ_OP_WRITE | bindings::RDM_REQ_PREFLUSH | bindings::RDM_REQ_SYNC;
        let place = Place { dev, sector: 0 };
        // SAFETY: There is no data.
        unsafe { self.submit(opf, place, memory, 0, None) }
    }

    /// # Safety
    ///
    /// The memory must be valid for `len` bytes until the I/O has ended, which is when the call
    /// returns or, if there is a batch, when the batch has been waited for.
    pub(crate) unsafe fn submit(
        &self,
        opf: bindings::blk_opf_t,
        place: Place<'_>,
        memory: bindings::dm_io_memory,
        len: usize,
        notify: Option<bindings::dm_io_notify>,
    ) -> Result {
        let mut request = bindings::dm_io_request {
            bi_opf: opf,
            mem: memory,
            notify: notify.unwrap_or(bindings::dm_io_notify {
                fn_: None,
                context: ptr::null_mut(),
            }),
            client: self.ptr.as_ptr(),
        };
        let mut region = bindings::dm_io_region {
            bdev: place.dev.bdev(),
            sector: place.sector,
            count: (len / SECTOR_SIZE) as u64,
        };
        // SAFETY: By the requirements of this function. `dev` is open.
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

/// A place on a device; the sector has 512 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) dev: &'a Device,
    pub(crate) sector: u64,
}

/// Bytes of shared memory, as dm-io takes them.
pub(crate) fn shared(
    memory: &Shared,
    part: Range<usize>,
) -> Result<(bindings::dm_io_memory, usize)> {
    let len = part.end.checked_sub(part.start).ok_or(EINVAL)?;
    if len == 0 || part.start % SECTOR_SIZE != 0 || len % SECTOR_SIZE != 0 {
        return Err(EINVAL);
    }
    let ptr = memory.at(part.start, len).ok_or(EINVAL)?;
    let memory = bindings::dm_io_memory {
        type_: bindings::dm_io_mem_type_DM_IO_VMA,
        offset: 0,
        ptr: bindings::dm_io_memory__bindgen_ty_1 { vma: ptr.cast() },
    };
    Ok((memory, len))
}

/// How to write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Into the cache of the device.
    Cached,
    /// To the medium.
    Through,
    /// To the medium, and somebody waits for it.
    ThroughNow,
}

impl Write {
    pub(crate) fn opf(self) -> bindings::blk_opf_t {
        let write = bindings::req_op_REQ_OP_WRITE;
        match self {
            Self::Cached => write,
            Self::Through => write | bindings::RDM_REQ_FUA,
            Self::ThroughNow => write | bindings::RDM_REQ_FUA | bindings::RDM_REQ_SYNC,
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the client.
        unsafe { bindings::dm_io_client_destroy(self.ptr.as_ptr()) }
    }
}
