/* SPDX-License-Identifier: MIT */
/*
 * driver_memory.c - the driver double's memory: where addresses come from, allocations, virtual memory management,
 * registered host memory, and what may be asked of a pointer.
 *
 * Memory is handed out in granules of one sparse file. In this process a device address is a PROT_NONE mapping; the
 * bytes are at memory_bytes.
 */
#include "driver_own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOT ((size_t)512)
#define N_SLOTS (GRANULE / SLOT)
#define N_FREED 64
#define POISON 0xa5
#define HANDLE_FIRST 0x1000
#define POOL_ADDRESS 0x7ee000000000	/* below what is mapped anywhere, above the arena; sanitizers allow it */
#define ASYNC_POOL_ADDRESS 0x302000000
#ifdef __SANITIZE_THREAD__
#define LOWEST 0x7e8000000000		/* below it programs may have nothing */
#else
#define LOWEST 0x10000
#endif
#define IPC_MAGIC 0x6370692d6d736461u
#define ALLOCATION_TYPE_MANAGED 2

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- granules: of the file, and of pools of addresses */

struct granules {
	uint64_t base;			/* of addresses; of the file 0 */
	size_t n;
	uint8_t *used;
	struct {
		size_t start, n;
	} freed[N_FREED];		/* the last one freed is the next one used */
	size_t n_freed;
};

static bool are_free(const struct granules *g, size_t start, size_t n)
{
	for (size_t i = start; i < start + n; i++) {
		if (i >= g->n || g->used[i])
			return false;
	}
	return true;
}

/* An address or offset; -1 where there is no room. */
static uint64_t take(struct granules *g, size_t size)
{
	size_t n = size / GRANULE, start = g->n;

	for (size_t i = g->n_freed; i-- > 0 && start == g->n;) {
		if (g->freed[i].n == n && are_free(g, g->freed[i].start, n)) {
			start = g->freed[i].start;
			memmove(&g->freed[i], &g->freed[i + 1], (g->n_freed - i - 1) * sizeof(g->freed[0]));
			g->n_freed--;
		}
	}
	for (size_t i = 0, room = 0; i < g->n && start == g->n; i++) {
		room = g->used[i] ? 0 : room + 1;
		if (room == n)
			start = i + 1 - n;
	}
	if (start == g->n)
		return UINT64_MAX;
	memset(g->used + start, 1, n);
	return g->base + start * GRANULE;
}

static void give(struct granules *g, uint64_t at, size_t size)
{
	size_t start = (at - g->base) / GRANULE, n = size / GRANULE;

	memset(g->used + start, 0, n);
	if (g->n_freed == N_FREED)
		memmove(g->freed, g->freed + 1, --g->n_freed * sizeof(g->freed[0]));
	g->freed[g->n_freed].start = start;
	g->freed[g->n_freed++].n = n;
}

/* ---- what there is; all under the lock */

struct block {				/* memory at an address: one big allocation, or a chunk of small ones */
	struct block *next;
	uint64_t address;
	size_t size;
	uint64_t offset;		/* in the file */
	char *bytes;
	struct granules *pool;		/* of its address; NULL: a mapping of its own */
	bool foreign;			/* another process's, by IPC */
	size_t n_used;			/* slots of a chunk */
	uint8_t *slots;			/* of a chunk: a use each */
};

struct reservation {
	struct reservation *next;
	uint64_t address;
	size_t size;
	bool own;
};

struct handle {
	struct handle *next;
	CUmemGenericAllocationHandle id;
	size_t size;
	uint64_t offset;
	unsigned refs, mapped;
};

struct mapping {
	struct mapping *next;
	uint64_t address;
	struct handle *handle;
	bool access;
};

struct registered {
	struct registered *next;
	uintptr_t p, start, end;
	unsigned flags;
};

static struct granules file, pool, async_pool, vmm_pool;
static struct block *blocks;
static struct reservation *reservations;
static struct handle *handles;
static struct mapping *mappings;
static struct registered *registrations;
static struct range *ranges;		/* by address */
static size_t n_ranges, max_ranges;
static uint64_t n_made, n_handles = HANDLE_FIRST;
/* Small ones that were freed: the last one is the next one used. */
static struct {
	struct granules *pool;
	uint64_t address;
	size_t size;
} freed[N_FREED];
static size_t n_freed;

static size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

static void make_granules(struct granules *g, uint64_t base, size_t size)
{
	free(g->used);
	memset(g, 0, sizeof(*g));
	g->base = base;
	g->n = size / GRANULE;
	g->used = calloc(g->n, 1);
	if (!g->used)
		g->n = 0;
}

static int prot(void)
{
	return plan.readable ? PROT_READ | PROT_WRITE : PROT_NONE;
}

