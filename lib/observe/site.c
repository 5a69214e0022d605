/* SPDX-License-Identifier: MIT */
/* site.c - places in the program's code: return addresses from the stack, and descriptions of addresses from debug
 * information (source.h). Descriptions are kept, so that each address is looked up only once in a process. */
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

#include "base/source.h"
#include "base/log.h"
#include "base/os.h"

#define FRAMES_OURS 16			/* frames of the library and of CUDA on a stack, at most */
#define TEXT_SIZE 192			/* of a kept description */

/* ---- modules: what the dynamic linker has loaded */

struct module {
	uintptr_t address;		/* the address that is looked for */
	uintptr_t bias;			/* the difference to addresses in its file */
	uintptr_t start, end;		/* the segment that contains the address */
	char path[PATH_MAX];		/* "" for the program itself */
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

/* Find the module whose code contains the address. */
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

/* CUDA's own libraries call the driver's functions, which are wrapped. The caller of these libraries is of interest. */
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
	adsm_site_take(&address, 1);	/* loads what backtrace() needs */
}

unsigned adsm_site_take(uintptr_t *ret_addresses, unsigned n)
{
	/* A signal handler that leaves by a jump must not take a lock of the dynamic linker with it. */
	ADSM_SIGNALS_BLOCKED;
	void *frames[ADSM_SITE_DEPTH + FRAMES_OURS];
	int n_frames = backtrace(frames, (int)n + FRAMES_OURS), i = 0;
	unsigned n_taken = 0;

	/* The first frames may belong to a sanitizer, which has its own backtrace(). */
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
	/* call relative; call register or memory, at an offset of 0, 1 or 4 bytes, with or without an index */
	return code[-5] == 0xe8 || (code[-2] == 0xff && (code[-1] >> 3 & 7) == 2) ||
		(code[-3] == 0xff && (code[-2] >> 3 & 7) == 2) || (code[-4] == 0xff && (code[-3] >> 3 & 7) == 2) ||
		(code[-6] == 0xff && (code[-5] >> 3 & 7) == 2) || (code[-7] == 0xff && (code[-6] >> 3 & 7) == 2);
#else
	return code;
#endif
}

/* ---- debug information */

static void *session;

/* The module in libdw; NULL: unknown. */
static void *debug_module(uintptr_t address, const struct module *module)
{
	void *found;
	int fd;

	if (!session)
		session = adsm_source_begin();
	if (!session)
		return NULL;
	found = adsm_source_find(session, address);
	if (found)
		return found;
	/* /proc/self/exe is the running file, even if another file has its name now. */
	fd = open(*module->path ? module->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : adsm_source_add(session, module->path, fd, module->bias, address);
}

/* ---- descriptions */

/* The kept descriptions, in a tree. */
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

/* The name as in the source, if the program has the C++ runtime. The caller frees it. */
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

static void describe(struct place *place)
{
	void *debug;
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
		file = adsm_source_line(debug, place->address, &number);
		function = adsm_source_function(debug, place->address);
	} else if (dladdr((void *)place->address, &info)) {
		function = info.dli_sname;
	}
	place->has_line = file && number > 0;
	if (function)
		name = source_name(function);
	if (!*module.path) {	/* the dynamic linker does not give the program's path */
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

bool adsm_site_text(uintptr_t address, bool is_return, char *ret_text, size_t size)
{
	struct place place = { .address = address - is_return }, *kept, **found;

	adsm_source_lock();
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
	adsm_mutex_unlock(&adsm_source_mutex);
	adsm_format(ret_text, size, "%s", place.text);
	return place.has_line;
}

bool adsm_site_lacks_libdw(void)
{
	bool has;

	adsm_source_lock();
	has = adsm_source_is_open();
	adsm_mutex_unlock(&adsm_source_mutex);
	return !has;
}

/* This also closes the session's files and frees what it has read. */
void adsm_site_end(void)
{
	adsm_mutex_lock(&adsm_source_mutex);
	if (session)
		adsm_source_end(session);
	session = NULL;
	adsm_mutex_unlock(&adsm_source_mutex);
}
