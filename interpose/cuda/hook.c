/* SPDX-License-Identifier: MIT */
/*
 * hook.c - how programs get the wrappers of CUDA's driver: by dlsym() (dlsym.S), and by cuGetProcAddress().
 *
 * The real function is called first. If its result is a symbol of the driver that has a wrapper, the program gets the
 * wrapper instead. So versions, variants and failures, and functions of the same name in other libraries, stay as they
 * are.
 *
 * There is no lock here. A constructor may look symbols up while the dynamic linker holds its own lock, which dlopen()
 * takes, too.
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
/* The begin and the end of this library, defined by the linker. */
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

/* Opens the library that has this symbol once more, whatever its name. NULL: it lacks the functions in marks. */
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

/* A handle of the driver. It is never closed, so the driver's functions stay valid. NULL: no driver is loaded, and the
 * library of @symbol is no driver. */
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

/* The driver's symbol of this name, or NULL. */
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

/* Called at the first call of a wrapper; a program linked with the driver may do nothing else before. It searches the
 * driver that is loaded in this process, then the libraries behind this one, then the installed driver. */
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
	/* If there is no driver, the result is not stored: one may be loaded later. */
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

/* The wrapper to return. NULL: the symbol is not the driver's, or has no wrapper. */
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

/* NULL: dlsym.S is to call the real dlsym(). */
void *adsm_dlsym_answer(void *handle, const char *name)
{
	int saved_errno = errno;
	void *answer;

	/* These results depend on the caller. RTLD_DEFAULT finds the wrappers anyway, because they are exported. */
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

/* Prefixes of functions that need no wrapper: they use no memory, or none that can be in an object. */
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

/* Is the entry @symbol, or a variant of it with suffixes? Programs ask for names without suffixes. */
static bool is_variant(const struct adsm_cu_entry *entry, const char *symbol)
{
	size_t length = strlen(symbol);

	return !strncmp(entry->name, symbol, length) && (!entry->name[length] || entry->name[length] == '_');
}

/* Is it known that the symbol needs no wrapper? False if it is a new version of a function with a wrapper, also if its
 * prefix is in families. */
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

/* Are messages of level info logged? Before the library starts, its options are not loaded yet. */
static bool is_told(void)
{
	const char *level = adsm_started() ? NULL : adsm_os_getenv("ADSM_LOG");

	return adsm_log_level >= ADSM_LOG_INFO || (level && (!strcmp(level, "info") || !strcmp(level, "debug")));
}

/* Log the symbol, once for each, and at most N_NAMED symbols. */
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
			adsm_log_write(ADSM_LOG_INFO, "the library does not know CUDA's %s: it passes the calls to the "
				       "driver unchanged", symbol);
			return;
		}
		if (other == hash)
			return;
	}
}

/* What the program gets if the driver returned @function. */
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

#define GET_PROC(name, params, args, ...)							\
	ADSM_CU_WRAPPER(name, params)								\
	{											\
		CUresult error;									\
												\
		ADSM_LOANS_FOR(error, real_cu(name) args, ADSM_LOAN(symbol, ADSM_LOAN_TEXT),	\
			       ADSM_LOAN(function, sizeof(*function)), __VA_ARGS__);		\
		if (!error && function)								\
			*function = substitute(symbol, *function);				\
		return error;									\
	}
GET_PROC(cuGetProcAddress, (const char *symbol, void **function, int version, uint64_t flags),
	 (symbol, function, version, flags))
GET_PROC(cuGetProcAddress_v2, (const char *symbol, void **function, int version, uint64_t flags, int *status),
	 (symbol, function, version, flags, status), ADSM_LOAN(status, sizeof(*status)))
