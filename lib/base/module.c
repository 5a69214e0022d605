/* SPDX-License-Identifier: MIT */
/* module.c - reads a kernel module as an ELF file. What the module says of itself is checked, not trusted. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "adsm_kernel.h"
#include "base/entries.h"
#include "base/log.h"
#include "base/module.h"
#include "base/symbols.h"
#include "base/writes_text.h"

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#error "kernel modules need to know this machine's number in ELF files"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_DATA ELFDATA2LSB
#else
#define HOST_DATA ELFDATA2MSB
#endif

#ifndef EM_CUDA
#define EM_CUDA 190
#endif
#define FATBIN_MAGIC 0xBA55ED50u

#define DESC_SIZE sizeof(struct adsm_kernel_desc)

_Static_assert(DESC_SIZE % _Alignof(struct adsm_kernel_desc) == 0, "the section is an array without gaps");
_Static_assert(ADSM_KIND_POINTER_ == ADSM_ARG_POINTER && ADSM_KIND_VALUE_ == ADSM_ARG_VALUE &&
	       ADSM_KIND_CONST_ == ADSM_ARG_CONST && ADSM_KIND_ONCE_ == (int)ADSM_ARG_ONCE,
	       "adsm.h and adsm_kernel.h agree");
_Static_assert(sizeof(((struct adsm_param *)0)->name) == sizeof(((struct adsm_kernel_param *)0)->name) &&
	       sizeof(((struct adsm_param *)0)->type) == sizeof(((struct adsm_kernel_param *)0)->type) &&
	       sizeof(((struct adsm_kernel_info *)0)->name) == sizeof(((struct adsm_kernel_desc *)0)->name),
	       "names fit");

struct section {
	const char *data;		/* NULL: no such section */
	size_t size;
};

enum { KERNELS, TEXT, PTX, STORE, NEEDS, PARTITIONS, VARIABLES, ENTRIES, SYMBOLS, WRITES, N_SECTIONS };

static const char *const section_names[N_SECTIONS] = {
	"adsm_kernels", "adsm_text", "adsm_ptx", "adsm_store", "adsm_needs", "adsm_partitions",
	"adsm_variables", "adsm_entries", "adsm_symbols", "adsm_writes",
};

static bool fits(uint64_t offset, uint64_t size, uint64_t total)
{
	return offset <= total && size <= total - offset;
}

/* Find the sections of a module. The image may not be aligned, so headers are copied out. */
static int find_sections(const char *image, size_t size, struct section ret_sections[N_SECTIONS])
{
	Elf64_Ehdr elf;
	Elf64_Shdr names;

	if (size < sizeof(elf))
		return adsm_fail(-ENOEXEC, "not a kernel module: %zu bytes are too few for an ELF file", size);
	memcpy(&elf, image, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_type != ET_DYN)
		return adsm_fail(-ENOEXEC, "not a kernel module: not a 64-bit ELF shared object");
	if (elf.e_ident[EI_DATA] != HOST_DATA || elf.e_machine != HOST_MACHINE)
		return adsm_fail(-ENOEXEC, "the kernel module is for another machine (ELF machine %u)",
				 (unsigned)elf.e_machine);
	if (elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shstrndx >= elf.e_shnum ||
	    !fits(elf.e_shoff, (uint64_t)elf.e_shnum * sizeof(Elf64_Shdr), size))
		return adsm_fail(-ENOEXEC, "the kernel module is truncated: no section headers");

	memcpy(&names, image + elf.e_shoff + elf.e_shstrndx * sizeof(names), sizeof(names));
	if (!fits(names.sh_offset, names.sh_size, size))
		return adsm_fail(-ENOEXEC, "the kernel module is truncated: no section names");
	for (unsigned i = 0; i < elf.e_shnum; i++) {
		Elf64_Shdr header;
		const char *name;
		int which = 0;

		memcpy(&header, image + elf.e_shoff + i * sizeof(header), sizeof(header));
		if (header.sh_name >= names.sh_size)
			continue;
		name = image + names.sh_offset + header.sh_name;
		if (!memchr(name, '\0', names.sh_size - header.sh_name))
			continue;
		while (which < N_SECTIONS && strcmp(name, section_names[which]))
			which++;
		if (which == N_SECTIONS)
			continue;
		if (header.sh_type != SHT_PROGBITS || !fits(header.sh_offset, header.sh_size, size))
			return adsm_fail(-ENOEXEC, "the kernel module is truncated: section %s", name);
		ret_sections[which] = (struct section){ image + header.sh_offset, header.sh_size };
	}
	return 0;
}

