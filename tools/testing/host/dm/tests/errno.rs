// SPDX-License-Identifier: GPL-2.0

//! Error numbers.

use dm::errno::{
    self,
    Errno, //
};

#[test]
fn numbers_and_names() {
    for (error, number, name) in [
        (errno::ENOENT, 2, "ENOENT"),
        (errno::EIO, 5, "EIO"),
        (errno::ENXIO, 6, "ENXIO"),
        (errno::E2BIG, 7, "E2BIG"),
        (errno::EAGAIN, 11, "EAGAIN"),
        (errno::ENOMEM, 12, "ENOMEM"),
        (errno::EACCES, 13, "EACCES"),
        (errno::EBUSY, 16, "EBUSY"),
        (errno::EINVAL, 22, "EINVAL"),
        (errno::ENOSPC, 28, "ENOSPC"),
        (errno::ERANGE, 34, "ERANGE"),
        (errno::EOVERFLOW, 75, "EOVERFLOW"),
        (errno::EILSEQ, 84, "EILSEQ"),
        (errno::EOPNOTSUPP, 95, "EOPNOTSUPP"),
        (errno::ENOKEY, 126, "ENOKEY"),
        (errno::EKEYREVOKED, 128, "EKEYREVOKED"),
        (errno::EKEYREJECTED, 129, "EKEYREJECTED"),
    ] {
        assert_eq!(error.number(), number);
        assert_eq!(error.to_return(), -number);
        assert_eq!(Errno::from_return(-number), error);
        assert_eq!(Errno::from_number(number as u32), error);
        assert_eq!(error.name(), Some(name));
        assert_eq!(format!("{error:?}"), name);
    }
}

#[test]
fn what_is_no_error_number_is_einval() {
    for value in [0, 1, 22, i32::MAX, i32::MIN, -4096, -65536 - 5] {
        assert_eq!(Errno::from_return(value), errno::EINVAL, "{value}");
    }
    for number in [0, 4096, 65536 + 5, u32::MAX] {
        assert_eq!(Errno::from_number(number), errno::EINVAL, "{number}");
    }
    assert_eq!(Errno::from_return(-4095).number(), 4095);
    assert_eq!(format!("{:?}", Errno::from_return(-4095)), "errno 4095");
}
