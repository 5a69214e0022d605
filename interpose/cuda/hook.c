/* SPDX-License-Identifier: MIT */
/*
 * hook.c - how programs come to the wrappers of CUDA's driver: by dlsym() (dlsym.S), and by cuGetProcAddress().
 *
 * The driver answers first. Where its answer is a symbol of its own that has a wrapper, the wrapper is handed out: so
 * versions, flavours, failures and other libraries' functions of the same name stay what they are.
 *
 * No lock: a constructor may look symbols up, with the dynamic linker's lock held, which dlopen() takes.
 */
#include "hook.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "loan.h"
#include "core/life.h"
#include "symbols.h"

#define DRIVER "libcuda.so.1"
#define N_NAMED 64

extern struct adsm_cu_entry __start_adsm_cu[], __stop_adsm_cu[];
/* Where this library begins and ends; the linker's. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* For dlsym.S. */
void *adsm_dlsym_answer(void *handle, const char *name);

/* ---- the driver of this process */

static _Atomic(void *) driver;

static bool is_own(const void *address)
{
	return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

/* The library that has this symbol, opened once more, if it is a driver by its functions, whatever its name. */
static void *open_owner(const void *symbol)
{
	static const char *const marks[] = { "cuInit", "cuDriverGetVersion", "cuGetProcAddress" };
	struct link_map *map;
	Dl_info info, own;
	void *handle;

	if (!symbol || is_own(symbol) || !dladdr1(symbol, &info, (void **)&map, RTLD_DL_LINKMAP) || !*map->l_name)
		return NULL;
	handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	for (size_t i = 0; handle && i < sizeof(marks) / sizeof(*marks); i++) {
		if (dladdr(adsm_real_dlsym(handle, marks[i]), &own) && own.dli_fbase == info.dli_fbase)
			continue;
		dlclose(handle);
		handle = NULL;
	}
	return handle;
}

/* A handle on the driver, kept: its functions stay valid. NULL: none is loaded, nor is the library of @symbol one. */
static void *find_driver(const void *symbol)
{
	void *handle = atomic_load_explicit(&driver, memory_order_acquire), *other = NULL;

	if (handle)
		return handle;
	handle = dlopen(DRIVER, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		handle = open_owner(symbol);
	if (handle && !atomic_compare_exchange_strong(&driver, &other, handle)) {
		dlclose(handle);
		handle = other;
	}
	return handle;
}

/* The driver's own symbol; NULL: it has none. */
static void *symbol_of(void *handle, struct adsm_cu_entry *entry)
{
	void *symbol = atomic_load_explicit(&entry->symbol, memory_order_relaxed);

	if (!symbol) {
		symbol = adsm_real_dlsym(handle, entry->name);
		atomic_store_explicit(&entry->symbol, symbol, memory_order_relaxed);
	}
	return symbol;
}

static CUresult missing(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/*
 * At the first call of a wrapper, which may be all that a program linked with the driver does: the driver's function in
 * this process, or the next behind this library, or that of the driver that is installed.
 */
void *adsm_cu_find(struct adsm_cu_entry *entry)
{
	int saved_errno = errno;
	void *handle = find_driver(NULL), *function = NULL;

	if (!handle) {
		function = adsm_real_dlsym(RTLD_NEXT, entry->name);
		handle = find_driver(function);
	}
	if (!handle && !function && !adsm_os_is_privileged() && dlopen(DRIVER, RTLD_NOW))
		handle = find_driver(NULL);
	if (handle)
		function = symbol_of(handle, entry);
	/* Without a driver not for ever: one may come yet. */
	if (function || handle) {
		function = function ? function : (void *)(uintptr_t)missing;
		atomic_store_explicit(&entry->function, function, memory_order_release);
	}
	errno = saved_errno;
	return function ? function : (void *)(uintptr_t)missing;
}

/* ---- look-ups by dlsym() */

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* A function of the driver's that is wrapped; NULL: it is another one. */
static void *driver_answer(void *handle, const char *name)
{
	struct adsm_cu_entry *entry;
	void *symbol, *own;

	for (entry = __start_adsm_cu; entry != __stop_adsm_cu && strcmp(entry->name, name); entry++)
		;
	if (entry == __stop_adsm_cu)
		return NULL;
	symbol = adsm_real_dlsym(handle, name);
	own = symbol ? find_driver(symbol) : NULL;
	return own && symbol_of(own, entry) == symbol ? entry->wrapper : NULL;
}

/* NULL: the real dlsym() is to answer the caller itself. */
void *adsm_dlsym_answer(void *handle, const char *name)
{
	int saved_errno = errno;
	void *answer;

	/* Their answers depend on the caller. RTLD_DEFAULT finds the wrappers: they are exported. */
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return NULL;
	if (name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z')
		answer = driver_answer(handle, name);
	else
		answer = adsm_wrapper_is(name) ? adsm_wrapper_of(name, adsm_real_dlsym(handle, name)) : NULL;
	errno = saved_errno;
	return answer;
}

/* ---- look-ups by cuGetProcAddress() */

/* Entry points that need no wrapper, by how they begin: they take no memory, or none that can be an object. */
static const char *const families[] = {
	"cuArray", "cuCheckpoint", "cuCoredump", "cuCtx", "cuDestroyExternal", "cuDev", "cuDriver", "cuEGL",
	"cuEvent", "cuExternal", "cuFlush", "cuFunc", "cuGL", "cuGet", "cuGraph", "cuGreen", "cuImportExternal",
	"cuIpcClose", "cuIpcGetEvent", "cuIpcOpen", "cuKernel", "cuLibrary", "cuLink", "cuLogs",
	"cuMemAddress", "cuMemAdvise", "cuMemAllocHost", "cuMemDiscard",
	"cuMemExportTo", "cuMemFreeHost", "cuMemGetAccess", "cuMemGetAllocation", "cuMemGetDefaultMemPool",
	"cuMemGetMemPool", "cuMemHost", "cuMemImportFrom", "cuMemMap", "cuMemPool", "cuMemPrefetch",
	"cuMemRange", "cuMemRelease", "cuMemRetain", "cuMemSetAccess", "cuMemSetMemPool", "cuMemUnmap",
	"cuMemcpyAtoA", "cuMipmapped", "cuModule", "cuMulticast", "cuOccupancy", "cuParam", "cuPointerSet",
	"cuProfiler", "cuSignalExternal", "cuStreamAttach", "cuStreamBeginCapture", "cuStreamCopyAttributes",
	"cuStreamCreate", "cuStreamDestroy", "cuStreamEndCapture", "cuStreamGet", "cuStreamIsCapturing",
	"cuStreamSetAttribute", "cuStreamUpdateCapture", "cuStreamWaitEvent", "cuSurf", "cuTensorMap", "cuTex",
	"cuThread", "cuUserObject", "cuVDPAU", "cuWaitExternal",
};

/* Is the entry @symbol, with a version or a flavour? Programs ask for names without these. */
static bool is_variant(const struct adsm_cu_entry *entry, const char *symbol)
{
	size_t length = strlen(symbol);

	return !strncmp(entry->name, symbol, length) && (!entry->name[length] || entry->name[length] == '_');
}

/* Nothing to say about the symbol? There is of a version that the wrappers do not know, whatever its family. */
static bool is_known(const char *symbol)
{
	for (struct adsm_cu_entry *entry = __start_adsm_cu; entry != __stop_adsm_cu; entry++)
		if (is_variant(entry, symbol))
			return false;
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (has_prefix(symbol, families[i]))
			return true;
	return false;
}

/* Before the library starts nobody has read the options. */
static bool is_told(void)
{
	const char *level = adsm_started() ? NULL : adsm_os_getenv("ADSM_LOG");

	return adsm_log_level >= ADSM_LOG_INFO || (level && (!strcmp(level, "info") || !strcmp(level, "debug")));
}

/* Once for each symbol; no more when there have been too many. */
static void name_unknown(const char *symbol)
{
	static _Atomic uint64_t named[N_NAMED];
	uint64_t hash = 14695981039346656037u;

	for (const char *p = symbol; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	hash |= 1;
	for (size_t i = 0; i < N_NAMED; i++) {
		uint64_t other = 0;

		if (atomic_compare_exchange_strong(&named[i], &other, hash)) {
			adsm_log_write(ADSM_LOG_INFO, "CUDA's %s is not known here: it goes to the driver as it is",
				       symbol);
			return;
		}
		if (other == hash)
			return;
	}
}

/* What to hand out where the driver handed out @function. */
static void *substitute(const char *symbol, void *function)
{
	int saved_errno = errno;
	void *handle = symbol && *symbol && function ? find_driver(function) : NULL;
	struct adsm_cu_entry *entry = handle ? __start_adsm_cu : __stop_adsm_cu;

	while (entry != __stop_adsm_cu && !(is_variant(entry, symbol) && symbol_of(handle, entry) == function))
		entry++;
	if (entry != __stop_adsm_cu)
		function = entry->wrapper;
	else if (handle && !is_own(function) && is_told() && !is_known(symbol))
		name_unknown(symbol);
	errno = saved_errno;
	return function;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);
ADSM_CU(cuGetProcAddress);
ADSM_CU(cuGetProcAddress_v2);

ADSM_WRAPPER CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	CUresult error;

	ADSM_CUDA_LENT(error, real_cu(cuGetProcAddress)(symbol, function, version, flags),
		       ADSM_CUDA_LOAN(symbol, ADSM_CUDA_TEXT), ADSM_CUDA_LOAN(function, sizeof(*function)));
	if (!error && function)
		*function = substitute(symbol, *function);
	return error;
}

ADSM_WRAPPER CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
	CUresult error;

	ADSM_CUDA_LENT(error, real_cu(cuGetProcAddress_v2)(symbol, function, version, flags, status),
		       ADSM_CUDA_LOAN(symbol, ADSM_CUDA_TEXT), ADSM_CUDA_LOAN(function, sizeof(*function)),
		       ADSM_CUDA_LOAN(status, sizeof(*status)));
	if (!error && function)
		*function = substitute(symbol, *function);
	return error;
}
