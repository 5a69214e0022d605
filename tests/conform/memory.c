/* SPDX-License-Identifier: MIT */
/* memory.c - objects: sizes, limits, states; and no access pattern loses a byte. */
#include "conform.h"

#include <stdlib.h>
#include <sys/mman.h>

static void sizes(void)
{
	static const size_t sizes[] = { 1, 2, 4095, 4096, 4097, 65535, 65536, 65537, 300001 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t size = sizes[s];
		unsigned char *p = alloc(size);

		CHECK_EQ((uintptr_t)p % PAGE, 0);
		CHECK_EQ(info(p).size, size);
		for (size_t i = 0; i < size; i++)
			p[i] = (unsigned char)(i * 7);
		CALL("increment_bytes", size, adsmPtr(p), adsmVal((unsigned)size));
		SETTLE();
		for (size_t i = 0; i < size; i++)
			CHECK_AT(p[i], i, (unsigned char)(i * 7 + 1));
		CHECK_OK(adsmFree(p));
	}
	CHECK_OK(adsmFree(NULL));
}

static void interior(void)
{
	unsigned n = 50000, *p = words(n, 0);
	unsigned char *bytes = (unsigned char *)(p + 40000) + 1;

	CALL("increment", 20000, adsmPtr(p + 10000), adsmVal(20000u));
	SYNC();
	CALL("increment_bytes", 3, adsmPtr(bytes), adsmVal(3u));
	SYNC();
	for (unsigned i = 0; i < n; i++)
		if (i != 40000)
			CHECK_AT(p[i], i, i + (i >= 10000 && i < 30000));
	CHECK_EQ(p[40000], 40000 + 0x01010100);
	CHECK_EQ(info(p + 49999).address == p, 1);
	CHECK_EQ(info((char *)p + n * 4 - 1).size, n * 4);
	CHECK_OK(adsmFree(p));
}

/* Copies and fills beyond the 100 words at @p fail, and change nothing. The words are 1, 2, … */
static void copies_refused(unsigned *p)
{
	static const size_t sizes[] = { 401, PAGE, PAGE + 1, SIZE_MAX / 2, SIZE_MAX - PAGE, SIZE_MAX };
	unsigned private[PAGE / 2] = { 0 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK_ERROR(adsmMemset(p, 7, sizes[i]), EINVAL);
		CHECK_ERROR(adsmMemset(p + 40, 7, sizes[i] - 160), EINVAL);
		CHECK_ERROR(adsmMemcpy(p, private, sizes[i]), EINVAL);
		CHECK_ERROR(adsmMemcpy(private, p, sizes[i]), EINVAL);
		CHECK_ERROR(adsmMemset(private, 7, SIZE_MAX - sizes[i] % PAGE), EINVAL);
	}
	for (unsigned i = 0; i < 100; i++)
		CHECK_AT(p[i], i, i + 1);
	for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++)
		CHECK_AT(private[i], i, 0);
}

static void refused(void)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	adsmObjectProps props = { .struct_size = sizeof(props) };
	unsigned *p, private[4] = { 0 };

	CHECK_NULL(adsmAlloc(0), EINVAL);
	CHECK_NULL(adsmAlloc(SIZE_MAX), ENOMEM);
	CHECK_NULL(adsmAlloc(SIZE_MAX - PAGE), ENOMEM);
	CHECK_NULL(adsmAlloc((size_t)1 << 60), ENOMEM);
	options.protocol = "eager";
	CHECK_NULL(adsmAllocWith(100, &options), EINVAL);
	CHECK_SAYS("eager");
	options = (adsmAllocOptions)ADSM_ALLOC_OPTIONS_INIT;
	options.block_size = 5000;
	options.protocol = "rolling";
	CHECK_NULL(adsmAllocWith(100, &options), EINVAL);
	options.block_size = 1024;
	CHECK_NULL(adsmAllocWith(100, &options), EINVAL);
	options = (adsmAllocOptions)ADSM_ALLOC_OPTIONS_INIT;
	options.device = 77;
	CHECK_NULL(adsmAllocWith(100, &options), EINVAL);
	CHECK_ERROR(adsmObjectInfo(private, &props), EINVAL);

	p = adsmAllocWith(400, NULL);
	CHECK(p);
	for (unsigned i = 0; i < 100; i++)
		p[i] = i;
	CALL("increment", 100, adsmPtr(p), adsmVal(100u));
	SETTLE();
	for (unsigned i = 0; i < 100; i++)
		CHECK_AT(p[i], i, i + 1);
	copies_refused(p);
	CHECK_OK(adsmFree(p));
	CHECK_ERROR(adsmObjectInfo(p, &props), EINVAL);
}

