// SPDX-License-Identifier: GPL-2.0

//! The memory for copies, and how much of it there may be.

use crate::{
    alloc,
    bindings,
    context::MaySleep,
    mempool::Pool, //
};
use core::{
    mem::MaybeUninit,
    num::NonZeroU32,
    ptr::NonNull,
    sync::atomic::{
        AtomicU32,
        AtomicU64,
        Ordering, //
    },
};
use kernel::{
    error::to_result,
    ffi::{
        c_int,
        c_uint,
        c_ushort,
        c_void, //
    },
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    sync::Mutex,
    types::Opaque, //
};

/// The pages in reserve, which are those of the largest bio.
const RESERVED_PAGES: c_int = bindings::BIO_MAX_VECS as c_int;

/// The bytes of the largest copy.
pub(crate) const MAX_BYTES: u32 = (PAGE_SIZE as u32).wrapping_mul(RESERVED_PAGES as u32);

/// The bios in reserve.
const RESERVED_BIOS: c_uint = 64;

/// The pieces of memory for which a bio needs no other allocation, `BIO_INLINE_VECS`.
const INLINE: usize = 4;

/// The pages that all devices of a kind may have for copies.
pub struct Budget {
    devices: AtomicU32,
    each: AtomicU64,
    share: fn(u64, NonZeroU32) -> u64,
}

impl Budget {
    /// Creates a budget, for a static. `share` gets the pages of the machine and the number of
    /// devices, and returns the pages that each device may have.
    pub const fn new(share: fn(u64, NonZeroU32) -> u64) -> Self {
        Self {
            devices: AtomicU32::new(0),
            each: AtomicU64::new(0),
            share,
        }
    }

    fn change(&self, change: impl FnOnce(&AtomicU32)) {
        change(&self.devices);
        let mut devices = self.devices.load(Ordering::SeqCst);
        loop {
            // SAFETY: The helper has no requirements.
            let pages = unsafe { bindings::totalram_pages() };
            if let Some(devices) = NonZeroU32::new(devices) {
                self.each
                    .store((self.share)(pages as u64, devices), Ordering::SeqCst);
            }
            // Another device may have come or gone, and stored before this did.
            let now = self.devices.load(Ordering::SeqCst);
            if now == devices {
                return;
            }
            devices = now;
        }
    }
}

/// The pages that a device has.
///
/// # Invariants
///
/// `pages` is an initialised counter, and the device is counted in `budget`.
struct Count {
    pages: Opaque<bindings::percpu_counter>,
    budget: &'static Budget,
}

impl Count {
    fn new(budget: &'static Budget) -> Result<KBox<Self>> {
        let count = Self {
            pages: Opaque::uninit(),
            budget,
        };
        let mut memory = alloc::boxed(MaybeUninit::new(count), GFP_KERNEL)?;
        // SAFETY: The counter is in memory of its own, in which it stays.
        let result = unsafe {
            let count = memory.as_mut_ptr();
            bindings::rdm_percpu_counter_init((*count).pages.get())
        };
        to_result(result)?;
        budget.change(|devices| {
            devices.fetch_add(1, Ordering::SeqCst);
        });
        // INVARIANT: Initialised and counted above.
        // SAFETY: The value was written when the box was made.
        Ok(unsafe { memory.assume_init() })
    }

