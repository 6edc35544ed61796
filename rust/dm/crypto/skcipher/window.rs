// SPDX-License-Identifier: GPL-2.0

//! Many requests with an engine at a time.
//!
//! An engine that works on its own is fast only if it always has something to do: all sectors of a
//! piece of work are handed to it one behind the other, and then those of the next, while the first
//! come back in any order. A [`Window`] has the memory of a number of requests, so nothing is
//! allocated for them, and no more are under way than that. Who finds all of it in use, or the
//! queue of the engine full, waits: in the only function that hands anything over, never where
//! something comes back. So what is under way always comes back, whatever waits. And who waits does
//! so until half of what is under way has come back, not for each request: the other half keeps the
//! engine busy until its successors are there.

use super::{
    Cipher,
    Direction,
    Iv,
    Memory,
    Place,
    MAX_IV_SIZE, //
};
use crate::{
    alloc,
    bindings,
    bio::Cursor,
    context::MaySleep,
    progress::{
        Progress,
        ALARM_BIT, //
    },
    semaphore::Places,
    wait_bit, //
};
use core::{
    cell::UnsafeCell,
    mem::offset_of,
    ptr::NonNull,
    sync::atomic::{
        AtomicI32,
        AtomicU32,
        Ordering, //
    },
};
use kernel::{
    ffi::{
        c_int,
        c_void, //
    },
    prelude::*,
    sync::Arc,
    types::Opaque, //
};

/// What is converted as one piece.
pub trait Cargo: Send + 'static {
    /// Returns where the data is, and where its conversion goes, which may be the same. Both must
    /// stay as they are until the cargo arrives.
    fn data(&self) -> (Cursor<'_>, Cursor<'_>);

    /// Is called when all of it is converted, or with one of the errors. Softirq, or the context
    /// of [`Window::send`].
    fn arrived(self, result: Result);
}

/// The requests that are with an engine at a time.
pub struct Window<K: Cargo>(Pin<KBox<Inner<K>>>);

/// # Invariants
///
/// Each of `slots` has the memory of a request to any of `ciphers`; who has its place among
/// `free_slots` has the slot. The same goes for `jobs`.
#[pin_data]
struct Inner<K> {
    ciphers: Arc<KVec<Cipher>>,
    slots: KVec<Slot>,
    jobs: KVec<Job<K>>,
    #[pin]
    free_slots: Places,
    #[pin]
    free_jobs: Places,
    /// The requests that were handed over.
    progress: Progress,
}

// SAFETY: Slots and jobs belong to whoever has their places; cargo is `Send`.
unsafe impl<K: Send> Send for Inner<K> {}
// SAFETY: As above.
unsafe impl<K: Send> Sync for Inner<K> {}

/// The memory of a request.
///
/// # Invariants
///
/// `frame` is the front of `_memory`, which has a [`Frame`] with the context of the ciphers.
struct Slot {
    frame: NonNull<Frame>,
    _memory: Memory,
}

/// A request and what it points to. The memory of the algorithm follows the request.
#[repr(C, align(64))]
struct Frame {
    iv: Iv,
    src: bindings::scatterlist,
    dst: bindings::scatterlist,
    window: *const c_void,
    job: *const c_void,
    slot: usize,
    request: bindings::skcipher_request,
}

/// What precedes the memory of the algorithm.
const HEAD: usize = offset_of!(Frame, request) + size_of::<bindings::skcipher_request>();

/// A piece of work that is under way.
struct Job<K> {
    place: usize,
    /// The requests under way, and one for whoever still hands over.
    pending: AtomicU32,
    /// The first error, or 0.
    error: AtomicI32,
    /// Completed when a request that waited in front of the engine's queue is in it.
    entered: Opaque<bindings::completion>,
    cargo: UnsafeCell<Option<K>>,
}

impl<K: Cargo> Window<K> {
    /// Makes a window of `depth` requests to `ciphers`, which are of one algorithm. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there are no ciphers or no requests; `ENOMEM`.
    pub fn new(ciphers: Arc<KVec<Cipher>>, depth: u32, _: MaySleep<'_>) -> Result<Self> {
        let context = ciphers.first().ok_or(EINVAL)?.context;
        if depth == 0 || ciphers.iter().any(|cipher| cipher.context > context) {
            return Err(EINVAL);
        }
        let bytes = HEAD.checked_add(context).ok_or(ENOMEM)?;
        let mut slots = alloc::with_capacity(depth as usize, GFP_KERNEL)?;
        let mut jobs = alloc::with_capacity(depth as usize, GFP_KERNEL)?;
        for place in 0..depth as usize {
            let mut memory = Memory::new(bytes.max(size_of::<Frame>()))?;
            // INVARIANT: There is enough of it.
            let slot = Slot {
                frame: memory.front(),
                _memory: memory,
            };
            slots.push(slot, GFP_KERNEL)?;
            jobs.push(Job::new(place), GFP_KERNEL)?;
        }
        for job in &jobs {
            // SAFETY: The completion is where it stays, and not used yet.
            unsafe { bindings::rdm_init_completion(job.entered.get()) };
        }
        let inner = try_pin_init!(Inner {
            ciphers,
            slots,
            jobs,
            free_slots <- Places::new(depth),
            free_jobs <- Places::new(depth),
            progress: Progress::new(),
        });
        Ok(Self(alloc::pin_boxed(inner, GFP_KERNEL)?))
    }