static bool is_string(const char *string, size_t size)
{
	return *string && memchr(string, '\0', size);
}

/* Check that everything here is NUL-terminated and in range; else -ENOEXEC. */
static int check_desc(const struct adsm_kernel_desc *desc)
{
	if (memcmp(desc->magic, ADSM_KERNEL_MAGIC, sizeof(desc->magic)))
		return adsm_fail(-ENOEXEC, "not a kernel module: section adsm_kernels has unknown contents");
	if (desc->version != ADSM_KERNEL_VERSION || desc->size != DESC_SIZE)
		return adsm_fail(-ENOEXEC, "the kernel module has version %u of the kernel dialect, but the library "
				 "reads version %u: compile it again", desc->version, ADSM_KERNEL_VERSION);
	if (!is_string(desc->name, sizeof(desc->name)))
		return adsm_fail(-ENOEXEC, "the kernel module is damaged: a kernel has no name");
	if (!desc->max_threads || desc->n_params > ADSM_KERNEL_PARAMS_MAX)
		return adsm_fail(-ENOEXEC, "the kernel module is damaged: kernel %s has %u threads and %u parameters",
				 desc->name, desc->max_threads, desc->n_params);
	for (uint32_t i = 0; i < desc->n_params; i++) {
		const struct adsm_kernel_param *param = &desc->params[i];

		if (!is_string(param->name, sizeof(param->name)) || !is_string(param->type, sizeof(param->type)) ||
		    (param->kind != ADSM_ARG_ONCE && param->kind != ADSM_ARG_LOCAL &&
		     param->kind != ADSM_PARAM_VARIABLE &&
		     (param->kind < ADSM_ARG_POINTER || param->kind > ADSM_ARG_CONST)) ||
		    param->access > ADSM_ACCESS_INOUT)
			return adsm_fail(-ENOEXEC, "the kernel module is damaged: parameter %u of kernel %s is invalid",
					 i, desc->name);
	}
	return 0;
}

static int alloc_kernels(struct adsm_module_info *info, size_t n, size_t n_params)
{
	info->n_kernels = n;
	info->kernels = calloc(n + 1, sizeof(*info->kernels));
	info->params = calloc(n_params + 1, sizeof(*info->params));
	return info->kernels && info->params ? 0 :
		adsm_fail(-ENOMEM, "no memory for the descriptions of %zu kernels", n);
}

struct adsm_param *adsm_module_params(struct adsm_module_info *info, size_t kernel)
{
	return info->params + kernel * ADSM_PARAMS_MAX;
}

int adsm_module_info_create_empty(size_t n, struct adsm_module_info **ret_info)
{
	struct adsm_module_info *info = calloc(1, sizeof(*info));
	int ret;

	if (!info)
		return adsm_fail(-ENOMEM, "no memory for a kernel module");
	ret = alloc_kernels(info, n, n * ADSM_PARAMS_MAX);
	if (ret) {
		adsm_module_info_destroy(info);
		return ret;
	}
	info->text = info->ptx = info->variables = info->entries = info->symbols = info->writes = "";
	*ret_info = info;
	return 0;
}

