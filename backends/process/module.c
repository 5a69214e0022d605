/* SPDX-License-Identifier: MIT */
/* module.c - modules that a device process has loaded, and their kernels. */
#include "module.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "base/module.h"
#include "shadow.h"
#include "translate/translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int start_services(struct adsm_process_device *device)
{
	int ret;

	adsm_mutex_lock(&device->request_lock);
	ret = adsm_process_shadow_start(device);
	adsm_mutex_unlock(&device->request_lock);
	return ret ? adsm_fail(ret, "%s: the thread that runs services for its kernels cannot be started: %s (ulimit "
			       "-u, -v)", device->title, strerror(-ret)) : 0;
}

/* Make a file of the image. It is kept as struct adsm_fd, because a program may close descriptors that it did not
 * open. */
static int make_file(const struct adsm_process_device *device, const struct adsm_image *image,
		     struct adsm_fd **ret_file)
{
	const size_t pages = (image->size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	void *copy;
	int fd, ret;

	ret = adsm_os_memfd("adsm-module", pages, &fd);
	if (!ret)
		ret = adsm_fd_keep(fd, ret_file);
	if (!ret) {
		ret = adsm_os_map(NULL, pages, adsm_fd_number(*ret_file), 0, ADSM_PROT_RW, &copy);
		if (ret)
			adsm_fd_drop(*ret_file);
	}
	if (ret)
		return adsm_fail(ret, "%s: the memory file for a module of %zu bytes cannot be created: %s%s",
				 device->title, image->size, strerror(-ret), adsm_os_limit(ret));
	memcpy(copy, image->data, image->size);
	adsm_os_unmap(copy, pages);
	return 0;
}

/* The code of one kernel of a module that has PTX only. */
struct adsm_process_part {
	struct adsm_process_code code;	/* the first member */
	struct adsm_process_part *next;
	struct adsm_image image;
	void *bytes;
};

/* Give the image to the device process. The code gets its index there, and is added to the device's list. */
static int load(struct adsm_process_device *device, const struct adsm_image *image, struct adsm_process_code *code)
{
	struct adsm_process_request request = { .op = ADSM_PROCESS_LOAD };
	struct adsm_process_reply reply;
	struct adsm_fd *file;
	int fd, ret;

	ret = make_file(device, image, &file);
	if (ret)
		return ret;
	fd = adsm_fd_number(file);
	ret = adsm_process_ask(device, &request, &fd, 1, &reply);
	if (ret == -ENOEXEC)
		adsm_fail(ret, "%s cannot load the module: %s", device->title, reply.text);
	adsm_fd_drop(file);
	if (ret)
		return ret;
	code->base.device = &device->base;
	code->index = reply.index;
	code->image = image;
	adsm_mutex_lock(&device->request_lock);
	code->next = device->codes;
	device->codes = code;
	adsm_mutex_unlock(&device->request_lock);
	return 0;
}

/* The opposite. */
static void unload(struct adsm_process_device *device, struct adsm_process_code *code)
{
	struct adsm_process_request request = { .op = ADSM_PROCESS_UNLOAD, .index = code->index };
	struct adsm_process_code **at;
	struct adsm_process_reply reply;

	adsm_process_ask(device, &request, NULL, 0, &reply);
	adsm_mutex_lock(&device->request_lock);
	for (at = &device->codes; *at != code; at = &(*at)->next)
		;
	*at = code->next;
	adsm_mutex_unlock(&device->request_lock);
}

/* Prepare a module that has PTX only: its kernels are compiled when they are first used. */
static int prepare(struct adsm_process_device *device, const struct adsm_image *image, struct adsm_process_code *code,
		   struct adsm_module_info *info)
{
	if (!device->kind->levels)
		return adsm_fail(-ENOEXEC, "the module has only PTX, which the backend '%s' does not run",
				 device->base.backend->name);
	if (!*info->ptx)
		return adsm_fail(-ENOEXEC, "the kernel module is damaged: it has neither code nor PTX");
	adsm_sha256(info->ptx, strlen(info->ptx), code->hash);
	code->base.device = &device->base;
	code->image = image;
	code->info = info;
	return 0;
}

/* Has some processor of the device not what the code of a module in CUDA C needs? */
static bool lacks_level(struct adsm_process_device *device, const struct adsm_module_info *info)
{
	return info->level && device->kind->levels && !(device->kind->levels(device) >> (info->level - 1) & 1);
}

int adsm_process_module_load(struct adsm_device *base, const struct adsm_image *image,
			   struct adsm_code **ret_code)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_module_info *info = NULL;
	struct adsm_process_code *code;
	bool services = false;
	int ret;

