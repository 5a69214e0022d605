/* SPDX-License-Identifier: MIT */
/*
 * trace.c - to be preloaded: which functions of CUDA's driver a program calls, and how often, on standard error.
 *
 * The entrance is dlsym("cuGetProcAddress_v2"); each function that is handed out from there gets a slot of its own: a
 * piece of code that counts and jumps on. A function that is none of the driver's exported symbols is reported, because
 * wrappers are recognized by the symbol's address. Calls of names that a program is linked with are not counted.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define N_SLOTS 1024
#define SLOT_SIZE 32

/* Of the code below. */
#define HIDDEN __attribute__((visibility("hidden")))
extern const char trace_slots[] HIDDEN;
HIDDEN uint64_t trace_counts[N_SLOTS];
HIDDEN void *trace_functions[N_SLOTS];
HIDDEN void *trace_real_dlsym;
HIDDEN void *trace_pick(void *library, const char *name);

__asm__(
	".text\n"
	".balign 32\n"
	".hidden trace_slots\n"
	".globl trace_slots\n"
	"trace_slots:\n"
	".set slot, 0\n"
	".rept 1024\n"
	"	endbr64\n"
	"	lock incq (trace_counts + 8 * slot)(%rip)\n"
	"	jmp *(trace_functions + 8 * slot)(%rip)\n"
	"	.balign 32\n"
	"	.set slot, slot + 1\n"
	".endr\n"
	/* dlsym() checks its caller, so this jumps to the real function, and does not call it. */
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	endbr64\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	sub $8, %rsp\n"
	"	call trace_pick\n"
	"	add $8, %rsp\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	test %rax, %rax\n"
	"	jne 1f\n"
	"	jmp *trace_real_dlsym(%rip)\n"
	"1:	ret\n");

static char names[N_SLOTS][48];
static unsigned n_slots, n_unknown;
static void *driver;
static int (*get_proc_address)(const char *name, void **function, int version, uint64_t flags, int *status);

static void *real_dlsym(void *library, const char *name)
{
	if (!trace_real_dlsym)
		trace_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!trace_real_dlsym)
		trace_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return ((void *(*)(void *, const char *))trace_real_dlsym)(library, name);
}

/* The name of the exported symbol that a function asked for as @name is. */
static bool symbol_of(void *function, const char *name, char ret_symbol[48])
{
	static const char *const suffixes[] = { "", "_v2", "_v3", "_v4", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds",
		"_v3_ptsz" };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(ret_symbol, 48, "%.30s%s", name, suffixes[i]);
		if (real_dlsym(driver, ret_symbol) == function)
			return true;
	}
	return false;
}

static void *slot_for(void *function, const char *name, int version)
{
	char symbol[48];

	for (unsigned i = 0; i < n_slots; i++)
		if (trace_functions[i] == function)
			return (void *)(uintptr_t)(trace_slots + i * SLOT_SIZE);
	if (!symbol_of(function, name, symbol)) {
		fprintf(stderr, "trace: \"%s\" at version %d is no exported symbol\n", name, version);
		n_unknown++;
		return function;
	}
	if (n_slots == N_SLOTS)
		return function;
	trace_functions[n_slots] = function;
	memcpy(names[n_slots], symbol, sizeof(symbol));
	return (void *)(uintptr_t)(trace_slots + n_slots++ * SLOT_SIZE);
}

static int traced_get_proc_address(const char *name, void **function, int version, uint64_t flags, int *status)
{
	int error = get_proc_address(name, function, version, flags, status);

	if (error || !*function)
		return error;
	if (*function == (void *)get_proc_address)
		*function = (void *)traced_get_proc_address;
	else
		*function = slot_for(*function, name, version);
	return 0;
}

void *trace_pick(void *library, const char *name)
{
	void *function;

	if (!trace_real_dlsym)
		real_dlsym(RTLD_DEFAULT, "dlsym");
	if (library == RTLD_NEXT || strcmp(name, "cuGetProcAddress_v2"))
		return NULL;
	function = real_dlsym(library, name);
	if (!function)
		return NULL;
	driver = library;
	*(void **)&get_proc_address = function;
	return (void *)traced_get_proc_address;
}

__attribute__((destructor)) static void report(void)
{
	if (!n_slots)
		return;
	fprintf(stderr, "trace: %u functions handed out, %u of them no exported symbols; called:\ntrace:",
		n_slots + n_unknown, n_unknown);
	for (unsigned i = 0; i < n_slots; i++)
		if (trace_counts[i])
			fprintf(stderr, " %s %llu,", names[i], (unsigned long long)trace_counts[i]);
	fprintf(stderr, "\n");
}
