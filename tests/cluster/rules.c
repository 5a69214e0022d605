/* SPDX-License-Identifier: MIT */
/*
 * rules.c - what a program may rely on where its kernels' grids are split among nodes, through the library: many cases
 * in one process, so that one cluster does for all. rules [CASE...].
 */
#include <adsm.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define PAGE ((size_t)4096)
#define N 20000u
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static adsmModule *module, *conform, *launch;
static unsigned n_nodes;

static adsmModule *load(const char *name)
{
	adsmModule *loaded;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.adsm", getenv("TEST_KERNELS"), name);
	loaded = adsmModuleLoad(path);
	CHECKF(loaded, "%s", path);
	return loaded;
}

static adsmKernel *get(adsmModule *from, const char *name)
{
	adsmKernel *kernel = adsmKernelGet(from, name);

	CHECKF(kernel, "%s", name);
	return kernel;
}

static void *alloc(size_t size)
{
	void *p = adsmAlloc(size);

	CHECK(p);
	return p;
}

#define CALL(from, name, blocks, threads, ...) \
	CHECK_OK(adsmCall(get(from, name), adsmDim3(blocks, 1, 1), adsmDim3(threads, 1, 1), __VA_ARGS__))
#define INCREMENT(p, n) CALL(conform, "increment", ((n) + 255) / 256, 256, adsmPtr(p), adsmVal((unsigned)(n)))
#define SYNC() CHECK_OK(adsmSync())

static uint64_t seed = 42;

static unsigned draw(unsigned n)
{
	uint64_t z = seed += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (unsigned)((z ^ z >> 31) % n);
}

/* ---- which node runs what */

/* Processes of the blocks; the first block of node r of n is B * r / n. */
static void check_intervals(const int *processes, unsigned blocks)
{
	int last = 0;

	for (unsigned r = 0; r < n_nodes; r++) {
		const uint64_t first = (uint64_t)blocks * r / n_nodes, end = (uint64_t)blocks * (r + 1) / n_nodes;

		for (uint64_t b = first; b < end; b++) {
			CHECK(processes[b]);
			CHECKF(processes[b] == processes[first], "block %lu of %u", b, blocks);
			CHECKF(b > first || processes[b] != last, "block %lu of %u", b, blocks);
		}
		if (first < end)
			last = processes[first];
	}
}

/* Fewer blocks than nodes, and numbers that they do not divide: each block once, in contiguous parts. */
static void blocks(void)
{
	static const unsigned numbers[] = { 1, 2, 3, 5, 7, 64, 1000, 1009 };
	unsigned *runs = alloc(1009 * sizeof(*runs));
	int *processes = alloc(1009 * sizeof(*processes));

	for (unsigned i = 0; i < COUNT(numbers); i++) {
		memset(runs, 0, 1009 * sizeof(*runs));
		memset(processes, 0, 1009 * sizeof(*processes));
		for (unsigned k = 0; k < 3; k++)
			CALL(module, "where", numbers[i], 1, adsmPtr(processes), adsmPtr(runs));
		SYNC();
		check_intervals(processes, numbers[i]);
		for (unsigned b = 0; b < 1009; b++)
			CHECK_AT(runs[b], b, b < numbers[i] ? 3 : 0);
	}
	adsmFree(runs);
	adsmFree(processes);
}

static void grids(void)
{
	static const adsmDim dims[] = { { 5, 3, 2 }, { 1, 1, 7 }, { 7, 1, 1 }, { 1, 9, 1 }, { 2, 2, 2 }, { 9, 9, 9 } };
	unsigned *places = alloc(729 * sizeof(*places)), *out = alloc(729 * 24 * sizeof(*out));

	for (unsigned i = 0; i < COUNT(dims); i++) {
		const adsmDim d = dims[i], threads = { 2, 3, 4 };
		const unsigned w = d.x * threads.x, h = d.y * threads.y;

		memset(places, 0, 729 * sizeof(*places));
		for (unsigned k = 0; k < 2; k++)
			CHECK_OK(adsmCall(get(launch, "mark"), d, threads, adsmPtr(places)));
		CHECK_OK(adsmCall(get(conform, "places"), d, threads, adsmPtr(out)));
		SYNC();
		for (unsigned b = 0; b < d.x * d.y * d.z; b++) {
			const unsigned x = b % d.x, y = b / d.x % d.y, z = b / d.x / d.y;

			CHECK_AT(places[b], b, 2 * (1000 * z + 100 * y + 10 * x + 1));
		}
		for (unsigned t = 0; t < w * h * d.z * threads.z; t++) {
			const unsigned x = t % w, y = t / w % h, z = t / w / h;

			CHECK_AT(out[t], t, x / 2 | y / 3 << 4 | z / 4 << 8 | x % 2 << 12 | y % 3 << 16 | z % 4 << 20);
		}
	}
	adsmFree(places);
	adsmFree(out);
}

