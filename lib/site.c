/* SPDX-License-Identifier: MIT */
/*
 * site.c - places in the program's code: return addresses from the stack, and words for addresses from debug
 * information, which libdw reads where there is one. It is opened when words are asked for, and only local files are
 * looked at. Words are kept: an address is looked up once in the life of the process.
 */
#include "site.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define FRAMES_MAX 32			/* of a stack, looked at */
#define FRAMES_OURS 16			/* of these, the library's and CUDA's at most */
#define TEXT_SIZE 192			/* of a place, kept */

/* ---- modules: what the dynamic linker has loaded */

struct module {
	uintptr_t address;		/* what is looked for; 0: this library */
	uintptr_t bias;			/* addresses in its file lie so much lower */
	uintptr_t start, end;		/* the segment that has the address */
	bool is_program;		/* the main executable */
	char path[PATH_MAX];		/* of the main executable: "" */
};

struct search {
	struct module *module;
	unsigned n_seen;
};

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	struct module *module = search->module;
	bool is_first = !search->n_seen++;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X) ||
		    module->address - start >= info->dlpi_phdr[i].p_memsz)
			continue;
		module->bias = info->dlpi_addr;
		module->start = start;
		module->end = start + info->dlpi_phdr[i].p_memsz;
		module->is_program = is_first;
		adsm_format(module->path, sizeof(module->path), "%s", is_first ? "" : info->dlpi_name);
		return 1;
	}
	return 0;
}

/* The module whose code has the address. */
static bool find_module(uintptr_t address, struct module *ret_module)
{
	struct search search = { .module = ret_module };

	ret_module->address = address;
	return dl_iterate_phdr(look_at_module, &search);
}

