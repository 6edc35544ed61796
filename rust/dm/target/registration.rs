// SPDX-License-Identifier: GPL-2.0

//! Registrations of target types.

use super::{
    instance::{
        Instance,
        AUDIT_CTRL, //
    },
    limits::Limits,
    status::Status,
    Operations,
    Target,
    Visitor,
    Word, //
};
use crate::{
    bindings,
    bio::{
        self,
        MapBio, //
    },
    context::MaySleep,
    request::{
        self,
        Requests, //
    }, //
};
use core::{
    marker::PhantomData,
    slice, //
};
use kernel::{
    error::{
        from_result,
        to_result, //
    },
    ffi::{
        c_char,
        c_int,
        c_uint,
        c_ulong,
        c_void, //
    },
    module::this_module,
    prelude::*,
    types::Opaque, //
};

/// A target type that is known to the device mapper core under a name.
///
/// # Invariants
///
/// `inner` is registered if and only if its list head is linked.
#[pin_data(PinnedDrop)]
pub struct Registration<T: Operations> {
    #[pin]
    inner: Opaque<bindings::target_type>,
    _type: PhantomData<T>,
}

// SAFETY: `dm_register_target` and `dm_unregister_target` are synchronised by the core.
unsafe impl<T: Operations> Sync for Registration<T> {}
// SAFETY: `dm_unregister_target` may be called from any thread.
unsafe impl<T: Operations> Send for Registration<T> {}