static void exhausted(void)
{
	size_t size = (size_t)1 << 20, n_words = size / 4, n = 0;
	uint64_t total;
	unsigned *p[64];

	/* Otherwise adsmAlloc() takes no device memory. */
	set("oversubscribe", "off");
	/* If the device's memory cannot be made small, filling it would take too long. */
	set("cpu_memory_size", "16M");
	total = device_props().memory_size;
	CHECK_NULL(adsmAlloc(total + 1), ENOMEM);
	CHECK_SAYS("bytes");
	if (total > size * 16)
		return;
	while (n < 64 && (p[n] = adsmAlloc(size)))
		p[n][0] = p[n][n_words - 1] = (unsigned)n, n++;
	CHECK_EQ(errno, ENOMEM);
	CHECK(adsmLastError()[0]);
	CHECK(n >= 8 && n <= 16);
	CHECK_OK(adsmFree(p[3]));
	p[3] = alloc(size);
	p[3][0] = p[3][n_words - 1] = 3;
	for (size_t i = 0; i < n; i++)
		CALL("increment", n_words, adsmPtr(p[i]), adsmVal((unsigned)n_words));
	SYNC();
	for (size_t i = 0; i < n; i++) {
		CHECK_AT(p[i][0], i, i + 1);
		CHECK_AT(p[i][n_words - 1], i, i + 1);
		CHECK_OK(adsmFree(p[i]));
	}
	p[0] = alloc(size * 8);
	CHECK_OK(adsmFree(p[0]));
}

static void pages(void)
{
	unsigned char *p[40];

	for (size_t i = 0; i < 40; i++)
		p[i] = alloc(1 + i * 200);
	for (size_t i = 0; i < 40; i++)
		for (size_t j = 0; j < i; j++) {
			uintptr_t first = (uintptr_t)p[i] / PAGE, last = ((uintptr_t)p[i] + i * 200) / PAGE;
			uintptr_t other = (uintptr_t)p[j] / PAGE, end = ((uintptr_t)p[j] + j * 200) / PAGE;

			CHECK(last < other || end < first);
		}
	/* A kernel changes its object, and not the objects beside it. */
	for (size_t i = 0; i < 40; i++)
		memset(p[i], (int)i, 1 + i * 200);
	CALL("increment_bytes", 4001, adsmPtr(p[20]), adsmVal(4001u));
	SYNC();
	for (size_t i = 0; i < 40; i++)
		for (size_t k = 0; k < 1 + i * 200; k++)
			CHECK_AT(p[i][k], k, i + (i == 20));
	for (size_t i = 0; i < 40; i++)
		CHECK_OK(adsmFree(p[i]));
}

/* More objects than a process may have open files. */
static void many(void)
{
	enum { N = 2000 };
	static unsigned *p[N];

	for (unsigned i = 0; i < N; i++) {
		p[i] = alloc(64);
		p[i][0] = i;
	}
	CALL("increment_any", 1, adsmPtr(p[N / 2]), adsmVal(1u));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i][0], i, i + (i == N / 2));
	for (unsigned i = 0; i < N; i++)
		CHECK_OK(adsmFree(p[i]));
}

static void populate(void)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	size_t n = 64;
	unsigned char resident[64];
	unsigned *p;

	options.flags = ADSM_ALLOC_POPULATE;
	p = adsmAllocWith(n * PAGE, &options);
	CHECK(p);
	CHECK(!mincore(p, n * PAGE, resident));
	for (size_t i = 0; i < n; i++)
		CHECK_AT(resident[i] & 1, i, 1);
	for (size_t i = 0; i < n; i++)
		p[i * PAGE / 4] = (unsigned)i;
	CALL("increment", n * PAGE / 4, adsmPtr(p), adsmVal((unsigned)(n * PAGE / 4)));
	SETTLE();
	for (size_t i = 0; i < n; i++)
		CHECK_AT(p[i * PAGE / 4], i, i + 1);
	CHECK_OK(adsmFree(p));
}

