// SPDX-License-Identifier: GPL-2.0

//! Module parameters that appear in sysfs and can be written at run time.
//!
//! The parameters of [`kernel::prelude::module!`] are read once, at load, and have no file in
//! `/sys/module/*/parameters`. The ones here are atomics: user space writes them through the
//! kernel's own parsers, the module reads them whenever it likes, from any context.
//!
//! # Examples
//!
//! ```ignore
//! dm::module_param! {
//!     /// The number of bytes of hash blocks that are prefetched at once.
//!     pub(crate) static prefetch_cluster: UintParam = UintParam::new(262144), 0o644;
//! }
//!
//! let bytes = prefetch_cluster.get();
//! ```
//!
//! C header: [`include/linux/moduleparam.h`](srctree/include/linux/moduleparam.h)

use crate::bindings;
use core::{
    ffi::CStr,
    ops::Deref,
    ptr,
    sync::atomic::{
        AtomicBool,
        AtomicU32,
        AtomicUsize,
        Ordering, //
    },
};
use kernel::{
    ffi::{
        c_char,
        c_int,
        c_uint, //
    },
    module::ThisModule, //
};

macro_rules! scalar {
    ($(#[$meta:meta])* $name:ident, $atomic:ty, $value:ty, $ops:ident) => {
        $(#[$meta])*
        #[repr(transparent)]
        pub struct $name($atomic);

        impl $name {
            /// Creates the parameter with its default.
            pub const fn new(default: $value) -> Self {
                Self(<$atomic>::new(default))
            }

            /// Returns the current value. Any context.
            #[inline]
            pub fn get(&self) -> $value {
                self.0.load(Ordering::Relaxed)
            }

            /// Sets the value. Any context.
            #[inline]
            pub fn set(&self, value: $value) {
                self.0.store(value, Ordering::Relaxed)
            }

            /// Describes the parameter to the module loader.
            #[doc(hidden)]
            pub const fn describe(
                &'static self,
                name: &'static CStr,
                module: &'static ThisModule,
                perm: u16,
            ) -> KernelParam {
                KernelParam::new(
                    name,
                    module,
                    &raw const bindings::$ops,
                    perm,
                    ptr::from_ref(self).cast_mut().cast(),
                )
            }
        }
    };
}

scalar!(
    /// An `unsigned int`.
    UintParam, AtomicU32, u32, param_ops_uint
);
impl UintParam {
    /// Adds to the value, wrapping. Any context.
    pub fn add(&self, n: u32) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts the value down to 0, and returns what it was unless it was 0. Any context.
    pub fn take_one(&self) -> Option<u32> {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .ok()
    }
}

scalar!(
    /// An `unsigned long`.
    UlongParam, AtomicUsize, usize, param_ops_ulong
);
impl UlongParam {
    /// Adds to the value, wrapping. Any context.
    pub fn add(&self, n: usize) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Subtracts from the value, wrapping. Any context.
    pub fn sub(&self, n: usize) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    /// Adds to the value unless it would exceed `max`, and returns whether it did. Any context.
    pub fn try_add(&self, n: usize, max: usize) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                now.checked_add(n).filter(|sum| *sum <= max)
            })
            .is_ok()
    }

    /// Replaces the value by `n` if that is greater. Any context.
    pub fn raise(&self, n: usize) {
        if self.get() < n {
            self.0.fetch_max(n, Ordering::Relaxed);
        }
    }

    /// Replaces the value by `n` if it is 0, and returns the value. Any context.
    pub fn get_or_set(&self, n: usize) -> usize {
        match self.get() {
            0 => match self
                .0
                .compare_exchange(0, n, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => n,
                Err(now) => now,
            },
            now => now,
        }
    }
}

scalar!(
    /// A `bool`.
    BoolParam, AtomicBool, bool, param_ops_bool
);

