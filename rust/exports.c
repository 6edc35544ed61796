// SPDX-License-Identifier: GPL-2.0
/*
 * Exports the symbols of the `dm` crate and its helpers to the modules built
 * against it, as the kernel's `rust/exports.c` does for its crates.
 */

#include <linux/export.h>

#define EXPORT_SYMBOL_RUST_GPL(sym) extern int sym; EXPORT_SYMBOL_NS_GPL(sym, "RDM")

#include "exports_dm_generated.h"