    /// Adds pages, or takes them away.
    #[inline]
    fn add(&self, pages: i64) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rdm_percpu_counter_add(self.pages.get(), pages) }
    }

    /// Returns whether the budget has room for more. The counter is only roughly right.
    #[inline]
    fn has_room(&self, pages: u64) -> bool {
        // SAFETY: By the type invariant.
        let now = unsafe { bindings::rdm_percpu_counter_read(self.pages.get()) };
        let max = self.budget.each.load(Ordering::Relaxed);
        (now.max(0) as u64).saturating_add(pages) <= max
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; nobody uses the counter any more.
        unsafe { bindings::rdm_percpu_counter_destroy(self.pages.get()) };
        self.budget.change(|devices| {
            devices.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

/// The pages in reserve.
///
/// # Invariants
///
/// The pool is of single pages; its functions use a [`Count`] that lives longer.
struct Pages(Pool);

impl Pages {
    /// # Safety
    ///
    /// The result must be dropped before `count` is, and `count` must not move.
    unsafe fn new(count: &Count) -> Result<Self> {
        let data = core::ptr::from_ref(count).cast_mut().cast();
        // INVARIANT: By the requirements of this function.
        // SAFETY: The functions get the count, which lives longer. No bio outlives the pool.
        let pool = unsafe {
            Pool::new(
                RESERVED_PAGES,
                Some(Self::alloc_page),
                Some(Self::free_page),
                data,
            )
        };
        Ok(Self(pool?))
    }

    /// # Safety
    ///
    /// `count` must be a [`Count`].
    unsafe extern "C" fn alloc_page(gfp: bindings::gfp_t, count: *mut c_void) -> *mut c_void {
        // SAFETY: By the requirements of this function.
        let count = unsafe { &*count.cast::<Count>() };
        // The pool tries without effort first, and takes from its reserve if that fails.
        let first = gfp & bindings::RDM_GFP_NORETRY != 0;
        if first && !count.has_room(1) {
            return core::ptr::null_mut();
        }
        // SAFETY: There are no requirements.
        let page = unsafe { bindings::rdm_alloc_pages(gfp, 0) };
        if !page.is_null() {
            count.add(1);
        }
        page.cast()
    }

    /// # Safety
    ///
    /// `page` must come from [`alloc_page`](Self::alloc_page) for the same `count`.
    unsafe extern "C" fn free_page(page: *mut c_void, count: *mut c_void) {
        // SAFETY: By the requirements of this function.
        unsafe {
            bindings::__free_pages(page.cast(), 0);
            (*count.cast::<Count>()).add(-1);
        }
    }
}

/// Bios in reserve.
///
/// # Invariants
///
/// The set is initialised, and stays where it is.
pub(crate) struct Bios(KBox<Opaque<bindings::bio_set>>);

// SAFETY: Sets may be used and destroyed by any thread.
unsafe impl Send for Bios {}
// SAFETY: They synchronise their users.
unsafe impl Sync for Bios {}

impl Bios {
    /// Sets some bios aside. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(reserve: c_uint, flags: u32) -> Result<Self> {
        let set = Opaque::new(pin_init::zeroed());
        let set = alloc::boxed(set, GFP_KERNEL)?;
        // SAFETY: The set is zeroed, and stays in the box.
        to_result(unsafe {
            bindings::bioset_init(set.get(), reserve, 0, flags as c_int) //
        })?;
        // INVARIANT: Initialised above.
        Ok(Self(set))
    }

    /// Returns the set, from which bios may be allocated as long as `self` lives.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut bindings::bio_set {
        self.0.get()
    }
}

impl Drop for Bios {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; no bio of it is left.
        unsafe { bindings::bioset_exit(self.0.get()) }
    }
}

/// What there was no memory for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// What counts the pages.
    Count,
    /// The reserve of pages.
    Pages,
    /// The reserve of bios.
    Bios,
}

/// The memory for copies of one instance.
pub(crate) struct Copies {
    // In this order: the first ones use the last one until they are dropped.
    bios: Bios,
    pages: Pages,
    waiters: Pin<KBox<Mutex<()>>>,
    count: KBox<Count>,
}

// SAFETY: Sets, pools and counters may be used and destroyed by any thread.
unsafe impl Send for Copies {}
// SAFETY: They synchronise their users.
unsafe impl Sync for Copies {}

/// A piece of memory of `1 << order` pages.
#[derive(Clone, Copy)]
struct Piece {
    page: NonNull<bindings::page>,
    order: u32,
}

/// Returns the pages that so many bytes take.
#[inline]
fn pages_of(bytes: u32) -> u32 {
    bytes.div_ceil(PAGE_SIZE as u32)
}

impl Copies {
    /// Sets the reserves aside.
    pub(crate) fn new(budget: &'static Budget, _: MaySleep<'_>) -> Result<Self, Lack> {
        let count = Count::new(budget).map_err(|_| Lack::Count)?;
        // SAFETY: The fields are dropped in order, and the count is in a box.
        let pages = unsafe { Pages::new(&count) }.map_err(|_| Lack::Pages)?;
        let flags = bindings::BIOSET_NEED_BVECS | bindings::BIOSET_PERCPU_CACHE;
        let bios = Bios::new(RESERVED_BIOS, flags).map_err(|_| Lack::Bios)?;
        let waiters = alloc::pin_boxed(new_mutex!(()), GFP_KERNEL).map_err(|_| Lack::Bios)?;
        Ok(Self {
            bios,
            pages,
            waiters,
            count,
        })
    }

    /// Allocates a piece of at most `1 << *order` pages, without waiting. `order` becomes that of
    /// the piece: if there was none that large, there will be none for the next one.
    #[inline]
    fn piece(&self, order: &mut u32) -> Option<Piece> {
        loop {
            let pages = 1_u64.wrapping_shl(*order);
            if self.count.has_room(pages) {
                let gfp = bindings::RDM_GFP_NOWAIT | bindings::RDM_GFP_COMP;
                // SAFETY: There are no requirements.
                let page = unsafe { bindings::rdm_alloc_pages(gfp, *order) };
                if let Some(page) = NonNull::new(page) {
                    self.count.add(pages as i64);
                    return Some(Piece {
                        page,
                        order: *order,
                    });
                }
            }
            *order = order.checked_sub(1)?;
        }
    }

    /// Frees a piece that was allocated by [`piece`](Self::piece) or from the reserve.
    ///
    /// # Safety
    ///
    /// The piece must be of this device, and nobody use it.
    #[inline]
    unsafe fn free_piece(&self, piece: Piece) {
        // SAFETY: By the requirements of this function. Single pages fill the reserve first; the
        // pool counts them as it frees them.
        unsafe {
            if piece.order == 0 {
                bindings::mempool_free(piece.page.as_ptr().cast(), self.pages.0.as_ptr());
            } else {
                bindings::__free_pages(piece.page.as_ptr(), piece.order);
                self.count
                    .add(1_i64.wrapping_shl(piece.order).wrapping_neg());
            }
        }
    }

