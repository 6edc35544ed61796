// SPDX-License-Identifier: GPL-2.0
/*
 * C functions for what is inline or a macro in the kernel's headers, one file
 * per header. They are called from `rust/dm` only, as `bindings::name`.
 */

#include <linux/compiler_types.h>

#define __rust_helper

#include "aead.c"
#include "aes.c"
#include "bio-integrity.c"
#include "blk-mq.c"
#include "blkdev.c"
#include "completion.c"
#include "device-mapper.c"
#include "gfp.c"
#include "hash.c"
#include "key.c"
#include "mempool.c"
#include "mm.c"
#include "percpu_counter.c"
#include "percpu_rwsem.c"
#include "preempt.c"
#include "reboot.c"
#include "sched.c"
#include "semaphore.c"
#include "skcipher.c"
#include "slab.c"
#include "spinlock.c"
#include "string.c"
#include "vmalloc.c"
#include "workqueue.c"
