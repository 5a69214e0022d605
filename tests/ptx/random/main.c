/* SPDX-License-Identifier: MIT */
/*
 * main.c - random kernels (generator.h) on the device `cpu` of the library, compared with an interpreter (machine.h).
 *
 * random ADSMCC CC FIRST N [OPTION]...
 *	the kernels of the seeds FIRST to FIRST + N - 1; options of the C compiler
 * random --reduce ADSMCC CC SEED [OPTION]...
 *	leave out statements of a kernel while its results differ, and write what is left to a file
 * random --file ADSMCC CC FILE [OPTION]...
 *	the kernel of such a file
 * random --print SEED
 *	print a kernel
 * random --interpret FIRST N
 *	only interpret the kernels, each in two orders of its threads
 *
 * With TEST_FULL=1: twenty times N. A kernel whose results differ is written to the file random-SEED.ptx.
 */
#include <adsm.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_MORE adsmLastError()
#define CHECK_OUT stdout
#include "../../check.h"
#include "generator.h"
#include "machine.h"

#define IN_SIZE (4 * GENERATOR_IN)
#define MOST_ROWS (130 * 12 * GENERATOR_ROW)
#define OWN_SIZE 64

/* What a kernel reads and writes. */
struct buffers {
	char *in, *rows, *sums, *own;
};

static struct {
	const char *adsmcc, *cc;
	char **options;
	char folder[64];
	bool reduces; /* a kernel that is wrong does not count */
	struct buffers device, machine, again;
} setup;

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return *state >> 32;
}

static struct buffers make_buffers(bool on_device)
{
	struct buffers buffers;

	buffers.in = on_device ? adsmAlloc(IN_SIZE) : aligned_alloc(64, IN_SIZE);
	buffers.rows = on_device ? adsmAlloc(MOST_ROWS) : aligned_alloc(64, MOST_ROWS);
	buffers.sums = on_device ? adsmAlloc(GENERATOR_SUMS) : aligned_alloc(64, GENERATOR_SUMS);
	CHECK(buffers.in && buffers.rows && buffers.sums);
	buffers.own = NULL;
	return buffers;
}

/* The same bytes for the same seed. */
static void fill(const struct buffers *buffers, const struct generated *made, size_t n_rows)
{
	uint64_t state = made->seed + 99;

	for (size_t i = 0; i < GENERATOR_IN; i++) {
		const uint32_t word = (uint32_t)next(&state), small = word % 100;
		const float f = (float)((int32_t)word % 1000) / 8;

		memcpy(buffers->in + 4 * i, i % 4 == 1 ? &small : &word, 4);
		if (i % 4 == 2)
			memcpy(buffers->in + 4 * i, &f, 4);
	}
	for (size_t i = 0; i < n_rows * GENERATOR_ROW; i++)
		buffers->rows[i] = (char)next(&state);
	for (size_t i = 0; i < GENERATOR_SUMS; i++)
		buffers->sums[i] = (char)next(&state);
	/* The sums of floats. */
	memset(buffers->sums + 32 * 8, 0, 32);
	memset(buffers->own, 0, OWN_SIZE);
}

static int compare_bytes(const char *what, const char *got, const char *want, size_t size, size_t row)
{
	for (size_t i = 0; i < size; i += 4) {
		uint32_t a, b;

		memcpy(&a, got + i, 4);
		memcpy(&b, want + i, 4);
		if (a == b)
			continue;
		printf("\t%s %zu, byte %zu: 0x%08x, expected 0x%08x\n", what, i / row, i % row, a, b);
		return 1;
	}
	return 0;
}

static int compare(const struct buffers *got, const struct buffers *want, size_t n_rows)
{
	int differs = compare_bytes("row", got->rows, want->rows, n_rows * GENERATOR_ROW, GENERATOR_ROW);

	differs |= compare_bytes("sums", got->sums, want->sums, GENERATOR_SUMS, GENERATOR_SUMS);
	return differs | compare_bytes("own_sums", got->own, want->own, OWN_SIZE, OWN_SIZE);
}

