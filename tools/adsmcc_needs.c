/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_needs.c - computes from the code how much of a local store kernels need. The code was made by adsmcc itself,
 * so its form is not checked.
 */
#include "adsmcc_source.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "adsm_scratchpad.h"

#define RUN "adsm_run_"
#define TASK "adsm_task_"

struct function {
	const char *name;
	uint64_t address, size, frame;
	uint64_t stack;			/* of the deepest chain of calls from this function */
	uint64_t library;		/* bytes of a function that the module does not contain */
	bool entered, known, recursive;	/* entered: look() is at it now; recursive: a function in the chain is */
	size_t *called, n_called;
};

static struct function *functions;
static struct list imports;		/* functions that the code takes from libraries */
static size_t n_functions;
static uint64_t data;

/* ---- reading */

static const Elf64_Shdr *find_section(const char *image, const char *name)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *headers = (const Elf64_Shdr *)(image + elf->e_shoff);
	const char *names = image + headers[elf->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < elf->e_shnum; i++)
		if (!strcmp(names + headers[i].sh_name, name))
			return &headers[i];
	return NULL;
}

/* The name of a symbol without its version. */
static const char *import_name(const char *symbol)
{
	return format_string("%.*s", (int)strcspn(symbol, "@"), symbol);
}

static void read_functions(const char *image)
{
	const Elf64_Shdr *header = find_section(image, ".symtab"), *strings = find_section(image, ".strtab");

	if (!header || !strings)
		die("--scratchpad: the linker wrote no symbols");
	for (uint64_t i = 0; i < header->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)(image + header->sh_offset) + i;

		if (symbol->st_shndx == SHN_UNDEF)
			list_add(&imports, import_name(image + strings->sh_offset + symbol->st_name));
		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size)
			continue;
		functions = grow(functions, (n_functions + 1) * sizeof(*functions));
		functions[n_functions++] = (struct function){
			.name = image + strings->sh_offset + symbol->st_name,
			.address = symbol->st_value, .size = symbol->st_size,
		};
	}
}

bool code_contains(const struct text *code, const char *name, uint64_t size)
{
	const Elf64_Shdr *header = find_section(code->bytes, ".symtab");
	const Elf64_Shdr *strings = find_section(code->bytes, ".strtab");
	const Elf64_Sym *symbols = (const Elf64_Sym *)(code->bytes + (header ? header->sh_offset : 0));

	for (uint64_t i = 0; header && strings && i < header->sh_size / sizeof(*symbols); i++)
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_size == size &&
		    !strcmp(code->bytes + strings->sh_offset + symbols[i].st_name, name))
			return true;
	return false;
}

/* The section has pairs: an address, and the size of a frame in ULEB128. */
static void read_frames(const char *image)
{
	const Elf64_Shdr *header = find_section(image, ".stack_sizes");
	const unsigned char *p, *end;

	if (!header)
		die("--scratchpad: clang wrote no sizes of stacks");
	p = (const unsigned char *)image + header->sh_offset;
	end = p + header->sh_size;
	while (p + 8 < end) {
		uint64_t address, frame = 0;

		memcpy(&address, p, 8);
		p += 8;
		for (int shift = 0; p < end; shift += 7) {
			frame |= (uint64_t)(*p & 127) << shift;
			if (!(*p++ & 128))
				break;
		}
		for (size_t i = 0; i < n_functions; i++)
			if (functions[i].address == address)
				functions[i].frame = frame + 8;		/* with the return address */
	}
}

static void read_data(const char *image)
{
	static const char *const names[] = { ".data", ".bss", ".rodata", ".data.rel.ro", ".tdata", ".tbss" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const Elf64_Shdr *header = find_section(image, names[i]);

		data += header ? header->sh_size : 0;
	}
}

static size_t find_function(const char *name)
{
	size_t i = 0;

	while (i < n_functions && strcmp(functions[i].name, name))
		i++;
	return i;
}

