// SPDX-License-Identifier: GPL-2.0

//! Bindings to the parts of device mapper that the `bindings` crate lacks.

#![allow(
    clippy::all,
    clippy::arithmetic_side_effects,
    clippy::cast_lossless,
    clippy::indexing_slicing,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    improper_ctypes,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn
)]

pub use kernel::bindings::*;
use pin_init::MaybeZeroable;

type __kernel_size_t = usize;

include!(concat!(
    env!("RDM_OBJTREE"),
    "/rust/bindings/bindings_generated.rs"
));

mod helpers {
    use super::*;
    include!(concat!(
        env!("RDM_OBJTREE"),
        "/rust/bindings/bindings_helpers_generated.rs"
    ));
}
pub use helpers::*;
