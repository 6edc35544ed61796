// SPDX-License-Identifier: GPL-2.0

//! Forward error correction: a damaged block is computed from parity and the other blocks.
//!
//! A repair reads, for one block, all blocks that share its codewords, and their parity. First it
//! trusts all of them alike. Where that fails, those that cannot be read or do not have their
//! digest are *erasures*, whose place need not be found, and twice as many can be repaired. What
//! comes out is only used if it has the right digest.
//!
//! The digests of the other blocks come from a hash tree that may be damaged as well. They are
//! asked for through [`Digests`], which cannot lead to another repair: a crafted device would have
//! the repairs nest. A damaged hash block that is met there is reported, but neither fails a read
//! nor stops the machine: nobody wanted it, and when somebody does, it may turn out to be
//! repairable.
//!
//! Nothing is allocated during a repair. The memory that it needs is made ahead, for some repairs
//! at a time, and others wait.

mod repair;

pub(crate) use repair::{
    Digests,
    Repaired, //
};

use crate::{
    fec_code::{
        Code,
        Row,
        ROWS, //
    },
    fec_layout::{
        FecLayout,
        Parity, //
    },
    hash_tree::Geometry,
    status,
    target::{
        HashBlock,
        Verity, //
    },
};
use core::sync::atomic::{
    AtomicU64,
    Ordering, //
};
use dm::{
    alloc, bufio,
    context::MaySleep,
    reed_solomon::Decoder,
    reserve::{
        Lent,
        Reserve, //
    },
    target::{
        args::TableError,
        device::Device,
        with_text, //
    },
};
use kernel::{
    cpu::nr_cpu_ids,
    prelude::*, //
};

/// The most repairs of a device at a time. They mostly wait for its blocks.
const MAX_REPAIRS: u32 = 4;

/// The parity of a device.
pub(crate) struct Fec {
    layout: FecLayout,
    code: Code<KVVec<Row>>,
    parity: bufio::Client<()>,
    data: bufio::Client<()>,
    workspaces: Reserve<Workspace>,
    corrected: AtomicU64,
    device: Device,
}

/// The memory of a repair.
struct Workspace {
    decoder: Decoder,
    /// What is left of the codewords, see [`Code::words`].
    remainders: KVVec<u64>,
    /// The block as it was read, zeros if it could not be.
    original: KVVec<u8>,
    /// The block as it is to be.
    output: KVVec<u8>,
}

impl Workspace {
    fn new(code: &Code<KVVec<Row>>, bytes: usize, token: MaySleep<'_>) -> Result<Self, TableError> {
        let decoder =
            Decoder::new(code.roots(), token).map_err(with_text(c"Cannot allocate RS pool"))?;
        let remainders = alloc::zeroed(bytes.saturating_mul(code.words()), GFP_KERNEL)
            .map_err(with_text(c"Cannot allocate FEC buffer prealloc pool"))?;
        let block = || {
            alloc::zeroed(bytes, GFP_KERNEL).map_err(with_text(c"Cannot allocate FEC output pool"))
        };
        Ok(Self {
            decoder,
            remainders,
            original: block()?,
            output: block()?,
        })
    }
}

impl Fec {
    /// Makes what repairs need, if the table has a FEC device. May sleep.
    pub(crate) fn new(
        mut words: Parity<Device>,
        tree: &Geometry,
        data_device: &Device,
        hashes: &bufio::Client<HashBlock>,
        token: MaySleep<'_>,
    ) -> Result<Option<Self>, TableError> {
        let Some(device) = words.device.take() else {
            return Ok(None);
        };
        let layout = FecLayout::new(&words, tree)?;
        layout.check_hash_device(hashes.device_blocks())?;
        let size = tree.data_block().bytes();
        let start = tree
            .data_block()
            .to_sectors(layout.start())
            .unwrap_or(u64::MAX);
        let parity = bufio::Client::with_start(&device, start, size, 1, token)
            .map_err(with_text(c"Cannot initialize FEC bufio client"))?;
        layout.check_fec_device(parity.device_blocks())?;
        let data = bufio::Client::new(data_device, size, 1, token)
            .map_err(with_text(c"Cannot initialize FEC data bufio client"))?;
        layout.check_data_device(data.device_blocks())?;
        let code = code(layout.roots())?;
        Ok(Some(Self {
            workspaces: workspaces(&code, size as usize, token)?,
            layout,
            code,
            parity,
            data,
            corrected: AtomicU64::new(0),
            device,
        }))
    }

    /// Returns the number of blocks that were repaired.
    pub(crate) fn corrected(&self) -> u64 {
        self.corrected.load(Ordering::Relaxed)
    }

    /// Returns the words of the table line.
    pub(crate) fn table(&self) -> status::Fec<'_> {
        status::Fec {
            device: self.device.name().to_bytes(),
            blocks: self.layout.blocks(),
            start: self.layout.start(),
            roots: self.layout.roots(),
        }
    }

    /// Forgets all blocks that were read for repairs.
    pub(crate) fn reset(&self, token: MaySleep<'_>) {
        self.parity.sleepable(token).reset();
        self.data.sleepable(token).reset();
    }
}

fn code(roots: u8) -> Result<Code<KVVec<Row>>, TableError> {
    const TEXT: &CStr = c"Cannot allocate FEC IO pool";

    let rows = alloc::zeroed(ROWS, GFP_KERNEL).map_err(with_text(TEXT))?;
    Code::new(roots, rows).ok_or_else(|| with_text(TEXT)(EINVAL))
}

fn workspaces(
    code: &Code<KVVec<Row>>,
    bytes: usize,
    token: MaySleep<'_>,
) -> Result<Reserve<Workspace>, TableError> {
    const TEXT: &CStr = c"Cannot allocate FEC IO pool";

    let count = nr_cpu_ids().clamp(1, MAX_REPAIRS);
    let mut workspaces =
        alloc::with_capacity(count as usize, GFP_KERNEL).map_err(with_text(TEXT))?;
    for _ in 0..count {
        workspaces
            .push_within_capacity(Workspace::new(code, bytes, token)?)
            .map_err(|_| with_text(TEXT)(ENOMEM))?;
    }
    Reserve::new(workspaces, token).map_err(with_text(TEXT))
}

impl Verity {
    /// Returns room for a repair; waits for it if there is none. `None` if the table has no FEC
    /// device. May sleep.
    ///
    /// The caller must not hold anything of the hash cache: who has room may wait for it.
    pub(crate) fn room_for_repair(&self, token: MaySleep<'_>) -> Option<Room<'_>> {
        let fec = self.fec.as_ref()?;
        Some(Room {
            verity: self,
            fec,
            workspace: fec.workspaces.take(token),
        })
    }
}

/// Room for a repair.
pub(crate) struct Room<'a> {
    verity: &'a Verity,
    fec: &'a Fec,
    workspace: Lent<'a, Workspace>,
}
