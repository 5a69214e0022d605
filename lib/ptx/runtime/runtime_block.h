/* SPDX-License-Identifier: MIT */
/*
 * runtime_block.h - how the threads of a block take turns. This text is part of every module that is made of PTX, after
 * runtime.h.
 *
 * A thread runs until it yields: at a barrier, or where it exchanges values with other threads of its warp. Its place
 * is then the number of the region that it continues with, and it waits. When no thread of a warp can run, the lanes
 * that are complete exchange their values and continue; when no warp can, complete barriers open.
 */
#define PTX_ENTER \
	const uint32_t nx __attribute__((unused)) = k->block->block[0]; \
	const uint32_t ny __attribute__((unused)) = k->block->block[1]; \
	const uint32_t nz __attribute__((unused)) = k->block->block[2]; \
	const uint32_t bx __attribute__((unused)) = k->block->index[0]; \
	const uint32_t by __attribute__((unused)) = k->block->index[1]; \
	const uint32_t bz __attribute__((unused)) = k->block->index[2]; \
	const uint32_t gx __attribute__((unused)) = k->block->grid[0]; \
	const uint32_t gy __attribute__((unused)) = k->block->grid[1]; \
	const uint32_t gz __attribute__((unused)) = k->block->grid[2]; \
	char *const sh __attribute__((unused)) = k->sh; \
	const size_t N __attribute__((unused)) = k->N;
/* Threads of a region do not depend on each other. */
#ifdef __clang__
#define PTX_INDEPENDENT
#else
#define PTX_INDEPENDENT _Pragma("GCC ivdep")
#endif
#ifdef PTX_CHECK
#define PTX_LACKS_CHECKS(k) (!(k)->written)
#else
#define PTX_LACKS_CHECKS(k) 0
#endif

#define PTX_LEFT 0xffff		/* the place of a thread that has ended */
#define PTX_BARRIERS 16

enum { PTX_WARP, PTX_BARRIER, PTX_ACTIVE, PTX_GRID, PTX_SPIN, PTX_STEP };
/* Why a block has been left: it has not; all its threads are at grid.sync(); some wait for memory to change. */
enum { PTX_ENDED, PTX_AT_GRID, PTX_SPINS };

/* How the threads of a block take turns (frame.c). */
enum { PTX_PLAIN, PTX_EVEN, PTX_GENERAL, PTX_MATRICES };

/* What a yield is. */
struct ptx_yield {
	uint8_t kind;			/* PTX_WARP and so on */
	uint8_t operation;		/* PTX_SHFL_UP and so on */
	const char *place;		/* "k.cu:11 (line 47 of the PTX)" */
};

enum {
	PTX_MEET,			/* bar.warp.sync, bar.sync: no value */
	PTX_SHFL_UP, PTX_SHFL_DOWN, PTX_SHFL_BFLY, PTX_SHFL_IDX,
	PTX_VOTE_ANY, PTX_VOTE_ALL, PTX_VOTE_UNI, PTX_VOTE_BALLOT,
	PTX_MATCH_ANY, PTX_MATCH_ALL,
	PTX_REDUX_ADD, PTX_REDUX_AND, PTX_REDUX_OR, PTX_REDUX_XOR, PTX_REDUX_MIN_S, PTX_REDUX_MAX_S, PTX_REDUX_MIN_U,
	PTX_REDUX_MAX_U,
	PTX_RED_POPC, PTX_RED_AND, PTX_RED_OR,
	/* Products of matrices: the type of the elements, the number of columns. HALF: f16, also the results. */
	PTX_MMA_F16_8, PTX_MMA_F16_16, PTX_MMA_HALF_8, PTX_MMA_HALF_16, PTX_MMA_BF16_8, PTX_MMA_BF16_16,
	PTX_MMA_TF32_4, PTX_MMA_TF32_8,
	PTX_LDMATRIX_1, PTX_LDMATRIX_2, PTX_LDMATRIX_4, PTX_LDMATRIX_TRANS_1, PTX_LDMATRIX_TRANS_2,
	PTX_LDMATRIX_TRANS_4,
};

