/* SPDX-License-Identifier: MIT */
/*
 * handles.c - a table of the program's handles of kernels: the kind of each, and the parameters of its kernel.
 *
 * A launch takes a CUfunction (of a module, in one context) or a CUkernel (of a library, in all contexts). But each of
 * the driver's functions that return parameters takes one kind only, and the driver crashes on the other kind. So the
 * wrappers of the functions that return handles put these into the table. An entry ends with its module, library or
 * context. If a handle is not in the table, the driver is not asked.
 *
 * Launches look handles up without a lock. So entries are reused, but never freed. A thread may be at an entry while
 * the entry ends and moves to another list. Then the thread may not find its handle. It detects by n_ended that an
 * entry has ended, and searches again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "handles.h"
#include "hook.h"
#include "loan.h"

#define N_CHAINS 4096

enum kind { FUNCTION, KERNEL, MODULE };	/* MODULE: of a library, for the owner of the module's functions */

struct handle {
	_Atomic(struct handle *) next;
	_Atomic(const void *) key;
	enum kind kind;
	const void *owner;		/* it ends with this module or library; NULL: not known */
	CUcontext context;		/* it ends with this context, too, unless it is a KERNEL; NULL: not known */
	_Atomic(struct adsm_cuda_layout *) layout;	/* NULL: not asked for yet */
};

ADSM_CU_CALLED(cuCtxGetCurrent, (CUcontext *context));
ADSM_CU_CALLED(cuModuleGetFunctionCount, (unsigned *count, CUmodule module));
ADSM_CU_CALLED(cuLibraryGetKernelCount, (unsigned *count, CUlibrary library));
/* Since CUDA 12.4. */
ADSM_CU_CALLED(cuFuncGetParamInfo, (CUfunction function, size_t index, size_t *offset, size_t *size));
ADSM_CU_CALLED(cuKernelGetParamInfo, (CUkernel kernel, size_t index, size_t *offset, size_t *size));

static _Atomic(struct handle *) chains[N_CHAINS];
static _Atomic uint64_t n_ended;
/* For changes of the lists, and for what follows. */
static struct adsm_mutex lock = ADSM_MUTEX_INIT(ADSM_RANK_TABLE);
static struct handle *unused;

