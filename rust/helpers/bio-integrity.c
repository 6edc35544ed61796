// SPDX-License-Identifier: GPL-2.0

#include <linux/bio.h>
#include <linux/bio-integrity.h>

__rust_helper struct bvec_iter *rust_helper_rdm_bip_iter(struct bio_integrity_payload *bip)
{
	return &bip->bip_iter;
}

__rust_helper struct bio_vec *rust_helper_rdm_bip_vec(struct bio_integrity_payload *bip)
{
	return bip->bip_vec;
}
