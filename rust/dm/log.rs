// SPDX-License-Identifier: GPL-2.0

//! Messages with the prefix that device mapper targets have in the kernel log.
//!
//! The printing macros of the `kernel` crate put the name of the module in front. Administrators
//! and tests look for `device-mapper: verity: ...`, so targets print through a [`Log`] instead.
//!
//! C headers: [`include/linux/device-mapper.h`](srctree/include/linux/device-mapper.h) (`DMERR`),
//! [`include/linux/ratelimit.h`](srctree/include/linux/ratelimit.h)

use crate::bindings;
use core::sync::atomic::{
    AtomicI64,
    AtomicU32,
    Ordering, //
};
use kernel::{
    fmt,
    prelude::*,
    print::{
        call_printk,
        format_strings, //
    },
};

/// The interval of [`RateLimit`] in nanoseconds, `DEFAULT_RATELIMIT_INTERVAL`.
const INTERVAL_NS: i64 = 5_000_000_000;

/// The messages in an interval, `DEFAULT_RATELIMIT_BURST`.
const BURST: u32 = 10;

/// Where the messages of a subsystem go.
///
/// # Invariants
///
/// `prefix` ends with a NUL byte.
pub struct Log {
    prefix: &'static CStr,
}

impl Log {
    /// Creates a log with a prefix such as `c"device-mapper: verity"`.
    pub const fn new(prefix: &'static CStr) -> Self {
        Self { prefix }
    }

    /// Logs an error, `DMERR`. Any context. The text needs no newline.
    pub fn error(&self, args: fmt::Arguments<'_>) {
        self.print(&format_strings::ERR, args);
    }

    /// Logs a warning, `DMWARN`. Any context.
    pub fn warn(&self, args: fmt::Arguments<'_>) {
        self.print(&format_strings::WARNING, args);
    }

    /// Logs a notice, `DMINFO`. Any context.
    pub fn info(&self, args: fmt::Arguments<'_>) {
        self.print(&format_strings::INFO, args);
    }

    /// Logs an error unless there were too many at this place, `DMERR_LIMIT`. Any context.
    pub fn error_limited(&self, limit: &RateLimit, args: fmt::Arguments<'_>) {
        if self.passes(limit) {
            self.error(args);
        }
    }

    /// Logs a warning unless there were too many at this place, `DMWARN_LIMIT`. Any context.
    pub fn warn_limited(&self, limit: &RateLimit, args: fmt::Arguments<'_>) {
        if self.passes(limit) {
            self.warn(args);
        }
    }

    fn passes(&self, limit: &RateLimit) -> bool {
        // SAFETY: The function has no requirements.
        let now = unsafe { bindings::ktime_get() };
        let verdict = limit.check(now);
        if let Verdict::Start { missed } = verdict {
            if missed > 0 {
                self.warn(fmt!("{} callbacks suppressed", missed));
            }
        }
        verdict != Verdict::Suppress
    }

    fn print(&self, level: &'static [u8; format_strings::LENGTH], args: fmt::Arguments<'_>) {
        let prefix = self.prefix.to_bytes_with_nul();
        // SAFETY: `level` is one of the fixed formats, and `prefix` ends with a NUL byte.
        unsafe { call_printk(level, prefix, fmt!("{}\n", args)) }
    }
}

/// What [`RateLimit::check`] says of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Print it; it is the first of an interval, and `missed` ones went before.
    Start { missed: u32 },
    /// Print it.
    Print,
    /// Drop it.
    Suppress,
}

/// Ten messages in five seconds, as the kernel's default. One for each place that prints.
pub struct RateLimit {
    begin: AtomicI64,
    printed: AtomicU32,
    missed: AtomicU32,
}

impl RateLimit {
    /// Creates the state of one place.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self {
            begin: AtomicI64::new(i64::MIN),
            printed: AtomicU32::new(0),
            missed: AtomicU32::new(0),
        }
    }

    fn check(&self, now: i64) -> Verdict {
        let begin = self.begin.load(Ordering::Relaxed);
        let fresh = begin == i64::MIN || now.saturating_sub(begin) > INTERVAL_NS;
        if fresh
            && self
                .begin
                .compare_exchange(begin, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.printed.store(1, Ordering::Relaxed);
            return Verdict::Start {
                missed: self.missed.swap(0, Ordering::Relaxed),
            };
        }
        if self.printed.load(Ordering::Relaxed) >= BURST {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return Verdict::Suppress;
        }
        self.printed.fetch_add(1, Ordering::Relaxed);
        Verdict::Print
    }
}
