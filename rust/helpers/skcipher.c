// SPDX-License-Identifier: GPL-2.0

#include <crypto/internal/skcipher.h>
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

/* What an algorithm of our own needs. */

__rust_helper void *rust_helper_crypto_skcipher_ctx(struct crypto_skcipher *tfm)
{
	return crypto_skcipher_ctx(tfm);
}

__rust_helper struct skcipher_alg *
rust_helper_crypto_skcipher_alg(struct crypto_skcipher *tfm)
{
	return crypto_skcipher_alg(tfm);
}

__rust_helper void rust_helper_crypto_skcipher_set_reqsize(struct crypto_skcipher *tfm,
							   unsigned int reqsize)
{
	crypto_skcipher_set_reqsize(tfm, reqsize);
}

__rust_helper struct crypto_skcipher *
rust_helper_crypto_skcipher_reqtfm(struct skcipher_request *req)
{
	return crypto_skcipher_reqtfm(req);
}

__rust_helper void *rust_helper_skcipher_request_ctx(struct skcipher_request *req)
{
	return skcipher_request_ctx(req);
}

__rust_helper void rust_helper_rdm_skcipher_request_complete(struct skcipher_request *req,
							     int err)
{
	skcipher_request_complete(req, err);
}

__rust_helper void rust_helper_rdm_skcipher_copy_flags(struct crypto_skcipher *to,
						       struct crypto_skcipher *from)
{
	crypto_skcipher_clear_flags(to, CRYPTO_TFM_REQ_MASK);
	crypto_skcipher_set_flags(to, crypto_skcipher_get_flags(from) &
				  CRYPTO_TFM_REQ_MASK);
}