/* Values of the parameters after the buffers. */
struct values {
	uint32_t n;
	float x;
	uint64_t z;
	uint32_t s[3];
};

static struct values make_values(uint64_t seed)
{
	return (struct values){ (uint32_t)seed * 7 % 50,
				(float)(seed % 17) / 4,
				seed * 0x9e3779b97f4a7c15,
				{ (uint32_t)seed * 77, (uint32_t)seed % 9, (uint32_t)seed << 20 } };
}

static const char *interpret(struct machine *machine, const struct generated *made, struct buffers *buffers,
			     size_t n_rows, uint64_t order)
{
	const struct values values = make_values(made->seed);
	const void *const arguments[] = { &buffers->in, &buffers->rows, &buffers->sums, &values.n,
					  &values.x,	&values.z,	values.s };
	struct launch launch = { .arguments = arguments, .dynamic = made->dynamic, .order = order };
	uint64_t size;
	char name[64];

	snprintf(name, sizeof(name), "random_%llu", (unsigned long long)made->seed);
	for (uint32_t i = 0; i < machine->module->n_functions; i++)
		if (!strcmp(machine->module->functions[i]->name, name))
			launch.entry = machine->module->functions[i];
	buffers->own = machine_variable(machine, "own_sums", &size);
	CHECK(launch.entry && buffers->own && size == OWN_SIZE);
	memcpy(launch.grid, made->grid, sizeof(launch.grid));
	memcpy(launch.block, made->block, sizeof(launch.block));
	fill(buffers, made, n_rows);
	return machine_run(machine, &launch);
}

static void run(adsmModule *module, const struct generated *made, size_t n_rows)
{
	const struct values values = make_values(made->seed);
	const struct buffers *buffers = &setup.device;
	const adsmArg args[] = {
		{ ADSM_ARG_POINTER, 0, buffers->in, 0 },   { ADSM_ARG_POINTER, 0, buffers->rows, 0 },
		{ ADSM_ARG_POINTER, 0, buffers->sums, 0 }, { ADSM_ARG_VALUE, 0, &values.n, 4 },
		{ ADSM_ARG_VALUE, 0, &values.x, 4 },	   { ADSM_ARG_VALUE, 0, &values.z, 8 },
		{ ADSM_ARG_VALUE, 0, values.s, 12 },	   { ADSM_ARG_LOCAL, 0, NULL, made->dynamic },
	};
	char name[64];
	adsmKernel *kernel;

	snprintf(name, sizeof(name), "random_%llu", (unsigned long long)made->seed);
	kernel = adsmKernelGet(module, name);
	CHECKF(kernel, "%s", name);
	fill(buffers, made, n_rows);
	CHECKF(!adsmCallArgs(kernel, adsmDim3(made->grid[0], made->grid[1], made->grid[2]),
			     adsmDim3(made->block[0], made->block[1], made->block[2]), args, made->dynamic ? 8 : 7),
	       "%s", name);
	CHECKF(!adsmSync(), "%s", name);
}

/* Returns 0, or -1 if the kernel is wrong: the results are in setup.machine. */
static int interpret_twice(struct machine *machine, const struct generated *made, size_t n_rows)
{
	char own[OWN_SIZE];
	const char *error;

	error = interpret(machine, made, &setup.again, n_rows, made->seed | 1);
	memcpy(own, setup.again.own, sizeof(own));
	if (!error)
		error = interpret(machine, made, &setup.machine, n_rows, 0);
	if (error) {
		printf("random_%llu: the kernel is wrong: %s\n", (unsigned long long)made->seed, error);
		return -1;
	}
	setup.again.own = own;
	if (compare(&setup.again, &setup.machine, n_rows)) {
		printf("random_%llu: the kernel is wrong: its results depend on the order of threads\n",
		       (unsigned long long)made->seed);
		return -1;
	}
	return 0;
}

