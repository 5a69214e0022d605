/* SPDX-License-Identifier: MIT */
/* modules.c - see modules.h. */
#include "modules.h"

#include "base/log.h"
#include "base/module.h"
#include "base/os.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct module {
	struct adsm_store_needs *needs;
	size_t n_needs;
	uint64_t begin, end;		/* its image */
};

static struct module modules[ADSM_CODE_MODULES];	/* by index */
/* Of the module of each kernel: a launch looks there while modules come and go. */
static struct { _Atomic uint64_t begin, end; } images[ADSM_CODE_KERNELS];
static struct adsm_scratchpad_geometry geometry;
static struct adsm_scratchpad_layout layout;

void adsm_modules_start(const struct adsm_scratchpad_geometry *its_geometry,
			const struct adsm_scratchpad_layout *its_layout)
{
	geometry = *its_geometry;
	layout = *its_layout;
}

/* The code in a module, as a file of its own; and its needs, which the caller frees. */
static int extract(int fd, struct module *ret_module, int *ret_code, char *ret_text)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	struct adsm_module_info *info;
	void *image, *copy;
	size_t pages;
	int ret;

	if (size <= 0 || adsm_os_map(NULL, (size_t)size, fd, 0, ADSM_PROT_READ, &image))
		return -ENOEXEC;
	ret = adsm_module_info_create(image, (size_t)size, &info);
	adsm_os_unmap(image, (size_t)size);
	if (ret) {
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "%s", adsm_last_error());
		return -ENOEXEC;
	}
	if (!info->store_size) {
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "it has no code for cores with a local store: compile it with "
			    "adsmcc --scratchpad, which needs clang");
		ret = -ENOEXEC;
		goto destroy;
	}
	pages = (info->store_size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	ret_module->needs = malloc((info->n_needs + 1) * sizeof(*info->needs));
	ret = ret_module->needs ? adsm_os_memfd("adsm-scratchpad-module", pages, ret_code) : -ENOMEM;
	if (ret)
		goto destroy;
	if (info->n_needs)
		memcpy(ret_module->needs, info->needs, info->n_needs * sizeof(*info->needs));
	ret_module->n_needs = info->n_needs;
	ret = adsm_os_map(NULL, pages, *ret_code, 0, ADSM_PROT_RW, &copy);
	if (ret) {
		close(*ret_code);
		goto destroy;
	}
	memcpy(copy, info->store, info->store_size);
	adsm_os_unmap(copy, pages);
destroy:
	adsm_module_info_destroy(info);
	return ret;
}

/* Where the loader has put the file that was loaded by this path. */
struct place { const char *path; struct module *module; };

static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct place *place = arg;

	if (strcmp(info->dlpi_name, place->path))
		return 0;
	place->module->begin = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uint64_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		if (begin < place->module->begin)
			place->module->begin = begin & ~(uint64_t)(ADSM_PAGE_SIZE - 1);
		if (begin + header->p_memsz > place->module->end)
			place->module->end = begin + header->p_memsz;
	}
	return 1;
}

int adsm_modules_load(int fd, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT])
{
	struct module module = { .needs = NULL };
	char path[64];
	uint32_t index;
	int code, ret;

	if (fd < 0)
		return -EPROTO;
	ret = extract(fd, &module, &code, ret_text);
	close(fd);
	if (ret)
		goto free_needs;
	adsm_format(path, sizeof(path), "/proc/self/fd/%d", code);
	ret = adsm_code_load(code, &index, ret_text);
	if (ret)
		goto free_needs;
	dl_iterate_phdr(find_place, &(struct place){ path, &module });
	modules[index] = module;
	*ret_index = index;
	return 0;

free_needs:
	free(module.needs);
	return ret;
}

int adsm_modules_unload(uint32_t index)
{
	int ret = adsm_code_unload(index);

	if (!ret) {
		free(modules[index].needs);
		modules[index] = (struct module){ .needs = NULL };
	}
	return ret;
}

/* Whether the kernel fits into a local store; the table of sizes where it does not. */
static bool fits(const struct adsm_store_needs *needs, char *ret_text)
{
	const uint64_t rest = ADSM_SCRATCHPAD_RUNTIME;
	const bool code_fits = needs->code <= layout.code;

	if (code_fits && (uint64_t)needs->stack + needs->data + rest <= layout.stack)
		return true;
	adsm_format(ret_text, ADSM_PROCESS_TEXT, "kernel '%s' does not fit into a local store of %lu bytes: "
		    "code %u of %lu (ADSM_SCRATCHPAD_CODE); stack with its ADSM_SHARED and ADSM_PRIVATE arrays %u, "
		    "data %u, "
		    "the runtime's stack %lu, of %lu; cache: lines %lu, tags %lu, dirty bits %lu, lines ahead %lu "
		    "(ADSM_SCRATCHPAD_CACHE), control %lu: %s, or raise "
		    "ADSM_SCRATCHPAD_SIZE", needs->name, geometry.size,
		    needs->code, layout.code, needs->stack, needs->data, rest, layout.stack, layout.lines, layout.tags,
		    layout.dirty, layout.ahead, layout.control,
		    code_fits ? "make its arrays smaller" : "make the code buffer larger");
	return false;
}

int adsm_modules_kernel(uint32_t module, const char *name, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT])
{
	uint32_t index;
	int ret;

	if (module >= ADSM_CODE_MODULES)
		return -EINVAL;
	for (size_t i = 0; i < modules[module].n_needs; i++)
		if (!strcmp(modules[module].needs[i].name, name) && !fits(&modules[module].needs[i], ret_text))
			return -ENOSPC;
	ret = adsm_code_kernel(module, name, &index);
	if (ret)
		return ret;
	images[index].begin = modules[module].begin;
	images[index].end = modules[module].end;
	*ret_index = index;
	return 0;
}

void adsm_modules_tables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end)
{
	*ret_begin = images[kernel].begin;
	*ret_end = images[kernel].end;
}
