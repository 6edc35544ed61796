// SPDX-License-Identifier: GPL-2.0

//! The parameters of the module, as those of the C module.

use dm::params::{
    BoolParam,
    UintArrayParam,
    UintParam, //
};

dm::module_param! {
    /// Bytes of data whose leaf hash blocks are read ahead together; 0 reads only what is needed
    pub(crate) static prefetch_cluster: UintParam = UintParam::new(262144), 0o644;
}

dm::module_param! {
    /// Largest read in bytes that is verified in softirq, by I/O class: none, rt, be, idle
    pub(crate) static use_bh_bytes: UintArrayParam<4> =
        UintArrayParam::new([8192, 8192, 8192, 0]), 0o644;
}

dm::module_param! {
    /// Refuse tables whose root digest is not signed
    pub(crate) static require_signatures: BoolParam = BoolParam::new(false), 0o444;
}

dm::module_param! {
    /// Leave the keyring of the module open for keys
    pub(crate) static keyring_unsealed: BoolParam = BoolParam::new(false), 0o444;
}
