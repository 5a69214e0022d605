/* SPDX-License-Identifier: MIT */
/*
 * property.c - is what a module says of its kernels true? property MODULE LAUNCHES [-KERNEL...]: run each kernel, but
 * those with a minus, with random grids, blocks and values, in this process.
 *	IN		the pages of the parameter are closed for writing
 *	OUT		two runs over different bytes leave the same ones, as far as the launch is said to write
 */
#include "base/module.h"
#include "base/writes.h"

#include <adsm.h>
#include <adsm_kernel.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../../check.h"

#define REGION ((size_t)9 << 18)	/* bytes of a pointer's memory */
#define BEFORE ((size_t)1 << 18)	/* those before its target */
#define MOST_BLOCKS 8
#define MOST_THREADS 64			/* in x: kernels with an array of the block have as many */

struct launch {
	struct adsm_kernel_block block;
	struct value { uint64_t pointer; char bytes[1024]; } values[ADSM_KERNEL_PARAMS_MAX];
	char *regions[ADSM_KERNEL_PARAMS_MAX];
};

static const struct adsm_kernel_info *kernel;	/* the current one */
static struct launch launch;
static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(state >> 33) % n;
}

static void print_launch(FILE *to)
{
	const struct adsm_kernel_block *block = &launch.block;

	fprintf(to, "kernel %s, grid %u %u %u, block %u %u %u, values", kernel->name, block->grid[0], block->grid[1],
		block->grid[2], block->block[0], block->block[1], block->block[2]);
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		if (kernel->params[i].kind == ADSM_ARG_VALUE)
			fprintf(to, " %d", *(int *)launch.values[i].bytes);
	}
	fprintf(to, "\n");
}

/* A page that is closed was written. */
static void on_fault(int number)
{
	(void)number;
	print_launch(stdout);
	printf("an access outside of what the module says\n");
	fflush(stdout);
	_exit(1);
}

/* ---- A launch ----------------------------------------------------------------------------- */

static void choose_sizes(void)
{
	static const uint32_t threads[] = { 1, 2, 3, 8, 16, 32 };

	for (int i = 0; i < 3; i++) {
		launch.block.block[i] = i == 2 ? 1 + below(2) : threads[below(6)];
		launch.block.grid[i] = 1 + below(i == 0 ? 4 : 2);
	}
	if (below(2))
		launch.block.block[1] = launch.block.block[2] = launch.block.grid[1] = launch.block.grid[2] = 1;
	if (launch.block.block[0] * launch.block.block[1] > MOST_THREADS)
		launch.block.block[1] = 2;
	/* This one has an array of as many. */
	if (!strcmp(kernel->name, "reduces")) {
		launch.block.block[0] = MOST_THREADS;
		launch.block.block[1] = launch.block.block[2] = 1;
	}
}

/* A small integer, or one that fits the launch. */
static int choose_integer(bool *special)
{
	const uint32_t d = below(3), n = launch.block.grid[d] * launch.block.block[d];

	if (*special || below(2))
		return (int)below(26) - 1;
	*special = true;
	return (int)(n + below(3)) - 1;
}

static void choose_values(void)
{
	bool special = false;

	for (uint32_t i = 0; i < kernel->n_params + kernel->n_variables; i++) {
		const struct adsm_param *param = &kernel->params[i];
		struct value *value = &launch.values[i];

		memset(value->bytes, 0, sizeof(value->bytes));
		if (param->kind == ADSM_ARG_POINTER || param->kind == ADSM_PARAM_VARIABLE) {
			value->pointer = (uintptr_t)launch.regions[i] + BEFORE;
			memcpy(value->bytes, &value->pointer, sizeof(value->pointer));
			continue;
		}
		if (param->kind == ADSM_ARG_LOCAL) {
			memcpy(value->bytes, &(uint64_t){ 4096 }, sizeof(uint64_t));
		} else if (!strcmp(param->type, "f32")) {
			memcpy(value->bytes, &(float){ below(9) }, sizeof(float));
		} else if (!strcmp(param->type, "f64")) {
			memcpy(value->bytes, &(double){ below(9) }, sizeof(double));
		} else {
			int64_t number = choose_integer(&special);

			CHECKF(param->size <= sizeof(value->bytes), "%s", kernel->name);
			/* As size_t, -1 is a large number. */
			number = number < 0 && param->size == 8 ? 0 : number;
			if (param->size == 8)
				memcpy(value->bytes, &number, 8);
			for (size_t at = 0; param->size != 8 && at < param->size; at += 4)
				memcpy(value->bytes + at, at ? &(int){ choose_integer(&special) } : (int *)&number, 4);
		}
	}
}

static void run_blocks(adsm_kernel_run *run)
{
	const void *args[ADSM_KERNEL_PARAMS_MAX];
	uint32_t *at = launch.block.index;

	for (uint32_t i = 0; i < kernel->n_params + kernel->n_variables; i++)
		args[i] = launch.values[i].bytes;
	for (at[2] = 0; at[2] < launch.block.grid[2]; at[2]++) {
		for (at[1] = 0; at[1] < launch.block.grid[1]; at[1]++) {
			for (at[0] = 0; at[0] < launch.block.grid[0]; at[0]++)
				run(&launch.block, args);
		}
	}
}

