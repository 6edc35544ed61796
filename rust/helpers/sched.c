// SPDX-License-Identifier: GPL-2.0

#include <linux/delay.h>
#include <linux/sched.h>

__rust_helper void rust_helper_rdm_cond_resched(void)
{
	cond_resched();
}

__rust_helper void rust_helper_rdm_sleep_us(unsigned long us)
{
	usleep_range(us, us * 2);
}

/* Whether the caller is below a submit_bio() that collects bios. */
__rust_helper bool rust_helper_rdm_in_submit(void)
{
	return current->bio_list;
}
