/* SPDX-License-Identifier: MIT */
/*
 * handles.c - the program's handles of kernels: of which kind each is, and the parameters of its kernel.
 *
 * A launch takes a CUfunction (of a module, in one context) and a CUkernel (of a library, in all) alike; the functions
 * that tell parameters take one kind each, and the driver crashes on the other. So each handle is remembered from where
 * it was given out until it ends: with its module or library, or its context. Of handles that came another way nothing
 * is known, and the driver is not asked.
 *
 * Launches look handles up without a lock. An entry that ends is used again, never given back: a thread that is just
 * passing it may be led astray, finds nothing, sees that an entry has ended meanwhile, and looks once more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "entries.h"
#include "handles.h"
#include "hook.h"
#include "loan.h"

#define N_CHAINS 4096

enum kind { FUNCTION, KERNEL, MODULE };	/* MODULE: one of a library's, for the sake of its functions */

struct handle {
	_Atomic(struct handle *) next;
	_Atomic(const void *) key;
	enum kind kind;
	const void *owner;		/* the module or library with which it ends; NULL: not known which */
	CUcontext context;		/* with whose end it ends, too, but for a kernel; NULL: not known which */
	_Atomic(struct adsm_cuda_layout *) layout;	/* NULL: not asked for yet */
};

CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module);
CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library);
/* Since 12.4. */
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size);
ADSM_CU_CALLED(cuCtxGetCurrent);
ADSM_CU_CALLED(cuModuleGetFunctionCount);
ADSM_CU_CALLED(cuLibraryGetKernelCount);
ADSM_CU_CALLED(cuFuncGetParamInfo);
ADSM_CU_CALLED(cuKernelGetParamInfo);

static _Atomic(struct handle *) chains[N_CHAINS];
static _Atomic uint64_t n_ended;
/* Of all changes, and of the rest: */
static struct adsm_mutex lock = ADSM_MUTEX_INIT(ADSM_RANK_TABLE);
static struct handle *unused;

static _Atomic(struct handle *) *chain_of(const void *key)
{
	return &chains[((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 52];
}

/* NULL: nothing is known of it. Under the lock, or for a handle whose owner the program does not end meanwhile. */
static struct handle *find(const void *key)
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

/* ---- what is known */

static void remove_locked(_Atomic(struct handle *) *at)
{
	struct handle *handle = atomic_load(at);

	atomic_store(at, atomic_load(&handle->next));
	atomic_store(&handle->key, NULL);	/* who stands here looks for another, and then again */
	atomic_fetch_add(&n_ended, 1);
	free(atomic_exchange(&handle->layout, NULL));
	atomic_store(&handle->next, unused);
	unused = handle;
}

/* Does the handle end with this module or library, or (NULL) with the context? Yes where its owner is not known. */
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

/* Without memory nothing is remembered of the handle. */
static void remember(const void *key, enum kind kind, const void *owner)
{
	CUcontext context = NULL;
	struct handle *handle;

	real_cu(cuCtxGetCurrent)(&context);
	adsm_mutex_lock(&lock);
	handle = find(key);
	/* The driver gives the same one each time. */
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
	free(atomic_exchange(&handle->layout, NULL));	/* of who was late for the one before */
	atomic_store(&handle->key, key);
	atomic_store(&handle->next, atomic_load(chain_of(key)));
	atomic_store(chain_of(key), handle);
unlock:
	adsm_mutex_unlock(&lock);
}

/* With which the functions of a module end: with the library that it is of, else itself. */
static const void *owner_of(const void *key)
{
	const void *owner = key;
	struct handle *handle;

	adsm_mutex_lock(&lock);
	handle = find(key);
	if (handle && handle->kind != FUNCTION)
		owner = handle->owner;
	adsm_mutex_unlock(&lock);
	return owner;
}

/* ---- parameters */

static CUresult ask(const struct handle *handle, const void *key, size_t index, struct adsm_cuda_param *ret_param)
{
	return handle->kind == KERNEL ?
		real_cu(cuKernelGetParamInfo)((CUkernel)key, index, &ret_param->offset, &ret_param->size) :
		real_cu(cuFuncGetParamInfo)((CUfunction)key, index, &ret_param->offset, &ret_param->size);
}

/* NULL: the driver does not tell, or there is no memory. */
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
		result = ask(handle, key, n, &layout->params[n]);
		layout->n = n;
	}
	/* It says so of the first one that there is not. */
	if (result == CUDA_ERROR_INVALID_VALUE)
		return layout;
	free(layout);
	return NULL;
}

