// SPDX-License-Identifier: GPL-2.0

//! How much memory all caches together may use, and what of it is used.
//!
//! Before a buffer is allocated, its bytes are [charged](try_charge). That fails where they would
//! exceed the limit, and the caller evicts something first. So the limit holds at every moment,
//! with one exception: the buffers that clients have in reserve are allocated in any case.
//!
//! What is counted are the bytes of the data, as it is allocated.

use super::registry;
use crate::{
    bindings,
    params::{
        UlongParam,
        WatchedUlongParam, //
    },
};
use core::sync::atomic::{
    AtomicUsize,
    Ordering, //
};
use kernel::{
    page::PAGE_SHIFT,
    prelude::*, //
};

/// The part of the main memory that the caches may use by default.
const MEMORY_PERCENT: usize = 2;

/// The part of the space for `vmalloc` that the caches may use by default.
const VMALLOC_PERCENT: usize = 25;

crate::module_param! {
    /// Size of metadata cache
    static max_cache_size_bytes: WatchedUlongParam =
        WatchedUlongParam::new(0, limit_changed), 0o644;
}

crate::module_param! {
    /// Try to keep at least this many bytes cached in memory
    static retain_bytes: UlongParam = UlongParam::new(256 * 1024), 0o644;
}

crate::module_param! {
    /// Tracks the maximum allocated memory
    static peak_allocated_bytes: UlongParam = UlongParam::new(0), 0o644;
}

crate::module_param! {
    /// Memory allocated with kmem_cache_alloc
    static allocated_kmem_cache_bytes: UlongParam = UlongParam::new(0), 0o444;
}

crate::module_param! {
    /// Memory allocated with kmalloc_alloc
    static allocated_kmalloc_bytes: UlongParam = UlongParam::new(0), 0o444;
}

crate::module_param! {
    /// Memory allocated with get_free_pages
    static allocated_get_free_pages_bytes: UlongParam = UlongParam::new(0), 0o444;
}

crate::module_param! {
    /// Memory allocated with vmalloc
    static allocated_vmalloc_bytes: UlongParam = UlongParam::new(0), 0o444;
}

crate::module_param! {
    /// Memory currently used by the cache
    static current_allocated_bytes: UlongParam = UlongParam::new(0), 0o444;
}

/// The limit where the administrator set none.
static DEFAULT_LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Where the data of a buffer comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `kmalloc`.
    Slab,
    /// `__get_free_pages`.
    Pages,
    /// `vmalloc`.
    Virtual,
}

impl Class {
    fn counter(self) -> &'static UlongParam {
        match self {
            Class::Slab => &allocated_kmalloc_bytes,
            Class::Pages => &allocated_get_free_pages_bytes,
            Class::Virtual => &allocated_vmalloc_bytes,
        }
    }

    /// Counts data that was allocated.
    pub(super) fn allocated(self, bytes: usize) {
        self.counter().add(bytes);
    }

    /// Counts data that was freed.
    pub(super) fn freed(self, bytes: usize) {
        self.counter().sub(bytes);
    }
}

/// Computes the default and shows it as the limit, unless one was given at load.
pub(super) fn init() {
    // SAFETY: The helpers have no requirements.
    let (pages, space) = unsafe { (bindings::totalram_pages(), bindings::rdm_vmalloc_total()) };
    let memory = (pages / 100).saturating_mul(MEMORY_PERCENT) << PAGE_SHIFT;
    let limit = memory.min((space / 100).saturating_mul(VMALLOC_PERCENT));
    DEFAULT_LIMIT.store(limit, Ordering::Relaxed);
    self::limit();
}

/// Evicts what is too much now.
fn limit_changed() {
    // At load, there is nothing yet.
    if default_limit() != 0 {
        registry::make_room(0);
    }
}

/// The limit that holds if the administrator sets none.
pub(super) fn default_limit() -> usize {
    DEFAULT_LIMIT.load(Ordering::Relaxed)
}

/// The limit.
pub(super) fn limit() -> usize {
    max_cache_size_bytes.get_or_set(default_limit())
}

/// How much the shrinker leaves to each client.
pub(super) fn retained() -> usize {
    retain_bytes.get()
}

/// Counts bytes that are about to be allocated, unless they would exceed the limit.
pub(super) fn try_charge(bytes: usize) -> bool {
    let ok = current_allocated_bytes.try_add(bytes, limit());
    if ok {
        peak_allocated_bytes.raise(current_allocated_bytes.get());
    }
    ok
}

/// Counts bytes that are allocated in any case.
pub(super) fn charge(bytes: usize) {
    current_allocated_bytes.add(bytes);
    peak_allocated_bytes.raise(current_allocated_bytes.get());
}

/// Counts bytes no longer.
pub(super) fn discharge(bytes: usize) {
    current_allocated_bytes.sub(bytes);
}

/// Says so if something was not freed when the module goes.
pub(super) fn check_leaks() {
    let counters = [
        &current_allocated_bytes,
        &allocated_kmem_cache_bytes,
        &allocated_kmalloc_bytes,
        &allocated_get_free_pages_bytes,
        &allocated_vmalloc_bytes,
    ];
    let [current, rest @ ..] = counters.map(UlongParam::get);
    if current != 0 || rest != [0; 4] {
        pr_crit!("bufio: bytes were leaked: {} of {:?}\n", current, rest);
    }
}

/// Whether less than half of what may be used is.
pub(super) fn has_room() -> bool {
    current_allocated_bytes.get() < limit() / 2
}

/// How many bytes must go before `bytes` more can be charged.
pub(super) fn excess(bytes: usize) -> usize {
    current_allocated_bytes
        .get()
        .saturating_add(bytes)
        .saturating_sub(limit())
}