/* ---- What the module says ------------------------------------------------------------------ */

static bool value_of(const void *arg, uint32_t param, uint32_t offset, uint32_t size, int64_t *ret_value)
{
	const struct launch *given = arg;
	const char *bytes = given->values[param].bytes + offset;

	if (kernel->params[param].kind != ADSM_ARG_VALUE)
		return false;
	*ret_value = size == 4 ? *(const int32_t *)bytes : *(const int64_t *)bytes;
	return true;
}

/* How many bytes, from the address that the parameter has, are said to be written? */
static size_t find_written(uint32_t param)
{
	const struct adsm_writes_launch given = {
		.grid = launch.block.grid, .block = launch.block.block, .value = value_of, .arg = &launch,
	};
	size_t least = 0, most = REGION - BEFORE;

	if (!kernel->params[param].writes)
		return 0;
	while (least < most) {
		const size_t middle = least + (most - least + 1) / 2;

		if (adsm_writes_cover(kernel->params[param].writes, &given, 0, (int64_t)middle))
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

static void fill(uint32_t param, uint8_t mask)
{
	uint64_t word = param * 2654435761u + 1;

	for (size_t i = 0; i < REGION; i += sizeof(word)) {
		const uint64_t bits = word ^ (mask ? UINT64_MAX : 0);

		word = word * 6364136223846793005 + 1442695040888963407;
		memcpy(launch.regions[param] + i, &bits, sizeof(bits));
	}
}

static bool is_pointer(uint32_t param)
{
	return kernel->params[param].kind == ADSM_ARG_POINTER || kernel->params[param].kind == ADSM_PARAM_VARIABLE;
}

/* Returns how many parameters are written whole in part. */
static uint32_t check(adsm_kernel_run *run, char *copies[])
{
	size_t written[ADSM_KERNEL_PARAMS_MAX] = { 0 };
	uint32_t n = 0;

	choose_sizes();
	choose_values();
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		written[i] = find_written(i);
		n += written[i] > 0;
	}
	for (int turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < kernel->n_params + kernel->n_variables; i++) {
			if (!is_pointer(i))
				continue;
			fill(i, turn && written[i]);
			if (kernel->params[i].access == ADSM_ACCESS_IN)
				CHECK_OK(mprotect(launch.regions[i], REGION, PROT_READ));
		}
		run_blocks(run);
		for (uint32_t i = 0; i < kernel->n_params + kernel->n_variables; i++) {
			if (is_pointer(i))
				CHECK_OK(mprotect(launch.regions[i], REGION, PROT_READ | PROT_WRITE));
			if (!turn && written[i])
				memcpy(copies[i], launch.regions[i] + BEFORE, written[i]);
		}
		if (!n)
			return 0;
	}
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		if (!memcmp(copies[i], launch.regions[i] + BEFORE, written[i]))
			continue;
		print_launch(stdout);
		FAIL("parameter %u: %zu bytes are said to be written, and are not", i, written[i]);
	}
	return n;
}

static bool is_left_out(char **names, int n)
{
	for (int i = 0; i < n; i++) {
		if (*names[i] == '-' && !strcmp(names[i] + 1, kernel->name))
			return true;
	}
	return false;
}

static struct adsm_module_info *read_module(const char *name)
{
	struct adsm_module_info *info;
	FILE *file = fopen(name, "rb");
	static char bytes[32 << 20];
	size_t size;

	CHECKF(file, "%s", name);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	CHECK_OK(adsm_module_info_create(bytes, size, &info));
	return info;
}

int main(int argc, char **argv)
{
	struct adsm_module_info *info = argc > 2 ? read_module(argv[1]) : NULL;
	void *code = info ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	char *copies[ADSM_KERNEL_PARAMS_MAX];
	uint32_t n_checked = 0, n_written = 0;

	CHECKF(code, "%s", dlerror());
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	for (uint32_t i = 0; i < ADSM_KERNEL_PARAMS_MAX; i++) {
		launch.regions[i] = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		copies[i] = malloc(REGION);
		CHECK(launch.regions[i] != MAP_FAILED && copies[i]);
	}
	for (size_t k = 0; k < info->n_kernels; k++) {
		char symbol[128];
		uint32_t n = 0;
		adsm_kernel_run *run;

		kernel = &info->kernels[k];
		snprintf(symbol, sizeof(symbol), "adsm_run_%s", kernel->name);
		run = (adsm_kernel_run *)dlsym(code, symbol);
		snprintf(symbol, sizeof(symbol), "adsm_step_%s", kernel->name);
		/* Those with pointers in memory have no such memory here; those that wait for blocks need a device. */
		if (!run || dlsym(code, symbol) || kernel->any_object || is_left_out(argv + 3, argc - 3))
			continue;
		for (int i = 0; i < atoi(argv[2]); i++)
			n += check(run, copies);
		n_checked++;
		n_written += n > 0;
	}
	printf("%u kernels of %zu, %u of which write all of something\n", n_checked, info->n_kernels, n_written);
	CHECK(n_checked);
	return 0;
}
