// SPDX-License-Identifier: GPL-2.0

#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/cpumask.h>

__rust_helper int rust_helper_rdm_context(void)
{
	if (in_hardirq() || irqs_disabled())
		return 3;
	if (in_softirq())
		return 2;
	return current->flags & PF_KTHREAD ? 1 : 0;
}

__rust_helper bool rust_helper_rdm_need_resched(void)
{
	return need_resched();
}

__rust_helper unsigned int rust_helper_rdm_raw_smp_processor_id(void)
{
	return raw_smp_processor_id();
}

__rust_helper unsigned int rust_helper_rdm_nr_cpu_ids(void)
{
	return nr_cpu_ids;
}

__rust_helper unsigned int rust_helper_rdm_num_online_cpus(void)
{
	return num_online_cpus();
}