/* Zeroed objects, as from calloc(), on both sides, over old contents. Either side may read first. */
static void zeros(void)
{
	static const size_t sizes[] = { 1, 4100, 65536, 300001, 1 << 20 };
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	unsigned char *old, *p, *q;
	uint64_t sent;

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		unsigned size = (unsigned)sizes[s];

		old = alloc(size);
		memset(old, 0x5a, size);
		CALL("increment_bytes", size, adsmPtr(old), adsmVal(size));
		SYNC();
		CHECK_EQ(old[size - 1], 0x5b);
		CHECK_OK(adsmFree(old));
		options.flags = ADSM_ALLOC_ZERO | (s % 2 ? ADSM_ALLOC_POPULATE : 0);
		sent = stats().h2d_bytes;
		p = adsmAllocWith(size, &options);
		q = adsmAllocWith(size, &options);
		CHECK(p && q);
		if (!batch())
			CHECK_EQ(stats().h2d_bytes, sent);
		for (unsigned i = 0; i < size; i++)
			CHECK_AT(p[i], i, 0);
		CALL("increment_bytes", size, adsmPtr(p), adsmVal(size));
		CALL("increment_bytes", size, adsmPtr(q), adsmVal(size));
		SYNC();
		for (unsigned i = 0; i < size; i++) {
			CHECK_AT(p[i], i, 1);
			CHECK_AT(q[i], i, 1);
		}
		CHECK_OK(adsmFree(p));
		CHECK_OK(adsmFree(q));
	}
	CHECK_NULL(adsmAllocWith(0, &options), EINVAL);
	options.flags = 4;
	CHECK_NULL(adsmAllocWith(1, &options), EINVAL);
}

#define STATES(p, invalid, read_only, dirty) do { \
	adsmObjectProps props_ = info(p); \
	if (props_.n_invalid != (invalid) || props_.n_read_only != (read_only) || props_.n_dirty != (dirty)) \
		FAIL("Invalid, ReadOnly, Dirty: %zu, %zu, %zu, not %zu, %zu, %zu", \
		     props_.n_invalid, props_.n_read_only, props_.n_dirty, \
		     (size_t)(invalid), (size_t)(read_only), (size_t)(dirty)); \
} while (0)

static void fields(void)
{
	size_t size = 300001;
	char *p;
	adsmObjectProps props, short_props = { .struct_size = sizeof(short_props) };
	size_t pages = (size + PAGE - 1) / PAGE * PAGE;
	struct {
		adsmObjectProps props;
		adsmStats stats;
		char name[8];
	} *inside;

	p = alloc(size);
	props = info(p + 1234);
	CHECK(props.address == p);
	CHECK_EQ(props.size, size);
	CHECK_EQ(props.device, 0);
	CHECK(!strcmp(props.protocol, getenv("ADSM_PROTOCOL") ? getenv("ADSM_PROTOCOL") : "rolling"));
	if (rolling()) {
		CHECK_EQ(props.block_size & (props.block_size - 1), 0);
		CHECK_EQ(props.n_blocks, (size + props.block_size - 1) / props.block_size);
	} else {
		CHECK_EQ(props.block_size, pages);
		CHECK_EQ(props.n_blocks, 1);
	}
	CHECK_EQ(props.n_invalid + props.n_read_only + props.n_dirty, props.n_blocks);
	CHECK_ERROR(adsmObjectInfo(p + pages, &short_props), EINVAL);
	short_props.struct_size = 0;
	CHECK_ERROR(adsmObjectInfo(p, &short_props), EINVAL);

	/* Structures and names passed to the library may themselves be in shared memory, closed or open. */
	inside = alloc(sizeof(*inside));
	inside->props.struct_size = sizeof(inside->props);
	strcpy(inside->name, "own");
	for (int i = 0; i < 3; i++) {
		CALL("increment", 1, adsmPtr(inside), adsmVal(0u));
		SETTLE();
		if (i == 0)
			CHECK_OK(adsmObjectInfo(inside, &inside->props));
		else if (i == 1)
			CHECK_OK(adsmSetName(inside, inside->name));
		else
			CHECK_OK(adsmObjectStatsGet(inside, &inside->stats, sizeof(inside->stats)));
	}
	CHECK(inside->props.address == inside);
	CHECK(!strcmp(inside->name, "own"));
	CHECK_OK(adsmFree(inside));
	CHECK_OK(adsmFree(p));
}