    /// Converts cargo in units of `unit` bytes, and returns when all are handed over. `next` writes
    /// the vector of each and says which of the ciphers does it. Waits while there are too many
    /// requests for the window or for the engine. `next` is dropped before the cargo can arrive.
    ///
    /// The cargo arrives with an error of the algorithm if there is one; with `EIO` if a unit is
    /// not in one piece of memory, or there is no such cipher; with `EINVAL` if the unit is 0, or
    /// the data must not be written to.
    pub fn send(
        &self,
        cargo: K,
        direction: Direction,
        unit: u32,
        next: impl FnMut(&mut Iv) -> usize,
        token: MaySleep<'_>,
    ) {
        self.0.send(cargo, direction, unit, next, token);
    }
}

impl<K: Cargo> Drop for Window<K> {
    fn drop(&mut self) {
        // Nothing is under way any more if the owner of all cargo waited for it. If not, this does.
        for _ in 0..self.0.free_jobs.len() {
            self.0.free_jobs.take(MaySleep::assert());
        }
    }
}

impl<K: Cargo> Inner<K> {
    fn send(
        &self,
        cargo: K,
        direction: Direction,
        unit: u32,
        next: impl FnMut(&mut Iv) -> usize,
        token: MaySleep<'_>,
    ) {
        let place = self.free_jobs.take(token);
        let Some(job) = self.jobs.get(place) else {
            return cargo.arrived(Err(EIO));
        };
        job.pending.store(1, Ordering::Relaxed);
        job.error.store(0, Ordering::Relaxed);
        // SAFETY: The job is ours by its place. It is only taken out of it once nothing is under
        // way, for which this function must be done.
        let cargo = unsafe { (*job.cargo.get()).insert(cargo) };
        let mut sender = Sender {
            window: self,
            job,
            direction,
            unit,
            next,
        };
        if let Err(error) = sender.all(cargo.data(), token) {
            job.fail(error.to_errno());
        }
        drop(sender);
        self.share_done(job);
    }

    /// Takes note that a request is done.
    fn request_done(&self, job: &Job<K>, slot: usize, result: c_int) {
        if result != 0 {
            job.fail(result);
        }
        self.free_slots.put(slot);
        self.progress.end(|| self.wake());
        self.share_done(job);
    }

    /// Wakes up those who [`wait`](Self::wait).
    fn wake(&self) {
        wait_bit::wake(self.progress.word(), ALARM_BIT);
    }

    /// Waits until half of what is under way has come back.
    fn wait(&self, token: MaySleep<'_>) {
        let half = self.progress.half();
        while self.progress.must_wait(half, || self.wake()) {
            wait_bit::until_clear(self.progress.word(), ALARM_BIT, token);
        }
    }

    /// Gives up a share of a job. After the last one the cargo has arrived.
    fn share_done(&self, job: &Job<K>) {
        // What the others wrote happens before the end.
        if job.pending.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // SAFETY: Nothing is under way, and this is the last share, so the cargo is ours.
        let cargo = unsafe { (*job.cargo.get()).take() };
        let result = match job.error.load(Ordering::Relaxed) {
            0 => Ok(()),
            error => Err(Error::from_errno(error)),
        };
        // Nothing of the window is used behind this line.
        self.free_jobs.put(job.place);
        if let Some(cargo) = cargo {
            cargo.arrived(result);
        }
    }
}

impl<K> Job<K> {
    fn new(place: usize) -> Self {
        Self {
            place,
            pending: AtomicU32::new(0),
            error: AtomicI32::new(0),
            entered: Opaque::zeroed(),
            cargo: UnsafeCell::new(None),
        }
    }

    fn fail(&self, error: c_int) {
        let relaxed = Ordering::Relaxed;
        let _ = self.error.compare_exchange(0, error, relaxed, relaxed);
    }

    fn has_failed(&self) -> bool {
        self.error.load(Ordering::Relaxed) != 0
    }
}

/// What hands the units of a job over.
struct Sender<'a, K: Cargo, F> {
    window: &'a Inner<K>,
    job: &'a Job<K>,
    direction: Direction,
    unit: u32,
    next: F,
}

