// SPDX-License-Identifier: GPL-2.0

//! What a target is made of.

#[path = "../../../../../rust/dm/target/args.rs"]
pub mod args;
#[path = "../../../../../rust/dm/target/number.rs"]
pub mod number;
#[path = "../../../../../rust/dm/target/status.rs"]
pub mod status;
