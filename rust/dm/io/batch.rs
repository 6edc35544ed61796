// SPDX-License-Identifier: GPL-2.0

//! Writes that are under way at the same time.

use super::{
    shared,
    Client,
    Place,
    Write, //
};
use crate::{
    bindings,
    context::MaySleep,
    memory::Shared,
    target::device::Device, //
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::Range,
    sync::atomic::{
        AtomicBool,
        AtomicUsize,
        Ordering, //
    },
};
use kernel::{
    ffi::{
        c_ulong,
        c_void, //
    },
    prelude::*, //
};

/// Writes that have been started, all of which end before [`Client::batch`] returns.
///
/// # Invariants
///
/// `running` counts the writes that have not ended, and one more while nobody waits; whoever
/// brings it to zero completes `done`.
pub struct Batch<'env> {
    client: &'env Client,
    running: AtomicUsize,
    failed: AtomicBool,
    done: UnsafeCell<bindings::completion>,
    // Neither longer nor shorter: what is written stays as long as the batch.
    _memory: PhantomData<core::cell::Cell<&'env ()>>,
}

impl Client {
    /// Runs `f` with a batch, and waits for what it has started: its second result is whether all
    /// writes went well. May sleep.
    pub fn batch<'env, R>(
        &'env self,
        token: MaySleep<'_>,
        f: impl FnOnce(&Batch<'env>) -> R,
    ) -> (R, Result) {
        // INVARIANT: None has been started, and nobody waits.
        let batch = Batch {
            client: self,
            running: AtomicUsize::new(1),
            failed: AtomicBool::new(false),
            done: UnsafeCell::new(pin_init::zeroed()),
            _memory: PhantomData,
        };
        // SAFETY: It stays where it is until the end of this function.
        unsafe { bindings::rdm_init_completion(batch.done.get()) };
        let mut plug = pin_init::zeroed::<bindings::blk_plug>();
        // SAFETY: The plug stays where it is, and is ended by the same task.
        unsafe { bindings::blk_start_plug(&mut plug) };
        let result = f(&batch);
        // SAFETY: Started above.
        unsafe { bindings::blk_finish_plug(&mut plug) };
        (result, batch.wait(token))
    }
}

impl<'env> Batch<'env> {
    /// Starts to write bytes of `memory` to `sector` (512 bytes each) of `dev`. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the bytes are not whole sectors of the memory. What the device says is the
    /// result of [`wait`](Self::wait).
    pub fn write(
        &self,
        dev: &'env Device,
        sector: u64,
        memory: &'env Shared,
        part: Range<usize>,
        _: MaySleep<'_>,
    ) -> Result {
        let (memory, len) = shared(memory, part)?;
        // INVARIANT: One more is under way.
        self.running.fetch_add(1, Ordering::Relaxed);
        let notify = bindings::dm_io_notify {
            fn_: Some(ended),
            context: core::ptr::from_ref(self).cast_mut().cast(),
        };
        let place = Place { dev, sector };
        let opf = Write::Cached.opf();
        // SAFETY: The memory lives longer than the batch, which waits for the end.
        let result = unsafe { self.client.submit(opf, place, memory, len, Some(notify)) };
        if result.is_err() {
            self.end(true);
        }
        result
    }

    /// Waits for the writes so far. May sleep.
    ///
    /// # Errors
    ///
    /// `EIO` if one of them failed.
    pub fn wait(&self, _: MaySleep<'_>) -> Result {
        self.end(false);
        // SAFETY: It was initialised, and whoever ends the last write completes it. Nobody uses it
        // any more when this returns, so that it can be used again.
        unsafe { bindings::wait_for_completion_io(self.done.get()) };
        // INVARIANT: Nobody waits any more.
        self.running.fetch_add(1, Ordering::Relaxed);
        match self.failed.swap(false, Ordering::Relaxed) {
            true => Err(EIO),
            false => Ok(()),
        }
    }

    fn end(&self, failed: bool) {
        if failed {
            self.failed.store(true, Ordering::Relaxed);
        }
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: It was initialised, and who waits for it has not gone.
            unsafe { bindings::complete(self.done.get()) };
        }
    }
}

/// # Safety
///
/// `context` must be the batch that started the write.
unsafe extern "C" fn ended(error: c_ulong, unsupported: c_ulong, context: *mut c_void) {
    // SAFETY: By the requirements of this function; the batch waits for this.
    let batch = unsafe { &*context.cast::<Batch<'_>>() };
    batch.end(error != 0 || unsupported != 0);
}