static void states(void)
{
	size_t n = 8, block;
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	volatile unsigned *p;
	unsigned *q;

	set("fault_ahead", "0");
	set("evict_batch", "1");
	set("rolling_size", "2");
	q = alloc(1);
	block = rolling() ? info(q).block_size : n * PAGE;
	p = adsmAllocWith(rolling() ? n * block : block, &options);
	CHECK(p);
	if (batch()) {
		STATES((void *)p, 0, 0, 1);
		p[0] = 5;
		CALL("increment", 1, adsmPtr(p), adsmVal(1u));
		STATES((void *)p, 1, 0, 0);
		SYNC();
		STATES((void *)p, 0, 0, 1);
		CHECK_EQ(p[0], 6);
		return;
	}
	if (!rolling()) {
		STATES((void *)p, 0, 1, 0);
		(void)p[0];
		STATES((void *)p, 0, 1, 0);
		p[0] = 5;
		STATES((void *)p, 0, 0, 1);
		CALL("increment", 1, adsmIn(p), adsmVal(0u));
		STATES((void *)p, 0, 1, 0);
		CALL("increment", 1, adsmInOut(p), adsmVal(1u));
		STATES((void *)p, 1, 0, 0);
		SYNC();
		STATES((void *)p, 1, 0, 0);
		CHECK_EQ(p[100], p[100]);
		STATES((void *)p, 0, 1, 0);
		CALL("increment", 1, adsmPtr(p), adsmVal(1u));
		p[1] = 9;
		STATES((void *)p, 0, 0, 1);
		CHECK_EQ(p[0], 7);
		CALL("add", 1, adsmIn(q), adsmIn(q), adsmOut(p), adsmVal(0u));
		STATES((void *)p, 1, 0, 0);
		SYNC();
		return;
	}
#define WORD(b) p[(b) * block / 4 + 7]
	STATES((void *)p, 0, n, 0);
	WORD(0) = 10;
	STATES((void *)p, 0, n - 1, 1);
	WORD(3) = 13;
	STATES((void *)p, 0, n - 2, 2);
	WORD(6) = 16;	/* evicts the oldest block */
	STATES((void *)p, 0, n - 2, 2);
	WORD(0) = 20;	/* makes it Dirty again */
	STATES((void *)p, 0, n - 2, 2);
	CALL("increment_any", 1, adsmIn(p), adsmVal(0u));
	STATES((void *)p, 0, n, 0);
	CHECK_EQ(object_stats((void *)p).evictions, 2);
	CHECK_EQ(object_stats((void *)p).h2d_bytes, unified() ? 0 : 4 * block);
	SYNC();
	CALL("increment", n * block / 4, adsmPtr(p), adsmVal((unsigned)(n * block / 4)));
	STATES((void *)p, n, 0, 0);
	SYNC();
	STATES((void *)p, n, 0, 0);
	CHECK_EQ(WORD(3), 14);
	STATES((void *)p, n - 1, 1, 0);
	WORD(6) = 30;
	STATES((void *)p, n - 2, 1, 1);
	CALL("increment_any", 1, adsmIn(p), adsmVal(0u));
	STATES((void *)p, n - 2, 2, 0);
	SYNC();
	WORD(3) = 40;
	STATES((void *)p, n - 2, 1, 1);
	CHECK_EQ(WORD(0), 21);
	STATES((void *)p, n - 3, 2, 1);
	CHECK_EQ(WORD(6), 30);
	CHECK_EQ(WORD(3), 40);
#undef WORD
}

struct node {
	unsigned value;
	struct node *next;
};

/* Kernels follow pointers inside data, from object to object. */
static void list(void)
{
	enum { N = 3000 };
	struct node *near = alloc(N / 2 * sizeof(*near)), *far = alloc(N / 2 * sizeof(*far));
	struct node *spare = alloc(sizeof(*spare)), *node;
	static struct node *order[N];
	uint64_t seed = 1;
	unsigned i;

	for (i = 0; i < N; i++)
		order[i] = i % 2 ? near + i / 2 : far + i / 2;
	for (i = N - 1; i > 0; i--) {
		unsigned k = (unsigned)(draw(&seed) % (i + 1));

		node = order[i];
		order[i] = order[k];
		order[k] = node;
	}
	for (i = 0; i < N; i++) {
		order[i]->value = i * 3;
		order[i]->next = in_data(i ? order[i - 1] : NULL);
	}
	CALL("walk", 1, adsmPtr(order[N - 1]), adsmOut(spare), adsmUse(near, ADSM_ACCESS_INOUT),
	     adsmUse(far, ADSM_ACCESS_INOUT));
	SETTLE();
	CHECK_EQ(spare->value, 1000000);
	CHECK(spare->next == in_data(order[N - 1]));
	for (i = N; i-- > 0; ) {
		CHECK_AT(order[i]->value, i, i * 3 + 1);
		CHECK(order[i]->next == in_data(i ? order[i - 1] : NULL));
	}
	CHECK_OK(adsmFree(near));
	CHECK_OK(adsmFree(far));
	CHECK_OK(adsmFree(spare));
}

