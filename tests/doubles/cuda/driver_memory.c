/* SPDX-License-Identifier: MIT */
/*
 * driver_memory.c - the driver double's memory: where addresses and bytes come from, allocations, and those of other
 * processes.
 *
 * Memory is handed out in granules of one sparse file. In this process a device address is a PROT_NONE mapping; the
 * bytes are at memory_bytes.
 */
#include "driver_own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOT ((size_t)512)
#define N_SLOTS (GRANULE / SLOT)
#define POISON 0xa5
#define POOL_ADDRESS 0x7ee000000000	/* below what is mapped anywhere, above the arena; sanitizers allow it */
#define ASYNC_POOL_ADDRESS 0x302000000
#ifdef __SANITIZE_THREAD__
#define LOWEST 0x7e8000000000		/* below it programs may have nothing */
#else
#define LOWEST 0x10000
#endif
#define IPC_MAGIC 0x6370692d6d736461u
#define ALLOCATION_TYPE_MANAGED 2

/* ---- granules: of the file, and of pools of addresses */

static bool are_free(const struct granules *g, size_t start, size_t n)
{
	for (size_t i = start; i < start + n; i++) {
		if (i >= g->n || g->used[i])
			return false;
	}
	return true;
}

uint64_t granules_take(struct granules *g, size_t size)
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

void granules_give(struct granules *g, uint64_t at, size_t size)
{
	size_t start = (at - g->base) / GRANULE, n = size / GRANULE;

	memset(g->used + start, 0, n);
	if (g->n_freed == N_FREED)
		memmove(g->freed, g->freed + 1, --g->n_freed * sizeof(g->freed[0]));
	g->freed[g->n_freed].start = start;
	g->freed[g->n_freed++].n = n;
}

