// SPDX-License-Identifier: GPL-2.0

#include <linux/percpu-rwsem.h>

__rust_helper int rust_helper_rdm_percpu_init_rwsem(struct percpu_rw_semaphore *sem)
{
	return percpu_init_rwsem(sem);
}

/*
 * RDM_LOCK is for the bench: 1 takes no lock, 2 one that all CPUs share.
 */
#if RDM_LOCK == 1

__rust_helper void rust_helper_rdm_percpu_down_read(struct percpu_rw_semaphore *sem)
{
}

__rust_helper bool rust_helper_rdm_percpu_down_read_trylock(struct percpu_rw_semaphore *sem)
{
	return true;
}

__rust_helper void rust_helper_rdm_percpu_up_read(struct percpu_rw_semaphore *sem)
{
}

#elif RDM_LOCK == 2

static DECLARE_RWSEM(rdm_shared);

__rust_helper void rust_helper_rdm_percpu_down_read(struct percpu_rw_semaphore *sem)
{
	down_read(&rdm_shared);
}

__rust_helper bool rust_helper_rdm_percpu_down_read_trylock(struct percpu_rw_semaphore *sem)
{
	return down_read_trylock(&rdm_shared);
}

__rust_helper void rust_helper_rdm_percpu_up_read(struct percpu_rw_semaphore *sem)
{
	up_read(&rdm_shared);
}

#else

__rust_helper void rust_helper_rdm_percpu_down_read(struct percpu_rw_semaphore *sem)
{
	percpu_down_read(sem);
}

__rust_helper bool rust_helper_rdm_percpu_down_read_trylock(struct percpu_rw_semaphore *sem)
{
	return percpu_down_read_trylock(sem);
}

__rust_helper void rust_helper_rdm_percpu_up_read(struct percpu_rw_semaphore *sem)
{
	percpu_up_read(sem);
}

#endif
