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
    page::PAGE_SIZE,
    prelude::*, //
};

/// A pool of pages.
///
/// # Invariants
///
/// `pool` is a valid pool of single pages that `self` owns.
pub struct PagePool {
    pool: NonNull<bindings::mempool>,
}

// SAFETY: Pools may be used and destroyed by any thread.
unsafe impl Send for PagePool {}
// SAFETY: Pools synchronise their users.
unsafe impl Sync for PagePool {}

impl PagePool {
    /// Creates a pool that keeps `reserve` pages. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(reserve: u32, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        let reserve = i32::try_from(reserve).map_err(|_| EINVAL)?;
        // SAFETY: The helper has no requirements.
        let pool = unsafe { bindings::rdm_mempool_create_page_pool(reserve) };
        // INVARIANT: The pool was made just now and nobody else knows it.
        Ok(Self {
            pool: NonNull::new(pool).ok_or(ENOMEM)?,
        })
    }

    /// Takes a page, without recursing into I/O. Waits for one if there is none.
    pub fn alloc(&self, _: MaySleep<'_>) -> PooledPage<'_> {
        loop {
            // SAFETY: By the type invariant, the pool is valid.
            let page = unsafe { bindings::rdm_mempool_alloc_noio(self.pool.as_ptr()) };
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

impl Drop for PagePool {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the pool; pages borrow it, so all are back.
        unsafe { bindings::mempool_destroy(self.pool.as_ptr()) }
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
        unsafe { bindings::mempool_free(self.page.as_ptr().cast(), self.pool.pool.as_ptr()) }
    }
}
