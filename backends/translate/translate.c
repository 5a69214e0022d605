/* SPDX-License-Identifier: MIT */
/* translate.c - see translate.h. */
#include "translate.h"

#include "adsm.h"
#include "adsm_kernel.h"
#include "base/log.h"
#include "base/os.h"
#include "base/processor.h"
#include "cache.h"
#include "compiler.h"
#include "options.h"
#include "ptx/code/keep.h"
#include "ptx/runtime/runtime_text.h"
#include "ptx/code/translate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE { "ptx", adsm_translate_options.cache, 4096 }

/*
 * The same results as those of modules that adsmcc compiles. Kernels use neither errno nor the flags of floating-point
 * exceptions. Integers wrap, and accesses of different types may be to the same bytes. Messages of crashes name lines.
 */
static const char fixed_options[] =
	"-std=gnu11 -O3 -g1 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv -fno-strict-aliasing -fPIC "
	"-fvisibility=hidden -w -shared -xc - -lm";

/* ---- the key */

static void add_text(struct adsm_cache_key *key, const char *text)
{
	adsm_cache_key_add(key, text, strlen(text));
}

/* This version of the translation: the library's, and its file. */
static void add_library(struct adsm_cache_key *key)
{
	char *path = malloc(PATH_MAX), text[ADSM_COMPILER_ID] = "";

	adsm_format(text, sizeof(text), "kernel 1, %d.%d.%d", ADSM_VERSION_MAJOR, ADSM_VERSION_MINOR,
		    ADSM_VERSION_PATCH);
	add_text(key, text);
	*text = '\0';
	if (path && !adsm_os_library_path(path, PATH_MAX))
		adsm_compiler_identify(path, text);
	free(path);
	add_text(key, text);
}

/* Everything that the code depends on. bytes is NULL if memory ran out. */
static struct adsm_cache_key make_key(const struct adsm_translate_order *order, const struct adsm_compiler *compiler)
{
	struct adsm_cache_key key = { NULL, 0, 0 };
	const struct adsm_kernel_info *kernel = order->kernel;

	add_library(&key);
	add_text(&key, compiler->path);
	add_text(&key, compiler->identity);
	for (size_t i = 1; i < compiler->n; i++)
		add_text(&key, compiler->words[i]);
	add_text(&key, adsm_translate_options.lockstep ? "lockstep" : "");
	adsm_cache_key_add(&key, kernel->entry, kernel->entry_size);
	adsm_cache_key_add(&key, order->hash, ADSM_SHA256_SIZE);
	return key;
}

/* ---- the source */

/* The section that describes the kernel to devices: without parameters, because they are in each launch. */
static void write_entry(FILE *out, const struct adsm_kernel_info *kernel)
{
	const unsigned flags = (kernel->global_atomics ? 0 : ADSM_KERNEL_NO_GLOBAL_ATOMICS) |
			       (kernel->services ? ADSM_KERNEL_SERVICES : 0) |
			       (kernel->any_object ? ADSM_KERNEL_ANY_OBJECT : 0);

	fprintf(out, "static const char adsm_entries_[] __attribute__((used, section(\"adsm_entries\"), aligned(1))) "
		"=\n\t\"entries 1 code\\nkernel %s %.*s %u %u %llu 0 0\\n\";\n", kernel->name, (int)kernel->full_size,
		kernel->full, flags, kernel->max_threads, (unsigned long long)kernel->shared_size);
}

/* Do options for the compiler ask for debug information? */
static bool has_debug(const char *options)
{
	return strstr(options, "-g") && !strstr(options, "-g0");
}

