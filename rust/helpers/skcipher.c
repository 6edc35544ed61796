// SPDX-License-Identifier: GPL-2.0

#include <crypto/skcipher.h>

__rust_helper unsigned int rust_helper_crypto_skcipher_ivsize(struct crypto_skcipher *tfm)
{
	return crypto_skcipher_ivsize(tfm);
}

__rust_helper unsigned int rust_helper_crypto_skcipher_blocksize(struct crypto_skcipher *tfm)
{
	return crypto_skcipher_blocksize(tfm);
}

__rust_helper unsigned int rust_helper_crypto_skcipher_reqsize(struct crypto_skcipher *tfm)
{
	return crypto_skcipher_reqsize(tfm);
}

__rust_helper const char *rust_helper_crypto_skcipher_driver_name(struct crypto_skcipher *tfm)
{
	return crypto_skcipher_driver_name(tfm);
}

__rust_helper bool rust_helper_rdm_skcipher_is_async(struct crypto_skcipher *tfm)
{
	return crypto_skcipher_alg(tfm)->base.cra_flags & CRYPTO_ALG_ASYNC;
}

__rust_helper void rust_helper_crypto_free_skcipher(struct crypto_skcipher *tfm)
{
	crypto_free_skcipher(tfm);
}

__rust_helper void rust_helper_crypto_init_wait(struct crypto_wait *wait)
{
	crypto_init_wait(wait);
}

__rust_helper int rust_helper_crypto_wait_req(int err, struct crypto_wait *wait)
{
	return crypto_wait_req(err, wait);
}