/// An `unsigned long` with a function that is called when user space has written it.
///
/// The function runs in process context and may sleep, but must not wait for anybody who writes or
/// reads a parameter.
#[repr(C)]
pub struct WatchedUlongParam {
    value: UlongParam,
    changed: fn(),
}

impl WatchedUlongParam {
    const OPS: bindings::kernel_param_ops = bindings::kernel_param_ops {
        flags: 0,
        set: Some(Self::set),
        get: Some(bindings::param_get_ulong),
        free: None,
    };

    /// Creates the parameter with its default.
    pub const fn new(default: usize, changed: fn()) -> Self {
        Self {
            value: UlongParam::new(default),
            changed,
        }
    }

    /// Describes the parameter to the module loader.
    #[doc(hidden)]
    pub const fn describe(
        &'static self,
        name: &'static CStr,
        module: &'static ThisModule,
        perm: u16,
    ) -> KernelParam {
        KernelParam::new(
            name,
            module,
            ptr::from_ref(&Self::OPS),
            perm,
            ptr::from_ref(self).cast_mut().cast(),
        )
    }

    /// # Safety
    ///
    /// `val` is a string, and `param` describes a [`WatchedUlongParam`].
    unsafe extern "C" fn set(val: *const c_char, param: *const bindings::kernel_param) -> c_int {
        // SAFETY: By the preconditions; the value is the first field.
        let (result, this) = unsafe {
            let result = bindings::param_set_ulong(val, param);
            (result, &*(*param).__bindgen_anon_1.arg.cast::<Self>())
        };
        if result == 0 {
            (this.changed)();
        }
        result
    }
}

impl Deref for WatchedUlongParam {
    type Target = UlongParam;

    fn deref(&self) -> &UlongParam {
        &self.value
    }
}

/// An array of `unsigned int`.
///
/// User space may write fewer values than there are; the rest keep theirs.
#[repr(transparent)]
pub struct UintArrayParam<const N: usize>([AtomicU32; N]);

impl<const N: usize> UintArrayParam<N> {
    /// Creates the parameter with its defaults.
    pub const fn new(defaults: [u32; N]) -> Self {
        let mut values = [const { AtomicU32::new(0) }; N];
        let (mut to, mut from): (&mut [_], &[_]) = (&mut values, &defaults);
        while let ([value, to_rest @ ..], [default, from_rest @ ..]) = (to, from) {
            *value = AtomicU32::new(*default);
            (to, from) = (to_rest, from_rest);
        }
        Self(values)
    }

    /// Returns the value at `index`, if there is one. Any context.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u32> {
        Some(self.0.get(index)?.load(Ordering::Relaxed))
    }

    /// Describes the array to the operations of the kernel for arrays.
    #[doc(hidden)]
    pub const fn array(&'static self) -> KernelParamArray {
        KernelParamArray(bindings::kparam_array {
            max: N as c_uint,
            elemsize: size_of::<u32>() as c_uint,
            num: ptr::null_mut(),
            ops: &raw const bindings::param_ops_uint,
            elem: ptr::from_ref(self).cast_mut().cast(),
        })
    }
}

/// The description of an array parameter.
#[doc(hidden)]
#[repr(transparent)]
pub struct KernelParamArray(bindings::kparam_array);

// SAFETY: The kernel serialises accesses to parameters; Rust code never accesses the structure.
unsafe impl Sync for KernelParamArray {}

impl KernelParamArray {
    /// Describes the parameter to the module loader.
    pub const fn describe(
        &'static self,
        name: &'static CStr,
        module: &'static ThisModule,
        perm: u16,
    ) -> KernelParam {
        KernelParam::new(
            name,
            module,
            &raw const bindings::param_array_ops,
            perm,
            ptr::from_ref(self).cast_mut().cast(),
        )
    }
}

/// What the module loader reads in the section `__param`.
#[doc(hidden)]
#[repr(transparent)]
pub struct KernelParam(bindings::kernel_param);

