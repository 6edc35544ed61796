// SPDX-License-Identifier: GPL-2.0

//! Bugs on purpose, one for each checker of the debug kernel.
//!
//! The parameter `bug` says which one happens while the module is loaded. A test that expects a
//! report of each is how we know that the checkers see code in Rust, and that a report fails a run.

use core::{
    hint::black_box,
    mem, //
};
use kernel::{
    impl_has_work,
    new_mutex,
    new_spinlock,
    new_work,
    prelude::*,
    sync::{
        Arc,
        Completion,
        Mutex,
        SpinLock, //
    },
    workqueue::{
        self,
        Work,
        WorkItem, //
    }, //
};

module! {
    type: Planted,
    name: "planted",
    authors: ["The rdm developers"],
    description: "bugs for the checkers of a debug kernel",
    license: "GPL",
    params: {
        bug: u32 {
            default: 0,
            description: "1 softirq, 2 spinlock, 3 order, 4 leak, 5 free, 6 bounds, 7 assertion",
        },
    },
}

/// What is allocated, and how often: a leak that one stale pointer on a stack hides is found.
const COUNT: usize = 16;
type Object = [u8; 200];

struct Planted;

impl kernel::Module for Planted {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        match module_parameters::bug.value() {
            1 => sleep_in_softirq(),
            2 => sleep_under_spinlock(),
            3 => lock_order(),
            4 => leak(),
            5 => use_after_free(),
            6 => out_of_bounds(),
            7 => assertion(),
            _ => Err(EINVAL),
        }?;
        Ok(Self)
    }
}

fn object() -> Result<KBox<Object>> {
    Ok(KBox::new(black_box([7; size_of::<Object>()]), GFP_KERNEL)?)
}

/// A work item that runs in softirq.
#[pin_data]
struct Item {
    #[pin]
    work: Work<Self>,
    #[pin]
    done: Completion,
}

impl_has_work! {
    impl HasWork<Self> for Item { self.work }
}

impl WorkItem for Item {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        // An allocation that may wait for memory, where nothing may wait.
        drop(object());
        this.done.complete_all();
    }
}

fn sleep_in_softirq() -> Result {
    let item = Arc::pin_init(
        pin_init!(Item {
            work <- new_work!("Item::work"),
            done <- Completion::new(),
        }),
        GFP_KERNEL,
    )?;
    if workqueue::system_bh().enqueue(item.clone()).is_ok() {
        item.done.wait_for_completion();
    }
    Ok(())
}

/// Two locks of each kind.
#[pin_data]
struct Locks {
    #[pin]
    spin: SpinLock<u32>,
    #[pin]
    first: Mutex<u32>,
    #[pin]
    second: Mutex<u32>,
}

impl Locks {
    fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                spin <- new_spinlock!(0),
                first <- new_mutex!(0),
                second <- new_mutex!(0),
            }),
            GFP_KERNEL,
        )
    }
}

fn sleep_under_spinlock() -> Result {
    let locks = Locks::new()?;
    let held = locks.spin.lock();
    drop(locks.first.lock());
    drop(held);
    Ok(())
}

fn lock_order() -> Result {
    let locks = Locks::new()?;
    {
        let _first = locks.first.lock();
        let _second = locks.second.lock();
    }
    let _second = locks.second.lock();
    let _first = locks.first.lock();
    Ok(())
}

fn leak() -> Result {
    for _ in 0..COUNT {
        mem::forget(black_box(object()?));
    }
    Ok(())
}

fn use_after_free() -> Result {
    let object = KBox::into_raw(object()?);
    // SAFETY: It came out of a box just now.
    drop(unsafe { KBox::from_raw(object) });
    // SAFETY: There is none, which is the bug.
    black_box(unsafe { object.cast::<u8>().read_volatile() });
    Ok(())
}

fn out_of_bounds() -> Result {
    let object = object()?;
    // SAFETY: There is none, which is the bug.
    black_box(unsafe { object.as_ptr().add(black_box(object.len())).read_volatile() });
    Ok(())
}

fn assertion() -> Result {
    debug_assert!(black_box(false));
    Ok(())
}
