/* SPDX-License-Identifier: MIT */
/*
 * site.c - places in the program's code: return addresses from the stack, and words for addresses from debug
 * information, which libdw reads where there is one. It is opened when words are asked for, and only local files are
 * looked at. Words are kept: an address is looked up once in the life of the process.
 */
#include "observe/site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"

#define FRAMES_OURS 16			/* of a stack: the library's and CUDA's, at most */
#define TEXT_SIZE 192			/* of a place, kept */

/* ---- modules: what the dynamic linker has loaded */

struct module {
	uintptr_t address;		/* what is looked for */
	uintptr_t bias;			/* addresses in its file lie so much lower */
	uintptr_t start, end;		/* the segment that has the address */
	char path[PATH_MAX];		/* of the program itself: "" */
};

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *module = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X) ||
		    module->address - start >= info->dlpi_phdr[i].p_memsz)
			continue;
		module->bias = info->dlpi_addr;
		module->start = start;
		module->end = start + info->dlpi_phdr[i].p_memsz;
		adsm_format(module->path, sizeof(module->path), "%s", info->dlpi_name);
		return 1;
	}
	return 0;
}

/* The module whose code has the address. */
static bool find_module(uintptr_t address, struct module *ret_module)
{
	ret_module->address = address;
	return dl_iterate_phdr(look_at_module, ret_module);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- the stack */

static uintptr_t own_start, own_end;	/* this library's code */

bool adsm_site_is_own(uintptr_t address)
{
	return address - own_start < own_end - own_start;
}

/* CUDA's own libraries call the driver, which is wrapped: whoever called them is of interest. */
static bool is_cudas(uintptr_t address)
{
	struct module module;

	return find_module(address, &module) && !strncmp(last_part(module.path), "libcuda", 7);
}

void adsm_site_start(void)
{
	struct module module;
	uintptr_t address;

	if (find_module((uintptr_t)adsm_site_start, &module)) {
		own_start = module.start;
		own_end = module.end;
	}
	adsm_site_take(&address, 1);	/* what that needs is loaded now */
}

unsigned adsm_site_take(uintptr_t *ret_addresses, unsigned n)
{
	void *frames[ADSM_SITE_DEPTH + FRAMES_OURS];
	int n_frames = backtrace(frames, (int)n + FRAMES_OURS), i = 0;
	unsigned n_taken = 0;

	/* A sanitizer has a backtrace() of its own. */
	while (i < n_frames && !adsm_site_is_own((uintptr_t)frames[i]))
		i++;
	for (; i < n_frames && n_taken < n; i++) {
		uintptr_t address = (uintptr_t)frames[i];

		if (!adsm_site_is_own(address) && (n_taken || i + 1 == n_frames || !is_cudas(address - 1)))
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
struct dwarf_die;
struct dwarf_line;

struct dwfl_callbacks {
	int (*find_elf)(struct dwfl_module *module, void **data, const char *name, uint64_t base, char **ret_path,
			void **ret_elf);
	int (*find_debuginfo)(struct dwfl_module *module, void **data, const char *name, uint64_t base,
			      const char *path, const char *link, uint32_t crc, char **ret_path);
	int (*section_address)(struct dwfl_module *module, void **data, const char *name, uint64_t base,
			       const char *section, uint32_t index, const void *header, uint64_t *ret_address);
	char **debuginfo_path;
};

static int find_elf(struct dwfl_module *module, void **data, const char *name, uint64_t base, char **ret_path,
		    void **ret_elf)
{
	return -1;	/* each module is told with its file */
}

/* Debug information outside of a file is looked for in the distribution's folder, by build id; never in the network. */
static struct dwfl_callbacks callbacks = { .find_elf = find_elf };

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
	struct dwarf_die *(*module_nextcu)(struct dwfl_module *module, struct dwarf_die *last, uint64_t *ret_bias);
	int (*haspc)(struct dwarf_die *unit, uint64_t address);
	struct dwarf_line *(*getsrc_die)(struct dwarf_die *unit, uint64_t address);
	int (*lineno)(struct dwarf_line *line, int *ret_number);
	const char *(*linesrc)(struct dwarf_line *line, uint64_t *time, uint64_t *length);
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
	{ "dwfl_module_nextcu", &dw.module_nextcu },
	{ "dwarf_haspc", &dw.haspc },
	{ "dwarf_getsrc_die", &dw.getsrc_die },
	{ "dwarf_lineno", &dw.lineno },
	{ "dwarf_linesrc", &dw.linesrc },
	{ "dwfl_build_id_find_debuginfo", &callbacks.find_debuginfo },
};

static bool libdw_missing;	/* looked for, in vain */

static bool open_libdw(void)
{
	const char *problem = NULL;

	if (dw.library || libdw_missing)
		return dw.library;
	/* It fetches from where the environment says (DEBUGINFOD_URLS). */
	if (adsm_os_is_privileged())
		problem = "not in a set-user-ID program";
	else
		dw.library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!problem && !dw.library)
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

static struct dwfl *session;

/* The module as libdw sees it; NULL: not at all. */
static struct dwfl_module *debug_module(uintptr_t address, const struct module *module)
{
	struct dwfl_module *found;
	int fd;

	if (!session && open_libdw())
		session = dw.begin(&callbacks);
	if (!session)
		return NULL;
	found = dw.addrmodule(session, address);
	if (found)
		return found;
	/* This is what runs, whatever has its name now. */
	fd = open(*module->path ? module->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
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

/* The kept ones, in a tree. */
struct place {
	uintptr_t address;
	bool has_line;
	char text[TEXT_SIZE];
};

static void *places;

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
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

static const char *find_line(struct dwfl_module *debug, uint64_t address, int *ret_number)
{
	struct dwfl_line *found = dw.module_getsrc(debug, address);
	struct dwarf_die *unit = NULL;
	struct dwarf_line *line = NULL;
	uint64_t bias;

	if (found)
		return dw.lineinfo(found, NULL, ret_number, NULL, NULL, NULL);
	/* clang writes no index of compilation units. */
	while (!line && (unit = dw.module_nextcu(debug, unit, &bias)))
		if (dw.haspc(unit, address - bias) > 0)
			line = dw.getsrc_die(unit, address - bias);
	return line && !dw.lineno(line, ret_number) ? dw.linesrc(line, NULL, NULL) : NULL;
}

static void describe(struct place *place)
{
	struct dwfl_module *debug;
	const char *file = NULL, *function = NULL;
	char *name = NULL;
	struct module module;
	Dl_info info;
	int number = 0, n;
	ssize_t length;

	if (!find_module(place->address, &module)) {
		adsm_format(place->text, TEXT_SIZE, "0x%lx", (unsigned long)place->address);
		return;
	}
	debug = debug_module(place->address, &module);
	if (debug) {
		file = find_line(debug, place->address, &number);
		function = dw.module_addrname(debug, place->address);
	} else if (dladdr((void *)place->address, &info)) {
		function = info.dli_sname;
	}
	place->has_line = file && number > 0;
	if (function)
		name = source_name(function);
	if (!*module.path) {	/* the dynamic linker does not tell */
		length = readlink("/proc/self/exe", module.path, sizeof(module.path) - 1);
		module.path[length > 0 ? length : 0] = '\0';
	}
	if (place->has_line)
		n = adsm_format(place->text, TEXT_SIZE, "%s:%d", last_part(file), number);
	else
		n = adsm_format(place->text, TEXT_SIZE, "%s+0x%lx", last_part(module.path),
				(unsigned long)(place->address - module.bias));
	if (name && n < TEXT_SIZE)
		adsm_format(place->text + n, TEXT_SIZE - (size_t)n, " (%s)", name);
	free(name);
}

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_SITES);	/* places, libdw */

bool adsm_site_text(uintptr_t address, bool is_return, char *ret_text, size_t size)
{
	struct place place = { .address = address - is_return }, *kept, **found;

	adsm_mutex_lock(&mutex);
	found = tfind(&place, &places, compare_places);
	if (found) {
		place = **found;
	} else {
		describe(&place);
		kept = malloc(sizeof(*kept));
		if (kept)
			*kept = place;
		if (kept && !tsearch(kept, &places, compare_places))
			free(kept);
	}
	adsm_mutex_unlock(&mutex);
	adsm_format(ret_text, size, "%s", place.text);
	return place.has_line;
}

bool adsm_site_lacks_libdw(void)
{
	bool has;

	adsm_mutex_lock(&mutex);
	has = open_libdw();
	adsm_mutex_unlock(&mutex);
	return !has;
}

/* With the session go its open files and what it has read. */
void adsm_site_end(void)
{
	adsm_mutex_lock(&mutex);
	if (session)
		dw.end(session);
	session = NULL;
	adsm_mutex_unlock(&mutex);
}
