// SPDX-License-Identifier: GPL-2.0

//! Errors from which a device does not recover.
//!
//! After the first one of the journal, the tags, or the superblock, what is on the device is not
//! what the volume should be, and every bio fails with its number until a table is loaded anew.

use crate::LOG;
use core::sync::atomic::{
    AtomicI32,
    AtomicU64,
    Ordering, //
};
use dm::bio::BlockStatus;
use kernel::prelude::*;

/// What has gone wrong so far.
pub(crate) struct Failure {
    errno: AtomicI32,
    mismatches: AtomicU64,
}

impl Failure {
    pub(crate) fn new() -> Self {
        Self {
            errno: AtomicI32::new(0),
            mismatches: AtomicU64::new(0),
        }
    }

    /// Fails the device, if it was well. Any context.
    pub(crate) fn set(&self, what: &str, error: Error) {
        if error == EILSEQ {
            self.count_mismatch();
        }
        let errno = error.to_errno();
        let first = self
            .errno
            .compare_exchange(0, errno, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        if first {
            LOG.error(fmt!("Error on {}: {}", what, errno));
        }
    }

    /// Fails the device if the result is an error. Any context.
    pub(crate) fn check(&self, what: &str, result: Result) -> bool {
        if let Err(error) = result {
            self.set(what, error);
        }
        result.is_ok()
    }

    /// Returns why the device fails, if it does. Any context.
    #[inline]
    pub(crate) fn get(&self) -> Result {
        match self.errno.load(Ordering::Acquire) {
            0 => Ok(()),
            errno => Err(Error::from_errno(errno)),
        }
    }

    /// Returns whether the device fails. Any context.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.get().is_err()
    }

    /// Returns the status with which a bio ends that had this one.
    #[inline]
    pub(crate) fn status(&self, status: BlockStatus) -> BlockStatus {
        match self.get() {
            Err(error) if status.is_ok() => error.into(),
            _ => status,
        }
    }

    /// Counts a wrong tag. Any context.
    pub(crate) fn count_mismatch(&self) {
        self.mismatches.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many wrong tags there were.
    pub(crate) fn mismatches(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }
}