/* The state of a block's threads: arrays with an entry for each thread. */
struct ptx_threads {
	uint32_t n;
	char *state;			/* kept registers, and local memory, each at a multiple of ptx_block.N */
	uint16_t *place, *before;	/* before: the places at the start of a turn */
	uint8_t *waits;
	/* Values that threads give to a yield, and get. Barriers: a: predicate, b: index, c: number of threads, 0: all
	 * threads. */
	uint32_t *a, *b, *c, *mask, *result;
	uint8_t *flag;
	uint32_t *matrix;		/* PTX_MATRIX_WORDS for each thread, if threads exchange matrices */
	uint16_t *x, *y, *z;		/* the threads' indices; x NULL: the block has one dimension */
	uint32_t arrived[PTX_BARRIERS];	/* threads, by bar.arrive, that no thread has waited for yet */
	uint32_t expected[PTX_BARRIERS];	/* the number of threads that bar.arrive named last */
};

/* The place of all threads, or -1 if they have different ones. */
PTX_INLINE int ptx_place(const uint16_t *place, uint32_t n)
{
	uint16_t different = 0;

	for (uint32_t i = 0; i < n; i++)
		different |= place[i] ^ place[0];
	return different ? -1 : place[0];
}

PTX_INLINE int ptx_is_anywhere(const uint16_t *place, uint32_t n, uint32_t where)
{
	uint8_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		found |= place[i] == where;
	return found;
}

/* The place of all threads of a warp, if all of them can run; else -1. */
PTX_INLINE int ptx_warp_place(const struct ptx_threads *threads, uint32_t first, uint32_t n)
{
	uint32_t different = 0;

	for (uint32_t i = 0; i < n; i++)
		different |= (threads->place[first + i] ^ threads->place[first]) | threads->waits[first + i];
	return different ? -1 : threads->place[first];
}

/* Can a thread of a warp run? */
PTX_INLINE int ptx_warp_runs(const struct ptx_threads *threads, uint32_t first, uint32_t n)
{
	uint8_t runs = 0;

	for (uint32_t i = 0; i < n; i++)
		runs |= !threads->waits[first + i] & (threads->place[first + i] != PTX_LEFT);
	return runs;
}

/* One value of those of the lanes of @group. */
static uint32_t ptx_redux(const uint32_t *a, uint32_t group, int operation)
{
	const uint32_t start = (uint32_t)__builtin_ctz(group);
	uint32_t all = a[start];

	for (uint32_t i = start + 1; i < 32; i++) {
		if (!(group >> i & 1))
			continue;
		switch (operation) {
		case PTX_REDUX_ADD: all += a[i]; break;
		case PTX_REDUX_AND: all &= a[i]; break;
		case PTX_REDUX_OR: all |= a[i]; break;
		case PTX_REDUX_XOR: all ^= a[i]; break;
		case PTX_REDUX_MIN_S: all = (int32_t)a[i] < (int32_t)all ? a[i] : all; break;
		case PTX_REDUX_MAX_S: all = (int32_t)a[i] > (int32_t)all ? a[i] : all; break;
		case PTX_REDUX_MIN_U: all = a[i] < all ? a[i] : all; break;
		default: all = a[i] > all ? a[i] : all; break;
		}
	}
	return all;
}

/* The lane that a shuffle takes the value of lane @i from. @ret_inside: the result of the second destination. */
PTX_INLINE uint32_t ptx_lane(int operation, uint32_t i, uint32_t b, uint32_t c, int *ret_inside)
{
	const uint32_t lane = b & 31, clamp = c & 31, segment = c >> 8 & 31;
	const uint32_t most = (i & segment) | (clamp & ~segment), least = i & segment;
	const uint32_t from = operation == PTX_SHFL_UP ? i - lane : operation == PTX_SHFL_DOWN ? i + lane :
			      operation == PTX_SHFL_BFLY ? i ^ lane : least | (lane & ~segment);

	*ret_inside = operation == PTX_SHFL_UP ? (int32_t)from >= (int32_t)most : from <= most;
	return *ret_inside ? from : i;
}

