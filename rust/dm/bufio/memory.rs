// SPDX-License-Identifier: GPL-2.0

//! The memory of buffers.
//!
//! A buffer is two allocations: an object with its state, links, and typed data, which lookups
//! may still look at when it is gone and which is therefore freed after a grace period; and the
//! data itself, which only those touch who have a reference.

use super::{
    atomic::{
        AtomicPtr,
        AtomicU32,
        AtomicU64,
        Ordering, //
    },
    index,
    limit::{
        self,
        Class, //
    },
    list::{
        Linked,
        Links, //
    },
    lookup::Entry,
    state::State,
};
use crate::{
    alloc,
    bindings, //
};
use core::{
    mem::{
        self,
        MaybeUninit, //
    },
    num::NonZeroUsize,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::code::{
        EINVAL,
        ENOMEM, //
    },
    page::{
        PAGE_SHIFT,
        PAGE_SIZE, //
    },
    prelude::*,
};

/// A run of neighbouring blocks in the index.
pub(super) type Leaf = index::Leaf<Head>;

/// The largest block: what one bio can carry if no two pages are neighbours.
pub(super) const MAX_BLOCK_SIZE: usize = bindings::BIO_MAX_VECS as usize * PAGE_SIZE;

/// How hard an allocation tries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Takes what is free. Any context.
    NoWait,
    /// Reclaims memory, without I/O. May sleep.
    NoIo,
    /// Everything. May sleep; not on an I/O path.
    Kernel,
}

impl Effort {
    fn gfp(self) -> bindings::gfp_t {
        match self {
            Effort::NoWait => bindings::RDM_GFP_NOWAIT,
            Effort::NoIo => bindings::RDM_GFP_NOIO,
            Effort::Kernel => bindings::RDM_GFP_KERNEL,
        }
    }
}

/// What all buffers have, in front of the typed data.
///
/// One cache line, with 8 bytes for the typed data: the fields of a hit are next to each other,
/// and the others change only while the buffer is not in use.
#[repr(C)]
pub(super) struct Head {
    /// Who may use the buffer.
    pub(super) state: State,
    /// The block. Changes only while the buffer is owned.
    pub(super) block: AtomicU64,
    /// The data, [`Shape::block_size`] bytes.
    pub(super) data: NonNull<u8>,
    /// The place in the list that the buffer is in, which is the owner's to know; protected by
    /// the lock of the client.
    links: Links<Head>,
    /// The next buffer that the same bio reads, while the buffer is busy.
    pub(super) chain: AtomicPtr<Head>,
    /// When the buffer was last found to be in use, in jiffies.
    pub(super) stamp: AtomicU32,
}

// The C side overwrites the links with this when the buffer is freed.
const _: () = assert!(mem::size_of::<bindings::kvfree_rcu_head>() <= mem::size_of::<Links<Head>>());
const _: () = assert!(mem::size_of::<bindings::kvfree_rcu_head>() <= mem::size_of::<[usize; 2]>());
const _: () = assert!(mem::size_of::<Head>() + mem::size_of::<u64>() == 64);

// SAFETY: Always the same field.
unsafe impl Linked for Head {
    fn links(&self) -> &Links<Head> {
        &self.links
    }
}

impl Entry for Head {
    #[inline]
    fn state(&self) -> &State {
        &self.state
    }

    #[inline]
    fn block(&self) -> &AtomicU64 {
        &self.block
    }
}

// SAFETY: The fields that are no atomics change only while one thread owns the buffer, or, the
// links, with the lock held.
unsafe impl Send for Head {}
// SAFETY: As above.
unsafe impl Sync for Head {}

/// A buffer with its typed data.
#[repr(C)]
pub(super) struct Object<A> {
    pub(super) head: Head,
    pub(super) aux: MaybeUninit<A>,
}

impl<A> Object<A> {
    /// The block. The caller has a reference, or keeps the buffer in another way.
    pub(super) fn block(&self) -> u64 {
        self.head.block.load(Ordering::Relaxed)
    }
}

/// A buffer that belongs to the caller, with no block and no typed data.
///
/// # Invariants
///
/// The buffer is valid, its state is owned, and it is in no list and no index.
#[must_use]
pub(super) struct Owned(NonNull<Head>);

