/* SPDX-License-Identifier: MIT */
/* test_module.c - the reader of kernel modules: every field of good ones, and no trust in bad ones. */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "adsm_kernel.h"
#include "base/log.h"
#include "base/module.h"

#define CHECK_MORE adsm_last_error()
#include "../check.h"

static char *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	char *bytes;
	long size;

	CHECK(file && !fseek(file, 0, SEEK_END) && (size = ftell(file)) > 0);
	rewind(file);
	bytes = malloc((size_t)size);
	CHECK(bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size);
	fclose(file);
	*ret_size = (size_t)size;
	return bytes;
}

static void check_param(const struct adsm_kernel_info *kernel, uint32_t i, const char *name, const char *type,
			uint32_t kind, uint32_t access, uint32_t size)
{
	const struct adsm_param *param = &kernel->params[i];

	CHECK(i < kernel->n_params);
	CHECK(!strcmp(param->name, name) && !strcmp(param->type, type));
	CHECK(param->kind == kind && param->access == access && param->size == size);
}

static const struct adsm_kernel_info *kernel_named(const struct adsm_module_info *info, const char *name)
{
	for (size_t i = 0; i < info->n_kernels; i++)
		if (!strcmp(info->kernels[i].name, name))
			return &info->kernels[i];
	CHECK(!"the kernel is there");
	return NULL;
}

static void test_tasks(const char *tasks)
{
	const struct adsm_kernel_info *kernel;
	struct adsm_module_info *info;
	size_t size;
	char *image = read_file(tasks, &size);

	CHECK(!adsm_module_info_create(image, size, &info));
	free(image);
	kernel = kernel_named(info, "sum");
	CHECK(kernel->task && kernel->n_params == 3 && kernel->max_threads == 1);
	CHECK(!kernel_named(info, "fill")->task && !kernel_named(info, "fill")->global_atomics);
	/* Devices without tasks do not see them. */
	CHECK(strstr(info->text, "\n#ifdef ADSM_TASKS\n"));
	adsm_module_info_destroy(info);
}

static void test_fields(const char *vecadd, const char *scan, const char *shapes)
{
	const struct adsm_kernel_info *kernel;
	struct adsm_module_info *info;
	size_t size;
	char *image = read_file(vecadd, &size);

	CHECK(!adsm_module_info_create(image, size, &info));
	CHECK(info->image != image && info->size == size && !memcmp(info->image, image, size));
	free(image);
	CHECK(info->n_kernels == 1 && info->kernels[0].n_params == 4);
	CHECK(info->text_size == strlen(info->text));
	CHECK(strstr(info->text, "ADSM_ENTER(") && strstr(info->text, "c[i] = a[i] + b[i];"));
	kernel = kernel_named(info, "vecadd");
	CHECK(kernel->max_threads == 1024);
	check_param(kernel, 0, "a", "float", ADSM_ARG_POINTER, ADSM_ACCESS_IN, 4);
	check_param(kernel, 1, "b", "float", ADSM_ARG_POINTER, ADSM_ACCESS_IN, 4);
	check_param(kernel, 2, "c", "float", ADSM_ARG_POINTER, ADSM_ACCESS_OUT, 4);
	check_param(kernel, 3, "n", "unsigned", ADSM_ARG_VALUE, 0, 4);
	adsm_module_info_destroy(info);

	image = read_file(scan, &size);
	CHECK(!adsm_module_info_create(image, size, &info));
	free(image);
	kernel = kernel_named(info, "scan");
	CHECK(info->n_kernels == 1 && kernel->n_params == 2 && kernel->max_threads == 256);
	adsm_module_info_destroy(info);

	image = read_file(shapes, &size);
	CHECK(!adsm_module_info_create(image, size, &info));
	free(image);
	CHECK(info->n_kernels == 2);
	kernel = kernel_named(info, "nothing");
	CHECK(kernel->n_params == 0 && kernel->max_threads == 1024);
	kernel = kernel_named(info, "shapes");
	CHECK(kernel->n_params == 7 && kernel->max_threads == 128);
	check_param(kernel, 2, "total", "int", ADSM_ARG_POINTER, ADSM_ACCESS_INOUT, 4);
	check_param(kernel, 3, "bits", "int", ADSM_ARG_POINTER, 0, 4);
	check_param(kernel, 4, "scale", "struct scale", ADSM_ARG_VALUE, 0, 8);
	check_param(kernel, 5, "bias", "short", ADSM_ARG_VALUE, 0, 2);
	check_param(kernel, 6, "table", "int", ADSM_ARG_CONST, ADSM_ACCESS_IN, 4);
	adsm_module_info_destroy(info);
	adsm_module_info_destroy(NULL);
}

/* -ENOEXEC with a sentence that has @words in it. */
static void check_refused(const void *image, size_t size, const char *words)
{
	struct adsm_module_info *info = NULL;

	CHECK(adsm_module_info_create(image, size, &info) == -ENOEXEC && !info);
	CHECK(strstr(adsm_last_error(), words));
}

/* Whatever it is: refused, or read without harm. */
static void check_survives(const void *image, size_t size)
{
	struct adsm_module_info *info;
	size_t used = 0;

	if (adsm_module_info_create(image, size, &info))
		return;
	for (size_t i = 0; i < info->n_kernels; i++) {
		used += strlen(info->kernels[i].name);
		for (uint32_t p = 0; p < info->kernels[i].n_params; p++)
			used += strlen(info->kernels[i].params[p].name) + strlen(info->kernels[i].params[p].type);
	}
	CHECK(used && strlen(info->text) == info->text_size);
	adsm_module_info_destroy(info);
}

