// SPDX-License-Identifier: GPL-2.0

#include <linux/blk-mq.h>
#include <linux/bottom_half.h>
#include <linux/preempt.h>

__rust_helper bool rust_helper_rdm_bdev_takes_requests(struct block_device *bdev)
{
	return !bdev_is_partition(bdev) && queue_is_mq(bdev_get_queue(bdev));
}

__rust_helper bool rust_helper_rdm_bdev_is_dying(struct block_device *bdev)
{
	return blk_queue_dying(bdev_get_queue(bdev));
}

__rust_helper void rust_helper_blk_mq_cleanup_rq(struct request *rq)
{
	blk_mq_cleanup_rq(rq);
}

/* Where a task completes a request, the softirq follows at once: it would wait for a thread. */
__rust_helper void rust_helper_rdm_complete_request(struct request *rq)
{
	if (!in_task() || irqs_disabled()) {
		blk_mq_complete_request(rq);
		return;
	}
	local_bh_disable();
	blk_mq_complete_request(rq);
	local_bh_enable();
}
