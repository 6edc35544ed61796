// SPDX-License-Identifier: GPL-2.0

#include <linux/workqueue.h>

/*
 * Lockdep has one class for all work that is initialised at one place, and work that runs in
 * softirq must not share one with work that may sleep. So each kind has a place of its own.
 */
__rust_helper void rust_helper_rdm_init_bio_work(struct work_struct *work, work_func_t func)
{
	INIT_WORK(work, func);
}

__rust_helper void rust_helper_rdm_init_job_work(struct work_struct *work, work_func_t func)
{
	INIT_WORK(work, func);
}

__rust_helper void rust_helper_rdm_init_batch_work(struct work_struct *work, work_func_t func)
{
	INIT_WORK(work, func);
}

__rust_helper void rust_helper_rdm_init_softirq_work(struct work_struct *work, work_func_t func)
{
	INIT_WORK(work, func);
}

__rust_helper void rust_helper_rdm_init_writes_work(struct work_struct *work, work_func_t func)
{
	INIT_WORK(work, func);
}

__rust_helper void rust_helper_rdm_init_request_work(struct work_struct *work, work_func_t func)
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

__rust_helper void rust_helper_rdm_init_delayed_work(struct delayed_work *work, work_func_t func)
{
	INIT_DELAYED_WORK(work, func);
}

/* At once, even if it waits for its time; once more if it is running. */
__rust_helper void rust_helper_rdm_start_delayed_work(struct workqueue_struct *wq,
						      struct delayed_work *work)
{
	mod_delayed_work(wq, work, 0);
}

__rust_helper void rust_helper_rdm_queue_delayed_work(struct workqueue_struct *wq,
						      struct delayed_work *work,
						      unsigned long delay)
{
	if (!delayed_work_pending(work))
		queue_delayed_work(wq, work, delay);
}

__rust_helper void rust_helper_rdm_flush_work(struct delayed_work *work)
{
	flush_work(&work->work);
}
