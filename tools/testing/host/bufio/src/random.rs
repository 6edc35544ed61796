// SPDX-License-Identifier: GPL-2.0

//! Random operations by one thread, compared with plain models.

mod contents;
mod index;
mod list;
mod ranges;
mod state;
