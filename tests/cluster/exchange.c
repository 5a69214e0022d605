/* SPDX-License-Identifier: MIT */
/*
 * exchange.c - pages between the nodes of a cluster: exchange CASE OPTIONS… [-- CASE OPTIONS…]…, one rank for each
 * node. A case checks what it can alone; what has to be the same for other numbers of nodes is printed, and compared by
 * exchange.py.
 */
#include "exchange_app.h"

#include "base/os.h"
#include "check.h"
#include "cluster/node/exchange/exchange.h"

#include <stdlib.h>

#define ARENA ((size_t)3 << 30)
#define PAGE_FLOATS (ADSM_PAGE_SIZE / sizeof(float))

/* ---- the six programs of CUDA-For-Clusters: their memory and which block writes what, with little arithmetic */

struct layout {
	float *in[3], *out[2];
	uint64_t *counts;
	uint64_t n;
};

static void run_cp(uint64_t block, const void *data)
{
	const struct layout *l = data;
	const uint64_t left = block % 8 * 128, top = block / 8 * 8;

	for (uint64_t y = top; y < top + 8; y++) {
		for (uint64_t x = left; x < left + 128; x++)
			l->out[0][y * 1024 + x] += 1.0f / (float)(x + y + 1);
	}
}

static void run_mri(uint64_t block, const void *data)
{
	const struct layout *l = data;

	for (uint64_t i = block * 256; i < block * 256 + 256 && i < l->n; i++) {
		float t = l->in[0][i] + 2 * l->in[1][i] + 3 * l->in[2][i];

		l->out[0][i] += t + 1;
		l->out[1][i] += t - 1;
	}
}

static void run_tpacf(uint64_t block, const void *data)
{
	const struct layout *l = data;

	for (uint64_t i = block * 20; i < block * 20 + 20; i++)
		l->counts[i] += i + (l->in[0][block * 4096] > 0);
}

static void price(const struct layout *l, uint64_t i)
{
	l->out[0][i] = l->in[0][i] - l->in[1][i] * l->in[2][i];
	l->out[1][i] = l->in[1][i] - l->in[0][i] + 1;
}

static void run_options(uint64_t block, const void *data)
{
	const struct layout *l = data;
	const uint64_t share = (l->n + 479) / 480;

	for (uint64_t i = block * share; i < (block + 1) * share && i < l->n; i++)
		price(l, i);
}

static void run_options_stride(uint64_t block, const void *data)
{
	const struct layout *l = data;

	for (uint64_t at = block * 128; at < l->n; at += 480ul * 128) {
		for (uint64_t i = at; i < at + 128 && i < l->n; i++)
			price(l, i);
	}
}

static void run_scan(uint64_t block, const void *data)
{
	const struct layout *l = data;
	float sum = 1;

	for (uint64_t i = block * 512; i < block * 512 + 512; i++) {
		l->out[0][i] = sum;
		sum += l->in[0][i];
	}
}

/* ---- others */

/* Block b of B adds one to elements b, b + B, … */
struct adding { uint64_t size, n, stride, n_blocks; uint8_t *p; };

static void run_add(uint64_t block, const void *data)
{
	const struct adding *a = data;

	for (uint64_t i = block; i < a->n; i += a->n_blocks) {
		if (a->size == 1)
			a->p[i * a->stride]++;
		else
			++*(uint32_t *)(a->p + i * a->stride);
	}
}

/* Each block adds what it finds in @seen_pages pages behind its own to its own pages. */
struct neighbours { uint32_t *p; uint64_t pages, seen_pages, n_blocks; const uint32_t *from; };

static void run_neighbours(uint64_t block, const void *data)
{
	const struct neighbours *a = data;
	const uint64_t words = ADSM_PAGE_SIZE / 4, next = (block + 1) % a->n_blocks;

	for (uint64_t i = 0; i < a->pages; i++) {
		uint32_t seen = i < a->seen_pages ? a->from[(next * a->pages + i) * words] : 1;

		a->p[(block * a->pages + i) * words] += seen + (uint32_t)i;
	}
}

