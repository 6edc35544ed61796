// SPDX-License-Identifier: GPL-2.0

//! Bios that the core maps.

use super::{
    call::{
        Call,
        Decision, //
    },
    end_io,
    metadata,
    redirect,
    Cursor,
    Header,
    Owned, //
};
use crate::{
    bindings,
    target::{
        device::Device,
        Instance,
        Operations, //
    },
};
use core::{
    marker::PhantomData,
    mem,
    ptr::NonNull, //
};

/// What a bio asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// The device may forget the data.
    Discard,
    /// Anything else; dm core sends it to no target that does not ask for it.
    Other,
}

impl Op {
    /// Returns what a bio or a request with such flags asks for.
    #[inline]
    pub(crate) fn of(flags: bindings::blk_opf_t) -> Self {
        match flags & bindings::RDM_REQ_OP_MASK {
            bindings::req_op_REQ_OP_READ => Self::Read,
            bindings::req_op_REQ_OP_WRITE => Self::Write,
            bindings::req_op_REQ_OP_DISCARD => Self::Discard,
            _ => Self::Other,
        }
    }
}

/// # Safety
///
/// `bio` must be valid.
#[inline]
pub(super) unsafe fn op_of(bio: *const bindings::bio) -> Op {
    // SAFETY: By the requirements of this function.
    Op::of(unsafe { (*bio).bi_opf })
}

/// A bio that its target has not decided on.
///
/// # Invariants
///
/// `bio` is valid, and the target may do with it what it likes. It has the per-bio data of a
/// target of type `T`. No other `MapBio` or [`Owned`] has the name `'a`.
pub struct MapBio<'a, T: Operations> {
    bio: NonNull<bindings::bio>,
    pub(super) instance: &'a Instance<T>,
    _call: Call<'a>,
}