static int read_kernels(struct adsm_module_info *info, const struct section *section)
{
	int ret;

	if (!section->size)
		return adsm_fail(-ENOEXEC, "not a kernel module: the shared object has no kernels");
	if (section->size % DESC_SIZE)
		return adsm_fail(-ENOEXEC, "the kernel module has another version of the kernel dialect, or is "
				 "damaged: section adsm_kernels has %zu bytes", section->size);
	ret = alloc_kernels(info, section->size / DESC_SIZE, section->size / DESC_SIZE * ADSM_KERNEL_PARAMS_MAX);
	if (ret)
		return ret;
	for (size_t i = 0; i < info->n_kernels; i++) {
		struct adsm_kernel_info *kernel = &info->kernels[i];
		struct adsm_param *params = info->params + i * ADSM_KERNEL_PARAMS_MAX;
		struct adsm_kernel_desc desc;

		memcpy(&desc, section->data + i * DESC_SIZE, DESC_SIZE);
		ret = check_desc(&desc);
		if (ret)
			return ret;
		memcpy(kernel->name, desc.name, sizeof(kernel->name));
		kernel->n_params = desc.n_params;
		kernel->max_threads = desc.max_threads;
		kernel->global_atomics = !(desc.flags & ADSM_KERNEL_NO_GLOBAL_ATOMICS);
		kernel->task = desc.flags & ADSM_KERNEL_TASK;
		kernel->services = desc.flags & ADSM_KERNEL_SERVICES;
		kernel->any_object = desc.flags & ADSM_KERNEL_ANY_OBJECT;
		kernel->raw = desc.flags & ADSM_KERNEL_RAW;
		kernel->params = params;
		for (uint32_t p = 0; p < desc.n_params; p++, params++) {
			memcpy(params->name, desc.params[p].name, sizeof(params->name));
			memcpy(params->type, desc.params[p].type, sizeof(params->type));
			params->kind = desc.params[p].kind;
			params->access = desc.params[p].access;
			params->size = desc.params[p].size;
			kernel->n_variables += params->kind == ADSM_PARAM_VARIABLE;
		}
		kernel->n_params -= kernel->n_variables;
	}
	return 0;
}

/* Read a section that is a string; "" if there is none. */
static int read_string(const struct section *section, const char *name, const char **ret_text, size_t *ret_size)
{
	*ret_text = "";
	*ret_size = 0;
	if (!section->size)
		return 0;
	if (strnlen(section->data, section->size) != section->size - 1)
		return adsm_fail(-ENOEXEC, "the kernel module is damaged: section %s is not a string", name);
	*ret_text = section->data;
	*ret_size = section->size - 1;
	return 0;
}

/* Read the kernels in CUDA C. */
static int read_entries(struct adsm_module_info *info, const struct section *section)
{
	size_t ignored, n_params;
	int ret = read_string(section, "adsm_entries", &info->entries, &ignored);
	long n;

	if (ret)
		return ret;
	n = adsm_entries_count(info->entries, &n_params);
	if (n <= 0)
		return adsm_fail(-ENOEXEC, n ? "the kernel module is damaged, or another version of adsmcc made it: "
				 "section adsm_entries" : "not a kernel module: the shared object has no kernels");
	ret = alloc_kernels(info, (size_t)n, n_params);
	if (!ret)
		info->only_ptx = adsm_entries_read(info->entries, info->n_kernels, info->kernels, info->params,
						   &info->level);
	return ret;
}

/* Read the module variables, and check those that kernels name. */
static int read_symbols(struct adsm_module_info *info, const struct section *section)
{
	size_t ignored;
	int error = read_string(section, "adsm_symbols", &info->symbols, &ignored);
	const long n = error ? 0 : adsm_symbols_count(info->symbols);

	if (n < 0)
		error = adsm_fail(-ENOEXEC, "the kernel module is damaged: section adsm_symbols");
	info->n_symbols = (uint32_t)n;
	for (size_t i = 0; !error && i < info->n_kernels; i++) {
		const struct adsm_kernel_info *kernel = &info->kernels[i];

		for (uint32_t p = 0; !error && p < kernel->n_params + kernel->n_variables; p++) {
			const struct adsm_param *param = &kernel->params[p];
			const bool is_variable = param->kind == ADSM_PARAM_VARIABLE;

			if (is_variable != (p >= kernel->n_params) ||
			    (is_variable && strtoul(param->name, NULL, 10) >= info->n_symbols))
				error = adsm_fail(-ENOEXEC, "the kernel module is damaged: variables of kernel %s",
						  kernel->name);
		}
	}
	return error;
}

