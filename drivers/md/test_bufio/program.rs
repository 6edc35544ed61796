// SPDX-License-Identifier: GPL-2.0

//! Programs that write through the cache.
//!
//! A program is a list of steps. Each has a header of 24 bytes, all numbers with the least
//! significant byte first:
//!
//! | Bytes | What                                                              |
//! |-------|-------------------------------------------------------------------|
//! | 1     | the operation; with 0 the program ends                            |
//! | 1     | the slot with the block, or 255 for the one that is named         |
//! | 2     | the `errno` that is expected, 0 for success, 65535 for any result |
//! | 4     | the offset in the block                                           |
//! | 8     | the number of the block, or the first one                         |
//! | 4     | the number of bytes, or of blocks                                 |
//! | 4     | nothing                                                           |
//!
//! Behind the header of `write` and of `compare` are the bytes, up to a multiple of 8.

use core::ops::Range;
use dm::bufio::{
    Block,
    Blocks, //
};
use kernel::prelude::*;

/// The bytes of a header.
const HEADER: usize = 24;

/// What the bytes of a step are padded to.
const ALIGNMENT: usize = 8;

/// How many blocks a program can hold.
const SLOTS: usize = 8;

/// The expectation that accepts any result.
const ANY: u16 = u16::MAX;

/// A step that did not do as expected.
pub(crate) struct Failure {
    /// The number of the step.
    pub(crate) step: usize,
    /// Its operation.
    pub(crate) operation: u8,
    /// What it returned, as a positive `errno`, or 0.
    pub(crate) errno: u16,
}

/// A step.
struct Step<'a> {
    operation: u8,
    slot: u8,
    expected: u16,
    offset: usize,
    block: u64,
    count: u32,
    bytes: &'a [u8],
}

impl<'a> Step<'a> {
    /// Takes a step from the front of a program. Returns [`None`] at its end.
    fn take(program: &mut &'a [u8]) -> Result<Option<Self>> {
        let Some((header, rest)) = program.split_at_checked(HEADER) else {
            return Ok(None);
        };
        let [operation, slot, e0, e1, o0, o1, o2, o3, numbers @ ..] = header else {
            return Ok(None);
        };
        if *operation == 0 {
            return Ok(None);
        }
        let block = numbers.first_chunk().ok_or(EINVAL)?;
        let count = numbers
            .get(8..)
            .and_then(<[u8]>::first_chunk)
            .ok_or(EINVAL)?;
        let count = u32::from_le_bytes(*count);
        let len = match operation {
            b'w' | b'c' => count as usize,
            _ => 0,
        };
        let bytes = rest.get(..len).ok_or(EINVAL)?;
        let padded = len.checked_next_multiple_of(ALIGNMENT).ok_or(EINVAL)?;
        *program = rest.get(padded..).unwrap_or_default();
        Ok(Some(Self {
            operation: *operation,
            slot: *slot,
            expected: u16::from_le_bytes([*e0, *e1]),
            offset: u32::from_le_bytes([*o0, *o1, *o2, *o3]) as usize,
            block: u64::from_le_bytes(*block),
            count,
            bytes,
        }))
    }

    /// The blocks that the step is about, if it is about several.
    fn range(&self) -> Range<u64> {
        self.block..self.block.saturating_add(self.count.into())
    }
}

/// A program that runs.
pub(crate) struct Machine<'c> {
    blocks: Blocks<'c>,
    slots: [Option<Block<'c>>; SLOTS],
}

impl<'c> Machine<'c> {
    /// Makes a machine that holds no blocks.
    pub(crate) fn new(blocks: Blocks<'c>) -> Self {
        Self {
            blocks,
            slots: [const { None }; SLOTS],
        }
    }

    /// Runs a program until it ends, or a step does not do as expected.
    pub(crate) fn run(&mut self, mut program: &[u8]) -> Result<(), Failure> {
        let mut number = 0_usize;
        let failure = |step, operation, errno| Failure {
            step,
            operation,
            errno,
        };
        loop {
            let step = match Step::take(&mut program) {
                Ok(Some(step)) => step,
                Ok(None) => return Ok(()),
                Err(e) => return Err(failure(number, 0, errno(e))),
            };
            let found = self.step(&step).map_or_else(errno, |()| 0);
            if step.expected != ANY && step.expected != found {
                return Err(failure(number, step.operation, found));
            }
            number = number.saturating_add(1);
        }
    }

    fn step(&mut self, step: &Step<'_>) -> Result {
        let blocks = self.blocks;
        match step.operation {
            b'h' => self.put(step, Some(blocks.hold(step.block)?)),
            b'r' => self.put(step, Some(blocks.read(step.block, 0)?)),
            b'x' => self.put(step, None),
            b'w' => self.with_block(step, |block| block.write(step.offset, step.bytes)),
            b'f' => self.with_block(step, |block| fill(block, step)),
            b'c' => self.with_block(step, |block| compare(block, step)),
            b'S' => blocks.write_dirty(),
            b's' => {
                blocks.write_dirty_async();
                Ok(())
            }
            b'F' => blocks.issue_flush(),
            b'D' => blocks.issue_discard(step.block, step.count.into()),
            b'p' => {
                blocks.prefetch(step.block, step.count.into(), 0);
                Ok(())
            }
            b'g' => {
                blocks.forget(step.range());
                Ok(())
            }
            b'R' => blocks.reset(),
            _ => Err(EINVAL),
        }
    }

    /// Puts a block into the slot of a step, and releases the one that was there.
    fn put(&mut self, step: &Step<'_>, block: Option<Block<'c>>) -> Result {
        let slot = self.slots.get_mut(usize::from(step.slot)).ok_or(EINVAL)?;
        *slot = block;
        Ok(())
    }

    /// Calls a function with the block in the slot of a step, or with the one that it names.
    fn with_block(&self, step: &Step<'_>, f: impl FnOnce(&Block<'c>) -> Result) -> Result {
        match self.slots.get(usize::from(step.slot)) {
            Some(Some(block)) => f(block),
            Some(None) => Err(EINVAL),
            None => f(&self.blocks.hold(step.block)?),
        }
    }
}

/// Writes a byte, which is the lowest of the block number, as often as the step says.
fn fill(block: &Block<'_>, step: &Step<'_>) -> Result {
    let count = step.count as usize;
    let mut bytes = dm::alloc::zeroed::<u8>(count, GFP_KERNEL)?;
    bytes.fill(block.number() as u8);
    block.write(step.offset, &bytes)
}

/// Compares in both ways.
fn compare(block: &Block<'_>, step: &Step<'_>) -> Result {
    let mut copy = dm::alloc::zeroed::<u8>(step.bytes.len(), GFP_KERNEL)?;
    if block.compare(step.offset, step.bytes)?.is_some() {
        return Err(EILSEQ);
    }
    block.read(step.offset, &mut copy)?;
    match copy[..] == *step.bytes {
        true => Ok(()),
        false => Err(EILSEQ),
    }
}

fn errno(error: Error) -> u16 {
    error.to_errno().unsigned_abs() as u16
}
