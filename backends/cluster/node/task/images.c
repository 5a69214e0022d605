/* SPDX-License-Identifier: MIT */
/* images.c - see images.h. */
#include "images.h"

#include "adsm.h"
#include "base/log.h"
#include "process/device/code.h"
#include "process/device/serve.h"
#include "store/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(ADSM_STORE_TEXT <= ADSM_PROCESS_TEXT, "an answer has room for these sentences");

struct image {				/* code of a module for cores with a local store */
	bool loaded;
	uint32_t index;
	struct adsm_module_info *info;
	uint64_t begin, end;
};

static struct image images[ADSM_CODE_MODULES];	/* by the index of the module */
static struct { uint64_t begin, end; } tables[ADSM_CODE_KERNELS];
static struct adsm_scratchpad_layout layout;
static uint32_t page;			/* 0: not started */

void adsm_images_start(const struct adsm_scratchpad_layout *its_layout, uint32_t its_page)
{
	layout = *its_layout;
	page = its_page;
}

/* Load the code for cores with a local store. A module without such code has only kernels. */
static int load_image(int fd, struct adsm_process_reply *reply)
{
	struct image image = { .loaded = true };
	char why[ADSM_STORE_TEXT];
	int code, ret = adsm_store_image(fd, &image.info, &code, why);

	if (ret == -ENOEXEC)
		return 0;
	if (ret) {
		adsm_format(reply->text, sizeof(reply->text), "%s", why);
		return ret;
	}
	ret = adsm_code_load(code, &image.index, reply->text);
	if (ret) {
		adsm_module_info_destroy(image.info);
		return ret;
	}
	adsm_store_image_place(code, &image.begin, &image.end);
	images[reply->index] = image;
	return 0;
}

static int load(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply)
{
	/* Loading closes the descriptor. */
	const int fd = dup(fds[0]);
	int ret = fd < 0 ? -errno : adsm_serve_answer(request, fds, reply);

	if (fd < 0) {
		close(fds[0]);
		return ret;
	}
	if (!ret) {
		ret = load_image(fd, reply);
		if (ret)
			adsm_code_unload(reply->index);
	}
	close(fd);
	return ret;
}

static int unload(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply)
{
	int ret = adsm_serve_answer(request, fds, reply);

	if (ret || !images[request->index].loaded)
		return ret;
	adsm_code_unload(images[request->index].index);
	adsm_module_info_destroy(images[request->index].info);
	images[request->index] = (struct image){ .loaded = false };
	return 0;
}

static bool takes_onces(const struct adsm_kernel_info *kernel)
{
	bool takes = false;

	for (uint32_t i = 0; i < kernel->n_params; i++)
		takes = takes || kernel->params[i].kind == ADSM_ARG_ONCE;
	return takes;
}

/* Can the task run? If not, returns an error with a text. */
static int check(const struct adsm_module_info *info, const char *name, char *ret_text)
{
	const struct adsm_kernel_info *kernel = info->kernels;

	for (size_t i = 0; i < info->n_needs; i++)
		if (!strcmp(info->needs[i].name, name) &&
		    !adsm_store_task_fits(&layout, page, &info->needs[i], ret_text))
			return -ENOSPC;
	while (kernel < info->kernels + info->n_kernels && strcmp(kernel->name, name))
		kernel++;
	if (kernel == info->kernels + info->n_kernels)
		return -ENOENT;
	if (!takes_onces(kernel))
		return 0;
	adsm_format(ret_text, ADSM_PROCESS_TEXT, "task '%s' takes write-once objects: tasks on a cluster do not "
		    "support them, tasks of the backend 'cpu' do", name);
	return -ENOTSUP;
}

static int find_kernel(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply)
{
	const struct image *image;
	char symbol[ADSM_PROCESS_NAME + 16];
	int ret;

	adsm_format(symbol, sizeof(symbol), "adsm_task_%s", request->name);
	if (request->index >= ADSM_CODE_MODULES || !adsm_code_find(request->index, symbol))
		return adsm_serve_answer(request, fds, reply);
	image = &images[request->index];
	if (!image->loaded) {
		adsm_format(reply->text, sizeof(reply->text), "task '%s': its module has no code for cores with a "
			    "local store: compile the module with adsmcc --scratchpad, which needs clang",
			    request->name);
		return -ENOTSUP;
	}
	ret = check(image->info, request->name, reply->text);
	if (!ret)
		ret = adsm_code_kernel(image->index, request->name, &reply->index);
	if (ret)
		return ret;
	tables[reply->index].begin = image->begin;
	tables[reply->index].end = image->end;
	return 0;
}

int adsm_images_answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply)
{
	if (page && request->op == ADSM_PROCESS_LOAD)
		return load(request, fds, reply);
	if (page && request->op == ADSM_PROCESS_UNLOAD)
		return unload(request, fds, reply);
	if (page && request->op == ADSM_PROCESS_KERNEL)
		return find_kernel(request, fds, reply);
	return adsm_serve_answer(request, fds, reply);
}

void adsm_images_tables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end)
{
	*ret_begin = tables[kernel].begin;
	*ret_end = tables[kernel].end;
}