bool granules_have(const struct granules *g, uint64_t address, size_t size)
{
	return address < g->base + g->n * GRANULE && g->base < address + size;
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

static struct granules file, pool, async_pool;
static struct block *blocks;
static struct range *ranges;		/* by address */
static size_t n_ranges, max_ranges;
static uint64_t n_made;
/* Small ones that were freed: the last one is the next one used. */
static struct {
	struct granules *pool;
	uint64_t address;
	size_t size;
} freed[N_FREED];
static size_t n_freed;

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

uint64_t address_reserve_at(uint64_t wanted, size_t size)
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

uint64_t address_reserve(size_t size, size_t align)
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

void address_release(uint64_t address, size_t size)
{
	munmap((void *)(uintptr_t)address, size);
	device_range(DRIVER_UNRESERVE, address, size, 0);
}

void granules_make(struct granules *g, uint64_t wanted, size_t size)
{
	uint64_t base = g->base;

	/* A new device process has nothing yet. */
	if (!base || device_range(DRIVER_RESERVE, base, size, 0))
		base = wanted ? address_reserve_at(wanted, size) : 0;
	if (!base)
		base = address_reserve(size, GRANULE);
	make_granules(g, base, base ? size : 0);
}

bool memory_take(size_t size, uint64_t *ret_offset)
{
	if (size > plan.memory || counts.used > plan.memory - size)
		return false;
	*ret_offset = granules_take(&file, size);
	if (*ret_offset == UINT64_MAX)
		return false;
	counts.used += size;
	if (plan.poison)
		memset(memory_bytes + *ret_offset, POISON, size);
	return true;
}

void memory_give(uint64_t offset, size_t size)
{
	granules_give(&file, offset, size);
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

bool memory_add_range(struct range range)
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

void memory_remove_range(uint64_t address)
{
	size_t at = place_of(address);

	memmove(ranges + at - 1, ranges + at, (n_ranges - at) * sizeof(*ranges));
	n_ranges--;
}

const struct range *memory_find_start(uint64_t address)
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
	range = memory_find_start(address);
	is = range && range->kind != RANGE_VMM && range->kind != RANGE_HOST && range->kind != RANGE_IPC &&
		range->kind != RANGE_GLOBAL;
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- blocks */

bool memory_is_ours(uint64_t address, size_t size)
{
	if (granules_have(&pool, address, size) || granules_have(&async_pool, address, size))
		return true;
	for (struct block *block = blocks; block; block = block->next) {
		if (address < block->address + block->size && block->address < address + size)
			return true;
	}
	return vmm_has(address, size);
}

static void block_free(struct block *block)
{
	struct block **at = &blocks;

	while (*at != block)
		at = &(*at)->next;
	*at = block->next;
	if (block->pool) {
		device_range(DRIVER_UNMAP, block->address, block->size, 0);
		granules_give(block->pool, block->address, block->size);
	} else {
		address_release(block->address, block->size);
	}
	if (block->foreign)
		munmap(block->bytes, block->size);
	else
		memory_give(block->offset, block->size);
	free(block->slots);
	free(block);
}

/* @from: the pool of its address; NULL: a mapping of its own, which the CPU can use too with @shared. */
static struct block *block_make(size_t size, struct granules *from, bool shared)
{
	static uint64_t last_own;
	struct block *block = calloc(1, sizeof(*block));
	void *p;

	if (!block || !memory_take(size, &block->offset))
		goto free_block;
	block->size = size;
	block->bytes = memory_bytes + block->offset;
	block->pool = from;
	if (from) {
		block->address = granules_take(from, size);
		if (block->address == UINT64_MAX)
			goto give_back;
	} else {
		/* At the address of the last one, if it is free. */
		block->address = last_own ? address_reserve_at(last_own, size) : 0;
		if (!block->address)
			block->address = address_reserve(size, GRANULE);
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
	memory_give(block->offset, size);
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
		memory_add_range((struct range){ .address = address, .size = size, .kind = kind, .ctx = ctx,
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
		memory_add_range((struct range){ .address = block->address, .size = size, .kind = RANGE_GLOBAL,
						 .ctx = ctx, .bytes = block->bytes });
		*ret = block->address;
		*ret_offset = block->offset;
	}
	pthread_mutex_unlock(&lock);
	return block ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

void memory_free_now_locked(uint64_t address)
{
	const struct range *range = memory_find_start(address);
	struct block *block = block_of(address);
	size_t size;

	if (!range || !block)
		return;
	size = range->size;
	if (plan.poison)
		memset(range->bytes, POISON, size);
	memory_remove_range(address);
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
	n_ranges = n_freed = 0;
	if (counts.used)
		fallocate(memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)MEMORY_FILE);
	counts.used = 0;
	make_granules(&file, 0, MEMORY_FILE);
	granules_make(&pool, POOL_ADDRESS, POOL_SIZE);
	granules_make(&async_pool, ASYNC_POOL_ADDRESS, ASYNC_POOL_SIZE);
	vmm_reset();
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

/* What of a pool can be set: three int, then the bytes it may keep. */
struct pool {
	int type;
	int reuse[3];
	uint64_t threshold;
};

static CUresult alloc_async(struct context *ctx, CUdeviceptr *p, size_t size, CUmemoryPool from, CUstream stream,
			    bool per_thread)
{
	bool managed = from && ((struct pool *)from)->type == ALLOCATION_TYPE_MANAGED;

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

static CUresult get_pool(CUmemoryPool *ret)
{
	static struct pool own = { CU_MEM_ALLOCATION_TYPE_PINNED, { 1, 1, 1 }, 0 };

	*ret = (CUmemoryPool)&own;
	return plan.old ? CUDA_ERROR_NOT_SUPPORTED : 0;
}

static CUresult make_pool_of(CUmemoryPool *ret, const int *type)
{
	struct pool *made = malloc(sizeof(*made));

	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*made = (struct pool){ *type, { 1, 1, 1 }, 0 };
	*ret = (CUmemoryPool)made;
	return 0;
}

/* What is used and reserved of one pool it does not count: those attributes (5 to 8) it has not. */
static CUresult pool_attribute(struct pool *of, int attribute, void *value, bool set)
{
	void *field = &of->threshold;
	size_t size = sizeof(of->threshold);

	if (attribute < 1 || attribute > 8 || !value)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute > 4)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (attribute < 4) {
		field = &of->reuse[attribute - 1];
		size = sizeof(int);
	}
	memcpy(set ? field : value, set ? value : field, size);
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

CU_IN(cuMemPoolSetAttribute, (CUmemoryPool from, int attribute, void *value),
      pool_attribute((struct pool *)from, attribute, value, true))
CU_IN(cuMemPoolGetAttribute, (CUmemoryPool from, int attribute, void *value),
      pool_attribute((struct pool *)from, attribute, value, false))
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
	*block = (struct block){ .address = address_reserve(ipc.size, GRANULE), .size = ipc.size, .bytes = p,
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
	memory_add_range((struct range){ .address = *ret, .size = ipc.length, .bytes = block->bytes + ipc.start,
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
	range = memory_find_start(p);
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
