// SPDX-License-Identifier: GPL-2.0

#include <linux/random.h>
#include <linux/string.h>

__rust_helper void rust_helper_rdm_memzero_explicit(void *bytes, size_t len)
{
	memzero_explicit(bytes, len);
}
