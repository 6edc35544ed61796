// SPDX-License-Identifier: GPL-2.0

//! Keys of the caller, keyrings of a module, and signatures.
//!
//! C headers: [`include/linux/key.h`](srctree/include/linux/key.h),
//! [`include/keys/user-type.h`](srctree/include/keys/user-type.h),
//! [`include/keys/encrypted-type.h`](srctree/include/keys/encrypted-type.h),
//! [`include/linux/verification.h`](srctree/include/linux/verification.h)

use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::{
    ptr::{
        self,
        NonNull, //
    },
    slice,
    sync::atomic::{
        AtomicPtr,
        Ordering, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*,
    sync::rcu, //
};

/// A reference to a key.
///
/// # Invariants
///
/// `ptr` is a valid key, and `self` owns a reference to it.
struct Key {
    ptr: NonNull<bindings::key>,
}

// SAFETY: References to keys may be used and given back by any thread.
unsafe impl Send for Key {}
// SAFETY: Keys synchronise their users.
unsafe impl Sync for Key {}

impl Key {
    /// # Safety
    ///
    /// `ptr` must be a valid key with a reference that the caller gives away.
    unsafe fn from_raw(ptr: *mut bindings::key) -> Result<Self> {
        // INVARIANT: By the requirements of this function.
        Ok(Self {
            ptr: NonNull::new(ptr).ok_or(ENOKEY)?,
        })
    }

    fn as_ptr(&self) -> *mut bindings::key {
        self.ptr.as_ptr()
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns a reference.
        unsafe { bindings::key_put(self.as_ptr()) }
    }
}

/// The types of keys that hold bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// "user": its owner can read it.
    User = 0,
    /// "logon": only the kernel can read it.
    Logon = 1,
    /// "encrypted": user space sees it only encrypted. Not in every kernel.
    Encrypted = 2,
}

/// Looks for a key in the keyrings of the calling process, and requests it from user space if it
/// is not there.
fn request(kind: Kind, description: &CStr) -> Result<Key> {
    // SAFETY: `description` is a string.
    let key = from_err_ptr(unsafe {
        bindings::rdm_request_key(kind as i32, description.as_char_ptr()) //
    })?;
    // SAFETY: The search succeeded, and the reference is ours.
    unsafe { Key::from_raw(key) }
}

/// Returns a copy of what a key of type "user" holds. The key is looked for in the keyrings of
/// the calling process, and requested from user space if it is not there. May sleep.
///
/// # Errors
///
/// Those of the search, `ENOKEY` if there is no such key; `EKEYREVOKED` if it has nothing any
/// more; `ENOMEM`.
pub fn user_key(description: &CStr, _: MaySleep<'_>) -> Result<KVec<u8>> {
    let key = request(Kind::User, description)?;
    let payload = Payload::lock(&key, Kind::User);
    alloc::bytes(payload.bytes()?, GFP_KERNEL)
}

/// Copies what a key holds to `secret`. The key is looked for in the keyrings of the calling
/// process, and requested from user space if it is not there. May sleep.
///
/// # Errors
///
/// Those of the search: `ENOKEY` if there is no such key, `EKEYEXPIRED`, `EKEYREVOKED`; the last
/// also if it has nothing any more. `EINVAL` if it does not hold as many bytes as `secret`, or if
/// the kernel has no keys of this kind.
pub fn copy_key(kind: Kind, description: &CStr, secret: &mut [u8], _: MaySleep<'_>) -> Result {
    let key = request(kind, description)?;
    let payload = Payload::lock(&key, kind);
    let bytes = payload.bytes()?;
    if bytes.len() != secret.len() {
        return Err(EINVAL);
    }
    secret.copy_from_slice(bytes);
    Ok(())
}

/// The locked contents of a key.
///
/// # Invariants
///
/// The semaphore of the key is held for reading. As long as it is, `data` is NULL or valid for
/// reads of `len` bytes.
struct Payload<'a> {
    key: &'a Key,
    data: *const u8,
    len: usize,
}

impl<'a> Payload<'a> {
    /// Locks a key, which must have been requested as one of `kind`.
    fn lock(key: &'a Key, kind: Kind) -> Self {
        let mut len = 0;
        // SAFETY: By the type invariant, the key is valid, and it is of that kind.
        let data = unsafe { bindings::rdm_key_lock(key.as_ptr(), kind as i32, &mut len) };
        // INVARIANT: The call took the semaphore, and returned what it protects.
        Self { key, data, len }
    }

    fn bytes(&self) -> Result<&[u8]> {
        if self.data.is_null() {
            return Err(EKEYREVOKED);
        }
        // SAFETY: By the type invariant.
        Ok(unsafe { slice::from_raw_parts(self.data, self.len) })
    }
}

impl Drop for Payload<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, the semaphore is held.
        unsafe { bindings::rdm_key_unlock(self.key.as_ptr()) }
    }
}

