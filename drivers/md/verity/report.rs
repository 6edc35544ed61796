// SPDX-License-Identifier: GPL-2.0

//! What is told about a block with a wrong digest: a log line and a uevent.

use core::{
    ffi::CStr,
    fmt, //
};

use dm::target::status::Status;

/// The reports of a device; after them, it is silent. `DM_VERITY_MAX_CORRUPTED_ERRS`
pub const MAX_REPORTS: u32 = 100;

/// The log line after the last report, to follow the name of the device.
pub const REACHED_MAXIMUM: &str = "reached maximum errors";

/// The size of the variable of a uevent in bytes: just enough. `DM_VERITY_ENV_LENGTH`
pub const UEVENT_LENGTH: usize = 46;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A data block.
    Data,
    /// A hash block.
    Metadata,
}

impl BlockKind {
    /// The word in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Metadata => "metadata",
        }
    }

    /// The number in the uevent.
    pub const fn number(self) -> u32 {
        match self {
            Self::Data => 0,
            Self::Metadata => 1,
        }
    }
}

/// A block with a wrong digest.
///
/// Its [`Display`](fmt::Display) is the log line that follows the name of the data device, as in
/// "7:0: data block 5 is corrupted".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// The kind of the block.
    pub kind: BlockKind,
    /// The block, from the start of its device.
    pub block: u64,
}

impl Corruption {
    /// Writes the variable of the uevent, as in "DM_VERITY_ERR_BLOCK_NR=0,5".
    pub fn uevent<'a>(&self, buffer: &'a mut [u8; UEVENT_LENGTH]) -> &'a CStr {
        let mut text = Status::new(buffer);
        text.emit(format_args!(
            "DM_VERITY_ERR_BLOCK_NR={},{}",
            self.kind.number(),
            self.block
        ));
        CStr::from_bytes_until_nul(buffer).unwrap_or_default()
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} block {} is corrupted", self.kind.name(), self.block)
    }
}
