/* SPDX-License-Identifier: MIT */
/*
 * run.c - kernels in CUDA C on a device of the library, compared with C: run THEME MODULE [KERNEL]... All cases of a
 * theme (kernels/cases.h), or those of the named kernels. Several themes: run all THEME MODULE [THEME MODULE]...
 */
#include <adsm.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MORE adsmLastError()
#define CHECK_OUT stdout
#include "../check.h"
#include "kernels/cases.h"

static const struct {
	const char *name;
	const struct cuda_case *cases;
} themes[] = {
#define THEME(name) { #name, name##_cases }
	THEME(barriers), THEME(bodies), THEME(calls), THEME(exits), THEME(grids), THEME(halves), THEME(histograms),
	THEME(indices), THEME(lambdas), THEME(locks), THEME(memory), THEME(numbers), THEME(randoms), THEME(reductions),
	THEME(scans), THEME(shuffles), THEME(templates), THEME(textures), THEME(tiles),
	THEME(waits),
};

static size_t size_of(enum case_type type)
{
	switch (type) {
	case CASE_I16:
		return 2;
	case CASE_I32:
	case CASE_F32:
		return 4;
	case CASE_I64:
	case CASE_F64:
		return 8;
	default:
		return 1;
	}
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return *state >> 32 ^ *state << 32;
}

/* The same numbers for the same argument. */
static void fill(const struct case_arg *arg, unsigned number, void *p)
{
	uint64_t state = number * 77 + 5;

	memset(p, 0, arg->n * size_of(arg->type));
	for (size_t i = 0; arg->fill == CASE_RANDOM && i < arg->n; i++) {
		const uint64_t word = next(&state);

		if (arg->type == CASE_F32)
			((float *)p)[i] = (float)((double)(int32_t)word / 2147483648.0);
		else if (arg->type == CASE_F64)
			((double *)p)[i] = (double)(int64_t)word / 9223372036854775808.0;
		else
			memcpy((char *)p + i * size_of(arg->type), &word, size_of(arg->type));
	}
}

static bool is_near(double got, double want, double tolerance)
{
	return fabs(got - want) <= tolerance * fmax(1, fabs(want)) || (isnan(got) && isnan(want));
}

/* Is element @i equal? Floats with a tolerance, all others bit for bit. */
static bool is_equal(const struct cuda_case *c, const struct case_arg *arg, const void *got, const void *want, size_t i)
{
	const size_t size = size_of(arg->type);

	if (c->tolerance > 0 && arg->type == CASE_F32)
		return is_near(((const float *)got)[i], ((const float *)want)[i], c->tolerance);
	if (c->tolerance > 0 && arg->type == CASE_F64)
		return is_near(((const double *)got)[i], ((const double *)want)[i], c->tolerance);
	return !memcmp((const char *)got + i * size, (const char *)want + i * size, size);
}

static void compare(const struct cuda_case *c, unsigned number, const void *got, const void *want)
{
	const struct case_arg *arg = &c->args[number];
	const size_t size = size_of(arg->type);

	for (size_t i = 0; i < arg->n; i++) {
		long long a = 0, b = 0;

		if (is_equal(c, arg, got, want, i))
			continue;
		memcpy(&a, (const char *)got + i * size, size);
		memcpy(&b, (const char *)want + i * size, size);
		if (arg->type == CASE_F32)
			FAIL("%s: argument %u, element %zu: %.9g, not %.9g", c->kernel, number, i,
			     ((const float *)got)[i], ((const float *)want)[i]);
		if (arg->type == CASE_F64)
			FAIL("%s: argument %u, element %zu: %.17g, not %.17g", c->kernel, number, i,
			     ((const double *)got)[i], ((const double *)want)[i]);
		FAIL("%s: argument %u, element %zu: %#llx, not %#llx", c->kernel, number, i, a, b);
	}
}

/* Describe a texture at @texture: rows, and layers or depths, follow each other. */
static void make_texture(adsmTexture *texture, const adsmTexture *like, const void *elements)
{
	CHECK(texture);
	*texture = adsmTextureOf(elements, like->kind, like->bits, like->channels, like->size[0], like->size[1],
				 like->size[2]);
	texture->layers = like->layers ? like->layers : 1;
	texture->normalized = like->normalized;
	texture->linear = like->linear;
	texture->to_float = like->to_float;
	memcpy(texture->edges, like->edges, sizeof(like->edges));
	memcpy(texture->border, like->border, sizeof(like->border));
}

