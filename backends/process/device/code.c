/* SPDX-License-Identifier: MIT */
/* code.c - see code.h. */
#include "code.h"

#include "base/module.h"
#include "base/os.h"
#include "once.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN_NS 50000		/* for a block of a kernel that has not run yet: long enough to wake threads */

/* Written by the thread that loads modules, and read by launches. The application requests both, and orders them. */
struct kernel {
	/* An adsm_kernel_run or adsm_task_run; NULL: the entry is free. Written last. */
	_Atomic(void *) run;
	_Atomic(void *) step;		/* an adsm_kernel_step; NULL: blocks run to their end */
	uint32_t module;
	char name[ADSM_PROCESS_NAME];
	atomic_bool task, atomics, services;
	_Atomic uint32_t onces;		/* a bit for each parameter that is a write-once object */
	_Atomic uint64_t block_ns;	/* how long a block took in the last launch */
};

struct module {
	void *handle;			/* NULL: the entry is free */
	/* Open while the module is loaded: the loader identifies the module by the number in its path. */
	int fd;
	uintptr_t bias, start, end;	/* addresses of its segments; bias: how much lower they are in its file */
};

static struct kernel kernels[ADSM_CODE_KERNELS];
static uint32_t n_kernels;
static struct module modules[ADSM_CODE_MODULES];

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *module = arg;

	if (info->dlpi_addr != module->bias)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		module->start = module->start && module->start < start ? module->start : start;
		module->end = start + info->dlpi_phdr[i].p_memsz;
	}
	return 1;
}

/* Find the addresses where the loader has put the module. */
static void find_segments(struct module *module)
{
	struct link_map *map;

	module->start = module->end = 0;
	if (dlinfo(module->handle, RTLD_DI_LINKMAP, &map))
		return;
	module->bias = map->l_addr;
	dl_iterate_phdr(look_at, module);
}

uint32_t adsm_code_locate(uintptr_t instruction, uint64_t *ret_offset)
{
	for (uint32_t i = 0; i < ADSM_CODE_MODULES; i++) {
		if (!modules[i].handle || instruction - modules[i].start >= modules[i].end - modules[i].start)
			continue;
		*ret_offset = instruction - modules[i].bias;
		return i + 1;
	}
	return 0;
}

int adsm_code_load(int fd, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT])
{
	char path[64];
	uint32_t i = 0;

	if (fd < 0)
		return -EPROTO;
	while (i < ADSM_CODE_MODULES && modules[i].handle)
		i++;
	if (i == ADSM_CODE_MODULES) {
		close(fd);
		return -ENOSPC;
	}
	/* Debuggers open this path, too. */
	adsm_os_fd_path(fd, path, sizeof(path));
	modules[i].handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!modules[i].handle) {
		if (access(path, R_OK))
			snprintf(ret_text, ADSM_PROCESS_TEXT, "/proc is not mounted, but modules are loaded from %s",
				 path);
		else
			snprintf(ret_text, ADSM_PROCESS_TEXT, "%s", dlerror());
		close(fd);
		return -ENOEXEC;
	}
	modules[i].fd = fd;
	find_segments(&modules[i]);
	*ret_index = i;
	return 0;
}

int adsm_code_unload(uint32_t index)
{
	if (index >= ADSM_CODE_MODULES || !modules[index].handle)
		return -EINVAL;
	for (uint32_t i = 0; i < n_kernels; i++) {
		if (kernels[i].module == index)
			kernels[i].run = NULL;
	}
	dlclose(modules[index].handle);
	close(modules[index].fd);
	modules[index].handle = NULL;
	return 0;
}

bool adsm_code_is_loaded(void)
{
	for (uint32_t i = 0; i < ADSM_CODE_MODULES; i++)
		if (modules[i].handle)
			return true;
	return false;
}

