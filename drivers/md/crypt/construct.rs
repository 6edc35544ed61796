// SPDX-License-Identifier: GPL-2.0

//! Parts of a device that is being constructed.

use crate::{
    convert::Mode,
    environment::Kernel,
    iv::Generator,
    options::Flags,
    special::State,
    table::Iv,
    tagged::Vectors,
    LOG, //
};
use core::sync::atomic::{
    AtomicU32,
    Ordering, //
};
use dm::{
    target::{
        args::TableError,
        with_text,
        Construction, //
    },
    workqueue::{
        self,
        OwnedQueue, //
    },
};
use kernel::{
    prelude::*,
    str::CString, //
};

/// The number in the names of the queues, which must differ while a table replaces another.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Takes the queues' number, and makes them: that for conversions, and that for what follows.
pub(crate) fn make_queues(
    ti: &Construction<'_>,
    flags: &Flags,
) -> Result<(OwnedQueue, OwnedQueue), TableError> {
    const TEXT: &CStr = c"Couldn't create kcryptd queue";

    let number = NUMBER.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    let device = ti.device_name().to_str().unwrap_or_default();
    let mut common = workqueue::Flags::MEM_RECLAIM | workqueue::Flags::SYSFS;
    if flags.high_priority {
        common = common | workqueue::Flags::HIGHPRI;
    }
    let (bound, limit) = match flags.same_cpu_crypt {
        true => (workqueue::Flags::PERCPU, 1),
        false => (workqueue::Flags::UNBOUND, workqueue::online_cpus()),
    };
    let intensive = match flags.same_cpu_crypt {
        true => bound | workqueue::Flags::CPU_INTENSIVE,
        false => bound,
    };
    let make = |name: Result<CString, _>, flags, limit| {
        let name = name.map_err(|_| ENOMEM)?;
        OwnedQueue::with_limit(&name, flags, limit, ti.may_sleep())
    };
    let io_queue = make(
        CString::try_from_fmt(fmt!("kcryptd_io-{device}-{number}")),
        common | bound,
        0,
    )
    .map_err(with_text(c"Couldn't create kcryptd io queue"))?;
    let queue = make(
        CString::try_from_fmt(fmt!("kcryptd-{device}-{number}")),
        common | intensive,
        limit,
    )
    .map_err(with_text(TEXT))?;
    Ok((queue, io_queue))
}

/// Returns how vectors are made on a device without metadata.
pub(crate) fn mode_of(iv: Option<Iv<Kernel<'_>>>) -> Result<Mode, TableError> {
    let Some(iv) = iv else {
        return Ok(Mode::Plain(None));
    };
    match (iv.state, iv.generator) {
        (State::Special(special), _) => Ok(Mode::Special(special)),
        (State::None, Generator::Counter(counter)) => Ok(Mode::Plain(Some(counter))),
        (State::None, _) => Err(TableError::invalid(c"Error creating IV")),
    }
}

/// Returns how vectors are made on a device with metadata.
pub(crate) fn vectors_of(iv: Option<Iv<Kernel<'_>>>) -> Result<Vectors, TableError> {
    match iv.map(|iv| iv.generator) {
        None => Ok(Vectors::None),
        Some(Generator::Counter(counter)) => Ok(Vectors::Counter(counter)),
        Some(Generator::Random) => Ok(Vectors::Random),
        Some(_) => {
            LOG.error(format_args!("this IV mode has no authenticated encryption"));
            Err(with_text(c"Error creating IV")(EOPNOTSUPP))
        }
    }
}
