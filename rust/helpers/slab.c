// SPDX-License-Identifier: GPL-2.0

#include <linux/slab.h>

__rust_helper void *rust_helper_rdm_kmalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp);
}
