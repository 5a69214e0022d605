/* SPDX-License-Identifier: MIT */
/* source.c - see source.h. libdw is opened when it is first needed, and only local files are read. */
#include "base/source.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"

struct adsm_mutex adsm_source_mutex = ADSM_MUTEX_INIT(ADSM_RANK_SITES);

/* The parts of libdw that are used, declared here because it is opened at run time. */

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
	return -1;	/* each module is reported together with its file */
}

/* Debug information in a separate file is searched by build id in the distribution's folder, never in the network. */
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

static _Atomic bool is_tried;

/* @problem: why there is no @library. The mutex is held. */
static void load_functions(void *library, const char *problem)
{
	for (size_t i = 0; !problem && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			problem = functions[i].name;
		memcpy(functions[i].at, &function, sizeof(function));
	}
	if (!problem)
		dw.library = library;
	else
		adsm_info("reports have no lines of source files: they need libdw.so.1 (Debian's package libdw1): %s",
			  problem);
}

void adsm_source_open(void)
{
	const char *problem = NULL;
	void *library = NULL;

	if (atomic_load(&is_tried))
		return;
	/* libdw downloads from servers that the environment names (DEBUGINFOD_URLS). */
	if (adsm_os_is_privileged())
		problem = "not used in a set-user-ID program";
	else
		library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!problem && !library)
		problem = dlerror();
	adsm_mutex_lock(&adsm_source_mutex);
	/* Another thread may have opened it meanwhile. */
	if (!atomic_load(&is_tried))
		load_functions(library, problem);
	atomic_store(&is_tried, true);
	adsm_mutex_unlock(&adsm_source_mutex);
}

void adsm_source_lock(void)
{
	adsm_source_open();
	adsm_mutex_lock(&adsm_source_mutex);
}

bool adsm_source_is_open(void)
{
	return dw.library;
}

void *adsm_source_begin(void)
{
	return dw.library ? dw.begin(&callbacks) : NULL;
}

void adsm_source_end(void *session)
{
	dw.end(session);
}

void *adsm_source_find(void *session, uint64_t address)
{
	return dw.addrmodule(session, address);
}

void *adsm_source_add(void *session, const char *name, int fd, uint64_t bias, uint64_t address)
{
	struct dwfl_module *found;

	dw.report_begin_add(session);
	/* From here on the descriptor belongs to libdw. */
	found = dw.report_elf(session, name, name, fd, bias, true);
	if (!found)
		close(fd);
	dw.report_end(session, NULL, NULL);
	return found ? dw.addrmodule(session, address) : NULL;
}

const char *adsm_source_function(void *module, uint64_t address)
{
	return dw.module_addrname(module, address);
}

const char *adsm_source_line(void *debug, uint64_t address, int *ret_number)
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
