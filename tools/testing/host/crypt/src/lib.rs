// SPDX-License-Identifier: GPL-2.0

//! The files of the crypt target that know nothing of the kernel.

#![no_std]

#[cfg(test)]
extern crate std;

#[path = "../../../../../drivers/md/crypt/cipher.rs"]
pub mod cipher;
#[path = "../../../../../drivers/md/crypt/encryption.rs"]
mod encryption;
#[path = "../../../../../drivers/md/crypt/iv.rs"]
pub mod iv;
#[path = "../../../../../drivers/md/crypt/iv_elephant.rs"]
pub mod iv_elephant;
#[path = "../../../../../drivers/md/crypt/iv_lmk.rs"]
pub mod iv_lmk;
#[path = "../../../../../drivers/md/crypt/iv_tcw.rs"]
pub mod iv_tcw;
#[path = "../../../../../drivers/md/crypt/key.rs"]
pub mod key;
#[path = "../../../../../drivers/md/crypt/layout.rs"]
pub mod layout;
#[path = "../../../../../drivers/md/crypt/message.rs"]
pub mod message;
#[path = "../../../../../drivers/md/crypt/options.rs"]
pub mod options;
#[path = "../../../../../drivers/md/crypt/status.rs"]
pub mod status;
#[path = "../../../../../drivers/md/crypt/table.rs"]
pub mod table;
