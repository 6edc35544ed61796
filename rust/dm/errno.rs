// SPDX-License-Identifier: GPL-2.0

//! Error numbers for code that knows nothing of the kernel crate.
//!
//! The parsers and the on-disk formats are built twice, for the kernel and for the tests on the
//! host. This is the error type of both; the abstractions turn it into [`kernel::error::Error`].
//!
//! C header: `include/uapi/asm-generic/errno-base.h`, `include/uapi/asm-generic/errno.h`
//!
//! [`kernel::error::Error`]: https://rust.docs.kernel.org/kernel/error/struct.Error.html

use core::{
    fmt,
    num::NonZeroU16, //
};

/// A positive error number.
///
/// # Invariants
///
/// The number is from 1 to [`Errno::MAX`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(NonZeroU16);

impl Errno {
    /// The largest number that is still an error number, `MAX_ERRNO`.
    pub const MAX: u16 = 4095;

    /// Makes an error number of what a C function returned, which is negative.
    ///
    /// Everything that is no error number becomes [`EINVAL`], as in the kernel crate.
    #[inline]
    pub const fn from_return(value: i32) -> Self {
        Self::new(value.unsigned_abs(), value < 0)
    }

    /// Makes an error number of a positive number.
    ///
    /// Everything that is no error number becomes [`EINVAL`].
    #[inline]
    pub const fn from_number(number: u32) -> Self {
        Self::new(number, true)
    }

    const fn new(number: u32, valid: bool) -> Self {
        if !valid || number > Self::MAX as u32 {
            return EINVAL;
        }
        match NonZeroU16::new(number as u16) {
            // INVARIANT: Not zero, and compared with the maximum above.
            Some(number) => Self(number),
            None => EINVAL,
        }
    }

    /// The error number as C names it: positive.
    #[inline]
    pub const fn number(self) -> i32 {
        self.0.get() as i32
    }

    /// The error number as a C function returns it: negative.
    #[inline]
    pub const fn to_return(self) -> i32 {
        // Cannot overflow by the invariant of the type.
        0i32.wrapping_sub(self.number())
    }

    /// The symbol, for those named in this file.
    pub const fn name(self) -> Option<&'static str> {
        name_of(self.0.get())
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {}", self.number()),
        }
    }
}

macro_rules! errnos {
    ($($name:ident = $number:literal, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            pub const $name: Errno = match NonZeroU16::new($number) {
                // INVARIANT: All numbers below are from 1 to 4095.
                Some(number) => Errno(number),
                None => panic!("zero is no error number"),
            };
        )*

        const fn name_of(number: u16) -> Option<&'static str> {
            match number {
                $($number => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

errnos! {
    ENOENT = 2, "No such file or directory.";
    EIO = 5, "I/O error.";
    ENXIO = 6, "No such device or address.";
    E2BIG = 7, "Argument list too long.";
    EAGAIN = 11, "Try again.";
    ENOMEM = 12, "Out of memory.";
    EACCES = 13, "Permission denied.";
    EBUSY = 16, "Device or resource busy.";
    EINVAL = 22, "Invalid argument.";
    ENOSPC = 28, "No space left on device.";
    ERANGE = 34, "Math result not representable.";
    EOVERFLOW = 75, "Value too large for defined data type.";
    EILSEQ = 84, "Illegal byte sequence.";
    EOPNOTSUPP = 95, "Operation not supported.";
    ENOKEY = 126, "Required key not available.";
    EKEYREVOKED = 128, "Key has been revoked.";
    EKEYREJECTED = 129, "Key was rejected by service.";
}
