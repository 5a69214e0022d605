/* SPDX-License-Identifier: MIT */
/* module.c - modules that a device process has loaded, and their kernels. */
#include "module.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "base/module.h"
#include "shadow.h"

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

int adsm_process_module_load(struct adsm_device *base, const struct adsm_image *image,
			   struct adsm_code **ret_code)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_request request = { .op = ADSM_PROCESS_LOAD };
	struct adsm_process_reply reply;
	struct adsm_process_code *code;
	struct adsm_fd *file;
	int fd, ret;

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
	ret = make_file(device, image, &file);
	if (ret)
		goto free_code;
	fd = adsm_fd_number(file);
	ret = adsm_process_ask(device, &request, &fd, 1, &reply);
	if (ret == -ENOEXEC)
		adsm_fail(ret, "%s cannot load the module: %s", device->title, reply.text);
	if (ret)
		goto close_file;
	adsm_fd_drop(file);
	code->base.device = base;
	code->index = reply.index;
	code->image = image;
	adsm_mutex_lock(&device->request_lock);
	code->next = device->codes;
	device->codes = code;
	adsm_mutex_unlock(&device->request_lock);
	if (base->caps.services && adsm_module_services(image->data, image->size))
		ret = start_services(device);
	if (ret) {
		adsm_process_module_unload(&code->base);
		return ret;
	}
	*ret_code = &code->base;
	return 0;

close_file:
	adsm_fd_drop(file);
free_code:
	free(code);
	return ret;
}

void adsm_process_module_unload(struct adsm_code *base)
{
	struct adsm_process_code *code = (struct adsm_process_code *)base;
	struct adsm_process_request request = { .op = ADSM_PROCESS_UNLOAD };
	struct adsm_process_code **at;
	struct adsm_process_device *device;
	struct adsm_process_reply reply;
	struct adsm_process_entry *next;

	if (!base)
		return;
	device = (struct adsm_process_device *)base->device;
	request.index = code->index;
	/* Kernels of the module may still run: wait for them. */
	while (adsm_process_queue_wait(&device->shared->queue, atomic_load(&device->shared->queue.submitted),
				   &device->lost, 0, true))
		;
	adsm_process_ask(device, &request, NULL, 0, &reply);
	adsm_mutex_lock(&device->request_lock);
	for (at = &device->codes; *at != code; at = &(*at)->next)
		;
	*at = code->next;
	adsm_mutex_unlock(&device->request_lock);
	for (struct adsm_process_entry *entry = code->entries; entry; entry = next) {
		next = entry->next;
		free(entry);
	}
	free(code);
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
		device->kind->found(device, name, reply.atomics);
	adsm_mutex_unlock(&device->request_lock);
	*ret_entry = &entry->base;
	return 0;
}