/* Address space of this process and of the device's: exactly at @wanted, or 0. */
static uint64_t reserve_at(uint64_t wanted, size_t size)
{
	void *p;

	if (wanted < LOWEST)
		return 0;
	p = mmap((void *)(uintptr_t)wanted, size, prot(),
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	if ((uintptr_t)p == wanted && !device_range(DRIVER_RESERVE, wanted, size, 0))
		return wanted;
	munmap(p, size);
	return 0;
}

/* Anywhere, aligned; 0: nowhere. */
static uint64_t reserve(size_t size, size_t align)
{
	uint64_t failed[8], address = 0;
	size_t n_failed = 0;

	while (!address && n_failed < 8) {
		void *p = mmap(NULL, size + align, prot(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		uintptr_t start = (uintptr_t)p, aligned = round_up(start, align);

		if (p == MAP_FAILED)
			break;
		if (aligned > start)
			munmap(p, aligned - start);
		munmap((void *)(aligned + size), start + align - aligned);
		if (!device_range(DRIVER_RESERVE, aligned, size, 0))
			address = aligned;
		else
			failed[n_failed++] = aligned;	/* taken there: the next one is another one */
	}
	while (n_failed)
		munmap((void *)(uintptr_t)failed[--n_failed], size);
	return address;
}

static void unreserve(uint64_t address, size_t size)
{
	munmap((void *)(uintptr_t)address, size);
	device_range(DRIVER_UNRESERVE, address, size, 0);
}

static void make_pool(struct granules *g, uint64_t wanted, size_t size)
{
	uint64_t base = g->base;

	/* A new device process has nothing yet. */
	if (!base || device_range(DRIVER_RESERVE, base, size, 0))
		base = wanted ? reserve_at(wanted, size) : 0;
	if (!base)
		base = reserve(size, GRANULE);
	make_granules(g, base, base ? size : 0);
}

static bool take_memory(size_t size, uint64_t *ret_offset)
{
	if (size > plan.memory || counts.used > plan.memory - size)
		return false;
	*ret_offset = take(&file, size);
	if (*ret_offset == UINT64_MAX)
		return false;
	counts.used += size;
	if (plan.poison)
		memset(memory_bytes + *ret_offset, POISON, size);
	return true;
}

static void give_memory(uint64_t offset, size_t size)
{
	give(&file, offset, size);
	counts.used -= size;
	fallocate(memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

/* ---- ranges */

static size_t place_of(uint64_t address)
{
	size_t low = 0, high = n_ranges;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool add_range(struct range range)
{
	size_t at = place_of(range.address);

	if (n_ranges == max_ranges) {
		size_t max = max_ranges ? 2 * max_ranges : 64;
		struct range *more = realloc(ranges, max * sizeof(*more));

		if (!more)
			return false;
		ranges = more;
		max_ranges = max;
	}
	memmove(ranges + at + 1, ranges + at, (n_ranges - at) * sizeof(*ranges));
	range.id = ++n_made;
	ranges[at] = range;
	n_ranges++;
	return true;
}

const struct range *memory_find_locked(uint64_t address)
{
	size_t at = place_of(address);

	if (!at || address - ranges[at - 1].address >= ranges[at - 1].size)
		return NULL;
	return &ranges[at - 1];
}

static void remove_range(uint64_t address)
{
	size_t at = place_of(address);

	memmove(ranges + at - 1, ranges + at, (n_ranges - at) * sizeof(*ranges));
	n_ranges--;
}

static const struct range *find_start(uint64_t address)
{
	const struct range *range = memory_find_locked(address);

	return range && range->address == address ? range : NULL;
}

char *memory_place(uint64_t address, size_t *ret_size)
{
	const struct range *range;
	char *p = NULL;

	pthread_mutex_lock(&lock);
	range = memory_find_locked(address);
	if (range && range->kind != RANGE_HOST) {
		p = range->bytes + (address - range->address);
		*ret_size = range->size - (address - range->address);
	}
	pthread_mutex_unlock(&lock);
	return p;
}

bool memory_is_device(uint64_t address, size_t size)
{
	const struct range *range;
	bool is = false;

	pthread_mutex_lock(&lock);
	do {
		range = memory_find_locked(address);
		if (!range || range->kind == RANGE_HOST)
			break;
		is = size <= range->size - (address - range->address);
		size -= range->size - (address - range->address);
		address = range->address + range->size;
	} while (!is && range->kind == RANGE_VMM);
	pthread_mutex_unlock(&lock);
	return is;
}

bool memory_is_allocation(uint64_t address)
{
	const struct range *range;
	bool is;

	pthread_mutex_lock(&lock);
	range = find_start(address);
	is = range && range->kind != RANGE_VMM && range->kind != RANGE_HOST && range->kind != RANGE_IPC &&
		range->kind != RANGE_GLOBAL;
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- blocks */

static bool is_ours(uint64_t address, size_t size)
{
	const struct granules *pools[] = { &pool, &async_pool, &vmm_pool };

	for (size_t i = 0; i < 3; i++) {
		if (address < pools[i]->base + pools[i]->n * GRANULE && pools[i]->base < address + size)
			return true;
	}
	for (struct block *block = blocks; block; block = block->next) {
		if (address < block->address + block->size && block->address < address + size)
			return true;
	}
	for (struct reservation *r = reservations; r; r = r->next) {
		if (address < r->address + r->size && r->address < address + size)
			return true;
	}
	return false;
}

static void block_free(struct block *block)
{
	struct block **at = &blocks;

	while (*at != block)
		at = &(*at)->next;
	*at = block->next;
	if (block->pool) {
		device_range(DRIVER_UNMAP, block->address, block->size, 0);
		give(block->pool, block->address, block->size);
	} else {
		unreserve(block->address, block->size);
	}
	if (block->foreign)
		munmap(block->bytes, block->size);
	else
		give_memory(block->offset, block->size);
	free(block->slots);
	free(block);
}

/* @from: the pool of its address; NULL: a mapping of its own, which the CPU can use too with @shared. */
static struct block *block_make(size_t size, struct granules *from, bool shared)
{
	static uint64_t last_own;
	struct block *block = calloc(1, sizeof(*block));
	void *p;

	if (!block || !take_memory(size, &block->offset))
		goto free_block;
	block->size = size;
	block->bytes = memory_bytes + block->offset;
	block->pool = from;
	if (from) {
		block->address = take(from, size);
		if (block->address == UINT64_MAX)
			goto give_back;
	} else {
		/* At the address of the last one, if it is free. */
		block->address = last_own ? reserve_at(last_own, size) : 0;
		if (!block->address)
			block->address = reserve(size, GRANULE);
		if (!block->address)
			goto give_back;
		last_own = block->address;
	}
	block->next = blocks;
	blocks = block;
	if (device_range(DRIVER_MAP, block->address, size, block->offset)) {
		block_free(block);
		return NULL;
	}
	if (shared) {
		p = mmap((void *)(uintptr_t)block->address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 memory_fd, (off_t)block->offset);
		if (p == MAP_FAILED) {
			block_free(block);
			return NULL;
		}
	}
	return block;

give_back:
	give_memory(block->offset, size);
free_block:
	free(block);
	return NULL;
}

static struct block *block_of(uint64_t address)
{
	struct block *block = blocks;

	while (block && address - block->address >= block->size)
		block = block->next;
	return block;
}

/* ---- small allocations: slots of a chunk that neighbours share */

static bool slots_are_free(const struct block *chunk, size_t start, size_t n)
{
	for (size_t i = start; i < start + n; i++) {
		if (i >= N_SLOTS || chunk->slots[i])
			return false;
	}
	return true;
}

static uint64_t take_slots(struct block *chunk, size_t start, size_t n)
{
	memset(chunk->slots + start, 1, n);
	chunk->n_used += n;
	return chunk->address + start * SLOT;
}

static uint64_t small_alloc(size_t size, struct granules *from)
{
	size_t n = round_up(size, SLOT) / SLOT;
	struct block *chunk;

	for (size_t i = n_freed; i-- > 0;) {
		if (freed[i].pool != from || freed[i].size != n)
			continue;
		chunk = block_of(freed[i].address);
		if (!chunk || !chunk->slots || chunk->pool != from)
			continue;
		if (slots_are_free(chunk, (freed[i].address - chunk->address) / SLOT, n)) {
			uint64_t address = take_slots(chunk, (freed[i].address - chunk->address) / SLOT, n);

			memmove(&freed[i], &freed[i + 1], (n_freed - i - 1) * sizeof(freed[0]));
			n_freed--;
			return address;
		}
	}
	for (chunk = blocks; chunk; chunk = chunk->next) {
		if (!chunk->slots || chunk->pool != from)
			continue;
		for (size_t i = 0, room = 0; i < N_SLOTS; i++) {
			room = chunk->slots[i] ? 0 : room + 1;
			if (room == n)
				return take_slots(chunk, i + 1 - n, n);
		}
	}
	chunk = block_make(GRANULE, from, false);
	if (!chunk)
		return 0;
	chunk->slots = calloc(1, N_SLOTS);
	if (!chunk->slots) {
		block_free(chunk);
		return 0;
	}
	return take_slots(chunk, 0, n);
}

static void small_free(struct block *chunk, uint64_t address, size_t size)
{
	size_t n = round_up(size, SLOT) / SLOT;

	memset(chunk->slots + (address - chunk->address) / SLOT, 0, n);
	chunk->n_used -= n;
	if (n_freed == N_FREED)
		memmove(freed, freed + 1, --n_freed * sizeof(freed[0]));
	freed[n_freed].pool = chunk->pool;
	freed[n_freed].address = address;
	freed[n_freed++].size = n;
	if (!chunk->n_used)
		block_free(chunk);
}

CUresult memory_alloc(struct context *ctx, size_t size, enum range_kind kind, CUdeviceptr *ret)
{
	struct granules *from = kind == RANGE_ASYNC ? &async_pool : &pool;
	bool shared = kind == RANGE_MANAGED || kind == RANGE_HOST;
	CUresult error = CUDA_ERROR_OUT_OF_MEMORY;
	struct block *block;
	uint64_t address;

	if (!size || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > MEMORY_FILE)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	if (size < GRANULE && !shared) {
		address = small_alloc(size, from);
	} else {
		block = block_make(round_up(size, GRANULE), shared || (from == &pool && size >= OWN_MAPPING) ? NULL :
				   from, shared);
		address = block ? block->address : 0;
	}
	if (address) {
		block = block_of(address);
		add_range((struct range){ .address = address, .size = size, .kind = kind, .ctx = ctx,
					  .bytes = block->bytes + (address - block->address) });
		*ret = address;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CUresult memory_alloc_global(struct context *ctx, size_t size, CUdeviceptr *ret, uint64_t *ret_offset)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = block_make(round_up(size, GRANULE), &pool, false);
	if (block) {
		add_range((struct range){ .address = block->address, .size = size, .kind = RANGE_GLOBAL, .ctx = ctx,
					  .bytes = block->bytes });
		*ret = block->address;
		*ret_offset = block->offset;
	}
	pthread_mutex_unlock(&lock);
	return block ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

void memory_free_now_locked(uint64_t address)
{
	const struct range *range = find_start(address);
	struct block *block = block_of(address);
	size_t size;

	if (!range || !block)
		return;
	size = range->size;
	if (plan.poison)
		memset(range->bytes, POISON, size);
	remove_range(address);
	if (block->slots)
		small_free(block, address, size);
	else
		block_free(block);
}

void memory_free_now(uint64_t address)
{
	pthread_mutex_lock(&lock);
	memory_free_now_locked(address);
	pthread_mutex_unlock(&lock);
}

void memory_end_context(struct context *ctx)
{
	pthread_mutex_lock(&lock);
	for (size_t i = n_ranges; i-- > 0;) {
		if (i < n_ranges && ranges[i].ctx == ctx && ranges[i].kind != RANGE_VMM)
			memory_free_now_locked(ranges[i].address);
	}
	pthread_mutex_unlock(&lock);
}

void memory_reset(void)
{
	while (blocks) {
		struct block *block = blocks;

		blocks = block->next;
		if (!block->pool)
			munmap((void *)(uintptr_t)block->address, block->size);
		free(block->slots);
		free(block);
	}
	while (reservations) {
		struct reservation *r = reservations;

		reservations = r->next;
		if (r->own)
			munmap((void *)(uintptr_t)r->address, r->size);
		free(r);
	}
	while (mappings) {
		struct mapping *mapping = mappings;

		mappings = mapping->next;
		free(mapping);
	}
	while (handles) {
		struct handle *handle = handles;

		handles = handle->next;
		free(handle);
	}
	n_ranges = n_freed = 0;
	if (counts.used)
		fallocate(memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)MEMORY_FILE);
	counts.used = 0;
	make_granules(&file, 0, MEMORY_FILE);
	make_pool(&pool, POOL_ADDRESS, POOL_SIZE);
	make_pool(&async_pool, ASYNC_POOL_ADDRESS, ASYNC_POOL_SIZE);
	make_pool(&vmm_pool, 0, VMM_POOL_SIZE);
}

/* ---- allocations */

static CUresult alloc(struct context *ctx, CUdeviceptr *p, size_t size)
{
	CUresult error = stream_check_capture(ctx, false);

	return error ? error : memory_alloc(ctx, size, RANGE_DEVICE, p);
}

/* Waits for all there is to do, as drivers do. */
static CUresult free_allocation(struct context *ctx, CUdeviceptr p)
{
	CUresult error = stream_check_capture(ctx, false);

	if (error || !p)
		return error;
	if (!memory_is_allocation(p))
		return CUDA_ERROR_INVALID_VALUE;
	stream_drain(ctx);
	if (ctx->error)
		return ctx->error;
	memory_free_now(p);
	return 0;
}

static CUresult alloc_pitch(struct context *ctx, CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
			    unsigned element)
{
	CUresult error;

	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	error = alloc(ctx, p, round_up(width, SLOT) * height);
	if (!error)
		*pitch = round_up(width, SLOT);
	return error;
}

CU_OBSOLETE(cuMemAlloc)
CU_OBSOLETE(cuMemFree)
CU_OBSOLETE(cuMemAllocPitch)
CU_OBSOLETE(cuMemGetAddressRange)
CU_OBSOLETE(cuMemGetInfo)
CU_OBSOLETE(cuDeviceTotalMem)
CU_OBSOLETE(cuMemHostGetDevicePointer)
CU_OBSOLETE(cuMemAllocHost)
CU_OBSOLETE(cuMemHostRegister)
CU_IN(cuMemAlloc_v2, (CUdeviceptr *p, size_t size), alloc(ctx, p, size))
CU_IN(cuMemFree_v2, (CUdeviceptr p), free_allocation(ctx, p))
CU_IN(cuMemAllocPitch_v2, (CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element),
      alloc_pitch(ctx, p, pitch, width, height, element))
CU_IN(cuMemAllocManaged, (CUdeviceptr *p, size_t size, unsigned flags), memory_alloc(ctx, size, RANGE_MANAGED, p))

static CUresult alloc_async(struct context *ctx, CUdeviceptr *p, size_t size, CUmemoryPool from, CUstream stream,
			    bool per_thread)
{
	bool managed = from && *(int *)from == ALLOCATION_TYPE_MANAGED;

	if (plan.old || stream_is_capturing(ctx, stream, per_thread))
		return CUDA_ERROR_NOT_SUPPORTED;
	return memory_alloc(ctx, size, managed ? RANGE_MANAGED : RANGE_ASYNC, p);
}

static CUresult run_free(struct op *op)
{
	CUdeviceptr p;

	memcpy(&p, op->data, sizeof(p));
	memory_free_now(p);
	return 0;
}

static CUresult free_async(struct context *ctx, CUdeviceptr p, CUstream stream, bool per_thread)
{
	struct op op = { .run = run_free, .data_size = sizeof(p) };

	if (!p)
		return 0;
	if (!memory_is_allocation(p))
		return CUDA_ERROR_INVALID_VALUE;
	op.data = malloc(sizeof(p));
	if (!op.data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(op.data, &p, sizeof(p));
	return stream_submit(ctx, stream, per_thread, op, false);
}

CU_TWO(cuMemAllocAsync, _ptsz, (CUdeviceptr *p, size_t size, CUstream stream),
       alloc_async(ctx, p, size, NULL, stream, per_thread))
CU_TWO(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *p, size_t size, CUmemoryPool from, CUstream stream),
       alloc_async(ctx, p, size, from, stream, per_thread))
CU_TWO(cuMemFreeAsync, _ptsz, (CUdeviceptr p, CUstream stream), free_async(ctx, p, stream, per_thread))

/* A handle is the address of its type. */
static CUresult get_pool(CUmemoryPool *ret)
{
	static int type = CU_MEM_ALLOCATION_TYPE_PINNED;

	*ret = (CUmemoryPool)&type;
	return plan.old ? CUDA_ERROR_NOT_SUPPORTED : 0;
}

static CUresult make_pool_of(CUmemoryPool *ret, const int *type)
{
	int *own = malloc(sizeof(*own));

	if (!own)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*own = *type;
	*ret = (CUmemoryPool)own;
	return 0;
}

CU_IN(cuMemPoolCreate, (CUmemoryPool *ret, const void *properties), make_pool_of(ret, properties))
CU_IN(cuMemPoolDestroy, (CUmemoryPool from), (free(from), 0))
/* Of a second device too, though there is none. */
CU_IN(cuMemPoolSetAccess, (CUmemoryPool from, const CUmemAccessDesc *access, size_t n),
      n && access->location.id <= 1 ? 0 : CUDA_ERROR_INVALID_VALUE)

CU(cuDeviceGetDefaultMemPool, (CUmemoryPool *ret, CUdevice device))
{
	ENTER(cuDeviceGetDefaultMemPool, INITIALISED);
	return get_pool(ret);
}

CU(cuDeviceGetMemPool, (CUmemoryPool *ret, CUdevice device))
{
	ENTER(cuDeviceGetMemPool, INITIALISED);
	return get_pool(ret);
}

CU_IN(cuMemPoolSetAttribute, (CUmemoryPool from, int attribute, void *value), 0)
CU_IN(cuMemPoolGetAttribute, (CUmemoryPool from, int attribute, void *value), CUDA_ERROR_NOT_SUPPORTED)
CU_IN(cuMemPoolTrimTo, (CUmemoryPool from, size_t size), 0)

static CUresult get_info(size_t *ret_free, size_t *ret_total)
{
	pthread_mutex_lock(&lock);
	*ret_free = plan.memory - counts.used;
	*ret_total = plan.memory;
	pthread_mutex_unlock(&lock);
	return 0;
}

CU_IN(cuMemGetInfo_v2, (size_t *ret_free, size_t *ret_total), get_info(ret_free, ret_total))

/* ---- host memory */

static CUresult host_alloc(struct context *ctx, void **ret, size_t size)
{
	CUdeviceptr p;
	CUresult error = memory_alloc(ctx, size, RANGE_HOST, &p);

	if (!error)
		*ret = (void *)(uintptr_t)p;
	return error;
}

static CUresult host_free(struct context *ctx, void *p)
{
	const struct range *range;
	CUresult error;

	pthread_mutex_lock(&lock);
	range = find_start((uintptr_t)p);
	error = range && range->kind == RANGE_HOST ? 0 : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&lock);
	if (error)
		return error;
	stream_drain(ctx);
	memory_free_now((uintptr_t)p);
	return 0;
}

CU_IN(cuMemHostAlloc, (void **p, size_t size, unsigned flags), host_alloc(ctx, p, size))
CU_IN(cuMemAllocHost_v2, (void **p, size_t size), host_alloc(ctx, p, size))
CU_IN(cuMemFreeHost, (void *p), host_free(ctx, p))

CU_IN(cuMemHostGetFlags, (unsigned *flags, void *p), (*flags = 0, 0))

static struct registered *registered_at(uintptr_t start, uintptr_t end)
{
	struct registered *each = registrations;

	while (each && (each->start >= end || start >= each->end))
		each = each->next;
	return each;
}

static CUresult host_device_pointer(CUdeviceptr *ret, const void *p)
{
	const struct range *range;
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	range = memory_find_locked((uintptr_t)p);
	if ((range && range->kind == RANGE_HOST) || registered_at((uintptr_t)p, (uintptr_t)p + 1)) {
		*ret = (uintptr_t)p;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU_IN(cuMemHostGetDevicePointer_v2, (CUdeviceptr *ret, void *p, unsigned flags), host_device_pointer(ret, p))

static CUresult host_register(void *p, size_t size, unsigned flags)
{
	uintptr_t start = (uintptr_t)p / PAGE * PAGE, end = round_up((uintptr_t)p + size, PAGE);
	struct registered *new;
	CUresult error = 0;

	if (!p || !size || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	new = calloc(1, sizeof(*new));
	if (!new)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*new = (struct registered){ .p = (uintptr_t)p, .start = start, .end = end, .flags = flags };
	pthread_mutex_lock(&lock);
	if (is_ours(start, end - start))
		error = CUDA_ERROR_INVALID_VALUE;
	else if (registered_at(start, end))
		error = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	/* Pinned pages are there; what cannot be written to cannot be pinned. Old systems do not tell. */
	else if (madvise((void *)start, end - start, MADV_POPULATE_WRITE) &&
		 !madvise((void *)((uintptr_t)&error / PAGE * PAGE), PAGE, MADV_POPULATE_WRITE))
		error = CUDA_ERROR_INVALID_VALUE;
	if (!error) {
		new->next = registrations;
		registrations = new;
		counts.registered += end - start;
		counts.registered_by = (int)syscall(SYS_gettid);
	}
	pthread_mutex_unlock(&lock);
	if (error)
		free(new);
	return error;
}

/* Only by the address that it was registered with; work that may use it is waited for. */
static CUresult host_unregister(struct context *ctx, void *p)
{
	struct registered **at, *found;

	stream_drain(ctx);
	pthread_mutex_lock(&lock);
	for (at = &registrations; *at && (*at)->p != (uintptr_t)p; at = &(*at)->next)
		;
	found = *at;
	if (found) {
		*at = found->next;
		counts.registered -= found->end - found->start;
	}
	pthread_mutex_unlock(&lock);
	free(found);
	return found ? 0 : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CU_IN(cuMemHostRegister_v2, (void *p, size_t size, unsigned flags), host_register(p, size, flags))
CU_IN(cuMemHostUnregister, (void *p), host_unregister(ctx, p))

/* Every page of it; adjacent registrations count together. */
bool memory_is_pinned(const void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p, end = at + size;
	const struct range *range;
	struct registered *found;
	bool pinned;

	pthread_mutex_lock(&lock);
	range = memory_find_locked(at);
	pinned = range && range->kind == RANGE_HOST;
	while (!pinned && (found = registered_at(at, at + 1))) {
		at = found->end;
		pinned = at >= end;
	}
	pthread_mutex_unlock(&lock);
	return pinned;
}

/* ---- virtual memory management */

#define VMM_ENTER(name) do { \
		ENTER(name, INITIALISED); \
		if (plan.old || plan.no_vmm) \
			return CUDA_ERROR_NOT_SUPPORTED; \
	} while (0)

static struct handle *handle_of(CUmemGenericAllocationHandle id)
{
	struct handle *handle = handles;

	while (handle && handle->id != id)
		handle = handle->next;
	return handle;
}

static struct mapping *mapping_in(uint64_t address, size_t size)
{
	struct mapping *mapping = mappings;

	while (mapping && (mapping->address >= address + size ||
			   address >= mapping->address + mapping->handle->size))
		mapping = mapping->next;
	return mapping;
}

/* Whole mappings and nothing else. */
static bool is_mapped(uint64_t address, size_t size)
{
	for (uint64_t at = address; at < address + size;) {
		struct mapping *mapping = mapping_in(at, 1);

		if (!mapping || mapping->address != at || mapping->handle->size > address + size - at)
			return false;
		at += mapping->handle->size;
	}
	return size > 0;
}

static bool is_valid_prop(const CUmemAllocationProp *prop)
{
	return prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !prop->location.id;
}

CU(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *prop, int which))
{
	VMM_ENTER(cuMemGetAllocationGranularity);
	if (!bytes || !is_valid_prop(prop) || which < 0 || which > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = GRANULE;
	return 0;
}

CU(cuMemAddressReserve, (CUdeviceptr *p, size_t size, size_t align, CUdeviceptr wanted, unsigned long long flags))
{
	struct reservation *r;
	uint64_t address = 0;

	VMM_ENTER(cuMemAddressReserve);
	if (!p || !size || size % GRANULE || flags || (align & (align - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (align < GRANULE)
		align = GRANULE;
	pthread_mutex_lock(&lock);
	r->own = size >= VMM_OWN || align > GRANULE;
	if (!r->own) {
		address = take(&vmm_pool, size);
		if (address == UINT64_MAX)
			address = 0;
		r->own = !address;
	} else if (wanted && wanted % align == 0 && !plan.elsewhere) {
		address = reserve_at(wanted, size);
	}
	if (!address)
		address = reserve(size, align);
	if (address) {
		r->address = address;
		r->size = size;
		r->next = reservations;
		reservations = r;
		*p = address;
	}
	pthread_mutex_unlock(&lock);
	if (!address)
		free(r);
	return address ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

CU(cuMemAddressFree, (CUdeviceptr p, size_t size))
{
	struct reservation **at, *found;

	VMM_ENTER(cuMemAddressFree);
	pthread_mutex_lock(&lock);
	for (at = &reservations; *at && (*at)->address != p; at = &(*at)->next)
		;
	found = *at;
	if (!found || found->size != size || mapping_in(p, size)) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*at = found->next;
	if (found->own)
		unreserve(p, size);
	else
		give(&vmm_pool, p, size);
	pthread_mutex_unlock(&lock);
	free(found);
	return 0;
}

CU(cuMemCreate, (CUmemGenericAllocationHandle *ret, size_t size, const CUmemAllocationProp *prop,
		 unsigned long long flags))
{
	struct handle *handle;
	bool taken;

	VMM_ENTER(cuMemCreate);
	if (!ret || !size || size % GRANULE || !is_valid_prop(prop) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	taken = take_memory(size, &handle->offset);
	if (taken) {
		handle->id = ++n_handles;
		handle->size = size;
		handle->refs = 1;
		handle->next = handles;
		handles = handle;
		*ret = handle->id;
	}
	pthread_mutex_unlock(&lock);
	if (!taken)
		free(handle);
	return taken ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

static void handle_put(struct handle *handle)
{
	struct handle **at = &handles;

	if (handle->refs || handle->mapped)
		return;
	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	give_memory(handle->offset, handle->size);
	free(handle);
}

CU(cuMemRelease, (CUmemGenericAllocationHandle id))
{
	struct handle *handle;
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	VMM_ENTER(cuMemRelease);
	pthread_mutex_lock(&lock);
	handle = handle_of(id);
	if (handle && handle->refs) {
		handle->refs--;
		handle_put(handle);
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuMemMap, (CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle id, unsigned long long flags))
{
	CUresult error = CUDA_ERROR_INVALID_VALUE;
	struct reservation *r;
	struct mapping *mapping;
	struct handle *handle;

	VMM_ENTER(cuMemMap);
	if (p % GRANULE || offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	handle = handle_of(id);
	for (r = reservations; r && p - r->address >= r->size; r = r->next)
		;
	if (handle && handle->refs && r && handle->size == size && size <= r->size - (p - r->address) &&
	    !mapping_in(p, size)) {
		*mapping = (struct mapping){ .next = mappings, .address = p, .handle = handle };
		mappings = mapping;
		handle->mapped++;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	if (error)
		free(mapping);
	return error;
}

static void set_access(struct mapping *mapping, bool access)
{
	if (mapping->access == access)
		return;
	mapping->access = access;
	if (access) {
		device_range(DRIVER_MAP, mapping->address, mapping->handle->size, mapping->handle->offset);
		add_range((struct range){ .address = mapping->address, .size = mapping->handle->size, .kind = RANGE_VMM,
					  .bytes = memory_bytes + mapping->handle->offset });
	} else {
		device_range(DRIVER_UNMAP, mapping->address, mapping->handle->size, 0);
		remove_range(mapping->address);
	}
}

CU(cuMemUnmap, (CUdeviceptr p, size_t size))
{
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	VMM_ENTER(cuMemUnmap);
	if (driver_current())
		stream_drain(driver_current());
	pthread_mutex_lock(&lock);
	if (is_mapped(p, size)) {
		for (uint64_t at = p; at < p + size;) {
			struct mapping **place = &mappings, *mapping = mapping_in(at, 1);

			at += mapping->handle->size;
			set_access(mapping, false);
			while (*place != mapping)
				place = &(*place)->next;
			*place = mapping->next;
			mapping->handle->mapped--;
			handle_put(mapping->handle);
			free(mapping);
		}
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuMemSetAccess, (CUdeviceptr p, size_t size, const CUmemAccessDesc *desc, size_t n))
{
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	VMM_ENTER(cuMemSetAccess);
	if (!desc || n != 1 || desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE || desc->location.id ||
	    (desc->flags != 0 && desc->flags != 1 && desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (is_mapped(p, size)) {
		for (uint64_t at = p; at < p + size;) {
			struct mapping *mapping = mapping_in(at, 1);

			at += mapping->handle->size;
			set_access(mapping, desc->flags != 0);
		}
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuMemGetAccess, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr p))
{
	struct mapping *mapping;

	VMM_ENTER(cuMemGetAccess);
	pthread_mutex_lock(&lock);
	mapping = mapping_in(p, 1);
	if (mapping)
		*flags = mapping->access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0;
	pthread_mutex_unlock(&lock);
	return mapping ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle *ret, void *p))
{
	struct mapping *mapping;

	VMM_ENTER(cuMemRetainAllocationHandle);
	pthread_mutex_lock(&lock);
	mapping = mapping_in((uintptr_t)p, 1);
	if (mapping) {
		mapping->handle->refs++;
		*ret = mapping->handle->id;
	}
	pthread_mutex_unlock(&lock);
	return mapping ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU(cuMemMapArrayAsync, (void *infos, unsigned n, CUstream stream))
{
	VMM_ENTER(cuMemMapArrayAsync);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CU(cuMemMapArrayAsync_ptsz, (void *infos, unsigned n, CUstream stream))
{
	VMM_ENTER(cuMemMapArrayAsync_ptsz);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CU(cuMemExportToShareableHandle, (void *handle, CUmemGenericAllocationHandle id, int type, unsigned long long flags))
{
	VMM_ENTER(cuMemExportToShareableHandle);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CU_IN(cuMemGetHandleForAddressRange, (void *handle, CUdeviceptr p, size_t size, int type, unsigned long long flags),
      CUDA_ERROR_NOT_SUPPORTED)

/* ---- what may be asked of a pointer */

static CUresult address_range(CUdeviceptr *base, size_t *size, CUdeviceptr p)
{
	const struct range *range;

	pthread_mutex_lock(&lock);
	range = memory_find_locked(p);
	if (range && base)
		*base = range->address;
	if (range && size)
		*size = range->size;
	pthread_mutex_unlock(&lock);
	return range ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU_IN(cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *size, CUdeviceptr p), address_range(base, size, p))

/* With the lock. */
static CUresult attribute_of(struct context *ctx, void *value, int attribute, CUdeviceptr p)
{
	const struct range *range = memory_find_locked(p);
	struct registered *host = range ? NULL : registered_at((uintptr_t)p, (uintptr_t)p + 1);
	bool on_host = host || (range && range->kind == RANGE_HOST);

	if (!range && !host)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)value = (CUcontext)(range && range->ctx ? range->ctx : ctx);
		return 0;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)value = on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return 0;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)value = p;
		return 0;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!on_host && range->kind != RANGE_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)value = (void *)(uintptr_t)p;
		return 0;
	case 6:		/* whether copies always wait */
		*(unsigned *)value = 0;
		return 0;
	case 7:		/* the allocation's number */
		*(unsigned long long *)value = range ? range->id : 0;
		return 0;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)value = range && range->kind == RANGE_MANAGED;
		return 0;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)value = 0;
		return 0;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)value = range ? range->address : host->start;
		return 0;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)value = range ? range->size : host->end - host->start;
		return 0;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(char *)value = 1;
		return 0;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static CUresult pointer_attribute(struct context *ctx, void *value, int attribute, CUdeviceptr p)
{
	CUresult error;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	error = attribute_of(ctx, value, attribute, p);
	pthread_mutex_unlock(&lock);
	return error;
}

CU_IN(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr p), pointer_attribute(ctx, value, attribute, p))

/* What is not known of the pointer is 0, and no error. */
static CUresult pointer_attributes(struct context *ctx, unsigned n, const int *attributes, void **values, CUdeviceptr p)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n; i++) {
		if (!attribute_of(ctx, values[i], attributes[i], p))
			continue;
		switch (attributes[i]) {
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		case CU_POINTER_ATTRIBUTE_IS_MANAGED:
			*(unsigned *)values[i] = 0;
			break;
		case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
			*(int *)values[i] = -2;
			break;
		case CU_POINTER_ATTRIBUTE_MAPPED:
			*(char *)values[i] = 0;
			break;
		default:
			*(uint64_t *)values[i] = 0;
		}
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

CU_IN(cuPointerGetAttributes, (unsigned n, int *attributes, void **values, CUdeviceptr p),
      pointer_attributes(ctx, n, attributes, values, p))
CU_IN(cuPointerSetAttribute, (const void *value, int attribute, CUdeviceptr p), 0)

/* ---- other processes */

struct ipc {
	uint64_t magic;
	int32_t pid, fd;
	uint64_t offset, size;		/* of the block */
	uint64_t start, length;		/* of the allocation in it */
};

static CUresult ipc_get(CUipcMemHandle *ret, CUdeviceptr p)
{
	const struct range *range;
	const struct block *block;
	struct ipc ipc;

	pthread_mutex_lock(&lock);
	range = memory_find_locked(p);
	block = block_of(p);
	if (range && block && range->kind == RANGE_DEVICE) {
		ipc = (struct ipc){ IPC_MAGIC, getpid(), memory_fd, block->offset, block->size,
				    range->address - block->address, range->size };
		memset(ret, 0, sizeof(*ret));
		memcpy(ret, &ipc, sizeof(ipc));
	} else {
		range = NULL;
	}
	pthread_mutex_unlock(&lock);
	return range ? 0 : CUDA_ERROR_INVALID_VALUE;
}

static CUresult ipc_open(struct context *ctx, CUdeviceptr *ret, CUipcMemHandle handle)
{
	struct driver_message *message = calloc(1, sizeof(*message));
	struct block *block = calloc(1, sizeof(*block));
	struct driver_reply reply;
	char path[64];
	struct ipc ipc;
	void *p;
	int fd;

	memcpy(&ipc, &handle, sizeof(ipc));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", ipc.pid, ipc.fd);
	fd = ipc.magic == IPC_MAGIC && ipc.pid != getpid() ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0 || !block || !message)
		goto fail;
	p = mmap(NULL, ipc.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)ipc.offset);
	if (p == MAP_FAILED)
		goto fail;
	pthread_mutex_lock(&lock);
	*block = (struct block){ .address = reserve(ipc.size, GRANULE), .size = ipc.size, .bytes = p,
				 .foreign = true, .next = blocks };
	message->op = DRIVER_MAP;
	message->address = block->address;
	message->size = ipc.size;
	message->offset = ipc.offset;
	if (!block->address || device_ask(message, fd, &reply)) {
		pthread_mutex_unlock(&lock);
		munmap(p, ipc.size);
		goto fail;
	}
	blocks = block;
	*ret = block->address + ipc.start;
	add_range((struct range){ .address = *ret, .size = ipc.length, .bytes = block->bytes + ipc.start,
				  .kind = RANGE_IPC, .ctx = ctx });
	pthread_mutex_unlock(&lock);
	close(fd);
	free(message);
	return 0;

fail:
	if (fd >= 0)
		close(fd);
	free(message);
	free(block);
	return CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult ipc_close(struct context *ctx, CUdeviceptr p)
{
	const struct range *range;

	stream_drain(ctx);
	pthread_mutex_lock(&lock);
	range = find_start(p);
	if (range && range->kind == RANGE_IPC)
		memory_free_now_locked(p);
	else
		range = NULL;
	pthread_mutex_unlock(&lock);
	return range ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU_IN(cuIpcGetMemHandle, (CUipcMemHandle *ret, CUdeviceptr p), ipc_get(ret, p))
CU_IN(cuIpcOpenMemHandle, (CUdeviceptr *ret, CUipcMemHandle handle, unsigned flags), ipc_open(ctx, ret, handle))
CU_IN(cuIpcOpenMemHandle_v2, (CUdeviceptr *ret, CUipcMemHandle handle, unsigned flags), ipc_open(ctx, ret, handle))
CU_IN(cuIpcCloseMemHandle, (CUdeviceptr p), ipc_close(ctx, p))

/* Hints that nothing here needs. */
CU_IN(cuMemAdvise, (CUdeviceptr p, size_t size, int advice, CUdevice device), 0)
CU_IN(cuMemAdvise_v2, (CUdeviceptr p, size_t size, int advice, CUmemLocation location), 0)
CU_TWO(cuMemPrefetchAsync, _ptsz, (CUdeviceptr p, size_t size, CUdevice device, CUstream stream), 0)
CU_TWO(cuMemPrefetchAsync_v2, _ptsz, (CUdeviceptr p, size_t size, CUmemLocation location, unsigned flags,
				      CUstream stream), 0)