// SAFETY: The kernel serialises accesses to parameters; Rust code never accesses the structure.
unsafe impl Sync for KernelParam {}

impl KernelParam {
    const fn new(
        name: &'static CStr,
        module: &'static ThisModule,
        ops: *const bindings::kernel_param_ops,
        perm: u16,
        arg: *mut core::ffi::c_void,
    ) -> Self {
        Self(bindings::kernel_param {
            name: kernel::str::as_char_ptr_in_const_context(name),
            mod_: module.as_ptr(),
            ops,
            perm,
            level: -1,
            flags: 0,
            __bindgen_anon_1: bindings::kernel_param__bindgen_ty_1 { arg },
        })
    }
}

/// Defines a module parameter with a file in `/sys/module/<module>/parameters`.
///
/// The doc comment is what `modinfo` shows. See [the module](crate::params) for an example.
// The parameter is of the module that uses the macro.
#[allow(clippy::crate_in_macro_def)]
#[macro_export]
macro_rules! module_param {
    (
        $(#[doc = $doc:literal])+
        $vis:vis static $name:ident: UintArrayParam<$n:literal> = $value:expr, $perm:literal;
    ) => {
        $(#[doc = $doc])+
        #[allow(non_upper_case_globals)]
        $vis static $name: $crate::params::UintArrayParam<$n> = $value;

        const _: () = {
            static ARRAY: $crate::params::KernelParamArray = $name.array();
            $crate::module_param!(@describe $name, ARRAY, "array of uint", $perm, $($doc)+);
        };
    };
    (
        $(#[doc = $doc:literal])+
        $vis:vis static $name:ident: $type:ident = $value:expr, $perm:literal;
    ) => {
        $(#[doc = $doc])+
        #[allow(non_upper_case_globals)]
        $vis static $name: $crate::params::$type = $value;

        const _: () = {
            $crate::module_param!(@describe $name, $name, @$type, $perm, $($doc)+);
        };
    };
    (@describe $name:ident, $param:ident, @UintParam, $($rest:tt)+) => {
        $crate::module_param!(@describe $name, $param, "uint", $($rest)+);
    };
    (@describe $name:ident, $param:ident, @UlongParam, $($rest:tt)+) => {
        $crate::module_param!(@describe $name, $param, "ulong", $($rest)+);
    };
    (@describe $name:ident, $param:ident, @WatchedUlongParam, $($rest:tt)+) => {
        $crate::module_param!(@describe $name, $param, "ulong", $($rest)+);
    };
    (@describe $name:ident, $param:ident, @BoolParam, $($rest:tt)+) => {
        $crate::module_param!(@describe $name, $param, "bool", $($rest)+);
    };
    (@describe $name:ident, $param:ident, $type:literal, $perm:literal, $($doc:literal)+) => {
        #[link_section = "__param"]
        #[used(compiler)]
        static PARAM: $crate::params::KernelParam = $param.describe(
            match ::core::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            },
            ::kernel::module::this_module::<crate::LocalModule>(),
            $perm,
        );

        #[link_section = ".modinfo"]
        #[used(compiler)]
        static TYPE: [u8; concat!("parmtype=", stringify!($name), ":", $type, "\0").len()] =
            *$crate::params::bytes(concat!("parmtype=", stringify!($name), ":", $type, "\0"));

        #[link_section = ".modinfo"]
        #[used(compiler)]
        static TEXT: [u8; concat!("parm=", stringify!($name), ":", $($doc,)+ "\0").len()] =
            *$crate::params::bytes(concat!("parm=", stringify!($name), ":", $($doc,)+ "\0"));
    };
}

/// Returns the bytes of `text` as an array, for the section `.modinfo`.
///
/// The build fails where `N` is not the length of `text`.
#[doc(hidden)]
pub const fn bytes<const N: usize>(text: &'static str) -> &'static [u8; N] {
    match text.as_bytes().first_chunk() {
        Some(bytes) => bytes,
        None => panic!("the length differs"),
    }
}