/* Give the lanes of @group, which wait at one yield, what it computes of their values. */
static void ptx_exchange(struct ptx_threads *threads, uint32_t first, uint32_t group, const struct ptx_yield *yield)
{
	const uint32_t *a = threads->a + first, *b = threads->b + first, *c = threads->c + first;
	const uint32_t *mask = threads->mask + first;
	uint32_t *result = threads->result + first, set = 0;
	uint8_t *flag = threads->flag + first;
	const int operation = yield->operation;
	const uint32_t all = operation >= PTX_REDUX_ADD ? ptx_redux(a, group, operation) : 0;

	for (uint32_t i = 0; i < 32; i++)
		set |= group >> i & 1 ? (a[i] & 1) << i : 0;
	for (uint32_t i = 0; i < 32; i++) {
		const uint32_t here = group & mask[i];
		uint32_t from, equal = 0;
		int inside;

		if (!(group >> i & 1))
			continue;
		switch (operation) {
		case PTX_SHFL_UP:
		case PTX_SHFL_DOWN:
		case PTX_SHFL_BFLY:
		case PTX_SHFL_IDX:
			from = ptx_lane(operation, i, b[i], c[i], &inside);
			/* From a lane that does not take part the value is undefined: its own. */
			result[i] = group >> (from & 31) & 1 ? a[from & 31] : a[i];
			flag[i] = (uint8_t)inside;
			continue;
		case PTX_VOTE_ANY:
			result[i] = (set & here) != 0;
			continue;
		case PTX_VOTE_ALL:
			result[i] = (set & here) == here;
			continue;
		case PTX_VOTE_UNI:
			result[i] = !(set & here) || (set & here) == here;
			continue;
		case PTX_VOTE_BALLOT:
			result[i] = set & here;
			continue;
		case PTX_MATCH_ANY:
		case PTX_MATCH_ALL:
			for (uint32_t j = 0; j < 32; j++)
				equal |= group >> j & 1 && a[j] == a[i] && b[j] == b[i] ? 1u << j : 0;
			flag[i] = equal == group;
			result[i] = operation == PTX_MATCH_ANY || flag[i] ? equal : 0;
			continue;
		default:
			result[i] = all;
			continue;
		}
	}
}

/* @words: those of the first lane of a warp. */
static void ptx_exchange_matrices(uint32_t *words, int operation)
{
	switch (operation) {
	case PTX_MMA_F16_8: ptx_multiply(words, PTX_OF_F16, 8, 0); break;
	case PTX_MMA_F16_16: ptx_multiply(words, PTX_OF_F16, 16, 0); break;
	case PTX_MMA_HALF_8: ptx_multiply(words, PTX_OF_F16, 8, 1); break;
	case PTX_MMA_HALF_16: ptx_multiply(words, PTX_OF_F16, 16, 1); break;
	case PTX_MMA_BF16_8: ptx_multiply(words, PTX_OF_BF16, 8, 0); break;
	case PTX_MMA_BF16_16: ptx_multiply(words, PTX_OF_BF16, 16, 0); break;
	case PTX_MMA_TF32_4: ptx_multiply(words, PTX_OF_TF32, 4, 0); break;
	case PTX_MMA_TF32_8: ptx_multiply(words, PTX_OF_TF32, 8, 0); break;
	case PTX_LDMATRIX_1: ptx_load_matrices(words, 1, 0); break;
	case PTX_LDMATRIX_2: ptx_load_matrices(words, 2, 0); break;
	case PTX_LDMATRIX_4: ptx_load_matrices(words, 4, 0); break;
	case PTX_LDMATRIX_TRANS_1: ptx_load_matrices(words, 1, 1); break;
	case PTX_LDMATRIX_TRANS_2: ptx_load_matrices(words, 2, 1); break;
	default: ptx_load_matrices(words, 4, 1); break;
	}
}

/* Give the lanes of @group what their yield computes. */
static void ptx_answer(struct ptx_threads *threads, uint32_t first, uint32_t n, uint32_t group,
		       const struct ptx_yield *yield)
{
	if (yield->kind == PTX_ACTIVE) {
		for (uint32_t j = 0; j < n; j++)
			threads->result[first + j] = group;
	} else if (yield->operation >= PTX_MMA_F16_8) {
		ptx_exchange_matrices(threads->matrix + PTX_MATRIX_WORDS * first, yield->operation);
	} else if (yield->operation != PTX_MEET) {
		ptx_exchange(threads, first, group, yield);
	}
}