/* Returns 0 if the results are equal, 1 if they differ, -1 if the kernel is wrong. */
static int try_kernel(struct machine *machine, adsmModule *module, const struct generated *made)
{
	const size_t n_rows = (size_t)made->grid[0] * made->grid[1] * made->grid[2] * made->block[0] * made->block[1] *
			      made->block[2];
	char own[OWN_SIZE] = { 0 };
	size_t size;
	int differs;

	if (interpret_twice(machine, made, n_rows))
		return -1;
	if (!module)
		return 0;
	setup.device.own = adsmModuleGlobal(module, ADSM_DEVICE_CURRENT, "own_sums", &size);
	/* The module may have no kernel that uses it. */
	if (!setup.device.own)
		setup.device.own = own;
	run(module, made, n_rows);
	differs = compare(&setup.device, &setup.machine, n_rows);
	if (differs)
		printf("random_%llu: the results differ\n", (unsigned long long)made->seed);
	return differs;
}

/* ---- modules */

static void write_file(const char *path, const char *text, size_t size)
{
	FILE *out = fopen(path, "w");

	CHECKF(out && fwrite(text, 1, size, out) == size && !fclose(out), "%s", path);
}

/* Compile a text. Returns the exit status of adsmcc. */
static int compile(const char *input, const char *output)
{
	const char *argv[64] = { setup.adsmcc, "--cc", setup.cc, "-o", output, input };
	int n = 6, status;
	pid_t pid;

	while (setup.options[n - 6] && n < 63) {
		argv[n] = setup.options[n - 6];
		n++;
	}
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void save(uint64_t seed, const bool *left_out, size_t n)
{
	struct generated made;
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "random-%llu.ptx", (unsigned long long)seed);
	out = fopen(path, "w");
	CHECKF(out, "%s", path);
	generator_preamble(out);
	generator_kernel(out, seed, left_out, n, &made);
	fclose(out);
	printf("\twritten to %s; shorter: random --reduce ADSMCC CC %llu\n", path, (unsigned long long)seed);
}

/* Kernels of one module. Returns how many differ or are wrong. @saves: these are written to files. */
static int try_text(const char *text, size_t size, const struct generated *made, int n, bool saves)
{
	char input[128], output[128];
	struct adsm_ptx_module *tree;
	struct adsm_ptx_error error;
	struct machine machine;
	adsmModule *module = NULL;
	const uint64_t first = made->seed;
	const char *wrong;
	int n_wrong = 0;

	snprintf(input, sizeof(input), "%s/random.ptx", setup.folder);
	snprintf(output, sizeof(output), "%s/random.adsm", setup.folder);
	write_file(input, text, size);
	CHECKF(!adsm_ptx_parse(text, size, &tree, &error), "line %d: %s (%llu)", error.line, error.text,
	       (unsigned long long)first);
	wrong = machine_create(&machine, tree);
	CHECKF(!wrong, "%s", wrong);
	machine_allow(&machine, setup.machine.in, IN_SIZE);
	machine_allow(&machine, setup.machine.rows, MOST_ROWS);
	machine_allow(&machine, setup.machine.sums, GENERATOR_SUMS);
	machine_allow(&machine, setup.again.in, IN_SIZE);
	machine_allow(&machine, setup.again.rows, MOST_ROWS);
	machine_allow(&machine, setup.again.sums, GENERATOR_SUMS);
	if (setup.adsmcc) {
		CHECKF(!compile(input, output), "the kernels from %llu do not compile", (unsigned long long)first);
		module = adsmModuleLoad(output);
		CHECKF(module, "the kernels from %llu", (unsigned long long)first);
	}
	for (int i = 0; i < n; i++) {
		const int result = try_kernel(&machine, module, &made[i]);

		n_wrong += result > 0 || (result && !setup.reduces);
		if (result && saves)
			save(made[i].seed, NULL, 0);
	}
	CHECK(!module || !adsmModuleUnload(module));
	machine_destroy(&machine);
	adsm_ptx_destroy(tree);
	return n_wrong;
}

