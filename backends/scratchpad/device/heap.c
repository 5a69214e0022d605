/* SPDX-License-Identifier: MIT */
/* heap.c - see heap.h. Sizes of blocks are powers of two; freed memory is reused only for its own size. */
#include "heap.h"

#include "base/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#define SIZE ((uint64_t)1 << 30)
#define UNIT_SHIFT 6
#define ALIGNMENT ((uint64_t)1 << 20)	/* alignment of the range */
#define N_SIZES 31

static struct {
	uint64_t begin, used;		/* bytes that were ever allocated */
	uint8_t *shifts;		/* for each unit: log2 size of the block in use that begins there; 0: none */
	uint32_t *next;			/* for each unit: the next free block of this size, + 1 */
	uint32_t first[N_SIZES];
	pthread_mutex_t mutex;
} heap = { .mutex = PTHREAD_MUTEX_INITIALIZER };

int adsm_heap_start(uint64_t *ret_begin, uint64_t *ret_end, uint8_t **ret_bytes)
{
	void *range = mmap(NULL, SIZE + ALIGNMENT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	heap.shifts = adsm_os_table(SIZE >> UNIT_SHIFT);
	heap.next = adsm_os_table((SIZE >> UNIT_SHIFT) * sizeof(*heap.next));
	*ret_bytes = adsm_os_table(SIZE);
	if (range == MAP_FAILED || !heap.shifts || !heap.next || !*ret_bytes)
		return -ENOMEM;
	heap.begin = ((uint64_t)(uintptr_t)range + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	*ret_begin = heap.begin;
	*ret_end = heap.begin + SIZE;
	return 0;
}

uint64_t adsm_heap_alloc(uint64_t size)
{
	uint64_t address = 0;
	uint32_t shift = UNIT_SHIFT, unit;

	if (!size || size > SIZE)
		return 0;
	while ((uint64_t)1 << shift < size)
		shift++;
	pthread_mutex_lock(&heap.mutex);
	if (heap.first[shift]) {
		unit = heap.first[shift] - 1;
		heap.first[shift] = heap.next[unit];
		address = heap.begin + ((uint64_t)unit << UNIT_SHIFT);
	} else if ((uint64_t)1 << shift <= SIZE - heap.used) {
		address = heap.begin + heap.used;
		heap.used += (uint64_t)1 << shift;
	}
	if (address)
		heap.shifts[(address - heap.begin) >> UNIT_SHIFT] = (uint8_t)shift;
	pthread_mutex_unlock(&heap.mutex);
	return address;
}

uint64_t adsm_heap_size(uint64_t address)
{
	const uint64_t offset = address - heap.begin;
	uint64_t size = 0;

	if (offset >= SIZE || offset % ((uint64_t)1 << UNIT_SHIFT))
		return 0;
	pthread_mutex_lock(&heap.mutex);
	if (heap.shifts[offset >> UNIT_SHIFT])
		size = (uint64_t)1 << heap.shifts[offset >> UNIT_SHIFT];
	pthread_mutex_unlock(&heap.mutex);
	return size;
}

bool adsm_heap_free(uint64_t address)
{
	const uint32_t unit = (uint32_t)((address - heap.begin) >> UNIT_SHIFT);
	uint8_t shift;

	pthread_mutex_lock(&heap.mutex);
	shift = heap.shifts[unit];
	if (shift) {
		heap.next[unit] = heap.first[shift];
		heap.first[shift] = unit + 1;
		heap.shifts[unit] = 0;
	}
	pthread_mutex_unlock(&heap.mutex);
	return shift;
}
