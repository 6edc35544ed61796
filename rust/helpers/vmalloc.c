// SPDX-License-Identifier: GPL-2.0

#include <linux/vmalloc.h>

__rust_helper void *rust_helper_rdm_vmalloc(unsigned long size, gfp_t gfp)
{
	/* vmalloc() warns of flags that it does not know. */
	return __vmalloc(size, gfp & ~__GFP_NOMEMALLOC);
}

__rust_helper void rust_helper_rdm_vfree(const void *addr)
{
	vfree(addr);
}

__rust_helper unsigned long rust_helper_rdm_vmalloc_total(void)
{
	return VMALLOC_TOTAL;
}
