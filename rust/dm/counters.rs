// SPDX-License-Identifier: GPL-2.0

//! Counters of what happens often.
//!
//! Each CPU counts on cache lines of its own, so counting costs no traffic between CPUs. A sum may
//! be read while others count.

use crate::{
    alloc,
    bindings, //
};
use core::sync::atomic::{
    AtomicU64,
    Ordering, //
};
use kernel::prelude::*;

/// `N` counters.
pub struct Counters<const N: usize> {
    cpus: KVec<Line<N>>,
}

#[repr(C, align(64))]
struct Line<const N: usize>([AtomicU64; N]);

impl<const N: usize> Counters<N> {
    /// Makes counters that are 0. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new() -> Result<Self> {
        alloc::point()?;
        // SAFETY: The helper has no requirements.
        let count = unsafe { bindings::rdm_nr_cpu_ids() } as usize;
        let mut cpus = KVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            cpus.push(Line([const { AtomicU64::new(0) }; N]), GFP_KERNEL)?;
        }
        Ok(Self { cpus })
    }

    /// Adds `n` to a counter; to none if there is no such counter. Any context.
    #[inline]
    pub fn add(&self, counter: usize, n: u64) {
        // SAFETY: The helper has no requirements.
        let cpu = unsafe { bindings::rdm_raw_smp_processor_id() } as usize;
        if let Some(value) = self.cpus.get(cpu).and_then(|line| line.0.get(counter)) {
            value.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Returns the sum of a counter over all CPUs. Any context.
    pub fn sum(&self, counter: usize) -> u64 {
        self.cpus
            .iter()
            .filter_map(|line| line.0.get(counter))
            .fold(0, |sum, value| {
                sum.wrapping_add(value.load(Ordering::Relaxed))
            })
    }
}