/* Other nodes than node 0 get pages from it that come unmapped, some of them again and again. */
static void run_probed(uint64_t block, const void *data)
{
	static const struct adsm_run runs[] = { { 0, 4 }, { 0, 4 }, { 6, 2 }, { 2, 3 }, { 0, 8 }, { 7, 1 } };
	static uint8_t bytes[8 * ADSM_PAGE_SIZE];
	const struct adsm_letter letter = { .data = bytes, .size = sizeof(bytes) };
	struct adsm_runs untouched = { 0 };

	for (size_t i = 0; block && i < sizeof(runs) / sizeof(runs[0]); i++) {
		const struct adsm_segment segment = { .first = runs[i].first, .n = (uint32_t)runs[i].n,
						      .flags = ADSM_SEGMENT_PROBE, .readers = UINT64_MAX };
		size_t at = 0;

		adsm_exchange_take(&letter, &at, &segment, 1, &untouched);
		CHECK(adsm_runs_pages(untouched.v, untouched.n) <= 8);
	}
	CHECK(!block || (untouched.n == 1 && untouched.v[0].n == 8));
	free(untouched.v);
}

/* Which block ran: how often. */
struct once { uint32_t *p; uint64_t first; };

static void run_once(uint64_t block, const void *data)
{
	const struct once *a = data;

	a->p[block - a->first] += (uint32_t)block;
}

enum { HASH, CP, MRI, TPACF, OPTIONS, OPTIONS_STRIDE, SCAN, ADD, NEIGHBOURS, ONCE, PROBED };

app_kernel *const app_kernels[] = { app_hash_kernel, run_cp, run_mri, run_tpacf, run_options, run_options_stride,
				    run_scan, run_add, run_neighbours, run_once, run_probed };

static float *alloc_floats(uint64_t n, unsigned seed)
{
	float *p = app_alloc(n * sizeof(float)), *host = app_host(p);

	for (uint64_t i = 0; i < n; i++)
		host[i] = (float)((i * 7 + seed) % 1021) / 16;
	return p;
}

static struct adsm_node_counts launch(uint32_t kernel, uint64_t n_blocks, const void *args, size_t size)
{
	return app_launch(&(struct app_call){ .kernel = kernel, .n_blocks = n_blocks, .args = args, .size = size });
}

static void print_counts(const struct adsm_node_counts *c)
{
	printf("global=%lu modified=%lu single=%lu multi=%lu write_faults=%lu pushed=%lu fetched=%lu ", c->global,
	       c->modified, c->single, c->multi, c->write_faults, c->pushed, c->fetched);
	printf("messages=%lu bytes=%lu control_messages=%lu control_bytes=%lu kernel_us=%lu exchange_us=%lu\n",
	       c->pages.messages, c->pages.bytes, c->control.messages, c->control.bytes, c->kernel_ns / 1000,
	       c->exchange_ns / 1000);
}

/* The program's memory, in the order of its allocation. Returns the kernel. */
static uint32_t make_program(const char *name, struct layout *l, uint64_t *ret_blocks)
{
	if (!strcmp(name, "cp")) {
		l->out[0] = alloc_floats(1024 * 1024, 0);
		*ret_blocks = 1024;
		return CP;
	}
	if (!strncmp(name, "mri", 3)) {
		const uint64_t pages = !strcmp(name, "mri-q") ? 254 : 255;

		l->n = pages * PAGE_FLOATS;
		for (unsigned i = 0; i < 2; i++)
			l->out[i] = alloc_floats(l->n, i);
		for (unsigned i = 0; i < 3; i++)
			l->in[i] = alloc_floats(l->n, i);
		app_alloc((pages == 254 ? 16 : 23) * ADSM_PAGE_SIZE);
		*ret_blocks = (l->n + 255) / 256;
		return MRI;
	}
	if (!strcmp(name, "tpacf")) {
		l->in[0] = alloc_floats(3ul * 4096 * 101, 0);
		l->counts = app_alloc(201 * 20 * sizeof(uint64_t));
		*ret_blocks = 201;
		return TPACF;
	}
	if (!strcmp(name, "scan")) {
		l->in[0] = alloc_floats(25600, 0);
		l->out[0] = alloc_floats(25600, 0);
		*ret_blocks = 50;
		return SCAN;
	}
	CHECKF(!strncmp(name, "options", 7), "program %s", name);
	l->n = strtoul(app_option("n", "5000000"), NULL, 0);
	for (unsigned i = 0; i < 3; i++)
		l->in[i] = alloc_floats(l->n, i);
	for (unsigned i = 0; i < 2; i++)
		l->out[i] = app_alloc(l->n * sizeof(float));
	*ret_blocks = 480;
	return !strcmp(name, "options") ? OPTIONS : OPTIONS_STRIDE;
}