/* The main executable's path, which the dynamic linker does not tell. */
static void name_program(struct module *module)
{
	ssize_t n = module->is_program ? readlink("/proc/self/exe", module->path, sizeof(module->path) - 1) : -1;

	if (n > 0)
		module->path[n] = '\0';
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- the stack */

static _Atomic uintptr_t own_start, own_end;	/* this library's code */
static _Atomic bool is_linked_in;		/* into the program: its code is ours too */

/* Linked in, its functions cannot be told from others': so many at least lie on the stack above whoever called it. */
#define FRAMES_LINKED_IN 4

static void find_own_code(void)
{
	struct module module;

	if (!find_module((uintptr_t)find_own_code, &module))
		return;
	atomic_store(&is_linked_in, module.is_program);
	atomic_store(&own_start, module.start);
	atomic_store(&own_end, module.end);
}

static bool is_ours(uintptr_t address)
{
	return !atomic_load(&is_linked_in) && address - own_start < own_end - own_start;
}

/* CUDA's own libraries call the driver, which is wrapped: whoever called them is of interest. */
static bool is_cudas(uintptr_t address)
{
	struct module module;

	return find_module(address, &module) && !module.is_program && !strncmp(last_part(module.path), "libcuda", 7);
}

bool adsm_site_is_own(uintptr_t address)
{
	if (!atomic_load(&own_end))
		find_own_code();
	return address - own_start < own_end - own_start;
}

unsigned adsm_site_take(uintptr_t *ret_addresses, unsigned n)
{
	void *frames[FRAMES_MAX];
	unsigned n_taken = 0;
	int n_frames, i = 0;

	if (!atomic_load(&own_end))
		find_own_code();
	n_frames = backtrace(frames, n + FRAMES_OURS < FRAMES_MAX ? (int)(n + FRAMES_OURS) : FRAMES_MAX);
	if (atomic_load(&is_linked_in))
		i = FRAMES_LINKED_IN;
	else	/* A sanitizer has a backtrace() of its own. */
		while (i < n_frames && !is_ours((uintptr_t)frames[i]))
			i++;
	for (; i < n_frames && n_taken < n; i++) {
		uintptr_t address = (uintptr_t)frames[i];

		if (is_ours(address) || (!n_taken && i + 1 < n_frames && is_cudas(address - 1)))
			continue;
		ret_addresses[n_taken++] = address;
	}
	return n_taken;
}

bool adsm_site_same_module(uintptr_t a, uintptr_t b)
{
	struct module module;

	return find_module(a - 1, &module) && b - 1 - module.start < module.end - module.start;
}

bool adsm_site_follows_call(uintptr_t address)
{
	struct module module;
	const unsigned char *code = (const unsigned char *)address;

	if (!find_module(address - 1, &module) || address - 7 < module.start)
		return false;
#ifdef __x86_64__
	/* call relative; call register, memory, memory at an offset of 1 and of 4 bytes, of which some have an index */
	return code[-5] == 0xe8 || (code[-2] == 0xff && (code[-1] >> 3 & 7) == 2) ||
		(code[-3] == 0xff && (code[-2] >> 3 & 7) == 2) || (code[-4] == 0xff && (code[-3] >> 3 & 7) == 2) ||
		(code[-6] == 0xff && (code[-5] >> 3 & 7) == 2) || (code[-7] == 0xff && (code[-6] >> 3 & 7) == 2);
#else
	return code;
#endif
}

/* ---- libdw. What is used of it, declared here: it is opened at run time. */

struct dwfl;
struct dwfl_module;
struct dwfl_line;

struct dwfl_callbacks {
	int (*find_elf)(struct dwfl_module *module, void **data, const char *name, uint64_t base, char **ret_path,
			void **ret_elf);
	int (*find_debuginfo)(struct dwfl_module *module, void **data, const char *name, uint64_t base,
			      const char *path, const char *link, uint32_t crc, char **ret_path);
	int (*section_address)(struct dwfl_module *module, void **data, const char *name, uint64_t base,
			       const char *section, uint32_t index, const void *header, uint64_t *ret_address);
	char **debuginfo_path;
};

static struct {
	void *library;
	struct dwfl *(*begin)(const struct dwfl_callbacks *callbacks);
	void (*end)(struct dwfl *session);
	void (*report_begin_add)(struct dwfl *session);
	struct dwfl_module *(*report_elf)(struct dwfl *session, const char *name, const char *path, int fd,
					  uint64_t base, bool add_p_vaddr);
	int (*report_end)(struct dwfl *session, int (*removed)(struct dwfl_module *, void *, const char *, uint64_t,
							       void *), void *arg);
	struct dwfl_module *(*addrmodule)(struct dwfl *session, uint64_t address);
	struct dwfl_line *(*module_getsrc)(struct dwfl_module *module, uint64_t address);
	const char *(*lineinfo)(struct dwfl_line *line, uint64_t *address, int *ret_line, int *column,
				uint64_t *time, uint64_t *length);
	const char *(*module_addrname)(struct dwfl_module *module, uint64_t address);
	int (*module_build_id)(struct dwfl_module *module, const unsigned char **ret_bits, uint64_t *ret_address);
} dw;

static const struct {
	const char *name;
	void *at;
} functions[] = {
	{ "dwfl_begin", &dw.begin },
	{ "dwfl_end", &dw.end },
	{ "dwfl_report_begin_add", &dw.report_begin_add },
	{ "dwfl_report_elf", &dw.report_elf },
	{ "dwfl_report_end", &dw.report_end },
	{ "dwfl_addrmodule", &dw.addrmodule },
	{ "dwfl_module_getsrc", &dw.module_getsrc },
	{ "dwfl_lineinfo", &dw.lineinfo },
	{ "dwfl_module_addrname", &dw.module_addrname },
	{ "dwfl_module_build_id", &dw.module_build_id },
};

static bool libdw_missing;	/* looked for, in vain */

static bool open_libdw(void)
{
	const char *problem = NULL;

	if (dw.library || libdw_missing)
		return dw.library;
	dw.library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!dw.library)
		problem = dlerror();
	for (size_t i = 0; !problem && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(dw.library, functions[i].name);

		if (!function)
			problem = functions[i].name;
		memcpy(functions[i].at, &function, sizeof(function));
	}
	if (!problem)
		return true;
	dw.library = NULL;
	libdw_missing = true;
	adsm_info("reports name no lines of source files: that takes libdw.so.1 (Debian's package libdw1): %s",
		  problem);
	return false;
}

static int find_elf(struct dwfl_module *module, void **data, const char *name, uint64_t base, char **ret_path,
		    void **ret_elf)
{
	return -1;	/* each module is told with its file */
}

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Debug information of a file without: in the distribution's folder, by build id, or by name, or beside the file. */
static int find_debuginfo(struct dwfl_module *module, void **data, const char *name, uint64_t base, const char *path,
			  const char *link, uint32_t crc, char **ret_path)
{
	static const char *const folders[][2] = { { "", "" }, { "", ".debug/" }, { "/usr/lib/debug", "" } };
	const unsigned char *id;
	char file[PATH_MAX], hex[2 * 64 + 1] = "";
	uint64_t address;
	int n = dw.module_build_id(module, &id, &address), fd;

	for (int i = 0; i < n && i < 64; i++)
		adsm_format(hex + 2 * i, 3, "%x%x", id[i] >> 4, id[i] & 15);
	if (n > 1) {
		adsm_format(file, sizeof(file), "/usr/lib/debug/.build-id/%c%c/%s.debug", hex[0], hex[1], hex + 2);
		fd = open_file(file);
		if (fd >= 0)
			goto found;
	}
	for (int i = 0; path && link && i < 3; i++) {
		snprintf(file, sizeof(file), "%s%.*s%s%s", folders[i][0], (int)(last_part(path) - path), path,
			 folders[i][1], link);
		fd = open_file(file);
		if (fd >= 0)
			goto found;
	}
	return -1;

found:
	*ret_path = strdup(file);
	return fd;
}