static int try_module(uint64_t first, int n, const bool *left_out, size_t n_left_out)
{
	struct generated *made = calloc((size_t)n, sizeof(*made));
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int n_wrong;

	CHECK(made && out);
	generator_preamble(out);
	for (int i = 0; i < n; i++)
		generator_kernel(out, first + (uint64_t)i, left_out, n_left_out, &made[i]);
	fclose(out);
	n_wrong = try_text(text, size, made, n, !left_out);
	free(text);
	free(made);
	return n_wrong;
}

/* A kernel of a file: its comment says how it is called. */
static int try_file(const char *path)
{
	static char text[1 << 20];
	struct generated made = { 0 };
	unsigned long long seed;
	const char *comment;
	FILE *in = fopen(path, "r");
	size_t size;

	CHECKF(in, "%s", path);
	size = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	comment = strstr(text, "// random_");
	CHECKF(comment && sscanf(comment, GENERATOR_COMMENT, &seed, &made.grid[0], &made.grid[1], &made.grid[2],
				 &made.block[0], &made.block[1], &made.block[2], &made.dynamic) == 8,
	       "%s", path);
	made.seed = seed;
	return try_text(text, size, &made, 1, false);
}

/* Leave out as many statements as possible while the results differ. */
static int reduce(uint64_t seed)
{
	struct generated made;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool *left_out;

	CHECK(out);
	generator_kernel(out, seed, NULL, 0, &made);
	fclose(out);
	left_out = calloc(made.n_statements + 1, sizeof(*left_out));
	CHECK(left_out);
	if (!try_module(seed, 1, left_out, made.n_statements)) {
		printf("the results of random_%llu do not differ\n", (unsigned long long)seed);
		return 1;
	}
	for (uint32_t chunk = made.n_statements; chunk; chunk /= 2) {
		for (uint32_t start = 0; start < made.n_statements; start += chunk) {
			bool *old = malloc(made.n_statements + 1);

			CHECK(old);
			memcpy(old, left_out, made.n_statements);
			for (uint32_t i = start; i < start + chunk && i < made.n_statements; i++)
				left_out[i] = true;
			if (memcmp(old, left_out, made.n_statements) != 0 &&
			    !try_module(seed, 1, left_out, made.n_statements))
				memcpy(left_out, old, made.n_statements);
			free(old);
		}
	}
	save(seed, left_out, made.n_statements);
	return 0;
}

static void start(void)
{
	const char *parent = getenv("TMPDIR");

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(setup.folder, sizeof(setup.folder), "%.40s/ptx-random-XXXXXX", parent ? parent : "/tmp");
	CHECK(mkdtemp(setup.folder));
	if (setup.adsmcc)
		setup.device = make_buffers(true);
	setup.machine = make_buffers(false);
	setup.again = make_buffers(false);
}

static void finish(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/random.ptx", setup.folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/random.adsm", setup.folder);
	unlink(path);
	rmdir(setup.folder);
}

int main(int argc, char **argv)
{
	const bool reduces = argc > 4 && !strcmp(argv[1], "--reduce"), is_file = argc > 4 && !strcmp(argv[1], "--file");
	struct generated made;
	uint64_t first;
	int n, n_wrong = 0;

	if (argc == 3 && !strcmp(argv[1], "--print")) {
		generator_preamble(stdout);
		generator_kernel(stdout, strtoull(argv[2], NULL, 0), NULL, 0, &made);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "--interpret")) {
		argv--;
	} else {
		CHECK(argc > 4);
		argv += reduces || is_file;
		setup.adsmcc = argv[1];
		setup.cc = argv[2];
		setup.options = argv + (reduces || is_file ? 4 : 5);
	}
	first = strtoull(argv[3], NULL, 0);
	start();
	setup.reduces = reduces;
	if (reduces || is_file) {
		n_wrong = reduces ? reduce(first) : try_file(argv[3]);
		finish();
		return n_wrong;
	}
	n = atoi(argv[4]) * (getenv("TEST_FULL") ? 20 : 1);
	for (int i = 0; i < n; i += 50)
		n_wrong += try_module(first + (uint64_t)i, n - i < 50 ? n - i : 50, NULL, 0);
	finish();
	printf("%d kernels, %d wrong\n", n, n_wrong);
	return n_wrong != 0;
}