impl<'a, T: Operations> MapBio<'a, T> {
    /// # Safety
    ///
    /// `bio` must be a bio that the core maps to `instance`, and the result be given to one call
    /// of `map`.
    #[inline]
    pub(crate) unsafe fn from_raw(bio: *mut bindings::bio, instance: &'a Instance<T>) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            // SAFETY: The core passes valid bios.
            bio: unsafe { NonNull::new_unchecked(bio) },
            instance,
            _call: PhantomData,
        }
    }

    #[inline]
    fn get(&self) -> &bindings::bio {
        // SAFETY: By the type invariant, the bio is valid and only this target uses it.
        unsafe { self.bio.as_ref() }
    }

    /// Returns the first sector (512 bytes) of the mapped device.
    #[inline]
    pub fn sector(&self) -> u64 {
        let iter = &self.get().bi_iter;
        iter.bi_sector
    }

    /// Returns the number of sectors.
    #[inline]
    pub fn sectors(&self) -> u32 {
        let iter = &self.get().bi_iter;
        iter.bi_size >> bindings::SECTOR_SHIFT
    }

    /// Returns whether the bio carries data to the device.
    #[inline]
    pub fn is_write(&self) -> bool {
        self.get().bi_opf & 1 != 0
    }

    /// Returns what the bio asks for.
    #[inline]
    pub fn op(&self) -> Op {
        // SAFETY: By the type invariant.
        unsafe { op_of(self.bio.as_ptr()) }
    }

    /// Returns whether all that was written before is to reach the medium first. From dm core,
    /// such a bio has no data.
    #[inline]
    pub fn is_flush(&self) -> bool {
        self.get().bi_opf & bindings::RDM_REQ_PREFLUSH != 0
    }

    /// Returns whether the bio is to end only when its data is on the medium, and takes that upon
    /// the caller: the device below is not told.
    #[inline]
    pub fn take_fua(&mut self) -> bool {
        // SAFETY: By the type invariant, the bio is valid and only this target uses it.
        let bio = unsafe { self.bio.as_mut() };
        let fua = bio.bi_opf & bindings::RDM_REQ_FUA != 0;
        bio.bi_opf &= !bindings::RDM_REQ_FUA;
        fua
    }

    /// Returns the bytes of metadata that come with the bio, or `None` if it has none.
    #[inline]
    pub fn metadata_bytes(&self) -> Option<u32> {
        // SAFETY: By the type invariant, the bio is valid, and so is its metadata.
        unsafe {
            let payload = metadata::of(self.bio.as_ptr());
            (!payload.is_null()).then(|| (*bindings::rdm_bip_iter(payload)).bi_size)
        }
    }

    /// Returns whether all pieces of the data are multiples of `bytes` long, a power of two.
    #[inline]
    pub fn is_aligned_to(&self, bytes: u32) -> bool {
        let bio = self.get();
        // SAFETY: By the type invariant, the bio is valid, and its vectors are as it says.
        let mut cursor = unsafe { Cursor::new(bio.bi_io_vec, bio.bi_iter, false) };
        while let Some(len) = cursor.vector_len() {
            if len & bytes.wrapping_sub(1) != 0 {
                return false;
            }
            cursor.advance(len);
        }
        true
    }

    /// Returns whether the bio must reach the device as a whole.
    #[inline]
    pub fn is_atomic(&self) -> bool {
        self.get().bi_opf & bindings::RDM_REQ_ATOMIC != 0
    }

    /// Takes only the first `sectors` of the bio, and has the core send the rest again. Does
    /// nothing if there are no more, or if the bio must not be split: an atomic write, one to a
    /// zone, or one without data.
    #[inline]
    pub fn accept_partial(&mut self, sectors: u32) {
        let zoned = self.instance.target().emulates_zone_append();
        let whole = match self.op() {
            Op::Read => false,
            Op::Write => self.is_atomic() || self.is_flush() || zoned,
            Op::Discard => zoned,
            Op::Other => true,
        };
        if !whole && sectors > 0 && sectors < self.sectors() {
            // SAFETY: The core maps the bio now, and the checks above are those of the function.
            unsafe { bindings::dm_accept_partial_bio(self.bio.as_ptr(), sectors) };
        }
    }

    /// Returns the I/O priority, for I/O on behalf of this bio.
    #[inline]
    pub fn priority(&self) -> u16 {
        self.get().bi_ioprio
    }

    /// Fails the bio with `EIO`.
    #[inline]
    pub fn kill(self) -> Decision<'a> {
        Decision::new(bindings::DM_MAPIO_KILL)
    }

    /// Has the core submit the bio to `sector` of `device` and end it with its result.
    #[inline]
    pub fn remap(self, device: &Device, sector: u64) -> Decision<'a> {
        // SAFETY: By the type invariant; the device is open as long as the table lives.
        unsafe { redirect(self.bio.as_ptr(), device, sector) };
        Decision::new(bindings::DM_MAPIO_REMAPPED)
    }

    /// Takes the bio, with a value that stays with it. No allocation.
    #[inline]
    pub fn take(self, data: T::PerBio) -> Owned<'a, T> {
        let bio = self.bio.as_ptr();
        // SAFETY: By the type invariant, the bio has `per_io_data_size` bytes in front, which
        // `ctr` set to the size of a header, and which nobody else uses.
        let header = unsafe {
            let header: *mut Header<T> =
                bindings::dm_per_bio_data(bio, mem::size_of::<Header<T>>()).cast();
            header.write(Header {
                work: pin_init::zeroed(),
                bio: self.bio,
                instance: NonNull::from(self.instance),
                end_io: (*bio).bi_end_io,
                iter: (*bio).bi_iter,
                metadata: metadata::of(bio),
                next: core::ptr::null_mut(),
                copy: None,
                tags: None,
                data,
            });
            NonNull::new_unchecked(header)
        };
        // SAFETY: The bio is ours.
        unsafe {
            (*bio).bi_end_io = Some(end_io::<T>);
            (*bio).bi_private = header.as_ptr().cast();
        }
        // INVARIANT: The header was made above, and the bio leads back to it. The name is that of
        // `self`, which is gone.
        Owned {
            header,
            _call: PhantomData,
        }
    }
}
