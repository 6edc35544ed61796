// SPDX-License-Identifier: GPL-2.0

//! What a crypt device says of itself. The third form, `dmsetup status`, is empty.

use core::fmt;

use dm::target::status::Status;

use crate::{
    key::KeyLayout,
    options::{
        Flags,
        SectorSize,
        Tag,
        ALLOW_DISCARDS,
        HIGH_PRIORITY,
        INTEGRITY,
        INTEGRITY_KEY_SIZE,
        IV_LARGE_SECTORS,
        NO_READ_WORKQUEUE,
        NO_WRITE_WORKQUEUE,
        SAME_CPU_CRYPT,
        SECTOR_SIZE,
        SUBMIT_FROM_CRYPT_CPUS, //
    },
};

/// The key in a table line.
#[derive(Clone, Copy)]
pub enum Key<'a> {
    /// There is none.
    None,
    /// The key itself; zeros once it was wiped.
    Bytes(&'a [u8]),
    /// A key of a keyring: `<type>:<description>`.
    Keyring(&'a [u8]),
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// All that a table line tells.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The cipher, as it was in the table.
    pub cipher: &'a [u8],
    /// The key.
    pub key: Key<'a>,
    /// How it is divided.
    pub layout: &'a KeyLayout,
    /// What is added to sectors for IVs.
    pub iv_offset: u64,
    /// The name of the device below, as "major:minor".
    pub device: &'a [u8],
    /// The first sector on it.
    pub start: u64,
    /// The options of one bit each.
    pub flags: Flags,
    /// Metadata of sectors, as the table asked for it.
    pub tag: Option<Tag<&'a [u8]>>,
    /// The bytes that are encrypted at a time.
    pub sector_size: SectorSize,
    /// Whether the table told the size of the key of the message authentication code.
    pub mac_key_size_given: bool,
}

impl Table<'_> {
    /// Writes the table line as `dmsetup table --showkeys` shows it.
    pub fn emit(&self, status: &mut Status<'_>) {
        status.bytes(self.cipher);
        status.bytes(b" ");
        match self.key {
            Key::None => status.bytes(b"-"),
            Key::Bytes(bytes) => status.hex(bytes),
            Key::Keyring(name) => {
                status.emit(format_args!(":{}:", self.layout.size));
                status.bytes(name);
            }
        }
        status.emit(format_args!(" {} ", self.iv_offset));
        status.bytes(self.device);
        status.emit(format_args!(" {}", self.start));
        self.emit_options(status);
    }

    /// The words before those with a value, in the order of the table line.
    fn flags(&self) -> [(&'static str, bool); 6] {
        let flags = &self.flags;
        [
            (ALLOW_DISCARDS, flags.allow_discards),
            (SAME_CPU_CRYPT, flags.same_cpu_crypt),
            (HIGH_PRIORITY, flags.high_priority),
            (SUBMIT_FROM_CRYPT_CPUS, flags.submit_from_crypt_cpus),
            (NO_READ_WORKQUEUE, flags.no_read_workqueue),
            (NO_WRITE_WORKQUEUE, flags.no_write_workqueue),
        ]
    }

    /// The sector size, unless it is the one that is not shown.
    fn large_sector_size(&self) -> Option<u32> {
        (self.sector_size != SectorSize::SMALL).then_some(self.sector_size.bytes())
    }

    fn emit_options(&self, status: &mut Status<'_>) {
        let others = [
            self.tag.is_some(),
            self.large_sector_size().is_some(),
            self.flags.iv_large_sectors,
            self.mac_key_size_given,
        ];
        let flags = self.flags();
        let shown = flags.iter().map(|&(_, shown)| shown).chain(others);
        let count = shown.filter(|&shown| shown).count();
        if count == 0 {
            return;
        }
        status.emit(format_args!(" {count}"));
        for (word, _) in flags.iter().filter(|(_, shown)| *shown) {
            status.emit(format_args!(" {word}"));
        }
        if let Some(tag) = &self.tag {
            status.emit(format_args!(" {INTEGRITY}{}:", tag.size));
            status.bytes(tag.profile);
        }
        if let Some(bytes) = self.large_sector_size() {
            status.emit(format_args!(" {SECTOR_SIZE}{bytes}"));
        }
        if self.flags.iv_large_sectors {
            status.emit(format_args!(" {IV_LARGE_SECTORS}"));
        }
        if self.mac_key_size_given {
            status.emit(format_args!(" {INTEGRITY_KEY_SIZE}{}", self.layout.mac));
        }
    }

    /// Writes what IMA measures when the table is loaded, with the name and the version of the
    /// target: never the key.
    pub fn emit_ima(&self, status: &mut Status<'_>, target: &[u8], version: [u32; 3]) {
        status.target_name_version(target, version);
        let large = (IV_LARGE_SECTORS, self.flags.iv_large_sectors);
        for (word, yes) in self.flags().into_iter().chain([large]) {
            let letter = if yes { 'y' } else { 'n' };
            status.emit(format_args!(",{word}={letter}"));
        }
        if let Some(tag) = &self.tag {
            status.emit(format_args!(
                ",integrity_tag_size={},cipher_auth=",
                tag.size
            ));
            status.bytes(tag.profile);
        }
        if let Some(bytes) = self.large_sector_size() {
            status.emit(format_args!(",sector_size={bytes}"));
        }
        status.bytes(b",cipher_string=");
        status.bytes(self.cipher);
        let layout = self.layout;
        status.emit(format_args!(
            ",key_size={},key_parts={},key_extra_size={},key_mac_size={};",
            layout.size, layout.parts, layout.extra, layout.mac,
        ));
    }
}