/*
 * Let lanes of a warp continue that wait for each other, if any can. Returns whether some could. Lanes are complete
 * when all lanes that their mask names wait at a yield of the same operation, or have ended; the yields may be in
 * different branches. If no lanes are complete, those at one yield go together, as they do on GPUs, whatever their
 * masks are. Lanes in lockstep at a place go together, too.
 */
static int ptx_meet(struct ptx_threads *threads, uint32_t first, uint32_t n, const struct ptx_yield *yields)
{
	uint32_t alive = 0, waits = 0, active = 0, spins = 0, steps = 0, group = 0, least = PTX_LEFT;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t place = threads->place[first + i];

		if (place == PTX_LEFT)
			continue;
		alive |= 1u << i;
		if (threads->waits[first + i] && yields[place].kind == PTX_WARP)
			waits |= 1u << i;
		if (threads->waits[first + i] && yields[place].kind == PTX_ACTIVE)
			active |= 1u << i;
		if (threads->waits[first + i] && yields[place].kind == PTX_SPIN)
			spins |= 1u << i;
		if (threads->waits[first + i] && yields[place].kind == PTX_STEP) {
			steps |= 1u << i;
			least = place < least ? place : least;
		}
	}
	for (uint32_t left = waits; left && !group;) {
		const uint32_t i = (uint32_t)__builtin_ctz(left), mask = threads->mask[first + i] | 1u << i;
		const uint8_t operation = yields[threads->place[first + i]].operation;
		uint32_t same = 0;

		for (uint32_t j = 0; j < n; j++)
			same |= left >> j & 1 && yields[threads->place[first + j]].operation == operation &&
				(threads->mask[first + j] | 1u << j) == mask ? 1u << j : 0;
		if (!(mask & alive & ~same))
			group = same;
		left &= ~same;
	}
	/* Lanes that are behind others go first, so that they meet after a branch. */
	for (uint32_t j = 0, complete = group; j < n && !complete; j++)
		group |= steps >> j & 1 && threads->place[first + j] == least ? 1u << j : 0;
	/* Lanes that spin may still come. */
	if (!group && !spins) {
		const uint32_t any = active ? active : waits;
		const uint32_t place = any ? threads->place[first + (uint32_t)__builtin_ctz(any)] : 0;

		for (uint32_t j = 0; j < n; j++)
			group |= any >> j & 1 && threads->place[first + j] == place ? 1u << j : 0;
	}
	if (!group)
		return 0;
	ptx_answer(threads, first, n, group, &yields[threads->place[first + (uint32_t)__builtin_ctz(group)]]);
	for (uint32_t j = 0; j < n; j++)
		threads->waits[first + j] &= (uint8_t)~(group >> j & 1);
	return 1;
}

/* If the last warp of the block is not full, its missing lanes count at barriers of a number of threads, too. */
PTX_INLINE uint32_t ptx_missing_lanes(const struct ptx_threads *threads, uint32_t t)
{
	return t == threads->n - 1 ? -threads->n & 31 : 0;
}

/* bar.arrive: count a thread. Atomic: the compiler must not join the turns of a loop over threads. */
PTX_INLINE void ptx_arrive(struct ptx_threads *threads, uint32_t t, uint32_t barrier, uint32_t count)
{
	barrier %= PTX_BARRIERS;
	__atomic_store_n(&threads->expected[barrier], count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&threads->arrived[barrier], 1 + ptx_missing_lanes(threads, t), __ATOMIC_RELAXED);
}

