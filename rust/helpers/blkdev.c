// SPDX-License-Identifier: GPL-2.0

#include <linux/bio.h>
#include <linux/bio-integrity.h>
#include <linux/blk-integrity.h>
#include <linux/blkdev.h>

__rust_helper void rust_helper_bio_set_dev(struct bio *bio, struct block_device *bdev)
{
	bio_set_dev(bio, bdev);
}

__rust_helper void rust_helper_bio_inc_remaining(struct bio *bio)
{
	bio_inc_remaining(bio);
}

__rust_helper sector_t rust_helper_bdev_nr_sectors(struct block_device *bdev)
{
	return bdev_nr_sectors(bdev);
}

__rust_helper unsigned int rust_helper_bdev_logical_block_size(struct block_device *bdev)
{
	return bdev_logical_block_size(bdev);
}

__rust_helper unsigned int rust_helper_bdev_physical_block_size(struct block_device *bdev)
{
	return bdev_physical_block_size(bdev);
}

__rust_helper bool rust_helper_bdev_is_zoned(struct block_device *bdev)
{
	return bdev_is_zoned(bdev);
}

/* The metadata of each interval; false if there is none, or if the block layer checks it. */
__rust_helper bool rust_helper_rdm_bdev_metadata(struct block_device *bdev, unsigned int *bytes,
						 unsigned int *interval)
{
	struct blk_integrity *bi = blk_get_integrity(bdev->bd_disk);

	if (!bi || bi->csum_type != BLK_INTEGRITY_CSUM_NONE)
		return false;
	*bytes = bi->metadata_size;
	*interval = 1U << bi->interval_exp;
	return true;
}

__rust_helper bool rust_helper_bdev_stable_writes(struct block_device *bdev)
{
	return bdev_stable_writes(bdev);
}

/* Has metadata of a bio, which is for a device, sent or received with it. */
__rust_helper int rust_helper_rdm_bio_add_metadata(struct bio *bio, void *bytes, unsigned int len,
						   sector_t sector, gfp_t gfp)
{
	struct bio_integrity_payload *bip = bio_integrity_alloc(bio, gfp, 1);

	if (IS_ERR(bip))
		return PTR_ERR(bip);
	bip->bip_iter.bi_sector = sector;
	if (bio_integrity_add_page(bio, virt_to_page(bytes), len, offset_in_page(bytes)) != len)
		return -EINVAL;
	return 0;
}

__rust_helper void rust_helper_rdm_bdev_name(struct block_device *bdev, char *name, size_t len)
{
	snprintf(name, len, "%pg", bdev);
}