impl<T: Operations> Registration<T> {
    /// Registers the type under `name`.
    ///
    /// # Errors
    ///
    /// `EBUSY` if there is a target of that name.
    pub fn new(name: &'static CStr) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            inner <- Opaque::try_ffi_init(move |slot| {
                // SAFETY: `slot` is valid for writes, pinned, and unregistered in `drop`.
                unsafe { Self::register(slot, name, |_| ()) }
            }),
            _type: PhantomData,
        })
    }

    /// Registers the type under `name` unless another module holds that name, which is logged.
    ///
    /// # Errors
    ///
    /// Those of the core other than `EBUSY`.
    pub fn if_free(name: &'static CStr) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            inner <- Opaque::try_ffi_init(move |slot| {
                // SAFETY: As in `new`.
                or_held(name, unsafe { Self::register(slot, name, |_| ()) })
            }),
            _type: PhantomData,
        })
    }

    /// # Safety
    ///
    /// `slot` must be valid for writes, pinned, and unregistered before it is freed.
    unsafe fn register(
        slot: *mut bindings::target_type,
        name: &'static CStr,
        adapt: impl FnOnce(&mut bindings::target_type),
    ) -> Result {
        let mut tt: bindings::target_type = pin_init::zeroed();
        tt.name = name.as_char_ptr();
        tt.module = this_module::<T::OwnerModule>().as_ptr();
        tt.features = T::FEATURES.0.into();
        tt.version = T::VERSION;
        tt.ctr = Some(Self::ctr);
        tt.dtr = Some(Self::dtr);
        tt.map = Some(Self::map);
        tt.status = Some(Self::status);
        tt.preresume = T::HAS_PRERESUME.then_some(Self::preresume);
        tt.message = T::HAS_MESSAGE.then_some(Self::message);
        tt.resume = (T::HAS_RESUME || T::HAS_REBOOT).then_some(Self::resume);
        tt.postsuspend = (T::HAS_POSTSUSPEND || T::HAS_REBOOT).then_some(Self::postsuspend);
        tt.prepare_ioctl = T::HAS_PREPARE_IOCTL.then_some(Self::prepare_ioctl);
        tt.iterate_devices = T::HAS_ITERATE_DEVICES.then_some(Self::iterate_devices);
        tt.report_zones = T::HAS_ZONES.then_some(Self::report_zones);
        tt.io_hints = T::HAS_IO_HINTS.then_some(Self::io_hints);
        adapt(&mut tt);
        // SAFETY: By the requirements of this function.
        unsafe {
            slot.write(tt);
            to_result(bindings::dm_register_target(slot))
        }
    }

    /// # Safety
    ///
    /// `argv` must be NULL or point to `argc` strings that nobody else uses for `'a`.
    unsafe fn words<'a>(argc: c_uint, argv: *mut *mut c_char) -> &'a mut [Word] {
        if argv.is_null() {
            return &mut [];
        }
        // SAFETY: By the requirements of this function; `Word` is a transparent pointer to a
        // string.
        unsafe { slice::from_raw_parts_mut(argv.cast::<Word>(), argc as usize) }
    }

    /// # Safety
    ///
    /// `ti` must be a target that is being constructed, and `argv` point to `argc` strings.
    unsafe extern "C" fn ctr(
        ti: *mut bindings::dm_target,
        argc: c_uint,
        argv: *mut *mut c_char,
    ) -> c_int {
        // SAFETY: The core passes its own array of strings, or NULL.
        let words = unsafe { Self::words(argc, argv) };
        // SAFETY: The core passes a target that is being constructed.
        let (result, target) =
            unsafe { (Instance::<T>::construct(ti, words), &*ti.cast::<Target>()) };
        Word::scrub(words, T::SECRET_WORD);
        match result {
            Ok(()) => {
                // SAFETY: The constructor has not returned yet, so nobody else uses `ti`.
                unsafe { (*ti).per_io_data_size = bio::per_io_data_size::<T>() };
                target.audit_record(AUDIT_CTRL, T::MESSAGES.prefix, c"ctr", true);
                0
            }
            Err(e) => {
                // SAFETY: As above; the core only reads the text.
                unsafe { (*ti).error = e.text.as_char_ptr().cast_mut() };
                target.audit_record(AUDIT_CTRL, T::MESSAGES.prefix, c"ctr", false);
                // As in C, whose constructors end in their destructor.
                target.audit_record(AUDIT_CTRL, T::MESSAGES.prefix, c"dtr", true);
                e.errno.to_return()
            }
        }
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and must not be used again.
    unsafe extern "C" fn dtr(ti: *mut bindings::dm_target) {
        // SAFETY: The core passes a valid target, once, when no bio is in flight.
        unsafe {
            Instance::<T>::destroy(ti);
            Target::from_raw(ti).audit_record(AUDIT_CTRL, T::MESSAGES.prefix, c"dtr", true);
        }
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and `bio` a bio for it.
    unsafe extern "C" fn map(ti: *mut bindings::dm_target, bio: *mut bindings::bio) -> c_int {
        // SAFETY: The core passes a valid target, and a bio that the target owns until it decides.
        let (instance, bio) = unsafe {
            let instance = Instance::<T>::of(ti);
            (instance, MapBio::from_raw(bio, instance))
        };
        instance.state.map(instance.target(), bio).into_raw()
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and `result` have `maxlen` bytes.
    unsafe extern "C" fn status(
        ti: *mut bindings::dm_target,
        kind: bindings::status_type_t,
        _flags: c_uint,
        result: *mut c_char,
        maxlen: c_uint,
    ) {
        // SAFETY: The core passes a valid target and a buffer that nobody else uses. What the
        // buffer held before is overwritten first, so that it is initialised.
        let (instance, buffer) = unsafe {
            result.write_bytes(0, maxlen as usize);
            (
                Instance::<T>::of(ti),
                slice::from_raw_parts_mut(result.cast::<u8>(), maxlen as usize),
            )
        };
        let (state, target) = (&instance.state, instance.target());
        let mut status = Status::new(buffer);
        match kind {
            bindings::status_type_t_STATUSTYPE_INFO => state.status_info(target, &mut status),
            bindings::status_type_t_STATUSTYPE_TABLE => state.status_table(target, &mut status),
            bindings::status_type_t_STATUSTYPE_IMA => state.status_ima(target, &mut status),
            _ => (),
        }
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded.
    unsafe extern "C" fn preresume(ti: *mut bindings::dm_target) -> c_int {
        // SAFETY: The core passes a valid target.
        let instance = unsafe { Instance::<T>::of(ti) };
        from_result(|| {
            instance
                .state
                .preresume(instance.target(), MaySleep::assert())?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and `argv` point to `argc` strings.
    unsafe extern "C" fn message(
        ti: *mut bindings::dm_target,
        argc: c_uint,
        argv: *mut *mut c_char,
        _result: *mut c_char,
        _maxlen: c_uint,
    ) -> c_int {
        // SAFETY: The core passes a valid target, and its own array of strings.
        let (instance, words) = unsafe { (Instance::<T>::of(ti), Self::words(argc, argv)) };
        let result = instance
            .state
            .message(instance.target(), words, MaySleep::assert());
        Word::scrub(words, T::SECRET_MESSAGE_WORD);
        from_result(|| result.map(|()| 0))
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded.
    unsafe extern "C" fn postsuspend(ti: *mut bindings::dm_target) {
        // SAFETY: The core passes a valid target.
        let instance = unsafe { Instance::<T>::of(ti) };
        let token = MaySleep::assert();
        if T::HAS_REBOOT {
            instance.head().unregister(token);
        }
        if T::HAS_POSTSUSPEND {
            instance.state.postsuspend(instance.target(), token);
        }
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded.
    unsafe extern "C" fn resume(ti: *mut bindings::dm_target) {
        // SAFETY: The core passes a valid target.
        let instance = unsafe { Instance::<T>::of(ti) };
        let token = MaySleep::assert();
        if T::HAS_RESUME {
            instance.state.resume(instance.target(), token);
        }
        if T::HAS_REBOOT {
            instance.head().register(token);
        }
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and `bdev` valid for writes.
    unsafe extern "C" fn prepare_ioctl(
        ti: *mut bindings::dm_target,
        bdev: *mut *mut bindings::block_device,
        _cmd: c_uint,
        _arg: c_ulong,
        _forward: *mut bool,
    ) -> c_int {
        // SAFETY: The core passes a valid target.
        let instance = unsafe { Instance::<T>::of(ti) };
        let forward = instance.state.prepare_ioctl(instance.target());
        // SAFETY: The core passes a place for the device, which stays open while the table lives.
        unsafe { *bdev = forward.device.bdev() };
        (!forward.whole).into()
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and `args` valid.
    unsafe extern "C" fn report_zones(
        ti: *mut bindings::dm_target,
        args: *mut bindings::dm_report_zones_args,
        count: c_uint,
    ) -> c_int {
        // SAFETY: The core passes a valid target and valid arguments. The device is open.
        unsafe {
            let instance = Instance::<T>::of(ti);
            let (device, start) = instance.state.zones();
            let next = instance.target().offset((*args).next_sector);
            bindings::dm_report_zones(
                device.bdev(),
                start,
                start.wrapping_add(next),
                args,
                count, //
            )
        }
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and `callout` be callable with `data`.
    unsafe extern "C" fn iterate_devices(
        ti: *mut bindings::dm_target,
        callout: bindings::iterate_devices_callout_fn,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: The core passes a valid target.
        let instance = unsafe { Instance::<T>::of(ti) };
        let target = instance.target();
        let mut visitor = Visitor {
            target,
            callout,
            data,
        };
        instance.state.iterate_devices(target, &mut visitor)
    }

    /// # Safety
    ///
    /// `ti` must be a target for which `ctr` succeeded, and `limits` borrowed exclusively.
    unsafe extern "C" fn io_hints(
        ti: *mut bindings::dm_target,
        limits: *mut bindings::queue_limits,
    ) {
        // SAFETY: The core passes a valid target and limits that only this call uses.
        let (instance, limits) = unsafe { (Instance::<T>::of(ti), Limits::from_raw(limits)) };
        instance.state.io_hints(instance.target(), limits);
    }
}

impl<T: Requests> Registration<T> {
    /// Registers the type under `name`, for [requests](crate::request).
    ///
    /// # Errors
    ///
    /// `EBUSY` if there is a target of that name.
    pub fn of_requests(name: &'static CStr) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            inner <- Opaque::try_ffi_init(move |slot| {
                // SAFETY: `slot` is valid for writes, pinned, and unregistered in `drop`.
                unsafe { Self::register(slot, name, Self::adapt) }
            }),
            _type: PhantomData,
        })
    }

    /// Registers the type under `name`, for [requests](crate::request), unless another module holds
    /// that name, which is logged.
    ///
    /// # Errors
    ///
    /// Those of the core other than `EBUSY`.
    pub fn of_requests_if_free(name: &'static CStr) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            inner <- Opaque::try_ffi_init(move |slot| {
                // SAFETY: As in `of_requests`.
                or_held(name, unsafe { Self::register(slot, name, Self::adapt) })
            }),
            _type: PhantomData,
        })
    }

    fn adapt(tt: &mut bindings::target_type) {
        request::adapt::<T>(tt);
        tt.ctr = Some(Self::ctr_of_requests);
    }

    /// # Safety
    ///
    /// As for [`ctr`](Self::ctr).
    unsafe extern "C" fn ctr_of_requests(
        ti: *mut bindings::dm_target,
        argc: c_uint,
        argv: *mut *mut c_char,
    ) -> c_int {
        // SAFETY: By the requirements of this function.
        let result = unsafe { Self::ctr(ti, argc, argv) };
        if result == 0 {
            // SAFETY: As in `ctr`.
            unsafe { (*ti).per_io_data_size = request::per_io_data_size::<T>() };
        }
        result
    }
}

/// Takes it for a success if another module holds the name, and says so. The core links the list
/// head only where it succeeds.
fn or_held(name: &'static CStr, result: Result) -> Result {
    match result {
        Err(e) if e == EBUSY => {
            pr_info!("the name {:?} is held by another module\n", name);
            Ok(())
        }
        result => result,
    }
}

#[pinned_drop]
impl<T: Operations> PinnedDrop for Registration<T> {
    fn drop(self: Pin<&mut Self>) {
        let tt = self.inner.get();
        // SAFETY: By the type invariant, the list head tells whether `inner` is registered.
        unsafe {
            if !(*tt).list.next.is_null() {
                bindings::dm_unregister_target(tt);
            }
        }
    }
}
