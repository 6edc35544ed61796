// SPDX-License-Identifier: GPL-2.0

#include <linux/mempool.h>

__rust_helper struct mempool *rust_helper_rdm_mempool_create_page_pool(int min_nr)
{
	return mempool_create_page_pool(min_nr, 0);
}

__rust_helper void *rust_helper_rdm_mempool_alloc_noio(struct mempool *pool)
{
	return mempool_alloc(pool, GFP_NOIO);
}
