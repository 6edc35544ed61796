// SPDX-License-Identifier: GPL-2.0

#include <crypto/aead.h>

__rust_helper unsigned int rust_helper_crypto_aead_ivsize(struct crypto_aead *tfm)
{
	return crypto_aead_ivsize(tfm);
}

__rust_helper unsigned int rust_helper_crypto_aead_blocksize(struct crypto_aead *tfm)
{
	return crypto_aead_blocksize(tfm);
}

__rust_helper unsigned int rust_helper_crypto_aead_authsize(struct crypto_aead *tfm)
{
	return crypto_aead_authsize(tfm);
}

__rust_helper unsigned int rust_helper_crypto_aead_reqsize(struct crypto_aead *tfm)
{
	return crypto_aead_reqsize(tfm);
}

__rust_helper void rust_helper_crypto_free_aead(struct crypto_aead *tfm)
{
	crypto_free_aead(tfm);
}