/* Call the kernel as often as the case says, and the function as often. */
static void run(const struct cuda_case *c, adsmModule *module)
{
	const adsmDim grid = { c->grid[0], c->grid[1], c->grid[2] };
	const adsmDim block = { c->block[0], c->block[1], c->block[2] };
	adsmKernel *kernel = adsmKernelGet(module, c->kernel);
	void *buffers[CASE_MAX_ARGS] = { 0 }, *copies[CASE_MAX_ARGS] = { 0 };
	adsmTexture *textures[CASE_MAX_ARGS] = { 0 };
	adsmArg args[CASE_MAX_ARGS + 1] = { { 0 } };
	unsigned n = 0, n_args = 0;

	CHECK(kernel);
	for (; n < CASE_MAX_ARGS && c->args[n].type; n++) {
		const struct case_arg *arg = &c->args[n];
		const bool is_value = arg->type == CASE_VALUE;

		copies[n] = is_value ? (void *)arg->value : malloc(arg->n * size_of(arg->type));
		if (!is_value) {
			buffers[n] = adsmAlloc(arg->n * size_of(arg->type));
			CHECK(buffers[n] && copies[n]);
			fill(arg, n, buffers[n]);
			fill(arg, n, copies[n]);
		}
		if (arg->texture && !arg->reference)
			textures[n] = adsmAlloc(sizeof(*textures[n]));
		if (arg->reference) {
			void *variable = adsmModuleGlobal(module, ADSM_DEVICE_CURRENT, arg->reference, NULL);

			/* It is the module's. */
			CHECK(adsmFree(variable) == -EINVAL && strstr(adsmLastError(), "adsmModuleUnload()"));
			CHECK_OK(adsmHold(variable, 1, ADSM_ACCESS_IN));
			CHECK(adsmModuleUnload(module) == -EBUSY && strstr(adsmLastError(), "adsmUnhold()"));
			CHECK_OK(adsmUnhold(variable, 1));
			make_texture(variable, arg->texture, buffers[n]);
		} else if (arg->texture) {
			make_texture(textures[n], arg->texture, buffers[n]);
		}
		if (!arg->reference)
			args[n_args++] = is_value ? (adsmArg){ ADSM_ARG_VALUE, 0, arg->value, arg->n } :
				(adsmArg){ ADSM_ARG_POINTER, 0, textures[n] ? textures[n] : buffers[n], 0 };
	}
	if (c->shared)
		args[n_args++] = (adsmArg){ ADSM_ARG_LOCAL, 0, NULL, c->shared };
	for (unsigned launch = 0; launch < (c->launches ? c->launches : 1); launch++) {
		CHECK_OK(adsmCallArgs(kernel, grid, block, args, n_args));
		CHECK_OK(adsmSync());
		c->reference(c, copies, launch);
	}
	for (unsigned i = 0; i < n; i++) {
		if (!buffers[i])
			continue;
		compare(c, i, buffers[i], copies[i]);
		CHECK_OK(adsmFree(buffers[i]));
		CHECK_OK(adsmFree(textures[i]));
		free(copies[i]);
	}
	printf("%s: equal\n", c->kernel);
}

static bool is_chosen(const char *kernel, char **names)
{
	if (!*names)
		return true;
	while (*names)
		if (!strcmp(*names++, kernel))
			return true;
	return false;
}

static void run_theme(const char *theme, const char *file, char **names)
{
	adsmModule *module = adsmModuleLoad(file);

	CHECK(module);
	for (size_t i = 0; i < sizeof(themes) / sizeof(themes[0]); i++)
		for (const struct cuda_case *c = themes[i].cases; !strcmp(themes[i].name, theme) && c->kernel; c++)
			if (is_chosen(c->kernel, names))
				run(c, module);
	CHECK_OK(adsmModuleUnload(module));
}

int main(int argc, char **argv)
{
	char *every[] = { NULL };

	CHECK(argc >= 3);
	if (strcmp(argv[1], "all") != 0)
		run_theme(argv[1], argv[2], argv + 3);
	for (int i = 2; !strcmp(argv[1], "all") && i + 1 < argc; i += 2)
		run_theme(argv[i], argv[i + 1], every);
	CHECK_OK(adsmShutdown());
	return 0;
}