static void case_program(void)
{
	const unsigned n = (unsigned)strtoul(app_option("launches", "3"), NULL, 0);
	struct adsm_node_counts counts;
	struct layout l = { 0 };
	uint64_t n_blocks;
	uint32_t kernel = make_program(app_option("program", "cp"), &l, &n_blocks);

	for (unsigned i = 0; i < n; i++) {
		counts = launch(kernel, n_blocks, &l, sizeof(l));
		print_counts(&counts);
	}
	if (adsm_comm.n > 1)
		app_check_nodes();
	printf("hash=%lx\n", app_hash());
}

/* Elements of nodes lie side by side, in one page or in alternating ones: nothing is lost. */
static void case_sharing(void)
{
	const unsigned rounds = (unsigned)strtoul(app_option("rounds", "1000"), NULL, 0);
	struct adding a = { .n_blocks = 64 };
	struct adsm_node_counts counts;

	a.size = strtoul(app_option("size", "1"), NULL, 0);
	a.n = strtoul(app_option("n", "10000"), NULL, 0);
	a.stride = strtoul(app_option("stride", "1"), NULL, 0);
	if (a.stride == ADSM_PAGE_SIZE)
		a.n_blocks = (uint64_t)adsm_comm.n;
	a.p = app_alloc(a.n * a.stride);
	for (unsigned i = 0; i < rounds; i++)
		counts = launch(ADD, a.n_blocks, &a, sizeof(a));
	for (uint64_t i = 0; i < a.n; i++) {
		const uint8_t *p = (const uint8_t *)app_host(a.p) + i * a.stride;

		if (a.size == 1)
			CHECK_EQ(*p, (uint8_t)rounds);
		else
			CHECK_EQ(*(const uint32_t *)p, rounds);
	}
	print_counts(&counts);
	if (adsm_comm.n > 1)
		app_check_nodes();
}

/* Lazy exactly above the threshold. */
static void case_threshold(void)
{
	struct adding a = { .size = 4, .stride = ADSM_PAGE_SIZE, .n_blocks = (uint64_t)adsm_comm.n };
	const uint64_t others = (uint64_t)adsm_comm.n - 1;

	a.p = app_alloc(2049 * ADSM_PAGE_SIZE);
	for (a.n = 2047; a.n <= 2049; a.n++) {
		struct adsm_node_counts counts = launch(ADD, a.n_blocks, &a, sizeof(a));

		CHECK_EQ(counts.modified, a.n);
		/* Node 0 wrote every page whose number can be divided by the number of nodes: those go to all, others
		 * to all but node 0, which does not count. */
		CHECK_EQ(counts.pushed, a.n > 2048 ? 0 : a.n * others - (a.n - (a.n + others) / (others + 1)));
	}
}

