// SPDX-License-Identifier: GPL-2.0

#include <linux/gfp.h>
#include <linux/percpu_counter.h>

__rust_helper int rust_helper_rdm_percpu_counter_init(struct percpu_counter *counter)
{
	return percpu_counter_init(counter, 0, GFP_KERNEL);
}

__rust_helper void rust_helper_rdm_percpu_counter_destroy(struct percpu_counter *counter)
{
	WARN_ON(percpu_counter_sum(counter));
	percpu_counter_destroy(counter);
}

__rust_helper void rust_helper_rdm_percpu_counter_add(struct percpu_counter *counter, s64 amount)
{
	percpu_counter_add(counter, amount);
}

__rust_helper s64 rust_helper_rdm_percpu_counter_read(struct percpu_counter *counter)
{
	return percpu_counter_read(counter);
}