/* Open one barrier. */
static void ptx_open(struct ptx_threads *threads, uint32_t barrier, const struct ptx_yield *yields)
{
	uint32_t n = 0, set = 0;

	for (uint32_t i = 0; i < threads->n; i++) {
		if (threads->place[i] == PTX_LEFT || threads->b[i] != barrier ||
		    yields[threads->place[i]].kind != PTX_BARRIER)
			continue;
		n++;
		set += threads->a[i] & 1;
	}
	for (uint32_t i = 0; i < threads->n; i++) {
		if (threads->place[i] == PTX_LEFT || threads->b[i] != barrier ||
		    yields[threads->place[i]].kind != PTX_BARRIER)
			continue;
		switch (yields[threads->place[i]].operation) {
		case PTX_RED_POPC: threads->result[i] = set; break;
		case PTX_RED_AND: threads->result[i] = set == n; break;
		case PTX_RED_OR: threads->result[i] = set != 0; break;
		}
		threads->waits[i] = 0;
	}
}

/*
 * How many threads wait at a barrier that counts them. A warp counts as 32 threads, also a short one, and one of
 * which threads have ended.
 */
static uint32_t ptx_waiting(const struct ptx_threads *threads, uint32_t barrier, const struct ptx_yield *yields)
{
	uint32_t n = 0;

	for (uint32_t first = 0; first < threads->n; first += 32) {
		uint32_t wait = 0, others = 0;

		for (uint32_t i = first; i < first + 32 && i < threads->n; i++) {
			const uint32_t place = threads->place[i];

			if (place == PTX_LEFT)
				continue;
			if (yields[place].kind == PTX_BARRIER && threads->b[i] == barrier)
				wait++;
			else
				others++;
		}
		n += wait && !others ? 32 : wait;
	}
	return n;
}

/*
 * Open the barriers that are complete. No thread can run. Returns 1; 0 if all threads have ended; -1 if threads wait
 * for ever.
 */
static int ptx_barriers(struct ptx_threads *threads, const struct ptx_yield *yields)
{
	uint32_t waits[PTX_BARRIERS] = { 0 }, count[PTX_BARRIERS] = { 0 }, alive = 0;
	int opened = 0;

	for (uint32_t i = 0; i < threads->n; i++) {
		const uint32_t barrier = threads->b[i];

		if (threads->place[i] == PTX_LEFT)
			continue;
		alive++;
		if (yields[threads->place[i]].kind != PTX_BARRIER || barrier >= PTX_BARRIERS)
			continue;
		waits[barrier]++;
		if (threads->c[i] > count[barrier])
			count[barrier] = threads->c[i];
	}
	for (uint32_t i = 0; i < PTX_BARRIERS; i++) {
		/* A barrier of all threads does not wait for those that have ended. */
		const uint32_t here = count[i] ? ptx_waiting(threads, i, yields) : waits[i];
		const uint32_t all = count[i] ? count[i] : alive, needed = all > here ? all - here : 0;

		/* All threads arrived, and none waited. */
		if (!waits[i] && threads->expected[i])
			threads->arrived[i] %= threads->expected[i];
		if (!waits[i] || threads->arrived[i] < needed)
			continue;
		threads->arrived[i] -= needed;
		ptx_open(threads, i, yields);
		opened = 1;
	}
	return opened ? 1 : alive ? -1 : 0;
}

/*
 * Threads wait at a barrier that the others do not reach: report which ones. @first: one that waits. @text: gets the
 * sentence.
 */
static void ptx_say_missing(const struct ptx_block *k, const struct ptx_threads *s, const struct ptx_yield *yields,
			    uint32_t first, char *text, size_t size)
{
	const uint32_t *dim = k->block->block;
	uint32_t waits = 0, other = s->n;
	int used;

	for (uint32_t i = s->n; i-- > 0;) {
		if (s->place[i] == s->place[first])
			waits++;
		else
			other = i;
	}
	used = snprintf(text, size, "%u of %u threads wait at the %s at %s; ", waits, s->n,
			yields[s->place[first]].kind == PTX_GRID ? "grid.sync()" : "barrier",
			yields[s->place[first]].place);
	if (used < 0 || (size_t)used >= size)
		return;
	text += used;
	size -= (size_t)used;
	if (other == s->n)
		snprintf(text, size, "it needs %u threads", s->c[first]);
	else if (s->place[other] == PTX_LEFT)
		snprintf(text, size, "thread (%u, %u, %u) has ended", other % dim[0], other / dim[0] % dim[1],
			 other / dim[0] / dim[1]);
	else
		snprintf(text, size, "thread (%u, %u, %u) waits at %s", other % dim[0], other / dim[0] % dim[1],
			 other / dim[0] / dim[1], yields[s->place[other]].place);
}

