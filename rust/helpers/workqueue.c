// SPDX-License-Identifier: GPL-2.0

#include <linux/workqueue.h>

__rust_helper void rust_helper_rdm_init_work(struct work_struct *work, work_func_t func)
{
	INIT_WORK(work, func);
}

__rust_helper bool rust_helper_queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	return queue_work(wq, work);
}

__rust_helper void rust_helper_flush_workqueue(struct workqueue_struct *wq)
{
	flush_workqueue(wq);
}
