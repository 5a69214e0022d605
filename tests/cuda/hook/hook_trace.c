/* SPDX-License-Identifier: MIT */
/*
 * hook_trace.c - stands before the library and writes down what a program gets from cuGetProcAddress_v2(), held against
 * what the driver itself says: "asked N wrapped N passed N wrong N" to the file TRACE_OUT, after what was wrong.
 * Its dlsym() is made as the library's: dlsym.S.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cu.h"

typedef CUresult get_fn(const char *symbol, void **function, int version, uint64_t flags, int *status);
typedef void *dlsym_fn(void *handle, const char *name);

extern _Atomic(void *) adsm_dlsym_real;
void *adsm_dlsym_find(void);
void *adsm_dlsym_answer(void *handle, const char *name);

_Atomic(void *) adsm_dlsym_real;
static dlsym_fn *libc_dlsym;		/* which no hook intercepts */
static void *library, *driver;
static get_fn *handed_out, *driver_own;
static FILE *out;
static unsigned n_asked, n_wrapped, n_passed, n_wrong;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("TRACE_OUT");

	out = path ? fopen(path, "w") : NULL;
	unsetenv("TRACE_OUT");
}

__attribute__((destructor)) static void end(void)
{
	if (out)
		fprintf(out, "asked %u wrapped %u passed %u wrong %u\n", n_asked, n_wrapped, n_passed, n_wrong);
	if (out)
		fclose(out);
}

void *adsm_dlsym_find(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	const char *path = getenv("TEST_LIBRARY");
	void *function = dlvsym(libc, "dlsym", "GLIBC_2.34");

	if (!function)
		function = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	libc_dlsym = (dlsym_fn *)(uintptr_t)function;
	library = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	/* As the program would have it without this: of the library behind. */
	if (library)
		function = libc_dlsym(library, "dlsym");
	atomic_store(&adsm_dlsym_real, function);
	return function;
}

static CUresult get(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
	CUresult error = handed_out(symbol, function, version, flags, status);
	int own_status = -1;
	void *own = NULL, *expected;
	Dl_info info;

	n_asked++;
	if (driver_own(symbol, &own, version, flags, &own_status) != error || (status && *status != own_status)) {
		fprintf(out, "%s %d: another error or status\n", symbol, version);
		n_wrong++;
	} else if (!error && own) {
		const char *name = dladdr(own, &info) && info.dli_saddr == own ? info.dli_sname : symbol;
		/* What the library has of that name is a wrapper. */
		void *wrapper = libc_dlsym(library, name);

		expected = wrapper ? wrapper : own;
		if (*function != expected) {
			fprintf(out, "%s %d %u: %s: %s\n", symbol, version, (unsigned)flags, name,
				wrapper ? "the driver's, which has a wrapper" : "not the driver's");
			n_wrong++;
		} else if (wrapper) {
			n_wrapped++;
		} else {
			n_passed++;
		}
		/* It asks by what it was given, as it would. */
		if (!strcmp(symbol, "cuGetProcAddress") && version >= 12000) {
			handed_out = (get_fn *)(uintptr_t)*function;
			*function = (void *)(uintptr_t)get;
		}
	}
	return error;
}

void *adsm_dlsym_answer(void *handle, const char *name)
{
	void *found;

	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || strcmp(name, "cuGetProcAddress_v2"))
		return NULL;
	if (!adsm_dlsym_real)
		adsm_dlsym_find();
	found = library && out ? ((dlsym_fn *)(uintptr_t)adsm_dlsym_real)(handle, name) : NULL;
	if (!found)
		return NULL;
	driver = handle;
	driver_own = (get_fn *)(uintptr_t)libc_dlsym(driver, name);
	handed_out = (get_fn *)(uintptr_t)found;
	return (void *)(uintptr_t)get;
}
