/* SPDX-License-Identifier: MIT */
/* modules.c - see modules.h. */
#include "modules.h"

#include "base/log.h"
#include "base/module.h"
#include "store/image.h"
#include "tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct module {
	struct adsm_store_needs *needs;
	size_t n_needs;
	uint64_t begin, end;		/* addresses of its image */
	struct { uint64_t begin, end; } variables;	/* of its variables */
	struct adsm_overlay *overlay;	/* its code in partitions; NULL: none */
};

static struct module modules[ADSM_CODE_MODULES];	/* by index */
/* For each kernel: data of its module, which launches read while modules are loaded and unloaded. */
static struct {
	_Atomic uint64_t begin, end, stack, code;
	struct { _Atomic uint64_t begin, end; } variables;
	struct adsm_overlay *_Atomic overlay;
} images[ADSM_CODE_KERNELS];
static struct adsm_scratchpad_geometry geometry;
static struct adsm_scratchpad_layout layout;
static bool always;

void adsm_modules_start(const struct adsm_scratchpad_geometry *its_geometry,
			const struct adsm_scratchpad_layout *its_layout, bool in_partitions)
{
	geometry = *its_geometry;
	layout = *its_layout;
	always = in_partitions;
}

/* Write the code of a module to a file of its own; copy its needs, which the caller frees. */
static int extract(int fd, struct module *ret_module, int *ret_code, char *ret_text)
{
	struct adsm_module_info *info;
	int ret = adsm_store_image(fd, &info, ret_code, ret_text);

	if (ret)
		return ret;
	ret_module->needs = malloc((info->n_needs + 1) * sizeof(*info->needs));
	ret = ret_module->needs ? 0 : -ENOMEM;
	if (!ret && info->n_needs)
		memcpy(ret_module->needs, info->needs, info->n_needs * sizeof(*info->needs));
	ret_module->n_needs = info->n_needs;
	if (!ret && info->partitions_size)
		ret = adsm_overlay_create(info->partitions, info->partitions_size, &ret_module->overlay, ret_text);
	if (ret)
		close(*ret_code);
	adsm_module_info_destroy(info);
	return ret;
}

static void free_module(struct module *module)
{
	adsm_overlay_destroy(module->overlay);
	free(module->needs);
}

int adsm_modules_load(int fd, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT])
{
	struct module module = { .needs = NULL };
	uint32_t index;
	int code, ret;

	if (fd < 0)
		return -EPROTO;
	ret = extract(fd, &module, &code, ret_text);
	close(fd);
	if (ret)
		goto free_module;
	ret = adsm_code_load(code, &index, ret_text);
	if (ret)
		goto free_module;
	adsm_store_image_place(code, &module.begin, &module.end);
	adsm_store_image_variables(code, &module.variables.begin, &module.variables.end);
	modules[index] = module;
	*ret_index = index;
	return 0;

free_module:
	free_module(&module);
	return ret;
}

int adsm_modules_unload(uint32_t index)
{
	int ret = adsm_code_unload(index);

	if (!ret) {
		free_module(&modules[index]);
		modules[index] = (struct module){ .needs = NULL };
	}
	return ret;
}

/* The error for a kernel that does not fit: all sizes, and advice. */
static int refuse(const struct adsm_store_needs *needs, const char *help, char *ret_text)
{
	adsm_format(ret_text, ADSM_PROCESS_TEXT, "kernel '%s' does not fit into a local store of %lu bytes: code %lu "
		    "of %lu (ADSM_SCRATCHPAD_CODE), libm %u of it; stack with its ADSM_SHARED and ADSM_PRIVATE arrays "
		    "%u, data %u, stack of the cache %lu, of %lu; cache: lines %lu, tags %lu, dirty bits %lu, "
		    "prefetched lines %lu (ADSM_SCRATCHPAD_CACHE), control data %lu: %s, or raise "
		    "ADSM_SCRATCHPAD_SIZE", needs->name, geometry.size, (uint64_t)needs->code + needs->library,
		    layout.code, needs->library, needs->stack, needs->data, (uint64_t)ADSM_SCRATCHPAD_RUNTIME,
		    layout.stack, layout.lines, layout.tags, layout.dirty, layout.ahead, layout.control, help);
	return -ENOSPC;
}

