// SPDX-License-Identifier: GPL-2.0

//! I/O with the metadata that a device keeps for each of its blocks.
//!
//! C header: [`include/linux/bio-integrity.h`](srctree/include/linux/bio-integrity.h)

use super::{
    Place,
    SECTOR_SIZE, //
};
use crate::{
    bindings,
    context::MaySleep,
    target::device::Device, //
};
use core::mem::MaybeUninit;
use kernel::{
    error::to_result,
    page::PAGE_SIZE,
    prelude::*, //
};

/// Reads from `sector` (512 bytes each) of `dev` until `data` is full, and as many bytes of
/// metadata as there are in `metadata`, which must be those of that data. Waits for it.
///
/// `data` is a multiple of 512 bytes long. Neither is on the stack nor from `vmalloc`.
///
/// # Errors
///
/// `EINVAL` if `data` or `metadata` are not as they have to be, `ENOMEM`, or the error of the
/// device.
pub fn read_with_metadata(
    dev: &Device,
    sector: u64,
    data: &mut [u8],
    metadata: &mut [u8],
    _: MaySleep<'_>,
) -> Result {
    let place = Place { dev, sector };
    let data = (data.as_mut_ptr(), data.len());
    let metadata = (metadata.as_mut_ptr(), metadata.len());
    // SAFETY: Both are exclusively borrowed until the call returns.
    unsafe { transfer(bindings::req_op_REQ_OP_READ, place, data, metadata) }
}

/// Writes `data` and its metadata to `sector` (512 bytes each) of `dev`, and waits for it.
///
/// # Errors
///
/// As [`read_with_metadata`].
pub fn write_with_metadata(
    dev: &Device,
    sector: u64,
    data: &[u8],
    metadata: &[u8],
    _: MaySleep<'_>,
) -> Result {
    let place = Place { dev, sector };
    let data = (data.as_ptr().cast_mut(), data.len());
    let metadata = (metadata.as_ptr().cast_mut(), metadata.len());
    // SAFETY: Both are borrowed until the call returns, and a write does not change them.
    unsafe { transfer(bindings::req_op_REQ_OP_WRITE, place, data, metadata) }
}

/// # Safety
///
/// Both pieces of memory must be valid until the call returns: for writes if `opf` is a read, for
/// reads otherwise. The caller may sleep.
unsafe fn transfer(
    opf: bindings::blk_opf_t,
    place: Place<'_>,
    (data, len): (*mut u8, usize),
    (metadata, metadata_len): (*mut u8, usize),
) -> Result {
    // SAFETY: The helper only looks at the addresses.
    let direct = unsafe {
        bindings::rdm_is_direct(data.cast()) && bindings::rdm_is_direct(metadata.cast())
        //
    };
    if !direct || len == 0 || len % SECTOR_SIZE != 0 || metadata_len == 0 {
        return Err(EINVAL);
    }
    let size = u32::try_from(len).map_err(|_| EINVAL)?;
    let metadata_size = u32::try_from(metadata_len).map_err(|_| EINVAL)?;
    let mut vector: bindings::bio_vec = pin_init::zeroed();
    let mut memory = MaybeUninit::<bindings::bio>::uninit();
    let bio = memory.as_mut_ptr();
    // SAFETY: The bio and its vector stay where they are until it has ended, which is before this
    // function returns; what they point to is valid by the requirements of this function. The
    // device is open. Memory of the direct map lies together.
    unsafe {
        bindings::bio_init(bio, place.dev.bdev(), &mut vector, 1, opf);
        (*bio).bi_iter.bi_sector = place.sector;
        let page = bindings::virt_to_page(data.cast());
        let offset = (data.addr() & (PAGE_SIZE - 1)) as u32;
        let added = bindings::bio_add_page(bio, page, size, offset) as u32;
        let result = match added == size {
            true => to_result(bindings::rdm_bio_add_metadata(
                bio,
                metadata.cast(),
                metadata_size,
                place.sector,
                bindings::RDM_GFP_NOIO_WAIT,
            ))
            .and_then(|()| to_result(bindings::submit_bio_wait(bio))),
            false => Err(EINVAL),
        };
        bindings::bio_uninit(bio);
        result
    }
}
