/* SPDX-License-Identifier: MIT */
/*
 * runtime_begin.h - how a block begins and ends, and which threads of a row run. This text is part of every module that
 * is made of PTX, after runtime_block.h.
 */

/* Is an index within 32 bits? */
PTX_INLINE int ptx_fits(int64_t index)
{
	return index == (int32_t)index;
}

PTX_INLINE int ptx_fits_unsigned(int64_t index)
{
	return index == (uint32_t)index;
}

/* Have the numbers base + step * 0, ..., base + step * (n - 1) no bit in common with others? Then | adds. */
PTX_INLINE int ptx_apart(uint32_t base, uint32_t step, uint32_t n, uint32_t others)
{
	const uint64_t last = base + (uint64_t)step * (n - 1);
	const uint32_t low = (base | step) & -(base | step);

	return others < low ||
	       (last < (1u << 31) && !(others & ((2u << (31 - __builtin_clz((uint32_t)last | 1))) - 1)));
}

/* Of the threads *from to *to - 1, keep those with base + step * x < limit. */
PTX_INLINE void ptx_limit(int64_t base, int64_t step, int64_t limit, uint32_t *from, uint32_t *to)
{
	int64_t n;

	if (step == 0) {
		*to = base < limit ? *to : 0;
	} else if (step > 0) {
		n = base >= limit ? 0 : step == 1 ? limit - base : (limit - base - 1) / step + 1;
		*to = n < *to ? (uint32_t)n : *to;
	} else {
		n = base < limit ? 0 : step == -1 ? base - limit + 1 : (base - limit) / -step + 1;
		*from = n <= *from ? *from : n < *to ? (uint32_t)n : *to;
	}
}

/* Is base + step * x < limit for thread @begin? *end becomes the next thread for which it is not the same. */
PTX_INLINE uint8_t ptx_split(int64_t base, int64_t step, int64_t limit, uint32_t begin, uint32_t *end)
{
	const uint8_t result = base + step * begin < limit;
	uint32_t first = begin, last = *end;

	if (result != (step < 0) && step != 0) {
		/* It changes: up to there, or from there on, it holds. */
		ptx_limit(base, step, limit, &first, &last);
		*end = result ? last : first;
	}
	return result;
}

/* The indices of the threads of a block with more than one dimension. */
static void ptx_number(struct ptx_threads *s, const struct adsm_kernel_block *block)
{
	if (block->block[1] * block->block[2] == 1) {
		s->x = 0;
		return;
	}
	for (uint32_t t = 0, z = 0; z < block->block[2]; z++) {
		for (uint32_t y = 0; y < block->block[1]; y++) {
			for (uint32_t x = 0; x < block->block[0]; x++, t++) {
				s->x[t] = (uint16_t)x;
				s->y[t] = (uint16_t)y;
				s->z[t] = (uint16_t)z;
			}
		}
	}
}

/*
 * Begin a block: shared memory, and the state of its threads. @s: NULL: no thread yields. @align: of shared memory, of
 * what the launch adds to it, and of the state, at least 64. @state: bytes of it for each thread. @form: how threads
 * wait.
 */
static void ptx_begin(struct ptx_block *k, struct ptx_threads *s, const char *name,
		      const struct adsm_kernel_block *block, const void *const *args, uint64_t shared,
		      uint64_t align, uint64_t dynamic, uint64_t state, int form)
{
	const uint32_t n = block->block[0] * block->block[1] * block->block[2];
	const size_t N = (n + 63u) & ~63u, here = (shared + align - 1) & ~(align - 1);
	const size_t bytes = N * (state + (form == PTX_EVEN ? 0 : 4) +
				  (form >= PTX_GENERAL ? 1 + 5 * 4 + 1 + 3 * 2 : 0) +
				  (form == PTX_MATRICES ? 4 * PTX_MATRIX_WORDS : 0));
	size_t size = here + ((dynamic + align - 1) & ~(align - 1)) + align;
	char *at;

	*k = (struct ptx_block){
		.shared_size = (uint32_t)(here + dynamic), .dynamic_size = (uint32_t)dynamic,
		.print = ptx_print, .allocate = ptx_allocate, .release = ptx_release, .fail = ptx_fail,
		.trap = ptx_trap, .nanoseconds = ptx_nanoseconds, .name = name, .block = block, .args = args, .N = N,
	};
	if (s)
		size += bytes;
	k->memory = size > align ? malloc(size) : 0;
#ifdef PTX_CHECK
	k->check_size = (uint32_t)(dynamic ? here + dynamic : shared);
	k->written = calloc(1, here + dynamic + 1);
#endif
	if ((size > align && !k->memory) || PTX_LACKS_CHECKS(k))
		ptx_report(k, 0, "there is not enough memory for the threads of the block");
	at = k->sh = (char *)(((uintptr_t)k->memory + align - 1) & ~(uintptr_t)(align - 1));
	if (!s)
		return;
	at += size - align - bytes;
	*s = (struct ptx_threads){ .n = n, .state = at };
	if (form == PTX_EVEN)
		return;
	at += N * state;
	s->place = (uint16_t *)at;
	s->before = s->place + N;
	memset(s->place, 0, N * sizeof(*s->place));
	memset(s->before, 0, N * sizeof(*s->before));
	if (form == PTX_PLAIN)
		return;
	s->a = (uint32_t *)(s->before + N);
	s->b = s->a + N;
	s->c = s->b + N;
	s->mask = s->c + N;
	s->result = s->mask + N;
	s->x = (uint16_t *)(s->result + N);
	s->y = s->x + N;
	s->z = s->y + N;
	s->waits = (uint8_t *)(s->z + N);
	s->flag = s->waits + N;
	s->matrix = form == PTX_MATRICES ? (uint32_t *)(s->flag + N) : 0;
	memset(s->waits, 0, N);
	ptx_number(s, block);
}

/* An argument that is an address. */
PTX_INLINE char *ptx_pointer(const void *const *args, int index)
{
	uint64_t address;

	memcpy(&address, args[index], sizeof(address));
	return (char *)(uintptr_t)address;
}

/* The bytes of memory that the launch adds: the argument after the parameters. */
PTX_INLINE uint64_t ptx_dynamic(const void *const *args, int n_params)
{
	uint64_t size;

	memcpy(&size, args[n_params], sizeof(size));
	return size;
}

static void ptx_end(struct ptx_block *k)
{
	free(k->memory);
	free(k->written);
}

static void *ptx_state(size_t size, size_t align)
{
	void *state = aligned_alloc(align, size);

	if (!state) {
		fprintf(stderr, "adsm: there is not enough memory for the state of a block\n");
		ptx_end_badly();
	}
	return state;
}

/* Run a block whose kernel can be left, where the device does not run other blocks meanwhile. */
PTX_RARE void ptx_run_steps(int (*step)(const struct adsm_kernel_block *block, const void *const *args, void **state,
					int open),
			    const struct adsm_kernel_block *block, const void *const *args, const char *name)
{
	const int is_alone = (uint64_t)block->grid[0] * block->grid[1] * block->grid[2] == 1;
	void *state = 0;
	int open = 0, why;

	while ((why = step(block, args, &state, open))) {
		open = why == PTX_AT_GRID;
		if (!open || is_alone)
			continue;
		fprintf(stderr, "adsm: kernel %s: grid.sync() needs a device that runs all blocks of the grid\n", name);
		ptx_end_badly();
	}
}
