// SPDX-License-Identifier: GPL-2.0

//! The parameters of the module, as those of the C module.

use dm::params::UintParam;

dm::module_param! {
    /// Largest part of a read in bytes that is handled at a time; 0 is the default
    pub(crate) static max_read_size: UintParam = UintParam::new(0), 0o644;
}

dm::module_param! {
    /// Largest part of a write in bytes that is handled at a time; 0 is the default
    pub(crate) static max_write_size: UintParam = UintParam::new(0), 0o644;
}
