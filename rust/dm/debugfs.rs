// SPDX-License-Identifier: GPL-2.0

//! The directory `rdm` in debugfs, for what a status line has no place for.
//!
//! Files are made with `debugfs_short_fops`. A file that is still open when it is removed then has
//! nothing of the module left to call, so that the module can go at any time; the `kernel` crate's
//! files have operations of their own, which closing would still use.
//!
//! C header: [`include/linux/debugfs.h`](srctree/include/linux/debugfs.h)

use crate::{
    alloc,
    bindings,
    target::status::Status, //
};
use core::{
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    },
    sync::atomic::{
        AtomicPtr,
        Ordering, //
    },
};
use kernel::{
    ffi::c_char,
    fmt,
    prelude::*,
    str::CString, //
};

/// The directory; where there is no debugfs an error pointer, which debugfs itself copes with.
static ROOT: AtomicPtr<bindings::dentry> = AtomicPtr::new(ptr::null_mut());

/// The bytes that a file can show.
const SIZE: usize = 1024;

/// Makes the directory. Called once, when the crate is loaded.
pub(crate) fn create() {
    // SAFETY: The name is a string; without a parent the directory is made at the top.
    let root = unsafe { bindings::debugfs_create_dir(c"rdm".as_char_ptr(), ptr::null_mut()) };
    ROOT.store(root, Ordering::Release);
}

/// Removes the directory. Called once, when the crate is unloaded, and no target is left.
pub(crate) fn remove() {
    // SAFETY: The directory was made by `create`; errors are accepted.
    unsafe { bindings::debugfs_remove(ROOT.swap(ptr::null_mut(), Ordering::AcqRel)) };
}

/// What a file shows.
pub trait Show: Send + Sync + 'static {
    /// Writes the text of the file, up to 1023 bytes of it. Process context.
    fn show(&self, text: &mut Status<'_>);
}

/// A file in the directory that is there as long as this.
///
/// # Invariants
///
/// `dentry` is a file whose data is `data`, or an error pointer.
pub struct Attribute<T: Show> {
    dentry: *mut bindings::dentry,
    data: NonNull<T>,
}

// SAFETY: The data is `Send`, and debugfs may be used from any thread.
unsafe impl<T: Show> Send for Attribute<T> {}
// SAFETY: `&Attribute` only gives shared access to the data, which is `Sync`.
unsafe impl<T: Show> Sync for Attribute<T> {}

impl<T: Show> Attribute<T> {
    const OPERATIONS: &'static bindings::debugfs_short_fops = &bindings::debugfs_short_fops {
        read: Some(Self::read),
        write: None,
        llseek: Some(bindings::default_llseek),
    };

    /// Makes a file that shows `data`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`. Where there is no debugfs there is no file, which is no error.
    pub fn new(name: fmt::Arguments<'_>, data: T) -> Result<Self> {
        alloc::point()?;
        let name = CString::try_from_fmt(fmt!("{}", name))?;
        let data = KBox::into_raw(alloc::boxed(data, GFP_KERNEL)?);
        // SAFETY: The name is a string, and the file is removed before the data is dropped.
        let dentry = unsafe {
            bindings::debugfs_create_file_short(
                name.as_char_ptr(),
                0o444,
                ROOT.load(Ordering::Acquire),
                data.cast(),
                ptr::null(),
                Self::OPERATIONS,
            )
        };
        // INVARIANT: The file was made with `data`. A box is never null.
        Ok(Self {
            dentry,
            data: NonNull::new(data).ok_or(ENOMEM)?,
        })
    }

    /// # Safety
    ///
    /// `file` must be an open file that was made by `new`; debugfs keeps it from being removed
    /// meanwhile.
    unsafe extern "C" fn read(
        file: *mut bindings::file,
        to: *mut c_char,
        count: usize,
        position: *mut bindings::loff_t,
    ) -> isize {
        let Ok(mut buffer) = alloc::zeroed::<u8>(SIZE, GFP_KERNEL) else {
            return ENOMEM.to_errno() as isize;
        };
        let mut text = Status::new(&mut buffer);
        // SAFETY: Opening has set `private_data` to the data of the file, which is there until
        // the file is removed.
        unsafe { &*(*file).private_data.cast::<T>() }.show(&mut text);
        let text = text.as_bytes();
        // SAFETY: debugfs passes on what user space gave, which the function checks.
        unsafe {
            bindings::simple_read_from_buffer(
                to.cast(),
                count,
                position,
                text.as_ptr().cast(),
                text.len(),
            )
        }
    }
}

impl<T: Show> Deref for Attribute<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariant, the data lives as long as `self`.
        unsafe { self.data.as_ref() }
    }
}

impl<T: Show> Drop for Attribute<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. This waits for reads; then nobody has the data any more.
        unsafe {
            bindings::debugfs_remove(self.dentry);
            drop(KBox::from_raw(self.data.as_ptr()));
        }
    }
}
