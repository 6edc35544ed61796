// SPDX-License-Identifier: GPL-2.0

//! All clients, and taking memory from the one that needs it least.
//!
//! The list of clients has a mutex. It is held while buffers are evicted, so that no client goes
//! away meanwhile, but never while anything is allocated or read: reclaim may wait for it.
//!
//! The shrinker frees buffers at once, where C leaves that to a work item: nothing on the way
//! waits for I/O, so that there is no reason to, and reclaim learns what it really got. It gives
//! up rather than wait if somebody else is evicting.
//!
//! C header: [`include/linux/shrinker.h`](srctree/include/linux/shrinker.h)

use super::{
    cache::Cache,
    limit,
    list::List, //
};
use crate::{
    alloc,
    bindings, //
};
use core::ptr::NonNull;
use kernel::{
    ffi::c_ulong,
    prelude::*,
    sync::global_lock, //
};

global_lock! {
    // SAFETY: `Registration::new` initialises it before there can be a client.
    unsafe(uninit) static CLIENTS: Mutex<List<Cache>> = List::new();
}

/// The most bytes that are evicted beyond what is needed, so that it is not needed each time.
const MAX_SLACK: usize = 1 << 20;

/// What the shrinker returns if it cannot do anything now, `SHRINK_STOP`.
const SHRINK_STOP: c_ulong = c_ulong::MAX;

/// How many buffers of a client are looked at before another client may be the oldest.
const TURN: usize = 64;

/// How much is to be evicted.
enum Goal {
    Bytes(usize),
    Buffers(usize),
}

impl Goal {
    /// How many buffers of a client that would be.
    fn buffers(&self, cache: &Cache) -> usize {
        match *self {
            Goal::Bytes(bytes) => match bytes.checked_sub(1) {
                Some(rest) => (rest / cache.shape.footprint).saturating_add(1),
                None => 0,
            },
            Goal::Buffers(buffers) => buffers,
        }
    }

    fn reduce(&mut self, cache: &Cache, evicted: usize) {
        match self {
            Goal::Bytes(bytes) => {
                *bytes = bytes.saturating_sub(evicted.saturating_mul(cache.shape.footprint.get()));
            }
            Goal::Buffers(buffers) => *buffers = buffers.saturating_sub(evicted),
        }
    }
}

/// Adds a client.
///
/// # Safety
///
/// The cache is pinned, and valid until it is [removed](remove).
pub(super) unsafe fn add(cache: &Cache) {
    // SAFETY: By the requirements of this function.
    unsafe { CLIENTS.lock().push_back(NonNull::from(cache)) };
}

/// Removes a client. Nobody evicts its buffers any more.
///
/// # Safety
///
/// The client was [added](add).
pub(super) unsafe fn remove(cache: &Cache) {
    // SAFETY: By the requirements of this function.
    unsafe { CLIENTS.lock().remove(NonNull::from(cache)) };
}

/// Calls a function while nobody evicts buffers on behalf of others.
pub(super) fn alone<R>(f: impl FnOnce() -> R) -> R {
    let _clients = CLIENTS.lock();
    f()
}

/// How many buffers of a client may go if it keeps `retain` bytes.
fn evictable(cache: &Cache, retain: usize) -> usize {
    cache
        .cached()
        .saturating_sub(retain / cache.shape.footprint)
}

/// Evicts from the client with the oldest buffers first. Returns how many buffers went.
///
/// Every buffer is looked at twice at most: the second round finds the referenced bits cleared.
fn evict(clients: &List<Cache>, mut goal: Goal, retain: usize) -> usize {
    let cached: usize = clients.iter().map(Cache::cached).sum();
    let mut budget = cached.saturating_mul(2);
    let mut total = 0_usize;
    while budget > 0 {
        let oldest = clients
            .iter()
            .filter(|cache| evictable(cache, retain) > 0)
            .max_by_key(|cache| cache.age());
        let Some(cache) = oldest else {
            break;
        };
        let wanted = goal.buffers(cache).min(evictable(cache, retain));
        if wanted == 0 {
            break;
        }
        // So that the next client has its turn when this one's buffers turn out to be in use.
        let share = budget.min(TURN);
        let mut left = share;
        let evicted = cache.evict(wanted, &mut left);
        budget = budget.saturating_sub(share.saturating_sub(left).max(1));
        goal.reduce(cache, evicted);
        total = total.saturating_add(evicted);
    }
    total
}

/// Evicts until `bytes` more can be charged, or nothing is left that can go. May sleep, but not
/// for I/O.
pub(super) fn make_room(bytes: usize) {
    let clients = CLIENTS.lock();
    // Somebody else may have made room while this waited for the lock.
    let excess = limit::excess(bytes);
    if excess > 0 {
        let slack = (limit::limit() / 64).min(MAX_SLACK);
        evict(&clients, Goal::Bytes(excess.saturating_add(slack)), 0);
        if limit::excess(bytes) > 0 {
            clients.iter().for_each(Cache::want_room);
        }
    }
}

/// The shrinker.
///
/// # Invariants
///
/// `shrinker` is registered.
pub(crate) struct Registration {
    shrinker: NonNull<bindings::shrinker>,
}

// SAFETY: A shrinker may be unregistered by any thread.
unsafe impl Send for Registration {}
// SAFETY: Nothing can be done with a shared registration.
unsafe impl Sync for Registration {}

impl Registration {
    /// Prepares everything that is common to all clients.
    ///
    /// # Safety
    ///
    /// Called once, when the module is loaded.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) unsafe fn new() -> Result<Self> {
        // SAFETY: This runs once.
        unsafe { CLIENTS.init() };
        limit::init();
        alloc::point()?;
        // SAFETY: The format is a literal without arguments.
        let shrinker = unsafe { bindings::shrinker_alloc(0, c"rdm-bufio".as_char_ptr()) };
        let shrinker = NonNull::new(shrinker).ok_or(ENOMEM)?;
        // SAFETY: It is valid and not registered yet.
        unsafe {
            let at = shrinker.as_ptr();
            (*at).count_objects = Some(count_objects);
            (*at).scan_objects = Some(scan_objects);
            (*at).seeks = 1;
            bindings::shrinker_register(at);
        }
        // INVARIANT: Registered above.
        Ok(Self { shrinker })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. It waits for callbacks that are running.
        unsafe { bindings::shrinker_free(self.shrinker.as_ptr()) };
        limit::check_leaks();
    }
}

/// # Safety
///
/// Called by the core, in a context that may sleep but wants memory.
unsafe extern "C" fn count_objects(
    _: *mut bindings::shrinker,
    _: *mut bindings::shrink_control,
) -> c_ulong {
    let Some(clients) = CLIENTS.try_lock() else {
        return 0;
    };
    let retain = limit::retained();
    clients.iter().map(|cache| evictable(cache, retain)).sum()
}

/// # Safety
///
/// Called by the core, in a context that may sleep but wants memory, with a valid `control`.
unsafe extern "C" fn scan_objects(
    _: *mut bindings::shrinker,
    control: *mut bindings::shrink_control,
) -> c_ulong {
    let Some(clients) = CLIENTS.try_lock() else {
        return SHRINK_STOP;
    };
    // SAFETY: The core passes a valid structure.
    let wanted = unsafe { (*control).nr_to_scan };
    let evicted = evict(&clients, Goal::Buffers(wanted), limit::retained());
    if evicted < wanted {
        clients.iter().for_each(Cache::want_room);
    }
    evicted
}