impl Owned {
    /// # Safety
    ///
    /// The buffer is valid, its state is owned, it is in no list and no index, and the caller
    /// has the only way to it.
    pub(super) unsafe fn from_raw(head: NonNull<Head>) -> Self {
        // INVARIANT: By the requirements of this function.
        Self(head)
    }

    /// The data, as large as a block, which belongs to the owner.
    pub(super) fn data(&self) -> NonNull<u8> {
        // SAFETY: By the type invariants.
        unsafe { self.0.as_ref() }.data
    }

    /// Gives up the ownership to the one that the pointer goes to.
    pub(super) fn into_raw(self) -> NonNull<Head> {
        self.0
    }
}

/// How the buffers of a client look.
pub(super) struct Shape {
    /// The bytes of a block.
    pub(super) block_size: usize,
    /// The bytes that are allocated for the data.
    pub(super) footprint: NonZeroUsize,
    /// The most entries of a bio that a block takes.
    pub(super) vecs: u32,
    class: Class,
    object_size: usize,
    /// Writes the typed data of a buffer that gets a block.
    init: Init,
}

/// Writes the typed data of a buffer that gets a block of so many bytes.
///
/// # Safety
///
/// The head is that of a valid [`Object`] of the type that the function is for, and the caller
/// has exclusive access to the typed data.
pub(super) type Init = unsafe fn(NonNull<Head>, usize);

impl Shape {
    /// Computes the shape for blocks of `block_size` bytes and typed data `A`, which starts as
    /// its default.
    pub(super) fn new<A: Default>(block_size: usize) -> Result<Self> {
        Self::with_init::<A>(block_size, init_aux::<A>)
    }

    /// Computes the shape for blocks of `block_size` bytes and typed data `A`, which `init` makes.
    pub(super) fn with_init<A>(block_size: usize, init: Init) -> Result<Self> {
        const {
            // The slab allocator aligns no object to more, and nothing drops the typed data.
            assert!(mem::align_of::<Object<A>>() <= 8);
            assert!(!mem::needs_drop::<A>());
        }
        if block_size > MAX_BLOCK_SIZE {
            return Err(EINVAL);
        }
        let power = block_size.is_power_of_two();
        let (class, footprint) = if block_size < PAGE_SIZE {
            (Class::Slab, block_size.next_power_of_two())
        } else if power {
            (Class::Pages, block_size)
        } else {
            (Class::Virtual, block_size.next_multiple_of(PAGE_SIZE))
        };
        Ok(Self {
            block_size,
            footprint: NonZeroUsize::new(footprint).ok_or(EINVAL)?,
            vecs: footprint.div_ceil(PAGE_SIZE) as u32,
            class,
            object_size: mem::size_of::<Object<A>>(),
            init,
        })
    }

    /// Writes the typed data of a buffer.
    ///
    /// # Safety
    ///
    /// The buffer is one of this shape, and the caller has exclusive access to its typed data.
    pub(super) unsafe fn init(&self, head: NonNull<Head>) {
        // SAFETY: By the requirements of this function.
        unsafe { (self.init)(head, self.block_size) };
    }

    /// Allocates a buffer whose bytes were charged. The context is that of `effort`.
    pub(super) fn allocate(&self, effort: Effort) -> Result<Owned> {
        let data = self.allocate_data(effort)?;
        let memory = match kmalloc::<Head>(self.object_size, effort) {
            Ok(memory) => memory,
            Err(e) => {
                self.free_data(data);
                return Err(e);
            }
        };
        // SAFETY: The memory is large enough for a head and belongs to this function.
        unsafe {
            memory.write(Head {
                state: State::new(),
                block: AtomicU64::new(0),
                data,
                links: Links::new(),
                chain: AtomicPtr::new(ptr::null_mut()),
                stamp: AtomicU32::new(0),
            });
        }
        // INVARIANT: Made just now.
        Ok(Owned(memory))
    }

    /// Frees a buffer; its bytes are no longer charged. May sleep.
    pub(super) fn free(&self, buffer: Owned) {
        let head = buffer.into_raw();
        // SAFETY: By the invariant of `Owned` it is valid, and nobody has a reference.
        self.free_data(unsafe { head.as_ref() }.data);
        limit::discharge(self.footprint.get());
        // SAFETY: The object came from `kmalloc`. Its links are not in use, so that the callback
        // may have their place; lookups that still see the buffer do not touch them.
        unsafe {
            let links = (&raw mut (*head.as_ptr()).links).cast();
            bindings::kvfree_call_rcu(links, head.as_ptr().cast());
        }
    }