/* What kernels add up atomically is right: node 0 runs them, and only them. */
static void atomics(void)
{
	unsigned *sums = alloc(PAGE);
	int *processes = alloc(1000 * sizeof(*processes));
	int first;

	memset(sums, 0, PAGE);
	memset(processes, 0, 1000 * sizeof(*processes));
	CALL(module, "where", 1000, 1, adsmPtr(processes), adsmPtr(NULL));
	SYNC();
	first = processes[0];
	CHECK(n_nodes == 1 || processes[999] != first);
	for (unsigned k = 1; k <= 5; k++) {
		CALL(module, "count", 1000, 8, adsmPtr(sums), adsmPtr(processes));
		/* Every node reads it. */
		CALL(module, "copy_sum", 999, 1, adsmPtr(sums), adsmPtr(sums + 1));
		SYNC();
		CHECK_EQ(sums[0], k * 8000);
		for (unsigned b = 0; b < 1000; b++)
			CHECK_AT(processes[b], b, first);
		for (unsigned b = 0; b < 999; b++)
			CHECK_AT(sums[1 + b], b, k * 8000);
	}
	adsmFree(sums);
	adsmFree(processes);
}

/* ---- what the host does between calls */

struct object { unsigned *p, n, calls; unsigned host[6000]; };

static void make(struct object *o, bool zero)
{
	o->n = 1 + draw(6000);
	o->p = alloc(o->n * sizeof(*o->p));
	for (unsigned i = 0; i < o->n; i++)
		o->p[i] = o->host[i] = zero ? 0 : draw(1u << 30);
}

static void check(const struct object *o)
{
	for (unsigned i = 0; i < o->n; i++)
		CHECK_AT(o->p[i], i, o->host[i]);
}

static void increment(struct object *o)
{
	INCREMENT(o->p, o->n);
	for (unsigned i = 0; i < o->n; i++)
		o->host[i]++;
}

/* Memory of a freed object is reused: no kernel reads the old contents. */
static void objects(void)
{
	static struct object o[12];

	for (unsigned round = 0; round < 150; round++) {
		struct object *one = &o[draw(COUNT(o))];

		if (one->p && draw(2)) {
			check(one);
			CHECK_OK(adsmFree(one->p));
			one->p = NULL;
		} else if (!one->p) {
			make(one, draw(2));
		}
		for (unsigned i = 0; i < COUNT(o); i++)
			if (o[i].p && draw(2))
				increment(&o[i]);
		SYNC();
	}
	for (unsigned i = 0; i < COUNT(o); i++) {
		if (o[i].p) {
			check(&o[i]);
			CHECK_OK(adsmFree(o[i].p));
		}
	}
}

static void writes(void)
{
	static struct object o;

	make(&o, false);
	for (unsigned round = 0; round < 100; round++) {
		for (unsigned i = draw(20); i; i--) {
			const unsigned at = draw(o.n);

			o.p[at] = o.host[at] = draw(1u << 30);
		}
		increment(&o);
		if (draw(2))
			increment(&o);
		SYNC();
		if (!draw(4))
			check(&o);
	}
	check(&o);
	adsmFree(o.p);
}

/* The host's and the device's fills and copies, of parts, between calls that use the same pages on all nodes. */
static void copies(void)
{
	static struct object a, b;
	static unsigned buffer[6000];

	make(&a, false);
	make(&b, false);
	for (unsigned round = 0; round < 100; round++) {
		const unsigned most = a.n < b.n ? a.n : b.n, from = draw(most), n = 1 + draw(most - from);
		const unsigned to = draw(most - n + 1);

		increment(draw(2) ? &a : &b);
		switch (draw(4)) {
		case 0:
			CHECK_OK(adsmMemset(a.p + from, 0x5a, n * 4));
			memset(a.host + from, 0x5a, n * 4);
			break;
		case 1:
			CHECK_OK(adsmMemcpy(a.p + to, b.p + from, n * 4));
			memcpy(a.host + to, b.host + from, n * 4);
			break;
		case 2:
			CHECK_OK(adsmMemcpy(buffer, a.p + from, n * 4));
			CHECK(!memcmp(buffer, a.host + from, n * 4));
			break;
		case 3:
			for (unsigned i = 0; i < n; i++)
				buffer[i] = draw(1u << 30);
			CHECK_OK(adsmMemcpy(b.p + from, buffer, n * 4));
			memcpy(b.host + from, buffer, n * 4);
			break;
		}
		increment(&a);
		SYNC();
	}
	check(&a);
	check(&b);
	adsmFree(a.p);
	adsmFree(b.p);
}

/* The same of memory that only the device has. */
static void device_only(void)
{
	unsigned *d = adsmDeviceAlloc(N * 4), *e = adsmDeviceAlloc(N * 4);
	static unsigned host[N];

	CHECK(d && e);
	for (unsigned round = 0; round < 20; round++) {
		const unsigned at = 4 * draw(N / 8), n = N - 2 * at;

		CHECK_OK(adsmDeviceFill(d, (int)round, N * 4));
		INCREMENT(d, N);
		CHECK_OK(adsmCopyDevice(e, d, N * 4));
		CHECK_OK(adsmDeviceFill(e + at, 0x11, n * 4));
		INCREMENT(e, N);
		CHECK_OK(adsmCopyToHost(host, e, N * 4));
		for (unsigned i = 0; i < N; i++)
			CHECK_AT(host[i], i, (i >= at && i < at + n ? 0x11111111 : round * 0x01010101 + 1) + 1);
		for (unsigned i = 0; i < N; i++)
			host[i] = i + round;
		CHECK_OK(adsmCopyToDevice(d, host, N * 4));
		INCREMENT(d, N);
		CHECK_OK(adsmCopyToHost(host, d, N * 4));
		for (unsigned i = 0; i < N; i++)
			CHECK_AT(host[i], i, i + round + 1);
	}
	CHECK_OK(adsmDeviceFree(d));
	CHECK_OK(adsmDeviceFree(e));
}