/* Make the source of the tree that contains the kernel only. */
static int write_source(const struct adsm_translate_order *order, struct adsm_ptx_module *module, char **ret_source,
			size_t *ret_size)
{
	const struct adsm_ptx_options how = {
		.source_lines = has_debug(order->options) || has_debug(adsm_translate_options.flags),
		.lockstep = adsm_translate_options.lockstep,
	};
	const char *name = order->kernel->name;
	struct adsm_ptx_translation translation;
	struct adsm_ptx_function *kernel;
	struct adsm_ptx_error error = { 0 };
	FILE *out;
	int ret;

	kernel = adsm_ptx_keep(module, order->kernel->full, order->kernel->full_size);
	if (!kernel)
		return adsm_fail(-ENOEXEC, "kernel '%s' is not in the PTX of its module", name);
	kernel->symbol = name;
	ret = adsm_ptx_translate_with(module, &how, &translation, &error);
	if (ret)
		return adsm_fail(ret, "kernel '%s' cannot be translated: line %d of its PTX: %s", name, error.line,
				 error.text);
	if (!translation.n_kernels || translation.kernels[0].is_refused) {
		if (translation.n_kernels)
			error = translation.kernels[0].error;
		adsm_ptx_translation_destroy(&translation);
		return adsm_fail(-ENOEXEC, "kernel '%s' cannot be translated: line %d of its PTX: %s", name,
				 error.line, error.text);
	}
	out = open_memstream(ret_source, ret_size);
	if (out) {
		fputs(adsm_ptx_kernel_text, out);
		fwrite(translation.text, 1, translation.size, out);
		write_entry(out, order->kernel);
	}
	adsm_ptx_translation_destroy(&translation);
	return out && !fclose(out) ? 0 : adsm_fail(-ENOMEM, "kernel '%s': no memory for its text", name);
}

static int make_source(const struct adsm_translate_order *order, char **ret_source, size_t *ret_size)
{
	struct adsm_ptx_module *module;
	struct adsm_ptx_error error = { 0 };
	int ret = adsm_ptx_parse(order->info->ptx, strlen(order->info->ptx), &module, &error);

	if (ret)
		return adsm_fail(ret, "kernel '%s': line %d of the module's PTX: %s", order->kernel->name, error.line,
				 ret == -ENOMEM ? "no memory" : error.text);
	ret = write_source(order, module, ret_source, ret_size);
	adsm_ptx_destroy(module);
	return ret;
}

/* ---- the compiler */

struct job {
	const struct adsm_translate_order *order;
	struct adsm_compiler compiler;
	void *module;
	size_t size;
};

static int compile(void *arg)
{
	struct job *job = arg;
	char what[96], *source = NULL;
	size_t size = 0;
	int ret;

	adsm_format(what, sizeof(what), "kernel '%s'", job->order->kernel->name);
	ret = make_source(job->order, &source, &size);
	if (!ret)
		ret = adsm_compiler_run(&job->compiler, what, source, size, &job->module, &job->size);
	free(source);
	return ret;
}

/* The command: the program's choice, the library's options, the processors, the module's and the user's options. */
static int prepare(struct job *job)
{
	int ret = adsm_compiler_find(adsm_translate_options.compiler, &job->compiler);

	if (!ret)
		ret = adsm_compiler_add(&job->compiler, fixed_options);
	if (!ret)
		ret = adsm_compiler_add(&job->compiler, adsm_processor_option(job->order->levels));
	if (!ret)
		ret = adsm_compiler_add(&job->compiler, job->order->options);
	if (!ret)
		ret = adsm_compiler_add(&job->compiler, adsm_translate_options.flags);
	return ret;
}

int adsm_translate(const struct adsm_translate_order *order, void **ret_module, size_t *ret_size)
{
	const struct adsm_cache cache = CACHE;
	struct job *job = calloc(1, sizeof(*job));
	struct adsm_cache_key key = { NULL, 0, 0 };
	const uint64_t start = adsm_os_now_ns();
	bool kept = false;
	int ret;

	if (!job)
		return adsm_fail(-ENOMEM, "kernel '%s': no memory for its translation", order->kernel->name);
	job->order = order;
	ret = prepare(job);
	if (!ret)
		key = make_key(order, &job->compiler);
	if (!ret && key.bytes)
		kept = !adsm_cache_get(&cache, key.bytes, key.size, &job->module, &job->size);
	if (!ret && !kept)
		ret = adsm_compile_aside(compile, job);
	if (!ret && !kept && key.bytes)
		adsm_cache_put(&cache, key.bytes, key.size, job->module, job->size);
	if (!ret) {
		adsm_info("kernel '%s': %s, %lu us", order->kernel->name,
			  kept ? "its code was in the cache" : "translated and compiled",
			  (unsigned long)((adsm_os_now_ns() - start) / 1000));
		*ret_module = job->module;
		*ret_size = job->size;
	}
	free(key.bytes);
	adsm_compiler_destroy(&job->compiler);
	free(job);
	return ret;
}
