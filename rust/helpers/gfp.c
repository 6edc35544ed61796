// SPDX-License-Identifier: GPL-2.0

#include <linux/gfp.h>

__rust_helper unsigned long rust_helper_rdm_get_free_pages(gfp_t gfp, unsigned int order)
{
	return __get_free_pages(gfp, order);
}

__rust_helper struct page *rust_helper_rdm_alloc_pages(gfp_t gfp, unsigned int order)
{
	return alloc_pages(gfp, order);
}