/* Random accesses to words and ranges, and kernels on random ranges, compared with a model in private memory. */
static void model(unsigned n_ops)
{
	enum { OBJECTS = 3, WORDS = 90000 };
	static const unsigned n[OBJECTS] = { 1, 20011, WORDS };
	static unsigned shadow[OBJECTS][WORDS];
	volatile unsigned *p[OBJECTS];
	uint64_t seed = 20;

	for (unsigned o = 0; o < OBJECTS; o++) {
		p[o] = words(n[o], o);
		for (unsigned i = 0; i < n[o]; i++)
			shadow[o][i] = o + i;
	}
	for (unsigned op = 0; op < n_ops; op++) {
		unsigned o = (unsigned)(draw(&seed) % OBJECTS), at = (unsigned)(draw(&seed) % n[o]);
		unsigned run = (unsigned)(draw(&seed) % (draw(&seed) % 8 ? 40 : 30000)) + 1, kind;

		if (run > n[o] - at)
			run = n[o] - at;
		kind = (unsigned)(draw(&seed) % 32);
		if (kind < 2) {
			CALL("increment", run, adsmPtr(p[o] + at), adsmVal(run));
			for (unsigned i = at; i < at + run; i++)
				shadow[o][i]++;
			if (batch() || draw(&seed) % 2)
				SYNC();
		} else if (kind < 16) {
			for (unsigned i = at; i < at + run; i++)
				CHECK_AT(p[o][i], i, shadow[o][i]);
		} else if (kind < 24) {
			for (unsigned i = at; i < at + run; i++)
				p[o][i] = shadow[o][i] = op * 1000 + i;
		} else if (kind < 28) {
			((volatile unsigned char *)p[o])[at * 4 + 1] = (unsigned char)op;
			((unsigned char *)shadow[o])[at * 4 + 1] = (unsigned char)op;
		} else {
			for (unsigned i = at; i < at + run; i += 1 + i % 97)
				shadow[o][i] = ++p[o][i];
		}
	}
	SYNC();
	for (unsigned o = 0; o < OBJECTS; o++) {
		for (unsigned i = 0; i < n[o]; i++)
			CHECK_AT(p[o][i], i, shadow[o][i]);
		CHECK_OK(adsmFree((void *)p[o]));
	}
}

static void scattered(void)
{
	model(2000);
}

static void scattered_paper(void)
{
	set("paper", "1");
	model(600);
	if (rolling())
		CHECK(stats().evictions > 0);
}

static void scattered_tight(void)
{
	set("rolling_size", "1");
	set("evict_batch", "8K");
	model(600);
}

struct two_words {
	uint64_t both;
} __attribute__((packed));

/* One instruction that writes two blocks, while only one block may be Dirty. */
static void straddle(void)
{
	size_t n = 100000, block;
	unsigned *p, i;

	set("paper", "1");
	set("rolling_size", "1");
	p = words(n, 0);
	block = rolling() ? info(p).block_size : PAGE;
	for (unsigned round = 0; round < 4; round++) {
		volatile struct two_words *across = (void *)((char *)p + block - 4);

		across->both += 0x0000000100000001u;
		memmove((char *)p + 4 * block - 8, (char *)p + 2 * block - 8, 16);
		CALL("increment", n, adsmPtr(p), adsmVal((unsigned)n));
		if (round % 2 || batch())
			SYNC();
	}
	SYNC();
	for (i = 0; i < n; i++) {
		size_t at = i * 4;
		unsigned want = i + 4;

		if (at == block - 4 || at == block)
			want += 4;
		if (at >= 4 * block - 8 && at < 4 * block + 8)
			want -= (unsigned)(2 * block / 4);
		CHECK_AT(p[i], i, want);
	}
}

