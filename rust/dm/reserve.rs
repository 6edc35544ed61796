// SPDX-License-Identifier: GPL-2.0

//! Values that are made ahead, so that work which needs one never allocates.
//!
//! Who needs one and finds none waits until one is given back. So a holder must not wait for
//! anyone who needs one.

use crate::{
    alloc,
    context::MaySleep, //
};
use core::{
    mem::ManuallyDrop,
    ops::{
        Deref,
        DerefMut, //
    },
};
use kernel::{
    new_condvar, new_mutex,
    prelude::*,
    sync::{
        CondVar,
        Mutex, //
    },
};

/// A number of values of a type, which are lent to one user each.
pub struct Reserve<T>(Pin<KBox<Inner<T>>>);

#[pin_data]
struct Inner<T> {
    /// The values that are not lent. There is room for all.
    #[pin]
    free: Mutex<KVec<T>>,
    #[pin]
    returned: CondVar,
}

impl<T> Reserve<T> {
    /// Makes a reserve of some values, of which there should be at least one. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(values: KVec<T>, _: MaySleep<'_>) -> Result<Self> {
        let inner = pin_init!(Inner {
            free <- new_mutex!(values),
            returned <- new_condvar!(),
        });
        Ok(Self(alloc::pin_boxed(inner, GFP_KERNEL)?))
    }

    /// Takes a value; waits for one if there is none.
    pub fn take(&self, _: MaySleep<'_>) -> Lent<'_, T> {
        let mut free = self.0.free.lock();
        loop {
            if let Some(value) = free.pop() {
                return Lent {
                    reserve: self,
                    value: ManuallyDrop::new(value),
                };
            }
            self.0.returned.wait(&mut free);
        }
    }
}

/// A value of a [`Reserve`], given back when it is dropped.
pub struct Lent<'a, T> {
    reserve: &'a Reserve<T>,
    value: ManuallyDrop<T>,
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `self.value` is not used after this.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        let inner = &self.reserve.0;
        // There is room: this is where the value was taken from.
        let _ = inner.free.lock().push_within_capacity(value);
        inner.returned.notify_one();
    }
}