impl<K: Cargo, F: FnMut(&mut Iv) -> usize> Sender<'_, K, F> {
    /// Hands over all of the data of the job's cargo, or up to an error.
    fn all(&mut self, (mut src, mut dst): (Cursor<'_>, Cursor<'_>), token: MaySleep<'_>) -> Result {
        while let (Some(from), Some(to)) = (src.segment(), dst.segment()) {
            if !to.is_writable() {
                return Err(EINVAL);
            }
            let len = from.len().min(to.len()) as u32;
            let units = len.checked_div(self.unit).ok_or(EINVAL)?;
            if units == 0 {
                return Err(EIO);
            }
            let same = from.as_ptr() == to.as_ptr();
            let mut places = (Place::new(from.as_ptr()), Place::new(to.as_ptr()));
            for _ in 0..units {
                if self.job.has_failed() {
                    return Ok(());
                }
                // SAFETY: Both places have so many units in a row, and stay until the cargo has
                // arrived. They may race, as data of bios may with any cipher.
                unsafe { self.one((&mut places.0, &mut places.1), same, token) }?;
            }
            let bytes = units.wrapping_mul(self.unit);
            src.advance(bytes);
            dst.advance(bytes);
        }
        Ok(())
    }

    /// Hands over the unit at a pair of places, and goes on by it.
    ///
    /// # Safety
    ///
    /// Both must have a unit in a row, that is there until the cargo of the job has arrived; the
    /// second must be writable.
    unsafe fn one(
        &mut self,
        (from, to): (&mut Place, &mut Place),
        same: bool,
        token: MaySleep<'_>,
    ) -> Result {
        let window = self.window;
        let index = match window.free_slots.try_take() {
            Some(index) => index,
            None => {
                window.wait(token);
                window.free_slots.take(token)
            }
        };
        let slot = window.slots.get(index).ok_or(EIO)?.frame.as_ptr();
        // SAFETY: The slot is ours by its place, and has room for a frame, all of it initialised.
        let frame = unsafe { &mut *slot };
        frame.src = pin_init::zeroed();
        frame.dst = pin_init::zeroed();
        from.put(&mut frame.src, self.unit);
        to.put(&mut frame.dst, self.unit);
        frame.src.length = self.unit;
        frame.dst.length = self.unit;
        frame.iv = [0; MAX_IV_SIZE];
        let cipher = (self.next)(&mut frame.iv);
        let Some(cipher) = window.ciphers.get(cipher) else {
            window.free_slots.put(index);
            return Err(EIO);
        };
        frame.window = core::ptr::from_ref(window).cast();
        frame.job = core::ptr::from_ref(self.job).cast();
        frame.slot = index;
        // SAFETY: The frame is ours, does not move, and is given up here.
        let result = unsafe {
            Self::fill(slot, cipher, self.unit, same);
            self.job.pending.fetch_add(1, Ordering::Relaxed);
            window.progress.begin();
            let request = &raw mut (*slot).request;
            match self.direction {
                Direction::Encrypt => bindings::crypto_skcipher_encrypt(request),
                Direction::Decrypt => bindings::crypto_skcipher_decrypt(request),
            }
        };
        match result.wrapping_neg() as u32 {
            bindings::EINPROGRESS => (),
            // The request is in front of the engine's queue, where there is room for this one only.
            bindings::EBUSY => {
                window.wait(token);
                // SAFETY: The job lives; whoever ends the wait has a request under way.
                unsafe { bindings::wait_for_completion(self.job.entered.get()) }
            }
            _ => window.request_done(self.job, index, result),
        }
        Ok(())
    }

    /// Sets up the request of a frame whose lists are there.
    ///
    /// # Safety
    ///
    /// `slot` must have a valid frame with the context of the cipher, and be the caller's.
    unsafe fn fill(slot: *mut Frame, cipher: &Cipher, unit: u32, same: bool) {
        // SAFETY: By the requirements of this function.
        unsafe {
            let request = &raw mut (*slot).request;
            // What is left was zeroed with the slot; it is the engine's.
            (*request).base.tfm = &raw mut (*cipher.tfm.as_ptr()).base;
            (*request).base.complete = Some(done::<K>);
            (*request).base.data = slot.cast();
            (*request).base.flags = bindings::RDM_CRYPTO_TFM_REQ_MAY_BACKLOG;
            (*request).cryptlen = unit;
            (*request).iv = (&raw mut (*slot).iv).cast();
            (*request).src = &raw mut (*slot).src;
            (*request).dst = match same {
                true => &raw mut (*slot).src,
                false => &raw mut (*slot).dst,
            };
        }
    }
}

/// # Safety
///
/// `data` must be the frame of a request that is under way; unless `error` is `-EINPROGRESS`, it is
/// so no longer.
unsafe extern "C" fn done<K: Cargo>(data: *mut c_void, error: c_int) {
    let frame = data.cast::<Frame>();
    // SAFETY: The frame is there until its place is given back, and so are job and window.
    let (window, job, slot) = unsafe {
        (
            &*(*frame).window.cast::<Inner<K>>(),
            &*(*frame).job.cast::<Job<K>>(),
            (*frame).slot,
        )
    };
    if error.wrapping_neg() as u32 == bindings::EINPROGRESS {
        // SAFETY: The completion was initialised.
        unsafe { bindings::complete(job.entered.get()) };
        return;
    }
    window.request_done(job, slot, error);
}