static const struct dwfl_callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = find_debuginfo };
static struct dwfl *session;

/* The module as libdw sees it; NULL: not at all. */
static struct dwfl_module *debug_module(uintptr_t address, const struct module *module)
{
	struct dwfl_module *found = NULL;
	int fd;

	if (!session && open_libdw())
		session = dw.begin(&callbacks);
	if (!session)
		return NULL;
	found = dw.addrmodule(session, address);
	if (found)
		return found;
	/* This is what runs, whatever has its name now. */
	fd = open_file(module->is_program ? "/proc/self/exe" : module->path);
	if (fd < 0)
		return NULL;
	dw.report_begin_add(session);
	/* The descriptor is libdw's from here on. */
	found = dw.report_elf(session, module->path, module->path, fd, module->bias, true);
	if (!found)
		close(fd);
	dw.report_end(session, NULL, NULL);
	return found ? dw.addrmodule(session, address) : NULL;
}

/* ---- words */

static struct known {
	uintptr_t address;		/* 0: this place is free */
	enum adsm_site_kind kind;
	char *text;
} *known;
static size_t n_known, known_size;	/* size: a power of two */

static struct known *known_place(uintptr_t address)
{
	size_t i = (address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (known_size - 1);

	while (known[i].address && known[i].address != address)
		i = (i + 1) & (known_size - 1);
	return &known[i];
}

static bool make_room(void)
{
	struct known *old = known;
	size_t old_size = known_size;

	if (n_known < known_size / 2)
		return true;
	known = calloc(known_size ? 2 * known_size : 256, sizeof(*known));
	if (!known) {
		known = old;
		return false;
	}
	known_size = known_size ? 2 * known_size : 256;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].address)
			*known_place(old[i].address) = old[i];
	free(old);
	return true;
}

/* The name as its source has it, where the program has C++'s runtime; to be freed. */
static char *source_name(const char *name)
{
	char *(*demangle)(const char *name, char *buffer, size_t *size, int *status);
	void *function = !strncmp(name, "_Z", 2) ? dlsym(RTLD_DEFAULT, "__cxa_demangle") : NULL;
	char *plain = NULL;
	int status;

	if (function) {
		memcpy(&demangle, &function, sizeof(demangle));
		plain = demangle(name, NULL, NULL, &status);
	}
	return plain ? plain : strdup(name);
}

static enum adsm_site_kind describe(uintptr_t address, char ret_text[TEXT_SIZE])
{
	struct dwfl_module *debug;
	struct dwfl_line *line;
	const char *file = NULL, *function = NULL;
	char *name = NULL;
	struct module module;
	Dl_info info;
	int number = 0;
	size_t n;

	if (!find_module(address, &module)) {
		adsm_format(ret_text, TEXT_SIZE, "0x%lx", (unsigned long)address);
		return ADSM_SITE_UNKNOWN;
	}
	name_program(&module);
	debug = debug_module(address, &module);
	if (debug) {
		line = dw.module_getsrc(debug, address);
		file = line ? dw.lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
		function = dw.module_addrname(debug, address);
	} else if (dladdr((void *)address, &info)) {
		function = info.dli_sname;
	}
	if (function)
		name = source_name(function);
	if (file && number > 0)
		adsm_format(ret_text, TEXT_SIZE, "%s:%d", last_part(file), number);
	else
		adsm_format(ret_text, TEXT_SIZE, "%s+0x%lx", last_part(module.path),
			    (unsigned long)(address - module.bias));
	n = strlen(ret_text);
	if (name && n + 8 < TEXT_SIZE) {
		adsm_format(ret_text + n, TEXT_SIZE - n - 1, " (%s", name);
		strcat(ret_text, ")");
	}
	free(name);
	return file && number > 0 ? ADSM_SITE_LINE : ADSM_SITE_MODULE;
}

void adsm_site_begin(void)
{
}

enum adsm_site_kind adsm_site_text(uintptr_t address, bool is_return, char *ret_text, size_t size)
{
	enum adsm_site_kind kind;
	struct known *place = NULL;
	char text[TEXT_SIZE];

	address -= is_return;
	if (address && make_room()) {
		place = known_place(address);
		if (place->address) {
			adsm_format(ret_text, size, "%s", place->text);
			return place->kind;
		}
	}
	kind = describe(address, text);
	adsm_format(ret_text, size, "%s", text);
	if (!place)
		return kind;
	place->text = strdup(text);
	if (place->text) {
		place->address = address;
		place->kind = kind;
		n_known++;
	}
	return kind;
}

bool adsm_site_lacks_libdw(void)
{
	return !open_libdw();
}

/* With the session go its open files and what it has read. */
void adsm_site_end(void)
{
	if (session)
		dw.end(session);
	session = NULL;
}