/* Read what the module's description says of a kernel. */
static void read_module(int fd, const char *name, struct kernel *kernel)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *image;

	kernel->atomics = true;
	kernel->services = false;
	kernel->onces = 0;
	if (size <= 0 || adsm_os_map(NULL, (size_t)size, fd, 0, ADSM_PROT_READ, &image))
		return;
	kernel->atomics = adsm_module_atomics(image, (size_t)size, name);
	kernel->services = adsm_module_services(image, (size_t)size, name);
	kernel->onces = adsm_module_onces(image, (size_t)size, name);
	adsm_os_unmap(image, (size_t)size);
}

int adsm_code_kernel(uint32_t module, const char *name, uint32_t *ret_index)
{
	char symbol[ADSM_PROCESS_NAME + 16];
	uint32_t i = 0;
	bool task;
	void *run;

	if (module >= ADSM_CODE_MODULES || !modules[module].handle)
		return -EINVAL;
	snprintf(symbol, sizeof(symbol), "adsm_run_%s", name);
	run = dlsym(modules[module].handle, symbol);
	task = !run;
	if (task) {
		snprintf(symbol, sizeof(symbol), "adsm_task_%s", name);
		run = dlsym(modules[module].handle, symbol);
	}
	if (!run)
		return -ENOENT;
	while (i < n_kernels && kernels[i].run)
		i++;
	if (i == ADSM_CODE_KERNELS)
		return -ENOSPC;
	if (i == n_kernels)
		n_kernels++;
	kernels[i].module = module;
	read_module(modules[module].fd, name, &kernels[i]);
	kernels[i].block_ns = UNKNOWN_NS;
	snprintf(symbol, sizeof(symbol), "adsm_step_%s", name);
	kernels[i].step = dlsym(modules[module].handle, symbol);
	kernels[i].task = task;
	snprintf(kernels[i].name, sizeof(kernels[i].name), "%s", name);
	kernels[i].run = run;
	*ret_index = i;
	return 0;
}

void *adsm_code_find(uint32_t module, const char *symbol)
{
	return module < ADSM_CODE_MODULES && modules[module].handle ? dlsym(modules[module].handle, symbol) : NULL;
}

bool adsm_code_atomics(uint32_t kernel)
{
	return kernels[kernel].atomics;
}

bool adsm_code_services(uint32_t kernel)
{
	return kernels[kernel].services;
}

bool adsm_code_is_task(uint32_t kernel)
{
	return kernels[kernel].task;
}

bool adsm_code_onces(uint32_t kernel)
{
	return kernels[kernel].onces != 0;
}

void adsm_code_launch(const struct adsm_process_slot *slot, const uint8_t *area, struct adsm_pool_launch *ret_launch)
{
	const uint8_t *args = slot->in_area ? area : slot->args;
	/* Read run first: the entry's other members were written before it. */
	void *run = kernels[slot->kernel].run;
	const uint32_t onces = kernels[slot->kernel].onces;
	const bool task = kernels[slot->kernel].task;

	ret_launch->run = task ? NULL : (adsm_kernel_run *)(uintptr_t)run;
	ret_launch->task = task ? (adsm_task_run *)(uintptr_t)run : NULL;
	ret_launch->step = (adsm_kernel_step *)(uintptr_t)kernels[slot->kernel].step;
	ret_launch->name = kernels[slot->kernel].name;
	ret_launch->waits = onces != 0;
	ret_launch->sets = slot->sets & onces;
	ret_launch->ops = NULL;
	ret_launch->task_ops = NULL;
	ret_launch->block_ns = &kernels[slot->kernel].block_ns;
	for (uint32_t i = 0; i < slot->n_args; i++)
		ret_launch->args[i] = args + slot->arg_offset[i];
	for (uint32_t i = 0; i < slot->n_args && onces >> i; i++) {
		uint64_t address;

		if (!(onces >> i & 1))
			continue;
		memcpy(&address, ret_launch->args[i], sizeof(address));
		ret_launch->args[i] = adsm_device_once_find(address);
	}
	memcpy(ret_launch->block.grid, slot->grid, sizeof(slot->grid));
	memcpy(ret_launch->block.block, slot->block, sizeof(slot->block));
	ret_launch->first = slot->first_block;
	ret_launch->n = slot->n_blocks;
}