    #[inline]
    fn alloc_bio(&self, vecs: u32, opf: u32, gfp: u32) -> Option<NonNull<bindings::bio>> {
        // SAFETY: The set is initialised. A bio without a device needs no other preparation.
        NonNull::new(unsafe {
            bindings::bio_alloc_bioset(
                core::ptr::null_mut(),
                vecs as c_ushort,
                opf,
                gfp,
                self.bios.as_ptr(),
            )
        })
    }

    /// Makes a bio with memory for `bytes`, without waiting.
    pub(crate) fn quick(&self, bytes: u32, opf: u32) -> Option<NonNull<bindings::bio>> {
        alloc::point().ok()?;
        let mut left = bytes;
        let mut order = bindings::MAX_PAGE_ORDER;
        let mut pieces = [None; INLINE];
        for slot in &mut pieces {
            if left > 0 {
                *slot = self.next_piece(&mut order, &mut left);
            }
        }
        let (pieces, used) = (
            pieces.into_iter().flatten(),
            pieces.iter().flatten().count(),
        );
        // If the memory is in few pieces, their vectors are in the bio itself.
        let vecs = (used as u32).saturating_add(pages_of(left));
        let Some(bio) = self.alloc_bio(vecs, opf, bindings::RDM_GFP_NOWAIT) else {
            for piece in pieces {
                // SAFETY: Allocated above.
                unsafe { self.free_piece(piece) };
            }
            return None;
        };
        let mut open = bytes;
        for piece in pieces {
            // SAFETY: The bio is ours and has a vector for each piece.
            unsafe { Self::append(bio, piece, &mut open) };
        }
        while open > 0 {
            let mut left = open;
            let Some(piece) = self.next_piece(&mut order, &mut left) else {
                // SAFETY: The bio was not submitted, and is not used any more.
                unsafe { self.free(bio) };
                return None;
            };
            // SAFETY: The bio has a vector for each page.
            unsafe { Self::append(bio, piece, &mut open) };
        }
        Some(bio)
    }

    /// Allocates the largest piece for a part of `left` bytes, and takes it off them.
    #[inline]
    fn next_piece(&self, order: &mut u32, left: &mut u32) -> Option<Piece> {
        *order = (*order).min(pages_of(*left).checked_ilog2()?);
        let piece = self.piece(order)?;
        *left = left.saturating_sub((PAGE_SIZE as u32).wrapping_shl(piece.order));
        Some(piece)
    }

    /// # Safety
    ///
    /// The bio must be ours and have a free vector; the piece becomes the bio's.
    #[inline]
    unsafe fn append(bio: NonNull<bindings::bio>, piece: Piece, open: &mut u32) {
        let len = (PAGE_SIZE as u32).wrapping_shl(piece.order).min(*open);
        // SAFETY: By the requirements of this function.
        unsafe { bindings::__bio_add_page(bio.as_ptr(), piece.page.as_ptr(), len, 0) };
        *open = open.saturating_sub(len);
    }

    /// Makes a bio with memory for `bytes`, which must be no more than the reserve. Waits for it.
    pub(crate) fn wait(
        &self,
        bytes: u32,
        opf: u32,
        _: MaySleep<'_>,
    ) -> Option<NonNull<bindings::bio>> {
        let _one_at_a_time = self.waiters.lock();
        let bio = self.alloc_bio(pages_of(bytes), opf, bindings::RDM_GFP_NOIO_WAIT)?;
        let mut open = bytes;
        while open > 0 {
            // SAFETY: The pool is valid.
            let page = unsafe {
                bindings::mempool_alloc_noprof(
                    self.pages.0.as_ptr(),
                    bindings::RDM_GFP_NOIO_WAIT, //
                )
            };
            if let Some(page) = NonNull::new(page.cast()) {
                // SAFETY: The bio has a vector for each page.
                unsafe { Self::append(bio, Piece { page, order: 0 }, &mut open) };
            }
        }
        Some(bio)
    }

    /// Frees a bio and its memory. Any context.
    ///
    /// # Safety
    ///
    /// `bio` must have been made here, and nobody use it any more.
    pub(crate) unsafe fn free(&self, bio: NonNull<bindings::bio>) {
        let bio = bio.as_ptr();
        // SAFETY: By the requirements of this function. Each vector is a piece, of which only that
        // at the end of the bio is not full.
        unsafe {
            for index in 0..usize::from((*bio).bi_vcnt) {
                let vec = (*bio).bi_io_vec.add(index);
                if let Some(page) = NonNull::new((*vec).bv_page) {
                    let order = pages_of((*vec).bv_len).checked_ilog2().unwrap_or(0);
                    self.free_piece(Piece { page, order });
                }
            }
            bindings::bio_put(bio);
        }
    }
}
