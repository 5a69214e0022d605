/* SPDX-License-Identifier: MIT */
/* pin.c - pins the alias of objects that are copied often. Pinning makes copies faster, and takes 0.45 ms for each MiB.
 * A thread of its own does it, so that no copy waits for it, especially no copy for a fault. */
#include "pin.h"

#include "options.h"

#define PIN_LEAST ((size_t)256 << 10)	/* bytes: pinning smaller objects gains nothing */
#define PIN_MOVED 4			/* pinning costs about as much as copying an object this number of times */

/* Reserve bytes within ADSM_CUDA_PIN. */
static bool take_pinned(struct adsm_cuda_device *device, size_t size)
{
	uint64_t pinned = atomic_load(&device->pinned);

	do
		if (size > adsm_cuda_options.pin || pinned > adsm_cuda_options.pin - size)
			return false;
	while (!atomic_compare_exchange_weak(&device->pinned, &pinned, pinned + size));
	return true;
}

static void pin(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory)
{
	size_t size = memory->base.size;
	struct adsm_cuda_scope scope;
	CUresult error = adsm_cuda_enter(device, &scope);

	if (!error)
		error = adsm_cu.cuMemHostRegister_v2(memory->alias, size, CU_MEMHOSTREGISTER_PORTABLE);
	adsm_cuda_leave(&scope);
	if (error) {
		adsm_cuda_errno(device, error, "pinning an object's pages");
		atomic_fetch_sub(&device->pinned, size);
	}
	atomic_store(&memory->pinned, error ? ADSM_CUDA_PIN_NEVER : ADSM_CUDA_PINNED);
}

/* Finish the previous object. Returns the next one to pin; NULL if there is none, or if the thread must end. */
static struct adsm_cuda_mem *next(struct adsm_cuda_pinner *pinner)
{
	struct adsm_cuda_mem *memory;

	adsm_lock(&pinner->lock);
	memory = atomic_load(&pinner->stop) ? NULL : pinner->first;
	if (memory)
		pinner->first = memory->next_to_pin;
	pinner->now = memory;
	adsm_unlock(&pinner->lock);
	adsm_os_poke(&pinner->done);
	return memory;
}

static void run(void *arg)
{
	struct adsm_cuda_device *device = arg;
	struct adsm_cuda_pinner *pinner = &device->pinner;

	while (!atomic_load(&pinner->stop)) {
		uint32_t work = atomic_load(&pinner->work);
		struct adsm_cuda_mem *memory = next(pinner);

		if (memory)
			pin(device, memory);
		else if (!atomic_load(&pinner->stop))
			adsm_os_wait(&pinner->work, work, 0, false);
	}
	next(pinner);
}

static bool has_thread(struct adsm_cuda_device *device)
{
	struct adsm_cuda_pinner *pinner = &device->pinner;

	if (!pinner->has_thread)
		pinner->has_thread = !adsm_os_thread_start(&pinner->thread, "adsm-cuda-pin", run, device);
	return pinner->has_thread;
}

static void want(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory)
{
	struct adsm_cuda_pinner *pinner = &device->pinner;
	ADSM_SIGNALS_BLOCKED;

	adsm_lock(&pinner->lock);
	if (!atomic_load(&memory->pinned) && has_thread(device) && take_pinned(device, memory->base.size)) {
		atomic_store(&memory->pinned, ADSM_CUDA_PIN_WANTED);
		memory->next_to_pin = pinner->first;
		pinner->first = memory;
		adsm_os_poke(&pinner->work);
	}
	adsm_unlock(&pinner->lock);
}

void adsm_cuda_moved(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, size_t size)
{
	uint64_t moved = atomic_fetch_add(&memory->moved, size) + size;

	if (memory->alias && memory->base.size >= PIN_LEAST && moved > PIN_MOVED * (uint64_t)memory->base.size &&
	    !atomic_load(&memory->pinned) && !adsm_driven_is_lost(&device->base))
		want(device, memory);
}

/* Remove the object from the list, and wait until the thread does not work on it. */
static void forget(struct adsm_cuda_pinner *pinner, struct adsm_cuda_mem *memory)
{
	struct adsm_cuda_mem **at = &pinner->first;
	ADSM_SIGNALS_BLOCKED;

	adsm_lock(&pinner->lock);
	while (*at && *at != memory)
		at = &(*at)->next_to_pin;
	if (*at)
		*at = memory->next_to_pin;
	while (pinner->now == memory) {
		uint32_t done = atomic_load(&pinner->done);

		adsm_unlock(&pinner->lock);
		adsm_os_wait(&pinner->done, done, 0, false);
		adsm_lock(&pinner->lock);
	}
	adsm_unlock(&pinner->lock);
}

CUresult adsm_cuda_unpin(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory)
{
	CUresult error = CUDA_SUCCESS;
	struct adsm_cuda_scope scope;

	if (!atomic_load(&memory->pinned))
		return CUDA_SUCCESS;
	forget(&device->pinner, memory);
	if (atomic_load(&memory->pinned) == ADSM_CUDA_PIN_NEVER)
		return CUDA_SUCCESS;
	if (atomic_load(&memory->pinned) == ADSM_CUDA_PINNED) {
		error = adsm_cuda_enter(device, &scope);
		if (!error)
			error = adsm_cu.cuMemHostUnregister(memory->alias);
		adsm_cuda_leave(&scope);
	}
	atomic_fetch_sub(&device->pinned, memory->base.size);
	atomic_store(&memory->pinned, ADSM_CUDA_PIN_NOT);
	return error;
}

void adsm_cuda_pinner_end(struct adsm_cuda_device *device)
{
	struct adsm_cuda_pinner *pinner = &device->pinner;

	if (!pinner->has_thread)
		return;
	atomic_store(&pinner->stop, true);
	adsm_os_poke(&pinner->work);
	adsm_os_thread_join(&pinner->thread);
	pinner->has_thread = false;
}
