// SPDX-License-Identifier: GPL-2.0

#include <crypto/aes.h>

/* The argument is a transparent union in C. */
__rust_helper void rust_helper_rdm_aes_encrypt(const struct aes_enckey *key, u8 *out, const u8 *in)
{
	aes_encrypt(key, out, in);
}
