// SPDX-License-Identifier: GPL-2.0

//! The parameters of the engine. All may be written at any time.

use dm::params::{
    UintParam,
    UlongParam, //
};

dm::module_param! {
    /// Requests in the queue, the one that is being done included
    pub(crate) static depth: UintParam = UintParam::new(16), 0o644;
}

dm::module_param! {
    /// Nanoseconds that each request takes
    pub(crate) static request_ns: UintParam = UintParam::new(20000), 0o644;
}

dm::module_param! {
    /// Picoseconds that each byte takes besides
    pub(crate) static byte_ps: UintParam = UintParam::new(0), 0o644;
}

dm::module_param! {
    /// The n-th request from now on fails, when it is done; 0 for none
    pub(crate) static fail_after: UintParam = UintParam::new(0), 0o644;
}

dm::module_param! {
    /// The n-th request from now on is refused; 0 for none
    pub(crate) static refuse_after: UintParam = UintParam::new(0), 0o644;
}

dm::module_param! {
    /// How many requests were done; may be written
    pub(crate) static requests: UintParam = UintParam::new(0), 0o644;
}

dm::module_param! {
    /// The most requests that were in the queue and in front of it; may be written
    pub(crate) static most: UlongParam = UlongParam::new(0), 0o644;
}

dm::module_param! {
    /// How many requests had to wait in front of the queue; may be written
    pub(crate) static delayed: UintParam = UintParam::new(0), 0o644;
}

dm::module_param! {
    /// How often the engine had nothing left to do; may be written
    pub(crate) static idle: UintParam = UintParam::new(0), 0o644;
}
