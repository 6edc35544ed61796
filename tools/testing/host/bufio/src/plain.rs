// SPDX-License-Identifier: GPL-2.0

//! The cache as the kernel builds it.

#[path = "../../../../../rust/dm/atomic.rs"]
mod atomic;
#[path = "../../../../../rust/dm/bufio/contents.rs"]
pub(crate) mod contents;
#[path = "../../../../../rust/dm/bufio/index.rs"]
pub(crate) mod index;
#[path = "../../../../../rust/dm/bufio/list.rs"]
pub(crate) mod list;
#[path = "../../../../../rust/dm/progress.rs"]
pub(crate) mod progress;
#[path = "../../../../../rust/dm/bufio/ranges.rs"]
pub(crate) mod ranges;
#[path = "../../../../../rust/dm/bufio/state.rs"]
pub(crate) mod state;
#[path = "../../../../../rust/dm/bufio/wakeup.rs"]
pub(crate) mod wakeup;