/* Read what kernels certainly write through which pointer. */
static int read_writes(struct adsm_module_info *info, const struct section *section)
{
	size_t ignored;
	int error = read_string(section, "adsm_writes", &info->writes, &ignored);

	if (!error && !adsm_writes_are_valid(info->writes))
		error = adsm_fail(-ENOEXEC, "the kernel module is damaged: section adsm_writes");
	for (size_t i = 0; !error && *info->writes && i < info->n_kernels; i++) {
		struct adsm_param *params = info->params + (info->kernels[i].params - info->params);

		for (uint32_t p = 0; p < info->kernels[i].n_params; p++) {
			if (params[p].kind == ADSM_ARG_POINTER && params[p].access == ADSM_ACCESS_INOUT)
				params[p].writes = adsm_writes_find(info->writes, info->kernels[i].name, p);
		}
	}
	return error;
}

/* Read the code for cores with a local store, and what its kernels need; each section ends with a NUL. */
static int read_store(struct adsm_module_info *info, const struct section *sections)
{
	const struct section *store = &sections[STORE], *needs = &sections[NEEDS], *partitions = &sections[PARTITIONS];
	const size_t n = needs->size / sizeof(struct adsm_store_needs);

	if (!store->size)
		return 0;
	info->store = store->data;
	info->store_size = store->size - 1;
	info->partitions = partitions->data;
	info->partitions_size = partitions->size ? partitions->size - 1 : 0;
	if (!needs->size)
		return 0;
	if (needs->size != n * sizeof(struct adsm_store_needs) + 1)
		return adsm_fail(-ENOEXEC, "the kernel module is damaged: section adsm_needs has %zu bytes",
				 needs->size);
	/* A copy that is aligned, as the image may not be. */
	info->needs = malloc((n + 1) * sizeof(*info->needs));
	if (!info->needs)
		return adsm_fail(-ENOMEM, "no memory for a kernel module");
	memcpy(info->needs, needs->data, n * sizeof(*info->needs));
	for (size_t i = 0; i < n; i++) {
		const struct adsm_store_needs *kernel = &info->needs[i];

		if (kernel->version != ADSM_STORE_VERSION || kernel->size != sizeof(*kernel))
			return adsm_fail(-ENOEXEC, "the kernel module has version %u of the code of adsmcc "
					 "--scratchpad, but the library reads version %u: compile it again",
					 kernel->version, ADSM_STORE_VERSION);
		if (!is_string(kernel->name, sizeof(kernel->name)))
			return adsm_fail(-ENOEXEC, "the kernel module is damaged: a kernel in section adsm_needs has "
					 "no name");
	}
	info->n_needs = n;
	return 0;
}

int adsm_module_info_create(const void *image, size_t size, struct adsm_module_info **ret_info)
{
	struct section sections[N_SECTIONS] = { { NULL, 0 } };
	struct adsm_module_info *info = calloc(1, sizeof(*info));
	size_t ignored;
	int ret;

	if (!info)
		return adsm_fail(-ENOMEM, "no memory for a kernel module");
	info->image = malloc(size ? size : 1);
	if (!info->image) {
		ret = adsm_fail(-ENOMEM, "no memory for a kernel module of %zu bytes", size);
		goto destroy;
	}
	if (size)
		memcpy(info->image, image, size);
	info->size = size;
	ret = find_sections(info->image, size, sections);
	if (ret)
		goto destroy;
	info->entries = "";
	ret = sections[ENTRIES].size ? read_entries(info, &sections[ENTRIES]) : read_kernels(info, &sections[KERNELS]);
	if (ret)
		goto destroy;
	ret = read_string(&sections[TEXT], "adsm_text", &info->text, &info->text_size);
	if (!ret)
		ret = read_string(&sections[PTX], "adsm_ptx", &info->ptx, &ignored);
	if (!ret)
		ret = read_string(&sections[VARIABLES], "adsm_variables", &info->variables, &ignored);
	if (!ret)
		ret = read_symbols(info, &sections[SYMBOLS]);
	if (!ret)
		ret = read_writes(info, &sections[WRITES]);
	if (!ret)
		ret = read_store(info, sections);
	if (ret)
		goto destroy;
	*ret_info = info;
	return 0;

destroy:
	adsm_module_info_destroy(info);
	return ret;
}

void adsm_module_info_destroy(struct adsm_module_info *info)
{
	if (!info)
		return;
	free(info->needs);
	free(info->kernels);
	free(info->params);
	free(info->image);
	free(info);
}