/* ---- arguments and modules */

static void constants(void)
{
	static const unsigned sizes[] = { 1, 7, 64, 1000, 1024, 1025, 4096, 30000, ADSM_CONST_MAX };
	uint8_t *to = alloc(ADSM_CONST_MAX), *table = malloc(ADSM_CONST_MAX);

	CHECK(table);
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		memset(to, 0, ADSM_CONST_MAX);
		for (unsigned k = 0; k < sizes[i]; k++)
			table[k] = (uint8_t)draw(256);
		CALL(conform, "from_const", (sizes[i] + 255) / 256, 256, adsmPtr(to), adsmConst(table, sizes[i]),
		     adsmVal(sizes[i]));
		SYNC();
		CHECK(!memcmp(to, table, sizes[i]));
		for (unsigned k = sizes[i]; k < ADSM_CONST_MAX; k++)
			CHECK_AT(to[k], k, 0);
	}
	free(table);
	adsmFree(to);
}

static atomic_bool stop_loading;

/* Loads, calls once and unloads, while calls of other modules run. */
static void *load_and_unload(void *arg)
{
	unsigned *x = alloc(N * 4), n = 0;

	memset(x, 0, N * 4);
	while (!atomic_load(&stop_loading) || n < 10) {
		adsmModule *other = load(n % 2 ? "conform" : "launch");

		if (n % 2)
			CALL(other, "increment", (N + 255) / 256, 256, adsmPtr(x), adsmVal(N));
		else
			CALL(other, "twice", 1, 1, adsmPtr(x));
		CHECK_OK(adsmModuleUnload(other));
		n++;
	}
	SYNC();
	CHECK_EQ(x[N - 1], n / 2);
	adsmFree(x);
	return NULL;
}

static void modules(void)
{
	static struct object o;
	pthread_t thread;

	make(&o, false);
	atomic_store(&stop_loading, false);
	CHECK(!pthread_create(&thread, NULL, load_and_unload, NULL));
	for (unsigned i = 0; i < 100; i++) {
		increment(&o);
		increment(&o);
		SYNC();
	}
	atomic_store(&stop_loading, true);
	pthread_join(thread, NULL);
	check(&o);
	adsmFree(o.p);
}

/* As many as are let out, without a word in between. */
static void many(void)
{
	static struct object o;

	make(&o, false);
	for (unsigned i = 0; i < 300; i++)
		increment(&o);
	SYNC();
	check(&o);
	adsmFree(o.p);
}

/* ---- nodes write side by side */

static void share(size_t size, size_t stride, unsigned n, unsigned n_blocks, unsigned rounds)
{
	uint8_t *p = alloc(n * stride);

	memset(p, 0, n * stride);
	for (unsigned i = 0; i < rounds; i++)
		CALL(module, size == 1 ? "add_bytes" : "add_words", n_blocks, 1, adsmPtr(p), adsmVal(n),
		     adsmVal((unsigned)stride));
	SYNC();
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(size == 1 ? p[i * stride] : *(unsigned *)(p + i * stride), i,
			 size == 1 ? (uint8_t)rounds : rounds);
	adsmFree(p);
}

static void sharing(void)
{
	const bool full = getenv("TEST_FULL");

	/* With that number of blocks of n_nodes, each node has every n_nodes-th byte, or more in a row. */
	share(1, 1, 10000, n_nodes, 1000);
	share(1, 1, 10000, 64, 1000);
	share(4, 4, 4000, n_nodes, 1000);
	share(4, PAGE, full ? 40000 : 4000, n_nodes, 3);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "blocks", blocks }, { "grids", grids }, { "atomics", atomics }, { "objects", objects },
		{ "writes", writes }, { "copies", copies }, { "device-only", device_only }, { "constants", constants },
		{ "modules", modules }, { "many", many }, { "sharing", sharing },
	};

	n_nodes = (unsigned)atoi(getenv("ADSM_CLUSTER_NODES"));
	module = load("cluster");
	conform = load("conform");
	launch = load("launch");
	for (unsigned i = 0; i < COUNT(cases); i++) {
		bool wanted = argc == 1;

		for (int k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], cases[i].name);
		if (!wanted)
			continue;
		printf("%s\n", cases[i].name);
		fflush(stdout);
		cases[i].run();
	}
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmModuleUnload(conform));
	CHECK_OK(adsmModuleUnload(launch));
	CHECK_OK(adsmShutdown());
	return 0;
}
