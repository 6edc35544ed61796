// SPDX-License-Identifier: GPL-2.0
/*
 * The time that hashing alone takes: as many 4 KiB blocks as a parameter says,
 * with a salt of 32 bytes in front, one at a time and two at a time. Loading
 * the module measures; the results are parameters too.
 */

#include <crypto/sha2.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>

#define BLOCK 4096

static unsigned int blocks = 1000;
module_param(blocks, uint, 0444);
MODULE_PARM_DESC(blocks, "Blocks to hash");

static unsigned long single_ns;
module_param(single_ns, ulong, 0444);
MODULE_PARM_DESC(single_ns, "Nanoseconds for all blocks, one at a time");

static unsigned long pair_ns;
module_param(pair_ns, ulong, 0444);
MODULE_PARM_DESC(pair_ns, "Nanoseconds for all blocks, two at a time");

static u8 digests[2][SHA256_DIGEST_SIZE];

static unsigned long hash_single(const struct sha256_ctx *salted, const u8 *data)
{
	u64 start = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < blocks; i++) {
		struct sha256_ctx ctx = *salted;

		sha256_update(&ctx, data, BLOCK);
		sha256_final(&ctx, digests[0]);
	}
	return ktime_get_ns() - start;
}

static unsigned long hash_pairs(const struct sha256_ctx *salted, const u8 *data)
{
	u64 start = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < blocks; i += 2)
		sha256_finup_2x(salted, data, data + BLOCK, BLOCK, digests[0], digests[1]);
	return ktime_get_ns() - start;
}

static int __init rdm_bench_init(void)
{
	static const u8 salt[32];
	struct sha256_ctx salted;
	u8 *data = kzalloc(2 * BLOCK, GFP_KERNEL);

	if (!data)
		return -ENOMEM;
	sha256_init(&salted);
	sha256_update(&salted, salt, sizeof(salt));
	/* The first round is for whatever is set up on first use. */
	hash_single(&salted, data);
	hash_pairs(&salted, data);
	single_ns = hash_single(&salted, data);
	pair_ns = hash_pairs(&salted, data);
	kfree(data);
	return 0;
}
module_init(rdm_bench_init);

static void __exit rdm_bench_exit(void)
{
}
module_exit(rdm_bench_exit);

MODULE_DESCRIPTION("Measures hashing for the bench of rdm");
MODULE_LICENSE("GPL");
