// SPDX-License-Identifier: GPL-2.0
//! Stub.
#![allow(missing_docs)]
use crate::{alloc, context::MaySleep, io, target::device::Device};
use core::marker::PhantomData;
use kernel::prelude::*;
pub struct Client<A> {
    dev: Device,
    io: io::Client,
    size: u32,
    _a: PhantomData<A>,
}
pub struct Sleepable<'a, A> {
    c: &'a Client<A>,
    ms: MaySleep<'a>,
}
pub struct Buffer<'a, A> {
    data: KVVec<u8>,
    aux: A,
    _p: PhantomData<&'a ()>,
}
unsafe impl<A> Send for Client<A> {}
unsafe impl<A> Sync for Client<A> {}
impl<A: Default> Client<A> {
    pub fn new(dev: &Device, size: u32, _r: u32, ms: MaySleep<'_>) -> Result<Self> {
        Ok(Self {
            dev: dev.clone(),
            io: io::Client::new(ms)?,
            size,
            _a: PhantomData,
        })
    }
    pub fn get(&self, _b: u64) -> Option<Buffer<'_, A>> {
        None
    }
    pub fn device_blocks(&self) -> u64 {
        self.dev.sectors() * 512 / u64::from(self.size)
    }
    pub fn sleepable<'a>(&'a self, ms: MaySleep<'a>) -> Sleepable<'a, A> {
        Sleepable { c: self, ms }
    }
}
impl<'a, A: Default> Sleepable<'a, A> {
    pub fn read(&self, b: u64, _p: u16) -> Result<Buffer<'a, A>> {
        let mut data = alloc::zeroed::<u8>(self.c.size as usize, GFP_KERNEL)?;
        self.c.io.read(
            &self.c.dev,
            b * u64::from(self.c.size / 512),
            &mut data,
            self.ms,
        )?;
        Ok(Buffer {
            data,
            aux: A::default(),
            _p: PhantomData,
        })
    }
    pub fn prefetch(&self, _f: u64, _c: u64, _p: u16) {}
    pub fn reset(&self) {}
}
impl<A> Buffer<'_, A> {
    pub fn data(&self) -> &[u8] {
        &self.data
    }
    pub fn aux(&self) -> &A {
        &self.aux
    }
}