static void mixed(void)
{
	static const char *const protocols[3] = { "batch", "lazy", "rolling" };
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	unsigned n = 40000, *p[3];

	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned k = 0; k < 3; k++) {
			options.protocol = protocols[(k + turn) % 3];
			options.block_size = 4096;
			p[k] = adsmAllocWith(n * 4, &options);
			CHECK(p[k]);
			CHECK(!strcmp(info(p[k]).protocol, options.protocol));
			CHECK_EQ(info(p[k]).n_blocks, strcmp(options.protocol, "rolling") ? 1 : (n * 4 + 4095) / 4096);
			for (unsigned i = 0; i < n; i++)
				p[k][i] = i * (k + 1);
		}
		for (unsigned round = 0; round < 3; round++) {
			CALL("add", n, adsmPtr(p[0]), adsmPtr(p[1]), adsmPtr(p[2]), adsmVal(n));
			CALL("increment", n, adsmPtr(p[0]), adsmVal(n));
			SYNC();
			for (unsigned i = 0; i < n; i++) {
				CHECK_AT(p[2][i], i, i * 3 + round * 2);
				p[1][i]++;
			}
		}
		for (unsigned i = 0; i < n; i++) {
			CHECK_AT(p[0][i], i, i + 3);
			CHECK_AT(p[1][i], i, i * 2 + 3);
		}
		for (unsigned k = 0; k < 3; k++)
			CHECK_OK(adsmFree(p[k]));
	}
}

/* adsmMemcpy() and adsmMemset() on two objects and two private buffers, compared with a model. */
static void copies(void)
{
	enum { SIZE = 300001, BUFFERS = 4 };
	static unsigned char shadow[BUFFERS][SIZE], private[2][SIZE];
	unsigned char *p[BUFFERS] = { alloc(SIZE), alloc(SIZE), private[0], private[1] };
	uint64_t seed = 3;

	for (unsigned b = 0; b < BUFFERS; b++)
		for (unsigned i = 0; i < SIZE; i++)
			p[b][i] = shadow[b][i] = (unsigned char)draw(&seed);
	for (unsigned op = 0; op < 400; op++) {
		unsigned to = (unsigned)(draw(&seed) % BUFFERS), from = (unsigned)(draw(&seed) % BUFFERS);
		static const size_t scale[] = { 1, 16, 4096, 10000, 65536, 131072, SIZE };
		size_t size = draw(&seed) % scale[draw(&seed) % 7] + 1, to_at, from_at;

		if (op % 16 == 0)
			size = SIZE;
		else if (op % 16 == 1)
			size = 1;
		to_at = draw(&seed) % (SIZE - size + 1);
		from_at = draw(&seed) % (SIZE - size + 1);
		if (draw(&seed) % 3 == 0) {	/* whole blocks */
			to_at &= ~(size_t)65535;
			from_at &= ~(size_t)65535;
			size = size > 65536 ? size & ~(size_t)65535 : size;
		}
		if (draw(&seed) % 4 == 0) {	/* from bytes that only the device has */
			CALL("increment_bytes", SIZE, adsmPtr(p[op % 2]), adsmVal((unsigned)SIZE));
			for (unsigned i = 0; i < SIZE; i++)
				shadow[op % 2][i]++;
			SETTLE();
		}
		if (draw(&seed) % 4 == 0) {
			int value = (int)(draw(&seed) % 256);

			CHECK_OK(adsmMemset(p[to] + to_at, value, size));
			memset(shadow[to] + to_at, value, size);
		} else if (to != from || to_at + size <= from_at || from_at + size <= to_at) {
			CHECK_OK(adsmMemcpy(p[to] + to_at, p[from] + from_at, size));
			memcpy(shadow[to] + to_at, shadow[from] + from_at, size);
		}
		/* Compare the result immediately, or leave the blocks as they are. */
		if (draw(&seed) % 3 == 0)
			for (size_t i = to_at; i < to_at + size; i++)
				CHECK_AT(p[to][i], i, shadow[to][i]);
	}
	SYNC();
	for (unsigned b = 0; b < BUFFERS; b++)
		for (unsigned i = 0; i < SIZE; i++)
			CHECK_AT(p[b][i], i, shadow[b][i]);
	CHECK_OK(adsmMemcpy(p[0], p[2], 0));
	CHECK_OK(adsmMemset(p[0], 1, 0));
	CHECK_EQ(p[0][0], shadow[0][0]);
}