	if (image->kind != ADSM_IMAGE_MODULE)
		return adsm_fail(-ENOEXEC, "the image is not a kernel module: the backend '%s' loads only modules that "
				 "adsmcc wrote", base->backend->name);
	if (!image->size)
		return adsm_fail(-ENOEXEC, "the module is empty");
	ret = device->kind->check ? device->kind->check(device, image->data, image->size) : 0;
	if (ret)
		return ret;
	code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	/* If the library cannot read it, the device process says why. */
	if (adsm_module_info_create(image->data, image->size, &info))
		info = NULL;
	for (size_t i = 0; info && i < info->n_kernels; i++)
		services = services || info->kernels[i].services;
	ret = info && (info->only_ptx || lacks_level(device, info)) ? prepare(device, image, code, info) :
	      load(device, image, code);
	if (!code->info)
		adsm_module_info_destroy(info);
	if (ret) {
		free(code);
		return ret;
	}
	if (base->caps.services && services)
		ret = start_services(device);
	if (ret) {
		adsm_process_module_unload(&code->base);
		return ret;
	}
	*ret_code = &code->base;
	return 0;
}

void adsm_process_module_unload(struct adsm_code *base)
{
	struct adsm_process_code *code = (struct adsm_process_code *)base;
	struct adsm_process_device *device;
	struct adsm_process_part *next_part;
	struct adsm_process_entry *next;

	if (!base)
		return;
	device = (struct adsm_process_device *)base->device;
	/* Kernels of the module may still run: wait for them. */
	for (uint32_t lane = 0; lane < ADSM_PROCESS_LANES; lane++) {
		struct adsm_process_queue *queue = adsm_process_lane(device->shared, lane);

		while (adsm_process_queue_wait(queue, atomic_load(&queue->submitted), &device->lost, 0, true))
			;
	}
	if (!code->info)
		unload(device, code);
	for (struct adsm_process_part *part = code->parts; part; part = next_part) {
		next_part = part->next;
		unload(device, &part->code);
		free(part->bytes);
		free(part);
	}
	for (struct adsm_process_entry *entry = code->entries; entry; entry = next) {
		next = entry->next;
		free(entry);
	}
	adsm_module_info_destroy(code->info);
	free(code);
}

/* Compile a kernel of a module that has PTX only, and load its code. */
static int load_part(struct adsm_process_code *code, const char *name, uint32_t *ret_index)
{
	struct adsm_process_device *device = (struct adsm_process_device *)code->base.device;
	const long i = adsm_module_find(code->info, name);
	struct adsm_translate_order order = {
		.info = code->info, .hash = code->hash, .levels = device->kind->levels(device),
		.options = code->image->options,
	};
	struct adsm_process_part *part;
	int ret;

	if (i < 0)
		return adsm_fail(-ENOENT, "the module has no kernel '%s'", name);
	part = calloc(1, sizeof(*part));
	if (!part)
		return -ENOMEM;
	order.kernel = &code->info->kernels[i];
	ret = adsm_translate(&order, &part->bytes, &part->image.size);
	if (!ret) {
		part->image = (struct adsm_image){ ADSM_IMAGE_MODULE, part->bytes, part->image.size, "", "" };
		part->code.ptx = code->info->ptx;
		ret = load(device, &part->image, &part->code);
	}
	if (ret) {
		free(part->bytes);
		free(part);
		return ret;
	}
	adsm_mutex_lock(&device->request_lock);
	part->next = code->parts;
	code->parts = part;
	adsm_mutex_unlock(&device->request_lock);
	*ret_index = part->code.index;
	return 0;
}

int adsm_process_kernel_get(struct adsm_code *base, const char *name, struct adsm_entry **ret_entry)
{
	struct adsm_process_code *code = (struct adsm_process_code *)base;
	struct adsm_process_device *device = (struct adsm_process_device *)base->device;
	struct adsm_process_request request = { .op = ADSM_PROCESS_KERNEL, .index = code->index };
	struct adsm_process_reply reply = { 0 };
	struct adsm_process_entry *entry;
	int ret;

	if (strlen(name) >= ADSM_PROCESS_NAME)
		return adsm_fail(-ENOENT, "the module has no kernel '%s'", name);
	ret = code->info ? load_part(code, name, &request.index) : 0;
	if (ret)
		return ret;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	strcpy(request.name, name);
	strcpy(entry->name, name);
	ret = adsm_process_ask(device, &request, NULL, 0, &reply);
	if (ret) {
		free(entry);
		if (*reply.text)
			return adsm_fail(ret, "%s: %s", device->title, reply.text);
		return ret == -ENOENT ? adsm_fail(ret, "the module has no kernel '%s'", name) : ret;
	}
	entry->base.code = base;
	entry->index = reply.index;
	adsm_mutex_lock(&device->request_lock);
	entry->next = code->entries;
	code->entries = entry;
	if (device->kind->found)
		device->kind->found(device, name, reply.atomics, reply.services);
	adsm_mutex_unlock(&device->request_lock);
	*ret_entry = &entry->base;
	return 0;
}
