// SPDX-License-Identifier: GPL-2.0

#include <linux/blkdev.h>
#include <linux/device-mapper.h>

__rust_helper void rust_helper_dm_disk_uevent(struct mapped_device *md, char **envp)
{
	kobject_uevent_env(&disk_to_dev(dm_disk(md))->kobj, KOBJ_CHANGE, envp);
}

__rust_helper struct block_device *rust_helper_dm_part0(struct mapped_device *md)
{
	return dm_disk(md)->part0;
}
