/* SPDX-License-Identifier: MIT */
/* image.c - see image.h. */
#include "image.h"

#include "base/log.h"
#include "base/os.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Write the code to a file. */
static int write_code(const struct adsm_module_info *info, int *ret_code)
{
	const size_t pages = (info->store_size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	void *copy;
	int ret = adsm_os_memfd("adsm-scratchpad-module", pages, ret_code);

	if (ret)
		return ret;
	ret = adsm_os_map(NULL, pages, *ret_code, 0, ADSM_PROT_RW, &copy);
	if (ret) {
		close(*ret_code);
		return ret;
	}
	memcpy(copy, info->store, info->store_size);
	adsm_os_unmap(copy, pages);
	return 0;
}

int adsm_store_image(int fd, struct adsm_module_info **ret_info, int *ret_code, char *ret_text)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	void *image;
	int ret = size > 0 ? adsm_os_map(NULL, (size_t)size, fd, 0, ADSM_PROT_READ, &image) : -ENOEXEC;

	if (ret) {
		adsm_format(ret_text, ADSM_STORE_TEXT, "it cannot be read: %s", strerror(-ret));
		return ret;
	}
	ret = adsm_module_info_create(image, (size_t)size, ret_info);
	adsm_os_unmap(image, (size_t)size);
	if (ret) {
		adsm_format(ret_text, ADSM_STORE_TEXT, "%s", adsm_last_error());
		return ret;
	}
	if ((*ret_info)->store_size) {
		ret = write_code(*ret_info, ret_code);
		if (ret)
			adsm_format(ret_text, ADSM_STORE_TEXT, "its code for cores with a local store cannot be "
				    "written to a file: %s", strerror(-ret));
	} else {
		adsm_format(ret_text, ADSM_STORE_TEXT, "it has no code for cores with a local store: compile it with "
			    "adsmcc --scratchpad, which needs clang");
		ret = -ENOEXEC;
	}
	if (ret)
		adsm_module_info_destroy(*ret_info);
	return ret;
}

struct place { char path[64]; uint64_t begin, end; };

/* Pages that workers of tasks share are fetched as a whole, including the parts between segments that the loader has
 * left inaccessible: make those readable. */
static void fill_hole(uint64_t begin, uint64_t end)
{
	const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (begin < end)
		(void)mmap((void *)(uintptr_t)begin, end - begin, PROT_READ, how, -1, 0);
}

static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uint64_t in_page = ADSM_PAGE_SIZE - 1;
	struct place *place = arg;

	if (strcmp(info->dlpi_name, place->path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uint64_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		/* Segments are in ascending order of addresses. */
		if (place->begin == UINT64_MAX)
			place->begin = begin & ~in_page;
		else
			fill_hole((place->end + in_page) & ~in_page, begin & ~in_page);
		place->end = begin + header->p_memsz;
	}
	return 1;
}

void adsm_store_image_place(int code, uint64_t *ret_begin, uint64_t *ret_end)
{
	struct place place = { .begin = UINT64_MAX };

	adsm_os_fd_path(code, place.path, sizeof(place.path));
	dl_iterate_phdr(find_place, &place);
	*ret_begin = place.begin;
	*ret_end = place.end;
}

static int find_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	uint64_t relro_end = 0;

	if (strcmp(info->dlpi_name, place->path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uint64_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_GNU_RELRO)
			relro_end = begin + header->p_memsz;
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
			continue;
		place->begin = begin;
		place->end = begin + header->p_memsz;
	}
	if (relro_end > place->begin && relro_end <= place->end)
		place->begin = relro_end;
	return 1;
}

void adsm_store_image_variables(int code, uint64_t *ret_begin, uint64_t *ret_end)
{
	struct place place = { .begin = 0 };

	adsm_os_fd_path(code, place.path, sizeof(place.path));
	dl_iterate_phdr(find_variables, &place);
	*ret_begin = place.begin;
	*ret_end = place.end;
}

bool adsm_store_task_fits(const struct adsm_scratchpad_layout *layout, uint32_t page,
			  const struct adsm_store_needs *needs, char *ret_text)
{
	if ((uint64_t)needs->stack + needs->data + ADSM_SCRATCHPAD_SERVICE <= layout->stack &&
	    (uint64_t)needs->code + needs->library <= layout->code)
		return true;
	adsm_format(ret_text, ADSM_STORE_TEXT, "task '%s' does not fit into a local store: code %lu of %lu "
		    "(ADSM_SCRATCHPAD_CODE; tasks have no partitions); stack %u, data %u, stack of locks and barriers "
		    "%u, of %lu; cache: %lu pages of %u bytes (ADSM_TASK_PAGES): make its arrays smaller, or raise "
		    "ADSM_SCRATCHPAD_SIZE", needs->name, (uint64_t)needs->code + needs->library, layout->code,
		    needs->stack, needs->data, ADSM_SCRATCHPAD_SERVICE, layout->stack, layout->lines / page, page);
	return false;
}
