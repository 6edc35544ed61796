// SPDX-License-Identifier: GPL-2.0

#include <crypto/hash.h>
#include <crypto/sha2.h>

__rust_helper unsigned int rust_helper_crypto_shash_digestsize(struct crypto_shash *tfm)
{
	return crypto_shash_digestsize(tfm);
}

__rust_helper unsigned int rust_helper_crypto_shash_descsize(struct crypto_shash *tfm)
{
	return crypto_shash_descsize(tfm);
}

__rust_helper unsigned int rust_helper_crypto_shash_statesize(struct crypto_shash *tfm)
{
	return crypto_shash_statesize(tfm);
}

__rust_helper int rust_helper_crypto_shash_update(struct shash_desc *desc, const u8 *data,
						  unsigned int len)
{
	return crypto_shash_update(desc, data, len);
}

__rust_helper int rust_helper_crypto_shash_final(struct shash_desc *desc, u8 *out)
{
	return crypto_shash_final(desc, out);
}

__rust_helper void rust_helper_crypto_free_shash(struct crypto_shash *tfm)
{
	crypto_free_shash(tfm);
}

__rust_helper const char *rust_helper_crypto_shash_driver_name(struct crypto_shash *tfm)
{
	return crypto_shash_driver_name(tfm);
}

__rust_helper const char *rust_helper_crypto_shash_alg_name(struct crypto_shash *tfm)
{
	return crypto_shash_alg_name(tfm);
}

__rust_helper u32 rust_helper_crypto_shash_get_flags(struct crypto_shash *tfm)
{
	return crypto_shash_get_flags(tfm);
}

__rust_helper void rust_helper_sha256_update(struct sha256_ctx *ctx, const u8 *data, size_t len)
{
	sha256_update(ctx, data, len);
}
