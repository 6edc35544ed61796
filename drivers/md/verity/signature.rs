// SPDX-License-Identifier: GPL-2.0

//! Signatures of root digests.
//!
//! A table may name a key that holds a PKCS#7 signature of the root digest, as it is spelled in
//! the table. It must have been made with a key that the kernel trusts: one of its own, one of the
//! machine's firmware, or one of the keyring `.dm-verity`, to which an administrator can add keys
//! if the module was loaded with `keyring_unsealed`, and which counts once it was restricted.

use crate::params;
use dm::{
    context::MaySleep,
    keys::{
        self,
        Guard,
        ModuleKeyring,
        Seal,
        Trusted, //
    },
};
use kernel::prelude::*;

static KEYRING: ModuleKeyring = ModuleKeyring::new(c".dm-verity");

/// The keys that may sign, in the order in which they are tried.
static TRUSTED: [Trusted; 3] = [
    Trusted::Secondary,
    Trusted::Platform,
    Trusted::Module(&KEYRING),
];

/// Makes the keyring. It is there until the result is dropped.
pub(crate) fn create_keyring() -> Result<Guard> {
    KEYRING.create(match params::keyring_unsealed.get() {
        true => Seal::Unsealed,
        false => Seal::Sealed,
    })
}

/// Returns the signature that a key of the caller holds. May sleep.
pub(crate) fn of_key(description: &CStr, token: MaySleep<'_>) -> Result<KVec<u8>> {
    keys::user_key(description, token)
}

/// Verifies the signature of a root digest. May sleep.
///
/// # Errors
///
/// `ENOKEY` if no trusted key has made it, or if there is none and the module requires it; others
/// if it is not of this digest, or no signature at all.
pub(crate) fn verify(digest: &CStr, signature: Option<&[u8]>, token: MaySleep<'_>) -> Result {
    let digest = digest.to_bytes();
    let Some(signature) = signature.filter(|signature| !signature.is_empty()) else {
        return match params::require_signatures.get() {
            true => Err(ENOKEY),
            false => Ok(()),
        };
    };
    let mut result = Err(ENOKEY);
    for trusted in TRUSTED.iter().filter(|trusted| trusted.is_usable()) {
        result = keys::verify_pkcs7(digest, signature, *trusted, token);
        if !matches!(result, Err(ENOKEY | EKEYREJECTED)) {
            break;
        }
    }
    result
}
