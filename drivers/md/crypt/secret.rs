// SPDX-License-Identifier: GPL-2.0

//! The key of a device: where it is kept, and how a message changes it.
//!
//! The cipher has the key; what is kept here is for the table line, and to give the cipher another
//! one. A key from a keyring is not kept at all. Nothing here is used for I/O, and the core has
//! stopped that while a key is changed.

use crate::{
    convert::Converter,
    environment::{
        read_key,
        set_key,
        KEY_TYPES, //
    },
    key::{
        KeyLayout,
        Source,
        Word, //
    },
    message::{
        self,
        Message, //
    },
    status,
    table::Key,
    target::Env,
    LOG, //
};
use dm::{
    alloc,
    context::MaySleep,
    errno::{
        Errno,
        EINVAL, //
    },
    secret::Secret,
    target::args::{
        Args,
        Words, //
    },
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// Whether a key can be used, and whether it can be changed.
struct State {
    key: Key<Env>,
    /// Whether the cipher has the key.
    valid: bool,
    /// Whether there is no I/O, after a suspend; not so before the first resume.
    suspended: bool,
}

/// The key of a device.
pub(crate) struct Keeper {
    state: Pin<KBox<Mutex<State>>>,
    layout: KeyLayout,
    iv_size: u32,
}

type Outcome<T> = core::result::Result<T, Errno>;

impl Keeper {
    /// Keeps a key that the cipher has.
    pub(crate) fn new(key: Key<Env>, iv_size: u32) -> Result<Self> {
        let layout = key.layout;
        let state = State {
            key,
            valid: true,
            suspended: false,
        };
        Ok(Self {
            state: alloc::pin_boxed(new_mutex!(state), GFP_KERNEL)?,
            layout,
            iv_size,
        })
    }

    pub(crate) fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.state.lock().valid
    }

    pub(crate) fn set_suspended(&self, suspended: bool) {
        self.state.lock().suspended = suspended;
    }

    /// Calls `f` with what the table line shows.
    pub(crate) fn show<R>(&self, f: impl FnOnce(status::Key<'_>) -> R) -> R {
        let state = self.state.lock();
        f(match &state.key.reference {
            _ if self.layout.size == 0 => status::Key::None,
            Some(name) => status::Key::Keyring(name),
            None => status::Key::Bytes(&state.key.bytes),
        })
    }

    /// Does what a message says.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the message is none, if the device is not suspended, or if the key is not of the
    /// size of the old one; or an error of the keyring or of the cipher, after which there is no
    /// key.
    pub(crate) fn message<W: Words + ?Sized>(
        &self,
        words: &W,
        converter: &Converter,
        token: MaySleep<'_>,
    ) -> Result {
        let mut state = self.state.lock();
        let message = message::parse(Args::new(words), state.suspended, self.layout.size);
        let result = match message {
            Ok(Message::SetKey(word)) => self.set(&mut state, word, converter, token),
            Ok(Message::WipeKey) => self.wipe(&mut state, converter, token),
            Err(refused) => {
                if let Some(text) = refused.text() {
                    LOG.warn(format_args!("{}", text.to_str().unwrap_or_default()));
                }
                Err(EINVAL)
            }
        };
        result.map_err(Error::from)
    }

    fn set(
        &self,
        state: &mut State,
        word: Word<'_>,
        converter: &Converter,
        token: MaySleep<'_>,
    ) -> Outcome<()> {
        let source = word.source(KEY_TYPES).map_err(|malformed| {
            if let Some(text) = malformed.text() {
                LOG.error(format_args!("{}", text.to_str().unwrap_or_default()));
            }
            EINVAL
        })?;
        // The core has stopped all I/O already; this is what conversions rely on.
        let _alone = converter.keys.write(token);
        match source {
            Source::None => {
                state.valid = false;
                state.key.reference = None;
            }
            Source::Hex(hex) => {
                state.valid = false;
                state.key.reference = None;
                hex.decode(&mut state.key.bytes)?;
            }
            Source::Keyring(reference) => {
                let name =
                    alloc::bytes(reference.name.to_bytes(), GFP_KERNEL).map_err(Errno::from)?;
                let mut bytes = Secret::zeroed(state.key.bytes.len()).map_err(Errno::from)?;
                read_key(&reference, &mut bytes, token)?;
                state.valid = false;
                state.key.bytes = bytes;
                state.key.reference = Some(name);
            }
        }
        self.install(state, converter, token)?;
        state.valid = true;
        let result = self.set_iv_secret(state, converter);
        if state.key.reference.is_some() {
            state.key.bytes.wipe();
        }
        result
    }

    /// Gives the cipher the key.
    fn install(
        &self,
        state: &mut State,
        converter: &Converter,
        token: MaySleep<'_>,
    ) -> Outcome<()> {
        let key = &mut state.key;
        self.layout
            .install(&key.bytes, key.authenc.as_mut(), |index, key| {
                set_key(&converter.ciphers, index, key, token)
            })
    }

    /// Gives the mode its part of the key.
    fn set_iv_secret(&self, state: &State, converter: &Converter) -> Outcome<()> {
        let Some(special) = converter.special() else {
            return Ok(());
        };
        let secret = special
            .generator()
            .secret(&self.layout, &state.key.bytes, self.iv_size)?;
        special.set_secret(secret);
        Ok(())
    }

    /// Makes the cipher forget the key.
    fn wipe(&self, state: &mut State, converter: &Converter, token: MaySleep<'_>) -> Outcome<()> {
        let _alone = converter.keys.write(token);
        state.valid = false;
        state.key.reference = None;
        if let Some(special) = converter.special() {
            special.wipe();
        }
        // Zeroes are not a key that every cipher takes.
        state.key.bytes.randomize();
        let result = self.install(state, converter, token);
        state.key.bytes.wipe();
        result
    }
}