static Elf64_Shdr *section(char *image, const char *name)
{
	Elf64_Ehdr *elf = (Elf64_Ehdr *)image;
	Elf64_Shdr *sections = (Elf64_Shdr *)(image + elf->e_shoff);

	for (unsigned i = 0; i < elf->e_shnum; i++)
		if (!strcmp(image + sections[elf->e_shstrndx].sh_offset + sections[i].sh_name, name))
			return &sections[i];
	CHECK(!"the section is there");
	return NULL;
}

static void test_damage(const char *path)
{
	static const unsigned char values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	size_t size;
	/* Aligned, because the checks below write descriptors in place. */
	char *image = read_file(path, &size), *copy = aligned_alloc(64, (size + 63) / 64 * 64);
	Elf64_Ehdr *elf = (Elf64_Ehdr *)copy;
	struct adsm_kernel_desc *desc;
	Elf64_Shdr *names;
	uint64_t start, random = 1;

	CHECK(copy);
#define DAMAGED(change, words) \
	do { memcpy(copy, image, size); change; check_refused(copy, size, words); } while (0)
	DAMAGED(copy[1] = 'X', "not a 64-bit ELF");
	DAMAGED(elf->e_ident[EI_CLASS] = ELFCLASS32, "not a 64-bit ELF");
	DAMAGED(elf->e_type = ET_EXEC, "not a 64-bit ELF");
	DAMAGED(elf->e_machine = EM_SPARCV9, "another machine");
	DAMAGED(elf->e_shoff = UINT64_MAX - 8, "truncated");
	DAMAGED(elf->e_shstrndx = elf->e_shnum, "truncated");
	DAMAGED(elf->e_shnum = 0, "truncated");
	DAMAGED(section(copy, "adsm_kernels")->sh_offset = size - 8, "truncated");
	DAMAGED(section(copy, "adsm_text")->sh_size = UINT64_MAX, "truncated");
	DAMAGED(section(copy, "adsm_text")->sh_size -= 1, "is not a string");
	DAMAGED(section(copy, "adsm_kernels")->sh_size -= 64, "another version");
	DAMAGED(section(copy, "adsm_kernels")->sh_name = 0, "has no kernels");
	memcpy(copy, image, size);
	desc = (struct adsm_kernel_desc *)(copy + section(copy, "adsm_kernels")->sh_offset);
	DAMAGED(desc->magic[0] = 'X', "unknown contents");
	DAMAGED(desc->version++, "version 2");
	DAMAGED(desc->size += 64, "version");
	DAMAGED(memset(desc->name, 'x', sizeof(desc->name)), "has no name");
	DAMAGED(desc->name[0] = 0, "has no name");
	DAMAGED(desc->max_threads = 0, "damaged");
	DAMAGED(desc->n_params = 33, "33 parameters");
	DAMAGED(memset(desc->params[0].name, 'x', 32), "parameter 0");
	DAMAGED(memset(desc->params[1].type, 'x', 32), "parameter 1");
	DAMAGED(desc->params[0].kind = 4, "parameter 0");
	DAMAGED(desc->params[0].kind = 0, "parameter 0");
	DAMAGED(desc->params[0].access = 4, "parameter 0");
	DAMAGED(desc->n_params = 32, "parameter 4");
	check_refused(image, 0, "too few");
	check_refused(NULL, 0, "too few");

	/* Without its text a module is still one. */
	memcpy(copy, image, size);
	section(copy, "adsm_text")->sh_name = 0;
	check_survives(copy, size);

	/* A section's name without an end, up to the last byte of the file. */
	memcpy(copy, image, size);
	section(copy, "adsm_kernels")->sh_name = 0;
	names = (Elf64_Shdr *)(copy + elf->e_shoff) + elf->e_shstrndx;
	names->sh_size = strlen("adsm_kernels");
	names->sh_offset = size - names->sh_size;
	memcpy(copy + size - strlen("adsm_kernels"), "adsm_kernels", strlen("adsm_kernels"));
	check_refused(copy, size, "has no kernels");

	/* Section headers come last, so that every shorter file lacks some. */
	for (size_t cut = 0; cut < size; cut += cut < 256 || cut + 8192 > size ? 1 : 61)
		check_refused(image, cut, "kernel module");

	/* Each byte of all the headers and of the first descriptor, in turn. */
	memcpy(copy, image, size);
	start = section(copy, "adsm_kernels")->sh_offset;
	for (size_t i = 0; i < size; i++) {
		if (i >= sizeof(*elf) && (i < start || i >= start + sizeof(*desc)) && i < elf->e_shoff)
			continue;
		for (size_t v = 0; v < sizeof(values); v++) {
			copy[i] = (char)values[v];
			check_survives(copy, size);
		}
		copy[i] = image[i];
	}
	/* Several at the same time, always the same ones. */
	for (int round = 0; round < 2000; round++) {
		memcpy(copy, image, size);
		for (int i = 0; i < 8; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			copy[(random >> 33) % size] = (char)(random >> 20);
			copy[start + (random >> 40) % (size - start)] ^= (char)(random >> 12);
		}
		check_survives(copy, size);
	}
	free(image);
	free(copy);
}

int main(int argc, char **argv)
{
	size_t size;
	char *self;

	CHECK(argc == 5);
	test_fields(argv[1], argv[2], argv[3]);
	test_tasks(argv[4]);
	test_damage(argv[1]);
	self = read_file("/proc/self/exe", &size);
	check_refused(self, size, "not a kernel module");
	free(self);
	return 0;
}
