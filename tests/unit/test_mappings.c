/* SPDX-License-Identifier: MIT */
/*
 * test_mappings.c - more alternating blocks, or objects, than a process may have mappings (vm.max_map_count): nothing
 * dies, nothing loops, nothing is lost, and the rest of the program still gets mappings. In the device's process the
 * check of kernels' accesses ends, and the log has one sentence.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "../sanitizers.h"
#include "core.h"
#include "core/limits.h"
#include "run/touch/mapping.h"

static volatile unsigned *a;
static unsigned n_blocks, calls;

static unsigned max_map_count(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned n = 0;

	if (file && fscanf(file, "%u", &n) != 1)
		n = 0;
	if (file)
		fclose(file);
	return n;
}

static void *end_at_once(void *unused)
{
	return unused;
}

/* What other code does all the time. */
static void want_mappings(void)
{
	char *large = malloc((size_t)64 << 20);
	pthread_t thread;

	CHECK(large);
	large[0] = 1;
	large[((size_t)64 << 20) - 1] = 1;
	free(large);
	errno = pthread_create(&thread, NULL, end_at_once, NULL);
	CHECK(!errno);
	CHECK(!pthread_join(thread, NULL));
}

static void call(void)
{
	CHECK(!call_words(kernel("increment"), (size_t)n_blocks * PAGE_WORDS, adsmPtr(a)));
	CHECK(!adsmSync());
	calls++;
}

/* Word 0 of a block holds its number, the others 0; the calls add 1 to all. */
static void check_block(unsigned b, bool written)
{
	CHECK_AT(a[(size_t)b * PAGE_WORDS], b, (written ? b : 0) + calls);
	CHECK_AT(a[(size_t)b * PAGE_WORDS + 1023], b, calls);
}

static size_t n_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	size_t n = 0;
	int c;

	CHECK(file);
	while ((c = getc(file)) != EOF)
		n += c == '\n';
	fclose(file);
	return n;
}

static unsigned *make_page(unsigned value)
{
	unsigned *p = alloc_with(PAGE, "lazy", PAGE);

	*p = value;
	return p;
}

/* Take mappings until @left are left. */
static void take_mappings(unsigned max, unsigned left)
{
	unsigned n = max - left - (unsigned)n_mappings();
	char *p = mmap(NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	for (unsigned i = 1; i < n; i += 2)
		CHECK(!mprotect(p + i * PAGE, PAGE, PROT_READ));
}

static void *take_rest(void)
{
	char *p = mmap(NULL, 4096 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned i = 1;

	CHECK(p != MAP_FAILED);
	while (i < 4096 && !mprotect(p + i * PAGE, PAGE, PROT_READ))
		i += 2;
	CHECK(i < 4096 && errno == ENOMEM);
	return p;
}

/* Objects of a page, and what is between two of them is freed. More than what is left, so that it is quick. */
static void test_objects(unsigned max)
{
	const unsigned left = 1500, n = 3 * left;
	unsigned **p = calloc(n, sizeof(*p));
	size_t before;

	CHECK(p);
	CHECK(!adsmInit());
	take_mappings(max, left);
	before = n_mappings();
	for (unsigned i = 0; i < n; i++)
		p[i] = make_page(i);
	for (unsigned i = 1; i < n; i += 2)
		CHECK(!adsmFree(p[i]));
	want_mappings();
	for (unsigned i = 0; i < n; i += 2)
		CHECK_AT(*p[i], i, i);
	want_mappings();
	/* Others in the gaps, from the last to the first, so that they go elsewhere than those before. */
	for (unsigned i = n - 1; i < n; i -= 2)
		p[i] = make_page(i);
	/* All but every fourth. */
	for (unsigned i = 0; i < n; i += 4)
		CHECK(!adsmFree(p[i]));
	for (unsigned i = 0; i < n; i++)
		if (i % 4)
			CHECK_AT(*p[i], i, i);
	want_mappings();
	for (unsigned i = 0; i < n; i++)
		if (i % 4)
			CHECK(!adsmFree(p[i]));
	/* All of it is closed: little is left of it, which the C library keeps. */
	CHECK(n_mappings() < before + left / 2);
	free(p);
	want_mappings();
}

/*
 * With no mapping left, a touch that needs two. Open neighbours are one mapping, and one that is closed between them
 * would need more: it has to be done from their edges, again and again, since neighbours were not made one after the
 * other.
 */
static void test_edges(unsigned max)
{
	enum { N = 64 };
	unsigned *p[N], *far;
	void *rest;

	CHECK(!adsmInit());
	/* What is closed is on all sides of both. */
	CHECK(alloc_with(PAGE, "lazy", PAGE));
	for (unsigned i = 0; i < N; i++)
		p[i] = alloc_with(PAGE, "lazy", PAGE);
	CHECK(alloc_with(PAGE, "lazy", PAGE));
	for (unsigned i = 1; i < N; i += 2)
		CHECK(!adsmFree(p[i]));
	for (unsigned i = 1; i < N; i += 2)
		p[i] = alloc_with(PAGE, "lazy", PAGE);
	far = alloc_with(PAGE, "lazy", PAGE);
	CHECK(alloc_with(PAGE, "lazy", PAGE));
	take_mappings(max, 1000);
	/* The first time there is something else to give up: what is in core files. */
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < N; i++)
			*p[i] = i + round;
		rest = take_rest();
		*far = N;
		for (unsigned i = 0; i < N; i++)
			CHECK_AT(*p[i], i, i + round);
		CHECK_EQ(*far, N);
		CHECK(!munmap(rest, 4096 * PAGE));
		CHECK(!adsmFree(far));
		far = alloc_with(PAGE, "lazy", PAGE);
	}
}