    fn allocate_data(&self, effort: Effort) -> Result<NonNull<u8>> {
        alloc::point()?;
        let gfp = effort.gfp();
        let size = self.footprint.get();
        let mut class = self.class;
        // SAFETY: The helpers have no requirements other than a valid size, which `new` checked.
        let mut data: *mut u8 = unsafe {
            match class {
                Class::Slab => {
                    bindings::rdm_kmalloc(size, gfp | bindings::RDM_GFP_RECLAIMABLE).cast()
                }
                Class::Pages => {
                    let order = self.order();
                    let gentle = match order {
                        0 => gfp,
                        _ => gfp | bindings::RDM_GFP_NORETRY_NOWARN,
                    };
                    bindings::rdm_get_free_pages(gentle, order) as *mut u8
                }
                Class::Virtual => ptr::null_mut(),
            }
        };
        if data.is_null() && size > PAGE_SIZE && effort != Effort::NoWait {
            class = Class::Virtual;
            // SAFETY: The helper has no requirements.
            data = unsafe { bindings::rdm_vmalloc(size, gfp).cast() };
        }
        let data = NonNull::new(data).ok_or(ENOMEM)?;
        class.allocated(size);
        Ok(data)
    }

    /// The logarithm of the number of pages, for [`Class::Pages`].
    fn order(&self) -> u32 {
        let bits = self.footprint.trailing_zeros();
        bits.saturating_sub(PAGE_SHIFT as u32)
    }

    /// Where the data of a buffer comes from.
    pub(super) fn class_of(&self, data: NonNull<u8>) -> Class {
        // SAFETY: The function has no requirements.
        match unsafe { bindings::is_vmalloc_addr(data.as_ptr().cast()) } {
            true => Class::Virtual,
            false => self.class,
        }
    }

    fn free_data(&self, data: NonNull<u8>) {
        let class = self.class_of(data);
        class.freed(self.footprint.get());
        // SAFETY: The data came from the allocator that frees it here, with this size, and is
        // not used any more.
        unsafe {
            match class {
                Class::Slab => bindings::kfree(data.as_ptr().cast()),
                Class::Pages => bindings::free_pages(data.as_ptr() as usize, self.order()),
                Class::Virtual => bindings::rdm_vfree(data.as_ptr().cast()),
            }
        }
    }
}

/// Writes the default of the typed data.
///
/// # Safety
///
/// `head` is the head of a valid `Object<A>`, and the caller has exclusive access to it.
unsafe fn init_aux<A: Default>(head: NonNull<Head>, _: usize) {
    let object = head.cast::<Object<A>>();
    // SAFETY: By the requirements of this function.
    unsafe { (*object.as_ptr()).aux.write(A::default()) };
}

fn kmalloc<T>(size: usize, effort: Effort) -> Result<NonNull<T>> {
    alloc::point()?;
    // SAFETY: The helper has no requirements.
    let memory = unsafe { bindings::rdm_kmalloc(size, effort.gfp()) };
    NonNull::new(memory.cast()).ok_or(ENOMEM)
}

/// Allocates a leaf of the index. The context is that of `effort`.
pub(super) fn allocate_leaf(effort: Effort) -> Result<NonNull<Leaf>> {
    let memory = kmalloc::<Leaf>(mem::size_of::<Leaf>(), effort)?;
    // SAFETY: The memory is large enough and belongs to this function.
    unsafe { memory.write(Leaf::new()) };
    Ok(memory)
}

/// Frees a leaf once no lookup can have it any more. Any context.
///
/// # Safety
///
/// The leaf came from [`allocate_leaf`], is out of the index, and belongs to the caller.
pub(super) unsafe fn free_leaf(leaf: NonNull<Leaf>) {
    // SAFETY: The leaf came from `kmalloc`, and the field is for this.
    unsafe {
        let head = leaf.as_ref().reclaim.get().cast();
        bindings::kvfree_call_rcu(head, leaf.as_ptr().cast());
    }
}