/* Single writers of contiguous pages: what goes over the network, to the byte. */
static void case_bytes(void)
{
	const uint64_t n = (uint64_t)adsm_comm.n, pages = 840;	/* 1 … 8 divide it */
	struct neighbours a = { .pages = pages / n, .n_blocks = n };
	struct adsm_node_counts counts;

	a.from = a.p = app_alloc(pages * ADSM_PAGE_SIZE);
	for (unsigned i = 0; i < 3; i++)
		counts = launch(NEIGHBOURS, n, &a, sizeof(a));
	CHECK_EQ(counts.single, pages);
	CHECK_EQ(counts.fetched, 0);
	if (!strcmp(app_option("mode", ""), "eager"))
		CHECK_EQ(counts.pages.bytes, (n - 1) * pages * ADSM_PAGE_SIZE);
	else
		CHECK_EQ(counts.pages.bytes, (n - 1) * pages / n * ADSM_PAGE_SIZE);
	app_check_nodes();
}

/* Nodes that read what others wrote: each its neighbour's first pages. */
static void case_readers(void)
{
	const unsigned launches = (unsigned)strtoul(app_option("launches", "40"), NULL, 0);
	struct neighbours a = { .pages = 64, .n_blocks = (uint64_t)adsm_comm.n };
	struct adsm_node_counts sum = { 0 };
	uint32_t *p[2];

	a.seen_pages = strtoul(app_option("seen", "4"), NULL, 0);
	for (unsigned i = 0; i < 2; i++)
		p[i] = app_alloc(a.pages * a.n_blocks * ADSM_PAGE_SIZE);
	for (unsigned i = 0; i < launches; i++) {
		struct adsm_node_counts counts;

		a.from = p[i % 2];
		a.p = p[(i + 1) % 2];
		counts = launch(NEIGHBOURS, a.n_blocks, &a, sizeof(a));
		if (i < 4)
			continue;
		sum.pages.bytes += counts.pages.bytes;
		sum.pages.messages += counts.pages.messages;
		sum.control.bytes += counts.control.bytes;
		sum.control.messages += counts.control.messages;
		sum.pushed += counts.pushed;
		sum.fetched += counts.fetched;
		sum.exchange_ns += counts.exchange_ns;
		sum.kernel_ns += counts.kernel_ns;
	}
	print_counts(&sum);
	app_check_nodes();
	printf("hash=%lx\n", app_hash());
}

/* Each block runs once, whatever the number of blocks; node 0 alone; the host writes, frees and allocates between. */
static void case_blocks(void)
{
	static const uint64_t numbers[] = { 1, 2, 3, 5, 7, 64, 1000, 1009 };
	struct once a;

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint32_t *host;

		a = (struct once){ .p = app_alloc(numbers[i] * 4) };
		host = app_host(a.p);
		memset(host, 0, numbers[i] * 4);
		for (unsigned k = 0; k < 4; k++) {
			struct app_call call = { .kernel = ONCE, .n_blocks = numbers[i], .args = &a, .size = sizeof(a),
						 .alone = k == 3 };

			app_launch(&call);
			host[0] += 10;
			app_wrote(a.p, 4);
		}
		for (uint64_t b = 0; b < numbers[i]; b++)
			CHECK_EQ(host[b], 4 * b + (b ? 0 : 40));
		app_check_nodes();
		if (i % 2)
			app_free(a.p);
	}
}

/* What a launch may only read costs nothing. */
static void case_read_only(void)
{
	struct neighbours a = { .pages = 16, .seen_pages = 16, .n_blocks = (uint64_t)adsm_comm.n };
	struct adsm_node_counts counts;
	struct app_call call = { .kernel = NEIGHBOURS, .n_blocks = a.n_blocks, .args = &a, .size = sizeof(a) };

	a.from = app_alloc(a.pages * a.n_blocks * ADSM_PAGE_SIZE);
	a.p = app_alloc(a.pages * a.n_blocks * ADSM_PAGE_SIZE);
	call.read_only = a.from;
	for (unsigned i = 0; i < 3; i++)
		counts = app_launch(&call);
	CHECK_EQ(counts.write_faults, a.pages * a.n_blocks);
	CHECK_EQ(counts.modified, a.pages * a.n_blocks);
	CHECK_EQ(counts.fetched, 0);
	/* A store to it ends the job. */
	call.read_only = a.p;
	if (*app_option("store", ""))
		app_launch(&call);
}

