// SPDX-License-Identifier: GPL-2.0

#include <linux/mm.h>
#include <linux/highmem.h>
#include <linux/sched/mm.h>

__rust_helper void *rust_helper_lowmem_page_address(const struct page *page)
{
	return lowmem_page_address(page);
}

__rust_helper struct page *rust_helper_virt_to_page(const void *addr)
{
	return virt_to_page(addr);
}

__rust_helper unsigned long rust_helper_totalram_pages(void)
{
	return totalram_pages();
}

__rust_helper bool rust_helper_rdm_is_direct(const void *addr)
{
	return virt_addr_valid(addr);
}

__rust_helper unsigned int rust_helper_rdm_memalloc_noio_save(void)
{
	return memalloc_noio_save();
}

__rust_helper void rust_helper_rdm_memalloc_noio_restore(unsigned int flags)
{
	memalloc_noio_restore(flags);
}
