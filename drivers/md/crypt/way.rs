// SPDX-License-Identifier: GPL-2.0

//! Who converts the data of a bio or a request.

use crate::target::Crypt;
use dm::context::Kind;

/// The bytes of the largest bio that is converted where it is.
const SMALL: u32 = 16384;

/// Who decrypts a read.
pub(crate) enum Way {
    /// Whoever completes it.
    Here,
    /// A softirq of this CPU.
    SoftIrq,
    /// A thread, with what else there is.
    Together,
    /// A thread for itself.
    Thread,
}

impl Crypt {
    /// Returns whether a write of so many bytes is encrypted by who maps it.
    #[inline]
    pub(crate) fn encrypts_here(&self, bytes: u32) -> bool {
        (self.flags.no_write_workqueue || bytes <= SMALL) && self.converter.is_direct()
    }

    /// Decides who decrypts a read of so many bytes that has come back now.
    #[inline]
    pub(crate) fn way_of_read(&self, bytes: u32) -> Way {
        if !self.converter.is_direct() {
            return Way::Thread;
        }
        let small = bytes <= SMALL;
        match Kind::current() {
            // No cipher works with interrupts off.
            Kind::HardIrq if self.flags.no_read_workqueue => Way::SoftIrq,
            _ if self.flags.no_read_workqueue => Way::Here,
            // The device was so fast that whoever wants the data is still here.
            Kind::Task if small => Way::Here,
            _ if small => Way::Together,
            _ => Way::Thread,
        }
    }
}