/// A keyring of a module. It lives in a static, and exists while its [`Guard`] does.
///
/// Only root sees it and can change it. It does not count against a quota.
///
/// # Examples
///
/// ```ignore
/// static KEYRING: ModuleKeyring = ModuleKeyring::new(c".dm-verity");
///
/// // In the module's `init`:
/// let guard = KEYRING.create(Seal::Sealed)?;
/// ```
///
/// # Invariants
///
/// `key` is NULL, or a valid key to which the guard has a reference. When it becomes NULL, that
/// reference is given back after a grace period of RCU only.
pub struct ModuleKeyring {
    description: &'static CStr,
    key: AtomicPtr<bindings::key>,
}

/// Whether user space may add keys to a keyring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// Nobody may.
    Sealed,
    /// Root may, and may also restrict what can be added.
    Unsealed,
}

impl ModuleKeyring {
    /// Describes a keyring, for a static.
    pub const fn new(description: &'static CStr) -> Self {
        // INVARIANT: No key.
        Self {
            description,
            key: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Creates the keyring. May sleep: for the initialisation of a module.
    ///
    /// # Errors
    ///
    /// `EBUSY` if it exists already, `ENOMEM`, and those of security modules.
    pub fn create(&'static self, seal: Seal) -> Result<Guard> {
        alloc::point()?;
        // SAFETY: `description` is a string.
        let key = from_err_ptr(unsafe {
            bindings::rdm_keyring_alloc(self.description.as_char_ptr()) //
        })?;
        // SAFETY: The keyring was made just now, and the reference is ours.
        let key = unsafe { Key::from_raw(key) }?;
        if seal == Seal::Sealed {
            // SAFETY: `key` is a valid keyring.
            to_result(unsafe { bindings::rdm_keyring_seal(key.as_ptr()) })?;
        }
        self.key
            .compare_exchange(
                ptr::null_mut(),
                key.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            )
            .map_err(|_| EBUSY)?;
        // INVARIANT: `self.key` is the key that the guard has.
        Ok(Guard { keyring: self, key })
    }

    /// Takes a reference to the keyring if it exists.
    fn get(&self) -> Option<Key> {
        let _rcu = rcu::read_lock();
        let ptr = NonNull::new(self.key.load(Ordering::Acquire))?;
        // SAFETY: By the type invariant, the reference of the guard lasts at least until the end
        // of this read-side critical section.
        unsafe { bindings::key_get(ptr.as_ptr()) };
        // INVARIANT: The reference was taken above.
        Some(Key { ptr })
    }

    /// Takes a reference to the keyring if it has keys and is restricted.
    fn get_usable(&self) -> Option<Key> {
        let keyring = self.get()?;
        // SAFETY: By the type invariant of `Key`, it is valid; it is a keyring.
        let usable = unsafe {
            bindings::rdm_keyring_has_keys(keyring.as_ptr())
                && bindings::rdm_keyring_is_restricted(keyring.as_ptr())
        };
        usable.then_some(keyring)
    }
}

/// Keeps a [`ModuleKeyring`] alive. When it is dropped, the keyring is revoked.
///
/// # Invariants
///
/// `key` is the key of `keyring`.
pub struct Guard {
    keyring: &'static ModuleKeyring,
    key: Key,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // INVARIANT: `self.key` is dropped after the grace period.
        self.keyring.key.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: `key` is valid.
        unsafe { bindings::key_revoke(self.key.as_ptr()) };
        rcu::synchronize_rcu();
    }
}

/// The keys that are trusted to sign.
#[derive(Clone, Copy)]
pub enum Trusted {
    /// Those built into the kernel, and those that these have vouched for.
    Secondary,
    /// Those of the machine's firmware.
    Platform,
    /// Those of a module's keyring, if it is [usable](Self::is_usable).
    Module(&'static ModuleKeyring),
}

impl Trusted {
    /// Returns whether it makes sense to ask: the keyring of a module must exist, have keys, and
    /// be restricted, so that not any process of root can add to it. May sleep.
    pub fn is_usable(&self) -> bool {
        match self {
            Self::Module(keyring) => keyring.get_usable().is_some(),
            Self::Secondary | Self::Platform => true,
        }
    }
}

/// Verifies a PKCS#7 signature of `data` that does not contain the data. May sleep.
///
/// # Errors
///
/// `ENOKEY` if no trusted key made it, also if there are no keys; `EKEYREJECTED` if it is of
/// something else; `EBADMSG` if it is no signature at all; `ENOPKG` if the kernel cannot verify
/// signatures of this kind.
pub fn verify_pkcs7(data: &[u8], signature: &[u8], trusted: Trusted, _: MaySleep<'_>) -> Result {
    let key;
    let keyring = match trusted {
        // Numbers that the kernel takes instead of keyrings.
        Trusted::Secondary => ptr::without_provenance_mut(1),
        Trusted::Platform => ptr::without_provenance_mut(2),
        Trusted::Module(keyring) => {
            key = keyring.get_usable().ok_or(ENOKEY)?;
            key.as_ptr()
        }
    };
    // SAFETY: Both slices are valid, and `keyring` is one of the numbers or a valid keyring.
    to_result(unsafe {
        bindings::rdm_verify_pkcs7(
            data.as_ptr(),
            data.len(),
            signature.as_ptr(),
            signature.len(),
            keyring,
        )
    })
}
