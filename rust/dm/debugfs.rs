// SPDX-License-Identifier: GPL-2.0

//! The directory `rdm` in debugfs, for what a status line has no place for.

use crate::alloc;
use core::ops::Deref;
use kernel::{
    debugfs::{
        Dir,
        File, //
    },
    fmt,
    prelude::*,
    str::CString,
    sync::global_lock, //
};

global_lock! {
    // SAFETY: Initialised in the initialiser of the module, before anything uses it.
    pub(crate) unsafe(uninit) static ROOT: Mutex<Option<Dir>> = None;
}

/// Makes the directory. Called once, when the crate is loaded.
pub(crate) fn create() {
    // SAFETY: Called once.
    unsafe { ROOT.init() };
    *ROOT.lock() = Some(Dir::new(c"rdm"));
}

/// Removes the directory.
pub(crate) fn remove() {
    *ROOT.lock() = None;
}

/// A file in the directory that is there as long as this.
pub struct Attribute<T: Send + Sync + 'static>(Pin<KBox<File<T>>>);

impl<T: Send + Sync + 'static> Attribute<T> {
    /// Makes a file that shows what `print` writes of `data`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`. Where there is no debugfs there is no file, which is no error.
    pub fn new<F>(name: fmt::Arguments<'_>, data: T, print: &'static F) -> Result<Self>
    where
        F: Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result + Send + Sync,
    {
        alloc::point()?;
        let name = CString::try_from_fmt(fmt!("{}", name))?;
        let root = ROOT.lock().clone().ok_or(ENODEV)?;
        let file = root.read_callback_file(&name, data, print);
        Ok(Self(alloc::pin_boxed(file, GFP_KERNEL)?))
    }
}

impl<T: Send + Sync + 'static> Deref for Attribute<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