static _Atomic(struct handle *) *chain_of(const void *key)
{
	return &chains[((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 52];
}

/* NULL: not in the table. The caller holds the lock, or the program does not end the handle's owner meanwhile. */
static struct handle *lookup_handle(const void *key)
{
	struct handle *handle;
	uint64_t before;

	do {
		before = atomic_load_explicit(&n_ended, memory_order_acquire);
		handle = atomic_load_explicit(chain_of(key), memory_order_acquire);
		while (handle && atomic_load_explicit(&handle->key, memory_order_relaxed) != key)
			handle = atomic_load_explicit(&handle->next, memory_order_acquire);
	} while (atomic_load(&n_ended) != before);
	return handle;
}

/* ---- the table */

static void remove_locked(_Atomic(struct handle *) *at)
{
	struct handle *handle = atomic_load(at);

	atomic_store(at, atomic_load(&handle->next));
	atomic_store(&handle->key, NULL);	/* lookup_handle() in another thread may be here: it searches again */
	atomic_fetch_add(&n_ended, 1);
	free(atomic_exchange(&handle->layout, NULL));
	atomic_store(&handle->next, unused);
	unused = handle;
}

/* Does the handle end with @owner or, if that is NULL, with the context? True if the handle's own one is not known. */
static bool ends_with(const struct handle *handle, const void *owner, CUcontext context)
{
	if (owner)
		return !handle->owner || handle->owner == owner;
	return handle->kind != KERNEL && (!handle->context || handle->context == context);
}

static void forget(const void *owner, CUcontext context)
{
	adsm_mutex_lock(&lock);
	for (size_t i = 0; i < N_CHAINS; i++)
		for (_Atomic(struct handle *) *at = &chains[i]; atomic_load(at);) {
			struct handle *handle = atomic_load(at);

			if (ends_with(handle, owner, context))
				remove_locked(at);
			else
				at = &handle->next;
		}
	adsm_mutex_unlock(&lock);
}

static void forget_one_locked(const void *key)
{
	for (_Atomic(struct handle *) *at = chain_of(key); atomic_load(at); at = &atomic_load(at)->next)
		if (atomic_load(&atomic_load(at)->key) == key) {
			remove_locked(at);
			return;
		}
}

void adsm_cuda_forget_handles(CUcontext context)
{
	forget(NULL, context);
}

/* Put a handle into the table; if there is no memory, do nothing. */
static void remember(const void *key, enum kind kind, const void *owner)
{
	CUcontext context = NULL;
	struct handle *handle;

	real_cu(cuCtxGetCurrent)(&context);
	adsm_mutex_lock(&lock);
	handle = lookup_handle(key);
	/* The driver returns the same handle each time. */
	if (handle && handle->kind == kind && handle->owner == owner &&
	    (kind == KERNEL || handle->context == context))
		goto unlock;
	if (handle)
		forget_one_locked(key);
	handle = unused ? unused : calloc(1, sizeof(*handle));
	if (!handle)
		goto unlock;
	if (handle == unused)
		unused = atomic_load(&handle->next);
	handle->kind = kind;
	handle->owner = owner;
	handle->context = context;
	free(atomic_exchange(&handle->layout, NULL));	/* a late launch of the entry's former handle may have set it */
	atomic_store(&handle->key, key);
	atomic_store(&handle->next, atomic_load(chain_of(key)));
	atomic_store(chain_of(key), handle);
unlock:
	adsm_mutex_unlock(&lock);
}

/* What the functions of a module end with: the library that the module belongs to, or else the module itself. */
static const void *owner_of(const void *key)
{
	const void *owner = key;
	struct handle *handle;

	adsm_mutex_lock(&lock);
	handle = lookup_handle(key);
	if (handle && handle->kind != FUNCTION)
		owner = handle->owner;
	adsm_mutex_unlock(&lock);
	return owner;
}

/* ---- parameters */

static CUresult query_param(const struct handle *handle, const void *key, size_t index,
			    struct adsm_cuda_param *ret_param)
{
	return handle->kind == KERNEL ?
		real_cu(cuKernelGetParamInfo)((CUkernel)key, index, &ret_param->offset, &ret_param->size) :
		real_cu(cuFuncGetParamInfo)((CUfunction)key, index, &ret_param->offset, &ret_param->size);
}

/* NULL: the driver does not return parameters, or there is no memory. */
static struct adsm_cuda_layout *ask_all(const struct handle *handle, const void *key)
{
	struct adsm_cuda_layout *layout = NULL, *larger;
	CUresult result = CUDA_SUCCESS;

	for (size_t n = 0, room = 0; result == CUDA_SUCCESS; n++) {
		if (n == room) {
			room = room ? 2 * room : 8;
			larger = realloc(layout, sizeof(*layout) + room * sizeof(layout->params[0]));
			if (!larger)
				break;
			layout = larger;
		}
		result = query_param(handle, key, n, &layout->params[n]);
		layout->n = n;
	}
	/* The driver returns this for the index behind the last parameter. */
	if (result == CUDA_ERROR_INVALID_VALUE)
		return layout;
	free(layout);
	return NULL;
}

const struct adsm_cuda_layout *adsm_cuda_layout(CUfunction function)
{
	struct handle *handle = lookup_handle(function);
	struct adsm_cuda_layout *layout, *other = NULL;

	if (!handle || handle->kind == MODULE)
		return NULL;
	layout = atomic_load_explicit(&handle->layout, memory_order_acquire);
	if (layout)
		return layout;
	layout = ask_all(handle, function);
	if (layout && !atomic_compare_exchange_strong(&handle->layout, &other, layout)) {
		free(layout);
		layout = other;
	}
	return layout;
}

/* ---- functions that return handles */

/* The program's buffer may be longer than the list. Only @count entries of it are valid. */
#define ENUMERATE(name, type, kind, of_type, of, owner_, get_count)					\
	ADSM_CU_WRAPPER(name, (type *list, unsigned n, of_type of))					\
	{												\
		const void *owner = owner_;								\
		unsigned count = 0;									\
		CUresult result;									\
													\
		ADSM_LOANS_FOR(result, real_cu(name)(list, n, of), ADSM_LOAN(list, n * sizeof(*list)));	\
		if (result == CUDA_SUCCESS && n)							\
			real_cu(get_count)(&count, of);							\
		for (unsigned i = 0; i < n && i < count; i++)						\
			remember(list[i], kind, owner);							\
		return result;										\
	}
ENUMERATE(cuModuleEnumerateFunctions, CUfunction, FUNCTION, CUmodule, module, owner_of(module),
	  cuModuleGetFunctionCount)
ENUMERATE(cuLibraryEnumerateKernels, CUkernel, KERNEL, CUlibrary, library, library, cuLibraryGetKernelCount)

static const void *library_of(CUkernel kernel)
{
	const void *library = owner_of(kernel);

	return library == kernel ? NULL : library;
}

/* @handle: what the function returns. The other loans than this one follow. */
#define GET(function_, params, args, handle, kind, owner_, ...)							\
	ADSM_CU_WRAPPER(function_, params)									\
	{													\
		const void *owner = owner_;									\
		CUresult result;										\
														\
		ADSM_LOANS_FOR(result, real_cu(function_) args, ADSM_LOAN(handle, sizeof(*handle)), __VA_ARGS__); \
		if (result == CUDA_SUCCESS && handle)								\
			remember(*handle, kind, owner);								\
		return result;											\
	}
GET(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name), (function, module, name),
    function, FUNCTION, owner_of(module), ADSM_LOAN(name, ADSM_LOAN_TEXT))
GET(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name), (kernel, library, name),
    kernel, KERNEL, library, ADSM_LOAN(name, ADSM_LOAN_TEXT))
GET(cuLibraryGetModule, (CUmodule *module, CUlibrary library), (module, library), module, MODULE, library)
GET(cuKernelGetFunction, (CUfunction *function, CUkernel kernel), (function, kernel),
    function, FUNCTION, library_of(kernel))

/* ---- the end of handles. They are removed before the driver ends them: after that, it may reuse their values. */

#define UNLOAD(name, type)			\
	ADSM_CU_WRAPPER(name, (type owner))	\
	{					\
		forget(owner, NULL);		\
		return real_cu(name)(owner);	\
	}
UNLOAD(cuModuleUnload, CUmodule)
UNLOAD(cuLibraryUnload, CUlibrary)