static void test_blocks(unsigned max)
{
	uint64_t signals;
	size_t size;

	n_blocks = (max + 4096) & ~1023u;
	size = (size_t)n_blocks * PAGE;
	CHECK(!adsmOption("fault_ahead", "0"));
	CHECK(!adsmOption("rolling_size", "1000000"));	/* nothing leaves early: all written ones stay open */
	a = alloc_with(size, "rolling", PAGE);
	CHECK(!adsmMemset((void *)a, 0, size));
	want_mappings();

	for (unsigned b = 1; b < n_blocks; b += 2)
		a[(size_t)b * PAGE_WORDS] = b;
	want_mappings();
	CHECK_EQ(object_of(a)->blocks.n_in[ADSM_DIRTY], n_blocks / 2);
	for (unsigned b = 1; b < n_blocks; b += 2)
		check_block(b, true);
	want_mappings();
	/* A fault for each write, and another where the views had been shut meanwhile: no loop. */
	signals = object_stats(a).signals;
	CHECK(signals >= n_blocks / 2 && signals <= 2 * n_blocks);
	call();
	want_mappings();

	/* Invalid: every other block is read. */
	for (unsigned b = 0; b < n_blocks; b += 2)
		check_block(b, false);
	want_mappings();
	CHECK_EQ(object_of(a)->blocks.n_in[ADSM_READ_ONLY], n_blocks / 2);
	for (unsigned b = 1; b < n_blocks; b += 2)
		check_block(b, true);
	want_mappings();
	CHECK_EQ(object_stats(a).d2h_bytes, size + (size_t)n_blocks / 2 * PAGE);
	signals = object_stats(a).signals - signals;
	CHECK(signals >= n_blocks && signals <= 3 * n_blocks);

	/* Read and written in turn. */
	call();
	for (unsigned b = 0; b < n_blocks; b++) {
		check_block(b, b & 1);
		if (b & 1)
			a[(size_t)b * PAGE_WORDS + 1023]++;
	}
	call();
	for (unsigned b = 0; b < n_blocks; b++) {
		CHECK_AT(a[(size_t)b * PAGE_WORDS], b, (b & 1 ? b : 0) + calls);
		CHECK_AT(a[(size_t)b * PAGE_WORDS + 1023], b, (b & 1) + calls);
	}
	CHECK(!adsmFree((void *)a));
	want_mappings();
}

/* Numbers from a seed. */
static unsigned draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*seed >> 33);
}

/*
 * The program's own permissions, page by page, with hardly a mapping left: mprotect() may say ENOMEM, and then nothing
 * has changed; what it permits can be used, and bytes are what they were.
 */
