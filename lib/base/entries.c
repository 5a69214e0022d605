/* SPDX-License-Identifier: MIT */
/* entries.c - see entries.h. */
#include "base/entries.h"

#include <string.h>

#include "adsm.h"
#include "adsm_kernel.h"

/* The word at *at, up to a space or the line's end. False: it is empty, or longer than @max. */
static bool read_word(const char **at, size_t max, const char **ret_word, size_t *ret_size)
{
	const char *word = *at + (**at == ' ');
	const size_t size = strcspn(word, " \n");

	if (!size || size > max)
		return false;
	*ret_word = word;
	*ret_size = size;
	*at = word + size;
	return true;
}

/* Copy the word, with a NUL, into @size bytes. */
static bool read_name(const char **at, size_t size, char *ret_name)
{
	const char *word;
	size_t length;

	if (!read_word(at, size - 1, &word, &length))
		return false;
	memcpy(ret_name, word, length);
	ret_name[length] = '\0';
	return true;
}

static bool read_number(const char **at, uint64_t max, uint64_t *ret)
{
	const char *word;
	uint64_t value = 0;
	size_t size;

	if (!read_word(at, 20, &word, &size))
		return false;
	for (size_t i = 0; i < size; i++) {
		if (word[i] < '0' || word[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, word[i] - '0', &value))
			return false;
	}
	*ret = value;
	return value <= max;
}

/* Begin a line with this first word. */
static bool begin_line(const char **at, const char *first)
{
	const size_t size = strlen(first);

	if (strncmp(*at, first, size) != 0 || (*at)[size] != ' ')
		return false;
	*at += size;
	return true;
}

static bool end_line(const char **at)
{
	*at += strcspn(*at, "\n");
	if (!**at)
		return false;
	++*at;
	return true;
}

static bool read_head(const char **at, bool *ret_only_ptx, unsigned *ret_level)
{
	uint64_t version, level = 0;
	char what[8];

	if (!begin_line(at, "entries") || !read_number(at, 1, &version) || !version ||
	    !read_name(at, sizeof(what), what))
		return false;
	*ret_only_ptx = !strcmp(what, "ptx");
	if (**at == ' ' && !read_number(at, 31, &level))
		return false;
	*ret_level = (unsigned)level;
	return (*ret_only_ptx || !strcmp(what, "code")) && end_line(at);
}

static bool read_kernel(const char **at, struct adsm_kernel_info *ret_kernel)
{
	uint64_t flags, threads, shared, params, variables;
	struct adsm_kernel_info kernel = { .entry = *at };

	if (!begin_line(at, "kernel") || !read_name(at, sizeof(kernel.name), kernel.name) ||
	    !read_word(at, ADSM_ENTRY_NAME_MAX, &kernel.full, &kernel.full_size) ||
	    !read_number(at, UINT32_MAX, &flags) || !read_number(at, UINT32_MAX, &threads) || !threads ||
	    !read_number(at, UINT64_MAX, &shared) || !read_number(at, ADSM_PARAMS_MAX, &params) ||
	    !read_number(at, ADSM_VARIABLES_MAX, &variables) || !end_line(at))
		return false;
	kernel.n_params = (uint32_t)params;
	kernel.n_variables = (uint32_t)variables;
	kernel.max_threads = (uint32_t)threads;
	kernel.shared_size = shared;
	kernel.global_atomics = !(flags & ADSM_KERNEL_NO_GLOBAL_ATOMICS);
	kernel.services = flags & ADSM_KERNEL_SERVICES;
	kernel.any_object = flags & ADSM_KERNEL_ANY_OBJECT;
	kernel.raw = flags & ADSM_KERNEL_RAW;
	*ret_kernel = kernel;
	return true;
}

static bool read_param(const char **at, struct adsm_param *ret_param)
{
	uint64_t kind, access, size;

	if (!begin_line(at, "param") || !read_name(at, sizeof(ret_param->name), ret_param->name) ||
	    !read_name(at, sizeof(ret_param->type), ret_param->type) ||
	    !read_number(at, ADSM_PARAM_VARIABLE, &kind) || !read_number(at, ADSM_ACCESS_INOUT, &access) ||
	    !read_number(at, UINT32_MAX, &size) || !end_line(at))
		return false;
	ret_param->kind = (uint32_t)kind;
	ret_param->access = (uint32_t)access;
	ret_param->size = (uint32_t)size;
	ret_param->writes = NULL;
	return kind == ADSM_ARG_POINTER || kind == ADSM_ARG_VALUE || kind == ADSM_ARG_LOCAL ||
	       kind == ADSM_PARAM_VARIABLE;
}

long adsm_entries_count(const char *text, size_t *ret_params)
{
	struct adsm_kernel_info kernel;
	struct adsm_param param;
	size_t n_params = 0;
	unsigned level;
	bool only_ptx;
	long n = 0;

	if (!read_head(&text, &only_ptx, &level))
		return -1;
	for (; *text; n++) {
		if (!read_kernel(&text, &kernel))
			return -1;
		for (uint32_t i = 0; i < kernel.n_params + kernel.n_variables; i++) {
			if (!read_param(&text, &param))
				return -1;
		}
		n_params += kernel.n_params + kernel.n_variables;
	}
	*ret_params = n_params;
	return n;
}

bool adsm_entries_read(const char *text, size_t n, struct adsm_kernel_info *kernels, struct adsm_param *params,
		       unsigned *ret_level)
{
	bool only_ptx = false;

	read_head(&text, &only_ptx, ret_level);
	for (size_t i = 0; i < n; i++) {
		read_kernel(&text, &kernels[i]);
		kernels[i].params = params;
		for (uint32_t p = 0; p < kernels[i].n_params + kernels[i].n_variables; p++)
			read_param(&text, params++);
		kernels[i].entry_size = (size_t)(text - kernels[i].entry);
	}
	return only_ptx;
}