/* The index of a function. A function that is not in the code any longer is added, with needs of 0. */
static size_t function_of(char *name)
{
	size_t i = find_function(name);

	if (i == n_functions) {
		functions = grow(functions, (n_functions + 1) * sizeof(*functions));
		functions[n_functions++] = (struct function){ .name = name };
	}
	return i;
}

/* A function that is not in the code any longer was inlined. Its calls count for the functions that called it. */
static void read_calls(const struct text *calls)
{
	char *rest = format_string("%s", calls->bytes), *line;

	while ((line = strsep(&rest, "\n"))) {
		char *called = strchr(line, ' ');
		size_t i, k;

		if (!called)
			continue;
		*called++ = '\0';
		i = function_of(line);
		if (!strcmp(called, "*")) {
			functions[i].recursive = true;
			continue;
		}
		called[strcspn(called, " ")] = '\0';
		called = (char *)library_name(called);
		k = function_of(called);
		if (!functions[k].size && list_has(&imports, called))
			functions[k].library = library_bytes(called);
		functions[i].called = grow(functions[i].called, (functions[i].n_called + 1) * sizeof(size_t));
		functions[i].called[functions[i].n_called++] = k;
	}
}

/* ---- sums */

static void look(size_t i)
{
	struct function *function = &functions[i];
	uint64_t deepest = 0;

	function->entered = true;
	for (size_t k = 0; k < function->n_called; k++) {
		const size_t called = function->called[k];

		if (functions[called].entered) {
			function->recursive = true;
			continue;
		}
		if (!functions[called].known)
			look(called);
		function->recursive |= functions[called].recursive;
		if (functions[called].stack > deepest)
			deepest = functions[called].stack;
	}
	function->stack = function->frame + deepest;
	function->entered = false;
	function->known = true;
}

static uint64_t add_code(size_t i, bool *seen)
{
	uint64_t code = functions[i].size;

	seen[i] = true;
	for (size_t k = 0; k < functions[i].n_called; k++)
		if (!seen[functions[i].called[k]])
			code += add_code(functions[i].called[k], seen);
	return code;
}

/* Of the functions that add_code() has seen. */
static uint64_t add_libraries(const bool *seen)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n_functions; i++)
		bytes += seen[i] ? functions[i].library : 0;
	return bytes;
}

static uint32_t bounded(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

void find_needs(struct text *needs, const struct text *code, const struct text *calls)
{
	bool *seen;

	functions = NULL;
	n_functions = 0;
	imports = (struct list){ 0 };
	data = 0;
	read_functions(code->bytes);
	read_frames(code->bytes);
	read_data(code->bytes);
	read_calls(calls);
	seen = grow(NULL, n_functions * sizeof(*seen) + 1);
	for (size_t i = 0; i < n_functions; i++) {
		struct adsm_store_needs kernel = { .version = ADSM_STORE_VERSION, .size = sizeof(kernel) };
		const char *name = functions[i].name;
		const bool task = starts(name, TASK);

		if (!task && !starts(name, RUN))
			continue;
		name += strlen(task ? TASK : RUN);
		if (strlen(name) >= sizeof(kernel.name))
			continue;
		look(i);
		memset(seen, 0, n_functions * sizeof(*seen));
		strcpy(kernel.name, name);
		kernel.stack = bounded(functions[i].stack);
		kernel.code = bounded(add_code(i, seen));
		kernel.library = bounded(add_libraries(seen));
		kernel.data = bounded(data);
		kernel.flags = (functions[i].recursive ? ADSM_STORE_RECURSIVE : 0) | (task ? ADSM_STORE_TASK : 0);
		text_add(needs, (const char *)&kernel, sizeof(kernel));
	}
}

void raise_stacks(struct text *needs, const struct text *other)
{
	struct adsm_store_needs *to = (struct adsm_store_needs *)needs->bytes;
	const struct adsm_store_needs *from = (const struct adsm_store_needs *)other->bytes;

	for (size_t i = 0; i < needs->size / sizeof(*to); i++)
		for (size_t k = 0; k < other->size / sizeof(*from); k++)
			if (!strcmp(to[i].name, from[k].name) && to[i].stack < from[k].stack)
				to[i].stack = from[k].stack;
}