const struct adsm_cuda_layout *adsm_cuda_layout(CUfunction function)
{
	struct handle *handle = find(function);
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

/* ---- where handles come from */

ADSM_CU(cuModuleGetFunction);
ADSM_CU(cuModuleEnumerateFunctions);
ADSM_CU(cuLibraryGetKernel);
ADSM_CU(cuLibraryEnumerateKernels);
ADSM_CU(cuLibraryGetModule);
ADSM_CU(cuKernelGetFunction);

ADSM_WRAPPER CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	CUresult result;

	ADSM_CUDA_LENT(result, real_cu(cuModuleGetFunction)(function, module, name),
		       ADSM_CUDA_LOAN(function, sizeof(*function)), ADSM_CUDA_LOAN(name, ADSM_CUDA_TEXT));
	if (result == CUDA_SUCCESS && function)
		remember(*function, FUNCTION, owner_of(module));
	return result;
}

/* The program's buffer may be longer than the list: the rest of it is anything. */
#define ENUMERATE(name, type, kind, of_type, of, owner_, get_count)				\
	ADSM_WRAPPER CUresult name(type *list, unsigned n, of_type of)				\
	{											\
		const void *owner = owner_;							\
		unsigned count = 0;								\
		CUresult result;								\
												\
		ADSM_CUDA_LENT(result, real_cu(name)(list, n, of), ADSM_CUDA_LOAN(list, n * sizeof(*list)));	\
		if (result == CUDA_SUCCESS && n)						\
			real_cu(get_count)(&count, of);						\
		for (unsigned i = 0; i < n && i < count; i++)					\
			remember(list[i], kind, owner);						\
		return result;									\
	}
ENUMERATE(cuModuleEnumerateFunctions, CUfunction, FUNCTION, CUmodule, module, owner_of(module),
	  cuModuleGetFunctionCount)
ENUMERATE(cuLibraryEnumerateKernels, CUkernel, KERNEL, CUlibrary, library, library, cuLibraryGetKernelCount)

ADSM_WRAPPER CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult result;

	ADSM_CUDA_LENT(result, real_cu(cuLibraryGetKernel)(kernel, library, name),
		       ADSM_CUDA_LOAN(kernel, sizeof(*kernel)), ADSM_CUDA_LOAN(name, ADSM_CUDA_TEXT));
	if (result == CUDA_SUCCESS && kernel)
		remember(*kernel, KERNEL, library);
	return result;
}

ADSM_WRAPPER CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	CUresult result;

	ADSM_CUDA_LENT(result, real_cu(cuLibraryGetModule)(module, library), ADSM_CUDA_LOAN(module, sizeof(*module)));
	if (result == CUDA_SUCCESS && module)
		remember(*module, MODULE, library);
	return result;
}

ADSM_WRAPPER CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	const void *library = owner_of(kernel);
	CUresult result;

	ADSM_CUDA_LENT(result, real_cu(cuKernelGetFunction)(function, kernel),
		       ADSM_CUDA_LOAN(function, sizeof(*function)));
	if (result == CUDA_SUCCESS && function)
		remember(*function, FUNCTION, library == kernel ? NULL : library);
	return result;
}

/* ---- the end of handles. Before the driver ends them, after which new ones may have the same addresses. */

#define UNLOAD(name, type)				\
	ADSM_CU(name);					\
	ADSM_WRAPPER CUresult name(type owner)		\
	{						\
		forget(owner, NULL);			\
		return real_cu(name)(owner);		\
	}
UNLOAD(cuModuleUnload, CUmodule)
UNLOAD(cuLibraryUnload, CUlibrary)