/* The list of pages that came unmapped never has more pages than there are. */
static void case_probed(void)
{
	app_alloc(8 * ADSM_PAGE_SIZE);
	launch(PROBED, (uint64_t)adsm_comm.n, NULL, 0);
	app_check_nodes();
}

/* So little was written that each node gets one letter and sends one; what they have written is inside. */
static void case_messages(void)
{
	const uint64_t n = (uint64_t)adsm_comm.n, others = n - 1, pages = n > 4 ? 64 / n : 16;
	struct neighbours a = { .pages = pages, .seen_pages = 1, .n_blocks = n };
	struct once nothing = { 0 };
	struct adsm_node_counts counts;
	bool paper = !strcmp(app_option("mode", ""), "paper");

	a.from = a.p = app_alloc(2 * pages * n * ADSM_PAGE_SIZE);
	launch(NEIGHBOURS, n, &a, sizeof(a));
	for (unsigned i = 0; i < 3; i++) {
		counts = launch(ONCE, 0, &nothing, sizeof(nothing));
		CHECK_EQ(counts.control.messages, (paper ? 3 : 2) * others);
		CHECK_EQ(counts.pages.messages, 0);
		CHECK_EQ(counts.pages.bytes, 0);
	}
	/* What the host writes goes with the launch. */
	*(uint32_t *)app_host(a.p) += 7;
	app_wrote(a.p, 4);
	for (unsigned i = 0; i < 3; i++) {
		a.seen_pages = 0;
		counts = launch(NEIGHBOURS, n, &a, sizeof(a));
		CHECK_EQ(counts.modified, pages * n);
		CHECK_EQ(counts.control.messages, (paper ? 3 : 2) * others);
		CHECK(paper || !counts.pages.messages);
		CHECK(others == 0 || counts.pages.bytes);
	}
	app_check_nodes();
	/* One page more of each. */
	a.pages++;
	counts = launch(NEIGHBOURS, n, &a, sizeof(a));
	CHECK_EQ(counts.control.messages, others ? 3 * others : 0);
	CHECK_EQ(counts.pages.messages > 0, others > 0);
	app_check_nodes();
	printf("hash=%lx\n", app_hash());
}

/* A launch that does nothing, again and again. */
static void case_empty(void)
{
	const unsigned n = (unsigned)strtoul(app_option("launches", "1000"), NULL, 0);
	uint64_t start;
	struct once a = { 0 };

	app_alloc(ADSM_PAGE_SIZE);
	launch(ONCE, 0, &a, sizeof(a));
	start = adsm_os_now_ns();
	for (unsigned i = 0; i < n; i++)
		launch(ONCE, 0, &a, sizeof(a));
	printf("launch_ns=%lu\n", (adsm_os_now_ns() - start) / n);
}

static void run_case(const char *name)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "program", case_program }, { "sharing", case_sharing }, { "threshold", case_threshold },
		{ "bytes", case_bytes }, { "readers", case_readers }, { "blocks", case_blocks },
		{ "read-only", case_read_only }, { "probed", case_probed }, { "empty", case_empty },
		{ "messages", case_messages },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!strcmp(name, cases[i].name)) {
			cases[i].run();
			return;
		}
	}
	FAIL("no case %s", name);
}

/* Where the next case begins, behind a word "--"; @argc: there is none. */
static int find_next(int argc, char **argv, int i)
{
	while (i < argc && strcmp(argv[i], "--"))
		i++;
	return i < argc ? i + 1 : argc;
}

int main(int argc, char **argv)
{
	int next = find_next(argc, argv, 1);

	app_start(next < argc ? next - 1 : argc, argv, ARENA);
	run_case(argc > 1 ? argv[1] : "");
	while (next < argc) {
		const int first = next - 1;

		next = find_next(argc, argv, next);
		printf("--\n");
		app_next((next < argc ? next - 1 : argc) - first, argv + first);
		run_case(argv[first + 1]);
	}
	app_finish();
}
