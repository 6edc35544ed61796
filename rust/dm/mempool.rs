// SPDX-License-Identifier: GPL-2.0

//! Pools of pages that are kept in reserve.
//!
//! An allocation from a pool that may sleep never fails: if memory is short, it waits until a
//! page of the reserve is given back.
//!
//! C header: [`include/linux/mempool.h`](srctree/include/linux/mempool.h)

use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::{
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull,
    slice,
};
use kernel::{
    ffi::{
        c_int,
        c_void, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

/// A pool of whatever its functions make.
///
/// # Invariants
///
/// `self.0` is a valid pool that `self` owns.
pub(crate) struct Pool(NonNull<bindings::mempool>);

// SAFETY: Pools may be used and destroyed by any thread.
unsafe impl Send for Pool {}
// SAFETY: Pools synchronise their users.
unsafe impl Sync for Pool {}

impl Pool {
    /// Owns a pool that was made just now; `ENOMEM` if there is none.
    ///
    /// # Safety
    ///
    /// If not null, `pool` must be a valid pool that nobody else has. What is allocated of it must
    /// be given back before the result is dropped, and so long its functions must be callable.
    pub(crate) unsafe fn from_raw(pool: *mut bindings::mempool) -> Result<Self> {
        // INVARIANT: By the requirements of this function.
        Ok(Self(NonNull::new(pool).ok_or(ENOMEM)?))
    }

    /// Creates a pool that keeps `reserve` pieces. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `alloc` and `free` must be functions for pools, to be called with `data` until the result is
    /// dropped. What is allocated of it must be given back before.
    pub(crate) unsafe fn new(
        reserve: c_int,
        alloc: bindings::mempool_alloc_t,
        free: bindings::mempool_free_t,
        data: *mut c_void,
    ) -> Result<Self> {
        alloc::point()?;
        // SAFETY: By the requirements of this function.
        unsafe {
            Self::from_raw(bindings::mempool_create_node_noprof(
                reserve,
                alloc,
                free,
                data,
                bindings::RDM_GFP_KERNEL,
                bindings::NUMA_NO_NODE,
            ))
        }
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut bindings::mempool {
        self.0.as_ptr()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the pool, and all that was of it is back.
        unsafe { bindings::mempool_destroy(self.as_ptr()) }
    }
}

/// A pool of pages.
///
/// # Invariants
///
/// The pool is of single pages, which borrow it.
pub struct PagePool(Pool);

impl PagePool {
    /// Creates a pool that keeps `reserve` pages. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(reserve: u32, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        let reserve = i32::try_from(reserve).map_err(|_| EINVAL)?;
        // INVARIANT: That is what the helper makes.
        // SAFETY: The pool was made just now, with functions of the kernel. Its pages borrow it.
        let pool = unsafe { Pool::from_raw(bindings::rdm_mempool_create_page_pool(reserve)) };
        Ok(Self(pool?))
    }

    /// Takes a page, without recursing into I/O. Waits for one if there is none.
    pub fn alloc(&self, _: MaySleep<'_>) -> PooledPage<'_> {
        loop {
            // SAFETY: By the type invariant, the pool is valid.
            let page = unsafe { bindings::rdm_mempool_alloc_noio(self.0.as_ptr()) };
            if let Some(page) = NonNull::new(page.cast::<bindings::page>()) {
                // SAFETY: `page` is a valid page of the direct map.
                let data = unsafe { bindings::lowmem_page_address(page.as_ptr()) };
                if let Some(data) = NonNull::new(data.cast()) {
                    // SAFETY: The page is ours and has `PAGE_SIZE` bytes.
                    unsafe { data.write_bytes(0, PAGE_SIZE) };
                    // INVARIANT: `page` came from the pool, `data` is its address.
                    return PooledPage {
                        pool: self,
                        page,
                        data,
                    };
                }
            }
        }
    }
}

/// A page of a pool, [`PAGE_SIZE`] bytes, given back when it is dropped.
///
/// # Invariants
///
/// `page` came from `pool`; `data` is its address and valid for reads and writes of
/// [`PAGE_SIZE`] initialised bytes that nobody else accesses.
pub struct PooledPage<'a> {
    pool: &'a PagePool,
    page: NonNull<bindings::page>,
    data: NonNull<u8>,
}

impl Deref for PooledPage<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: By the type invariant.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), PAGE_SIZE) }
    }
}

impl DerefMut for PooledPage<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: By the type invariant, and `&mut self` is exclusive.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), PAGE_SIZE) }
    }
}

impl Drop for PooledPage<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `page` came from `pool`, and it is not used any more.
        unsafe { bindings::mempool_free(self.page.as_ptr().cast(), self.pool.0.as_ptr()) }
    }
}
