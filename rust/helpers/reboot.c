// SPDX-License-Identifier: GPL-2.0

#include <linux/kernel.h>
#include <linux/panic.h>

__rust_helper void rust_helper_rdm_panic(const char *reason)
{
	panic("%s", reason);
}

__rust_helper bool rust_helper_rdm_system_is_going_down(void)
{
	return system_state == SYSTEM_HALT || system_state == SYSTEM_POWER_OFF ||
	       system_state == SYSTEM_RESTART;
}
