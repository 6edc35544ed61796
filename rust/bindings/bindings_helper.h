/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers whose types and functions the `dm` crate uses and the kernel's
 * `bindings` crate does not have.
 */

#include <linux/audit.h>
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/crc32.h>
#include <linux/device-mapper.h>
#include <linux/dm-io.h>
#include <linux/hex.h>
#include <linux/hrtimer.h>
#include <linux/mempool.h>
#include <linux/notifier.h>
#include <linux/percpu-rwsem.h>
#include <linux/reboot.h>
#include <linux/rslib.h>
#include <linux/security.h>
#include <linux/semaphore.h>
#include <crypto/aead.h>
#include <crypto/aes.h>
#include <crypto/hash.h>
#include <crypto/internal/skcipher.h>
#include <crypto/md5.h>
#include <crypto/sha2.h>
#include <crypto/skcipher.h>
#include <crypto/utils.h>

/*
 * Declared in a header that is private to drivers/md, and exported.
 */
void dm_audit_log_bio(const char *dm_msg_prefix, const char *op,
		      struct bio *bio, sector_t sector, int result);
void dm_audit_log_ti(int audit_type, const char *dm_msg_prefix, const char *op,
		     struct dm_target *ti, int result);

/* What an allocation says that may fail. */
#define RDM_GFP_MODEST (__GFP_NORETRY | __GFP_NOMEMALLOC | __GFP_NOWARN)

/* Constants that bindgen does not evaluate by itself. */
enum {
	RDM_AUDIT_DM_CTRL = AUDIT_DM_CTRL,
	RDM_AUDIT_DM_EVENT = AUDIT_DM_EVENT,
	RDM_BLK_STS_IOERR = (unsigned int __force)BLK_STS_IOERR,
	RDM_BLK_STS_AGAIN = (unsigned int __force)BLK_STS_AGAIN,
	RDM_BLK_STS_RESOURCE = (unsigned int __force)BLK_STS_RESOURCE,
	RDM_BLK_STS_DEV_RESOURCE = (unsigned int __force)BLK_STS_DEV_RESOURCE,
	RDM_BLK_MQ_REQ_NOWAIT = (unsigned int __force)BLK_MQ_REQ_NOWAIT,
	RDM_REQ_NOMERGE = (unsigned int __force)REQ_NOMERGE,
	RDM_REQ_ATOMIC = (unsigned int __force)REQ_ATOMIC,
	RDM_REQ_RAHEAD = (unsigned int __force)REQ_RAHEAD,
	RDM_BLK_FEAT_STABLE_WRITES = (unsigned int __force)BLK_FEAT_STABLE_WRITES,
	RDM_REQ_OP_MASK = REQ_OP_MASK,
	RDM_REQ_FUA = (unsigned int __force)REQ_FUA,
	RDM_REQ_PREFLUSH = (unsigned int __force)REQ_PREFLUSH,
	RDM_REQ_INTEGRITY = (unsigned int __force)REQ_INTEGRITY,
	RDM_REQ_SYNC = (unsigned int __force)REQ_SYNC,
	RDM_BLK_OPEN_READ = (unsigned int __force)BLK_OPEN_READ,
	RDM_BLK_OPEN_WRITE = (unsigned int __force)BLK_OPEN_WRITE,
	RDM_GFP_NOWAIT = (unsigned int __force)(GFP_NOWAIT | RDM_GFP_MODEST),
	RDM_GFP_NOIO = (unsigned int __force)(GFP_NOIO | RDM_GFP_MODEST),
	RDM_GFP_NOIO_WAIT = (unsigned int __force)GFP_NOIO,
	RDM_GFP_KERNEL = (unsigned int __force)GFP_KERNEL,
	RDM_GFP_ZERO = (unsigned int __force)__GFP_ZERO,
	RDM_GFP_COMP = (unsigned int __force)__GFP_COMP,
	RDM_GFP_NORETRY = (unsigned int __force)__GFP_NORETRY,
	RDM_GFP_RECLAIMABLE = (unsigned int __force)__GFP_RECLAIMABLE,
	RDM_GFP_NORETRY_NOWARN = (unsigned int __force)(__GFP_NORETRY | __GFP_NOWARN),
	RDM_CRYPTO_ALG_ASYNC = CRYPTO_ALG_ASYNC,
	RDM_CRYPTO_ALG_ALLOCATES_MEMORY = CRYPTO_ALG_ALLOCATES_MEMORY,
	RDM_CRYPTO_TFM_REQ_MAY_BACKLOG = CRYPTO_TFM_REQ_MAY_BACKLOG,
	RDM_CRYPTO_MAX_ALG_NAME = CRYPTO_MAX_ALG_NAME,
	RDM_HASH_MAX_DIGESTSIZE = HASH_MAX_DIGESTSIZE,
	RDM_HASH_MAX_DESCSIZE = HASH_MAX_DESCSIZE,
	RDM_WQ_CPU_INTENSIVE = WQ_CPU_INTENSIVE,
	RDM_WQ_MEM_RECLAIM = WQ_MEM_RECLAIM,
	RDM_WQ_HIGHPRI = WQ_HIGHPRI,
	RDM_WQ_PERCPU = WQ_PERCPU,
	RDM_WQ_SYSFS = WQ_SYSFS,
	RDM_WQ_UNBOUND = WQ_UNBOUND,
};