/* No thread can run, and no barrier is complete. */
static void ptx_stuck(const struct ptx_block *k, const struct ptx_threads *s, const struct ptx_yield *yields)
{
	char text[1024];
	uint32_t first = 0;

	while (s->place[first] == PTX_LEFT)
		first++;
	ptx_say_missing(k, s, yields, first, text, sizeof(text));
	ptx_report(k, first, text);
}

#ifdef PTX_CHECK
/*
 * A barrier of all threads opens: each must wait at the same one. A thread that has ended waits for none: newer GPUs
 * permit that, so it is only reported, once.
 */
static void ptx_check_barriers(const struct ptx_block *k, const struct ptx_threads *s, const struct ptx_yield *yields)
{
	static uint8_t told[256];
	uint32_t first = s->n, ended = 0, different = 0;
	struct adsm_kernel_print list[3] = { { ADSM_PRINT_STRING, 0 }, { ADSM_PRINT_STRING, 0 }, { 0, 0 } };
	char text[1024];

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->place[i] == PTX_LEFT) {
			ended++;
			continue;
		}
		if (yields[s->place[i]].kind != PTX_BARRIER || s->c[i])
			return;
		first = first < s->n ? first : i;
		if (s->b[i] != s->b[first])
			return;
		different += strcmp(yields[s->place[i]].place, yields[s->place[first]].place) != 0;
	}
	if (!ended && !different)
		return;
	if (first == s->n)
		return;
	ptx_say_missing(k, s, yields, first, text, sizeof(text));
	if (different)
		ptx_report(k, first, text);
	if (__atomic_exchange_n(&told[(uintptr_t)yields[s->place[first]].place / 8 % 256], 1, __ATOMIC_RELAXED))
		return;
	list[0].value = (uint64_t)(uintptr_t)k->name;
	list[1].value = (uint64_t)(uintptr_t)text;
	adsm_services_print("adsm: kernel %s: %s", list);
}
#endif

/* How the block goes on if no thread can run: PTX_AT_GRID, PTX_SPINS; PTX_ENDED: threads wait for ever. */
static int ptx_why(const struct ptx_threads *s, const struct ptx_yield *yields)
{
	uint32_t alive = 0, grid = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->place[i] == PTX_LEFT)
			continue;
		if (yields[s->place[i]].kind == PTX_SPIN)
			return PTX_SPINS;
		alive++;
		grid += yields[s->place[i]].kind == PTX_GRID;
	}
	return grid == alive ? PTX_AT_GRID : PTX_ENDED;
}

/* Let threads that spin run again, and if @open, those at grid.sync(). */
static void ptx_resume(struct ptx_threads *s, const struct ptx_yield *yields, int open)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const int kind = s->place[i] == PTX_LEFT ? PTX_WARP : yields[s->place[i]].kind;

		if (kind == PTX_SPIN || (kind == PTX_GRID && open))
			s->waits[i] = 0;
	}
}

/*
 * Run the threads of a block until all have ended, or until the block is left: returns why. @turn: runs the lanes of a
 * warp that can run.
 */
static int ptx_run(const struct ptx_block *k, struct ptx_threads *s, const struct ptx_yield *yields,
		   void (*turn)(const struct ptx_block *k, struct ptx_threads *s, uint32_t first, uint32_t lanes))
{
	for (;;) {
		int opened, why;

		for (uint32_t first = 0; first < s->n; first += 32) {
			const uint32_t lanes = s->n - first < 32 ? s->n - first : 32;

			do {
				while (ptx_warp_runs(s, first, lanes))
					turn(k, s, first, lanes);
			} while (ptx_meet(s, first, lanes, yields));
		}
#ifdef PTX_CHECK
		ptx_check_barriers(k, s, yields);
#endif
		opened = ptx_barriers(s, yields);
		if (!opened)
			return PTX_ENDED;
		if (opened > 0)
			continue;
		why = ptx_why(s, yields);
		if (why == PTX_ENDED)
			ptx_stuck(k, s, yields);
		return why;
	}
}