/* The device itself fills and copies whole blocks that only it has. */
static void copies_on_device(void)
{
	size_t size = 1 << 20, n = size / 4;
	unsigned *a = words(n, 0), *b = words(n, 7);
	adsmStats before, after;

	CALL("increment", n, adsmPtr(a), adsmVal((unsigned)n));
	CALL("increment", n, adsmPtr(b), adsmVal((unsigned)n));
	SYNC();
	before = stats();
	CHECK_OK(adsmMemcpy(b, a, size));
	CHECK_OK(adsmMemset(a, 1, size));
	after = stats();
	CHECK_EQ(after.h2d_bytes - before.h2d_bytes, 0);
	CHECK_EQ(after.d2h_bytes - before.d2h_bytes, 0);
	for (size_t i = 0; i < n; i++) {
		CHECK_AT(b[i], i, i + 1);
		CHECK_AT(a[i], i, 0x01010101);
	}
}

/* Copies wait for the calls that may write their objects. */
static void copies_wait(void)
{
	unsigned n = 30000, *a = words(n, 0), *b = words(n, 0), private[4];

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(n));
	CHECK_OK(adsmMemcpy(private, a + 29990, sizeof(private)));
	for (unsigned i = 0; i < 4; i++)
		CHECK_AT(private[i], i, 29991 + i);

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(n));
	CHECK_OK(adsmMemcpy(b + 1, a + 1, (n - 1) * 4));
	CHECK_OK(adsmMemset(a + 5, 0xff, 4));
	for (unsigned i = 0; i < n; i++) {
		CHECK_AT(a[i], i, i == 5 ? 0xffffffff : i + 2);
		CHECK_AT(b[i], i, i ? i + 2 : 0);
	}

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(n));
	CHECK_OK(adsmMemset(a, 0, n * 4));
	CHECK_EQ(a[3], 0);
	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(b), adsmPtr(a), adsmVal(n));
	CHECK_OK(adsmMemset(b, 0, n * 4));
	SYNC();
	for (unsigned i = 0; i < n; i++) {
		CHECK_AT(a[i], i, i ? i + 2 : 0);
		CHECK_AT(b[i], i, 0);
	}
}

static void safe(void)
{
	unsigned *p = adsmSafeAlloc(40000), private = 0;
	adsmDeviceProps device = device_props();
	uint64_t address;

	CHECK(p);
	errno = 0;
	address = adsmSafe(p);
	CHECK_EQ(info(p).device_address, address);
	if (address) {
		CHECK_EQ(adsmSafe(p + 777), address + 777 * 4);
	} else {
		CHECK_EQ(errno, ENOTSUP);
		CHECK(!strcmp(device.memory, "buffer") || !strcmp(device.memory, "unified"));
	}
	if (device.same_address)
		CHECK_EQ(address, (uintptr_t)p);
	errno = 0;
	CHECK_EQ(adsmSafe(&private), 0);
	CHECK_EQ(errno, EINVAL);
	for (unsigned i = 0; i < 10000; i++)
		p[i] = i;
	CALL("increment", 10000, adsmPtr(p), adsmVal(10000u));
	SETTLE();
	for (unsigned i = 0; i < 10000; i++)
		CHECK_AT(p[i], i, i + 1);
	CHECK_OK(adsmFree(p));
}

static void version(void)
{
	CHECK_EQ(adsmVersion(), ADSM_VERSION);
	CHECK(adsmErrorString(0)[0]);
	CHECK(adsmErrorString(-EINVAL)[0]);
	CHECK(adsmErrorString(-12345));
	CHECK(!strcmp(adsmLastError(), ""));
	CHECK_OK(adsmInit());
	CHECK_OK(adsmInit());
}

static const struct conform_case cases[] = {
	CASE("version", version),
	CASE("sizes", sizes),
	CASE("interior", interior),
	CASE("refused", refused),
	CASE("exhausted", exhausted),
	CASE("pages", pages),
	CASE("many-objects", many),
	CASE("populate", populate),
	CASE("zeros", zeros),
	CASE("fields", fields),
	CASE("states", states),
	CASE("list", list),
	CASE("scattered", scattered),
	CASE("scattered-paper", scattered_paper),
	CASE("scattered-tight", scattered_tight),
	CASE("straddle", straddle),
	CASE("mixed-protocols", mixed),
	CASE("copies", copies),
	FAULT_CASE("copies-on-device", copies_on_device),
	FAULT_CASE("copies-wait", copies_wait),
	CASE("safe", safe),
};
CONFORM_MAIN(cases)