static void test_limits(unsigned max)
{
	static const char *const protocols[] = { "rolling", "lazy", "batch" };
	enum { OBJECTS = 3, PAGES = 16, ROUNDS = 3000 };
	unsigned char limit[OBJECTS][PAGES], bytes[OBJECTS][PAGES] = { 0 };
	unsigned n_refused = 0;
	uint64_t seed = 38;
	char *p[OBJECTS], *rest;

	memset(limit, ADSM_PROT_RW, sizeof(limit));
	for (unsigned o = 0; o < OBJECTS; o++) {
		p[o] = (char *)alloc_with(PAGES * PAGE, protocols[o], PAGE);
		memset(p[o], 0, PAGES * PAGE);
	}
	take_mappings(max, 1000);
	rest = take_rest();
	/* Of what is taken there is room for one object again that has other permissions on each page. */
	CHECK(!munmap(rest + 10 * PAGE, 2 * PAGES * PAGE));
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned o = draw(&seed) % OBJECTS, page = draw(&seed) % PAGES;
		unsigned n = 1 + draw(&seed) % (PAGES - page), now = draw(&seed) % 3;
		volatile char *at = p[o] + page * PAGE;

		if (round % 4 == 0) {
			int error = adsm_mapping_protect((uintptr_t)at, n * PAGE, now);

			CHECK(!error || error == -ENOMEM);
			n_refused += error != 0;
			if (!error)
				memset(&limit[o][page], (int)now, n);
		}
		if (limit[o][page] >= ADSM_PROT_READ)
			CHECK_AT(*at, round, (char)bytes[o][page]);
		if (limit[o][page] == ADSM_PROT_RW)
			*at = (char)(bytes[o][page] = (unsigned char)round);
		for (unsigned i = 0; i < PAGES && round % 64 == 0; i++)
			CHECK_EQ(adsm_limit_at(object_of(p[o]), i * PAGE), limit[o][i]);
	}
	printf("%u of %u refused\n", n_refused, ROUNDS / 4);
	CHECK(!munmap(rest, 4096 * PAGE));
	for (unsigned o = 0; o < OBJECTS; o++) {
		CHECK(!adsm_mapping_protect((uintptr_t)p[o], PAGES * PAGE, ADSM_PROT_RW));
		CHECK(!adsm_is_limited(object_of(p[o])));
		for (unsigned page = 0; page < PAGES; page++)
			CHECK_AT(p[o][page * PAGE], page, (char)bytes[o][page]);
		CHECK(!adsmFree(p[o]));
	}
	want_mappings();
}

static void store(adsmKernel *crash, int *p, unsigned page)
{
	CHECK(!adsmCall(crash, ((adsmDim){ 1, 1, 1 }), ((adsmDim){ 1, 1, 1 }), adsmPtr(p), adsmVal(page * PAGE_WORDS)));
}

static unsigned n_sentences(int fd)
{
	static char text[1 << 16];
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	unsigned count = 0;

	CHECK(n >= 0);
	text[n] = '\0';
	for (const char *at = text; (at = strstr(at, "are not detected any more")); at++)
		count++;
	return count;
}

/* One kernel each stores to every second page of device memory: in the device's process each page is two mappings. */
static void test_guard(unsigned max)
{
	const unsigned n = max / 2 + 100;
	int **pages = calloc(2 * (size_t)n, sizeof(*pages)), *first;
	int fd = memfd_create("stderr", MFD_CLOEXEC), before = dup(STDERR_FILENO);
	char path[4096];
	adsmModule *module;
	adsmKernel *crash;

	snprintf(path, sizeof(path), "%s/crash.adsm", getenv("TEST_KERNELS"));
	module = adsmModuleLoad(path);
	CHECK(module && pages && fd >= 0 && before >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	crash = adsmKernelGet(module, "crash");
	for (unsigned i = 0; i < 2 * n; i++)
		CHECK((pages[i] = adsmDeviceAlloc(PAGE)));
	first = pages[0];
	for (unsigned i = 0; i < 2 * n; i++)
		first = pages[i] < first ? pages[i] : first;
	for (unsigned i = 0; i < 2 * n; i++)
		if ((size_t)(pages[i] - first) / PAGE_WORDS % 2) {
			CHECK(!adsmDeviceFree(pages[i]));
			pages[i] = NULL;
		}
	for (unsigned i = 0; i < 2 * n; i++) {
		if (pages[i])
			store(crash, pages[i], 0);
		if (i == 100) {
			CHECK(!adsmSync());
			CHECK_EQ(n_sentences(fd), 0);
		}
	}
	CHECK(!adsmSync());
	CHECK_EQ(n_sentences(fd), 1);
	/* All memory is open now, and stays so. */
	for (unsigned i = 0; i < 3; i++) {
		store(crash, first, 1);
		CHECK(!adsmSync());
	}
	CHECK_EQ(n_sentences(fd), 1);
	CHECK(dup2(before, STDERR_FILENO) >= 0);
	free(pages);
}

int main(int argc, char **argv)
{
	unsigned max = max_map_count();

	if (!max || max > 200000) {
		printf("skipped: vm.max_map_count is %u: to exceed it would take too much memory\n", max);
		return 77;
	}
	/* It leaves the process no mapping for a while. */
	if (WITH_TSAN && argc > 1 && !strcmp(argv[1], "limits")) {
		printf("skipped: ThreadSanitizer ends a process that can have no more mappings\n");
		return 77;
	}
	if (argc > 1 && !strcmp(argv[1], "edges"))
		test_edges(max);
	else if (argc > 1 && !strcmp(argv[1], "limits"))
		test_limits(max);
	else if (argc > 1 && !strcmp(argv[1], "guard"))
		test_guard(max);
	else if (argc > 1)
		test_objects(max);
	else
		test_blocks(max);
	return 0;
}