static uint64_t stack_of(const struct adsm_store_needs *needs)
{
	return (uint64_t)needs->stack + needs->data + ADSM_SCRATCHPAD_RUNTIME;
}

/* Bytes of libm that the module's kernels need: its partitions are shared by all kernels. */
static uint64_t library_of(const struct module *module)
{
	uint64_t most = 0;

	for (size_t i = 0; i < module->n_needs; i++)
		if (module->needs[i].library > most)
			most = module->needs[i].library;
	return most;
}

/* Decide how the kernel fits into a local store. @ret_overlay: in these partitions; NULL: all of it. */
static int fit(uint32_t module, const struct adsm_store_needs *needs, struct adsm_overlay **ret_overlay,
	       char *ret_text)
{
	const uint64_t code = (uint64_t)needs->code + needs->library;
	char why[ADSM_PROCESS_TEXT] = "not enough memory";
	int ret;

	*ret_overlay = NULL;
	if (needs->flags & ADSM_STORE_TASK)
		return adsm_tasks_fit(needs, ret_text) ? 0 : -ENOSPC;
	if (stack_of(needs) > layout.stack)
		return refuse(needs, "make its arrays smaller", ret_text);
	if (code <= layout.code && !(always && modules[module].overlay))
		return 0;
	if (!modules[module].overlay)
		return refuse(needs, "make the code buffer larger, put functions into partitions (ADSM_PARTITION, or "
			      "adsmcc --partition auto)", ret_text);
	ret = adsm_overlay_ready(modules[module].overlay, module, library_of(&modules[module]), why);
	if (ret && ret != -ENOSPC)
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "the partitions of kernel '%s': %s", needs->name, why);
	else if (ret && code <= layout.code)
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "the partitions of kernel '%s' do not fit into the code "
			    "buffer of %lu bytes (ADSM_SCRATCHPAD_CODE, ADSM_SCRATCHPAD_PARTITIONS=always): %s",
			    needs->name, layout.code, why);
	else if (ret)
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "kernel '%s' has %lu bytes of code, but the code buffer has "
			    "%lu (ADSM_SCRATCHPAD_CODE), and the kernel's partitions do not fit either: %s",
			    needs->name, code, layout.code, why);
	else
		*ret_overlay = modules[module].overlay;
	return ret;
}

int adsm_modules_kernel(uint32_t module, const char *name, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT])
{
	struct adsm_overlay *overlay = NULL;
	uint64_t stack = 0, code = 0;
	uint32_t index;
	int ret = 0;

	if (module >= ADSM_CODE_MODULES)
		return -EINVAL;
	for (size_t i = 0; i < modules[module].n_needs && !ret; i++)
		if (!strcmp(modules[module].needs[i].name, name)) {
			stack = stack_of(&modules[module].needs[i]);
			code = (uint64_t)modules[module].needs[i].code + modules[module].needs[i].library;
			ret = fit(module, &modules[module].needs[i], &overlay, ret_text);
		}
	if (ret)
		return ret;
	ret = adsm_code_kernel(module, name, &index);
	if (ret)
		return ret;
	images[index].begin = modules[module].begin;
	images[index].end = modules[module].end;
	images[index].variables.begin = modules[module].variables.begin;
	images[index].variables.end = modules[module].variables.end;
	images[index].overlay = overlay;
	images[index].stack = stack;
	images[index].code = overlay ? adsm_overlay_bytes(overlay) : code;
	*ret_index = index;
	return 0;
}

struct adsm_overlay *adsm_modules_overlay(uint32_t kernel)
{
	return images[kernel].overlay;
}

uint64_t adsm_modules_stack(uint32_t kernel)
{
	return images[kernel].stack;
}

uint64_t adsm_modules_code(uint32_t kernel)
{
	return images[kernel].code;
}

void adsm_modules_tables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end)
{
	*ret_begin = images[kernel].begin;
	*ret_end = images[kernel].end;
}

void adsm_modules_variables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end)
{
	*ret_begin = images[kernel].variables.begin;
	*ret_end = images[kernel].variables.end;
}