bool adsm_module_atomics(const void *image, size_t size, const char *kernel)
{
	struct adsm_module_info *info;
	bool atomics = true;

	if (adsm_module_info_create(image, size, &info))
		return true;
	for (size_t i = 0; i < info->n_kernels; i++)
		if (!strcmp(info->kernels[i].name, kernel))
			atomics = info->kernels[i].global_atomics;
	adsm_module_info_destroy(info);
	return atomics;
}

long adsm_module_find(const struct adsm_module_info *info, const char *name)
{
	const size_t size = strlen(name);
	long found = -1;

	for (size_t i = 0; i < info->n_kernels; i++) {
		const struct adsm_kernel_info *kernel = &info->kernels[i];

		if (kernel->full && kernel->full_size == size && !memcmp(kernel->full, name, size))
			return (long)i;
		if (found < 0 && !strcmp(kernel->name, name))
			found = (long)i;
	}
	return found;
}

bool adsm_module_variables(const void *image, size_t size, char *ret_names, size_t names_size)
{
	struct adsm_module_info *info;

	*ret_names = '\0';
	if (adsm_module_info_create(image, size, &info))
		return false;
	adsm_format(ret_names, names_size, "%s", info->variables);
	adsm_module_info_destroy(info);
	return *ret_names;
}

bool adsm_module_services(const void *image, size_t size, const char *kernel)
{
	struct adsm_module_info *info;
	bool services = false;

	if (adsm_module_info_create(image, size, &info))
		return false;
	for (size_t i = 0; i < info->n_kernels; i++)
		if (!kernel || !strcmp(info->kernels[i].name, kernel))
			services = services || info->kernels[i].services;
	adsm_module_info_destroy(info);
	return services;
}

uint32_t adsm_module_onces(const void *image, size_t size, const char *kernel)
{
	struct adsm_module_info *info;
	uint32_t onces = 0;

	if (adsm_module_info_create(image, size, &info))
		return 0;
	for (size_t i = 0; i < info->n_kernels; i++)
		/* Only kernels in the dialect have such parameters, and not more of them than there are bits. */
		for (uint32_t p = 0; p < info->kernels[i].n_params && p < ADSM_KERNEL_PARAMS_MAX &&
		     !strcmp(info->kernels[i].name, kernel); p++)
			onces |= (uint32_t)(info->kernels[i].params[p].kind == ADSM_ARG_ONCE) << p;
	adsm_module_info_destroy(info);
	return onces;
}

/* ---- kinds of images */

static const unsigned char *skip_blanks(const unsigned char *p, const unsigned char *end)
{
	while (p < end) {
		if (*p == ' ' || (*p >= '\t' && *p <= '\r')) {
			p++;
		} else if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
			while (p < end && *p != '\n')
				p++;
		} else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
			for (p += 2; end - p >= 2 && !(p[0] == '*' && p[1] == '/'); p++)
				;
			p = end - p >= 2 ? p + 2 : end;
		} else {
			break;
		}
	}
	return p;
}

bool adsm_module_is_ptx(const void *image, size_t size)
{
	static const char first[] = ".version";
	const unsigned char *end = (const unsigned char *)image + size, *p = skip_blanks(image, end);

	return (size_t)(end - p) >= strlen(first) && !memcmp(p, first, strlen(first));
}

bool adsm_module_is_binary(const void *image, size_t size)
{
	struct { uint32_t magic; uint16_t version, header_size; uint64_t size; } fat;
	Elf64_Ehdr elf;

	if (size >= sizeof(fat)) {
		memcpy(&fat, image, sizeof(fat));
		if (fat.magic == FATBIN_MAGIC)
			return fits(fat.header_size, fat.size, size);
	}
	if (size < sizeof(elf))
		return false;
	memcpy(&elf, image, sizeof(elf));
	return !memcmp(elf.e_ident, ELFMAG, SELFMAG) && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
	       fits(elf.e_shoff, (uint64_t)elf.e_shnum * elf.e_shentsize, size);
}

bool adsm_module_is_cuda(const void *image, size_t size)
{
	Elf64_Ehdr elf;

	if (!adsm_module_is_binary(image, size))
		return false;
	if (memcmp(image, ELFMAG, SELFMAG))
		return true;
	memcpy(&elf, image, sizeof(elf));
	return elf.e_machine == EM_CUDA;
}
