/* SPDX-License-Identifier: MIT */
/*
 * adsm_kernel.h - the kernel dialect: one C source for the CPU, OpenCL C and CUDA.
 *
 *	ADSM_KERNEL(vecadd, ADSM_IN(float, a), ADSM_IN(float, b), ADSM_OUT(float, c), ADSM_VAL(int, n))
 *	{
 *		ADSM_THREADS {
 *			int i = ADSM_GLOBAL_X;
 *
 *			if (i >= n)
 *				continue;
 *			c[i] = a[i] + b[i];
 *		}
 *	}
 *
 * A kernel's body is a sequence of phases, ADSM_THREADS { ... }. All threads of a block execute a phase, in any order
 * or at the same time. In a phase no thread may depend on another one. If a phase uses data that another phase writes,
 * ADSM_BARRIER must be between the two. `continue` outside of inner loops ends the phase for its thread. A thread must
 * not leave a phase in any other way: no return, goto or break.
 *
 * Code outside of phases (declarations, loops around phases) must be uniform: its conditions have the same result for
 * all threads of a block. It may write only to local variables that the body declares outside of phases. It must not
 * write to objects, or to variables of ADSM_SHARED and ADSM_PRIVATE.
 *
 * - ADSM_KERNEL(name, ...): a kernel whose blocks have at most 1024 threads.
 * - ADSM_KERNEL_MAX(name, max, ...): a kernel whose blocks have at most max threads.
 *
 * Parameters: at most 32. Two pointers may point to the same object.
 * - ADSM_IN(type, name): a pointer. The kernel only reads the object.
 * - ADSM_OUT(type, name): a pointer. The kernel overwrites all of the object.
 * - ADSM_INOUT(type, name): a pointer. The kernel reads and writes the object.
 * - ADSM_PTR(type, name): a pointer without a declared access.
 * - ADSM_VAL(type, name): a value.
 * - ADSM_CONST(type, name): a pointer to constant bytes, which the library copies at the call.
 * - ADSM_ONCE(type, name): a write-once object (adsm_once.h).
 * - ADSM_ONCE_IN(type, name): a write-once object whose units the kernel only reads.
 *
 * Declarations:
 * - ADSM_SHARED(type, name, count): an array of count elements that the threads of a block share. Its contents are
 *   undefined at first.
 * - ADSM_PRIVATE(type, name): a variable of each thread that keeps its value across phases. ADSM_MY(name) accesses it.
 * - ADSM_FUNCTION: precedes a function that kernels call.
 * - ADSM_TABLE(type, name, count) = { ... }: a constant table at file scope.
 * - ADSM_PER_NODE: precedes a static variable. Each node of a cluster has its own (docs/cluster.md).
 * - ADSM_SPACE_GLOBAL, ADSM_SPACE_SHARED, ADSM_SPACE_CONST: the memory of a pointer's target, as a part of its type.
 *   They are for pointers into an object, into ADSM_SHARED, and into ADSM_CONST or ADSM_TABLE. Example:
 *   const ADSM_SPACE_GLOBAL float *p = a + 1;
 *
 * Indices, of type int. ADSM_THREAD, ADSM_THREAD_* and ADSM_GLOBAL_* are valid in phases only:
 * - ADSM_THREAD_X, _Y, _Z: the thread's index in its block. ADSM_THREAD: the linear index, x fastest.
 * - ADSM_GLOBAL_X, _Y, _Z: the thread's index in the grid.
 * - ADSM_BLOCK_X, _Y, _Z: the block's index in the grid.
 * - ADSM_BLOCK_DIM_X, _Y, _Z: the number of threads in a block.
 * - ADSM_GRID_DIM_X, _Y, _Z: the number of blocks in the grid.
 *
 * Operations:
 * - ADSM_ATOMIC_ADD(p, v), and _SUB, _MIN, _MAX, _AND, _OR, _XOR, _EXCHANGE, ADSM_ATOMIC_CAS(p, expected, v): atomic
 *   operations on int and unsigned. They return the old value. Their memory order is relaxed: they do not order other
 *   accesses. adsmcc assumes that an atomic operation acts on an object, unless its target is a, a + i, &a[i] or
 *   &a[i].member, where a is an ADSM_SHARED array.
 * - adsm_sinf(x) and so on: the math functions on float. ADSM_MATH_ below lists them.
 * - ADSM_SERVICE, ADSM_PRINT, ADSM_NEXT, ADSM_ALLOC, ADSM_FREE: services, see adsm_kernel_services.h.
 *
 * Write-once objects. A kernel uses these macros outside of phases. A task may use them anywhere; such a task runs on
 * the device cpu only:
 * - ADSM_GET(name, unit): waits until the unit is set, and returns its address, a const type *.
 * - ADSM_FRESH(name, unit): begins to write a unit that is not set, and returns its address, a type *. Later phases
 *   write the unit.
 * - ADSM_SET(name, unit): sets the unit. ADSM_BARRIER must be between the phases that write the unit and ADSM_SET.
 * - ADSM_ROOM(name, unit): the same as ADSM_FRESH, but waits until the unit is not set.
 * - ADSM_EMPTY(name, unit): empties a unit that is set, so that it can be written again. Threads of the program must
 *   read such units by adsmOnceGet(): plain loads of the view may get the previous bytes. Clusters do not support
 *   ADSM_ROOM and ADSM_EMPTY.
 * A block may wait for units that are set by earlier blocks (linear index, x fastest), earlier calls, other devices or
 * the CPU. Workers of a task may also wait for each other.
 *
 * Tasks. The workers of a task run at the same time, and synchronize by locks, flags and barriers (docs/tasks.md). The
 * number of blocks in the call's grid is the number of workers; a block has one thread. Not every device supports
 * tasks.
 *
 *	ADSM_TASK(sum, ADSM_IN(int, a), ADSM_VAL(int, n), ADSM_INOUT(int, total))
 *	{
 *		int mine = 0;
 *
 *		for (int i = ADSM_WORKER; i < n; i += ADSM_N_WORKERS)
 *			mine += ADSM_READ(&a[i]);
 *		ADSM_LOCK(0);
 *		ADSM_WRITE(total, ADSM_READ(total) + mine);
 *		ADSM_UNLOCK(0);
 *	}
 *
 * - ADSM_WORKER, ADSM_N_WORKERS: the worker's index, the number of workers. Both have type int.
 * - ADSM_READ(p), ADSM_WRITE(p, v): read and write shared memory. The target of p is an integer, a float or a double.
 * - ADSM_LOCK(id), ADSM_UNLOCK(id): take and release the lock id, 0 to 1048575. A worker that has taken a lock sees
 *   what earlier holders of the lock wrote.
 * - ADSM_FLAG_SET(id), ADSM_FLAG_WAIT(id), ADSM_FLAG_CLEAR(id): set the flag id, 0 to 1048575; wait until it is set;
 *   clear it. All flags are clear when a task begins. A worker that has waited for a flag sees what the worker that
 *   set it wrote before. Clear a flag only if no worker is waiting for it.
 * - ADSM_ALL_BARRIER: waits for all workers. Each worker then sees what all workers wrote.
 * - ADSM_LOCAL(p): returns an address for reading the number at p. The address is valid until the worker next uses a
 *   macro of this list, or accesses shared memory. If workers have caches, it is an address in the worker's cache.
 * - ADSM_FLUSH(p), ADSM_FLUSH_ALL: write back and discard the worker's cached copy of p, or of everything.
 * - ADSM_TASK_ALLOC(size): allocates size bytes, aligned to 64, for all workers, also those of later tasks. The host
 *   cannot access this memory. The result is NULL if there is not enough memory.
 * - ADSM_TASK_FREE(p): frees memory of ADSM_TASK_ALLOC.
 * - adsm_sqrt(x) and so on, on double: sqrt, sin, cos, tan, exp, log, fabs, floor, ceil, fmax, fmin, pow, atan2.
 * - ADSM_TASKS: is defined where tasks are compiled. For other devices adsmcc leaves tasks out. Functions that use
 *   macros of this list must be between #ifdef ADSM_TASKS and #endif.
 */
#ifndef ADSM_KERNEL_H
#define ADSM_KERNEL_H

#define ADSM_KERNEL(name, ...) ADSM_KERNEL_MAX(name, 1024 __VA_OPT__(,) __VA_ARGS__)

/* A parameter is a tuple: kind, access, type in the body, type, name, and the last two as strings. */
#define ADSM_IN(type, name) (POINTER, 1, const type, type, name, #type, #name)
#define ADSM_OUT(type, name) (POINTER, 2, type, type, name, #type, #name)
#define ADSM_INOUT(type, name) (POINTER, 3, type, type, name, #type, #name)
#define ADSM_PTR(type, name) (POINTER, 0, type, type, name, #type, #name)
#define ADSM_ONCE(type, name) (ONCE, 3, type, type, name, #type, #name)
#define ADSM_ONCE_IN(type, name) (ONCE, 1, const type, type, name, #type, #name)
#define ADSM_VAL(type, name) (VALUE, 0, type, type, name, #type, #name)
#define ADSM_CONST(type, name) (CONST, 1, const type, type, name, #type, #name)

/* ADSM_EACH_(macro, (1, 2), (3, 4)) is macro(1, 2) macro(3, 4). A macro does not expand inside itself. Therefore each
 * step leaves the next step unexpanded, and ADSM_SCAN_ scans the result again, often enough. */
#define ADSM_SCAN_(...) ADSM_SCAN1_(ADSM_SCAN1_(ADSM_SCAN1_(ADSM_SCAN1_(__VA_ARGS__))))
#define ADSM_SCAN1_(...) ADSM_SCAN2_(ADSM_SCAN2_(ADSM_SCAN2_(ADSM_SCAN2_(__VA_ARGS__))))
#define ADSM_SCAN2_(...) ADSM_SCAN3_(ADSM_SCAN3_(ADSM_SCAN3_(ADSM_SCAN3_(__VA_ARGS__))))
#define ADSM_SCAN3_(...) __VA_ARGS__
#define ADSM_EACH_(macro, ...) __VA_OPT__(ADSM_SCAN_(ADSM_STEP_(macro, __VA_ARGS__)))
#define ADSM_STEP_(macro, tuple, ...) \
	macro tuple __VA_OPT__(ADSM_NEXT_ ADSM_PARENS_ (macro, __VA_ARGS__))
#define ADSM_NEXT_() ADSM_STEP_
#define ADSM_PARENS_ ()
/* Expand a list, and drop its first element. */
#define ADSM_TAIL_(...) ADSM_TAIL1_(__VA_ARGS__)
#define ADSM_TAIL1_(first, ...) __VA_ARGS__

/* The math functions: the name in C, the name in OpenCL C. */
#define ADSM_MATH_(unary, binary, ternary) \
	unary(acosf, acos) unary(asinf, asin) unary(atanf, atan) unary(ceilf, ceil) unary(cosf, cos) \
	unary(coshf, cosh) unary(expf, exp) unary(exp2f, exp2) unary(fabsf, fabs) unary(floorf, floor) \
	unary(logf, log) unary(log2f, log2) unary(log10f, log10) unary(roundf, round) unary(sinf, sin) \
	unary(sinhf, sinh) unary(sqrtf, sqrt) unary(tanf, tan) unary(tanhf, tanh) unary(truncf, trunc) \
	unary(erff, erf) unary(erfcf, erfc) \
	binary(atan2f, atan2) binary(fmaxf, fmax) binary(fminf, fmin) binary(fmodf, fmod) binary(powf, pow) \
	ternary(fmaf, fma)

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)

/* Round each product before an addition, as all other devices do, unless a build option asks for speed. */
#ifndef __FAST_RELAXED_MATH__
#pragma OPENCL FP_CONTRACT OFF
#endif

/*
 * OpenCL C. A pointer is two kernel arguments: a buffer, and a ulong offset in bytes. A value is one argument, and so
 * is a constant, which is a buffer. ADSM_ENTER(parameters) defines the pointers. adsmcc writes it after the opening
 * brace of the body.
 */
#define ADSM_KERNEL_MAX(name, max, ...) \
	__kernel void name(ADSM_TAIL_(0 ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__)))
#define ADSM_ENTER(...) ADSM_EACH_(ADSM_ENTER_, __VA_ARGS__)
#define ADSM_DECLARE_(kind, access, c_type, type, name, ...) , ADSM_DECLARE_##kind##_(c_type, name)
#define ADSM_DECLARE_POINTER_(c_type, name) __global c_type *adsm_base_##name, ulong adsm_offset_##name
#define ADSM_DECLARE_VALUE_(c_type, name) c_type name
#define ADSM_DECLARE_CONST_(c_type, name) __constant c_type *name
#define ADSM_ENTER_(kind, access, c_type, type, name, ...) ADSM_ENTER_##kind##_(c_type, name)
#define ADSM_ENTER_POINTER_(c_type, name) \
	__global c_type *name = (__global c_type *)((__global char *)adsm_base_##name + adsm_offset_##name);
#define ADSM_ENTER_VALUE_(c_type, name)
#define ADSM_ENTER_CONST_(c_type, name)
/* Services: this code compiles, but never runs. The library rejects calls of such kernels. */
#define ADSM_SERVICE(name, in, in_size, out, out_size) ((void)(in), (void)(out), -95)
#define ADSM_PRINT(format, ...) (-95)
#define ADSM_NEXT(counter, chunk) ((long)0x7fffffffffffffffL)
#define ADSM_ALLOC(size) ((__global void *)0)
#define ADSM_FREE(p) ((void)(p))

#define ADSM_FUNCTION static inline
#define ADSM_TABLE(type, name, count) __constant type name[count]
#define ADSM_SPACE_GLOBAL __global
#define ADSM_SPACE_SHARED __local
#define ADSM_SPACE_CONST __constant
#define ADSM_SHARED(type, name, count) __local type name[count]
#define ADSM_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define ADSM_THREAD_X ((int)get_local_id(0))
#define ADSM_THREAD_Y ((int)get_local_id(1))
#define ADSM_THREAD_Z ((int)get_local_id(2))
#define ADSM_BLOCK_X ((int)get_group_id(0))
#define ADSM_BLOCK_Y ((int)get_group_id(1))
#define ADSM_BLOCK_Z ((int)get_group_id(2))
#define ADSM_BLOCK_DIM_X ((int)get_local_size(0))
#define ADSM_BLOCK_DIM_Y ((int)get_local_size(1))
#define ADSM_BLOCK_DIM_Z ((int)get_local_size(2))
#define ADSM_GRID_DIM_X ((int)get_num_groups(0))
#define ADSM_GRID_DIM_Y ((int)get_num_groups(1))
#define ADSM_GRID_DIM_Z ((int)get_num_groups(2))

#include <adsm_kernel_units.h>

#define ADSM_ATOMIC_ADD(p, v) atomic_add(p, v)
#define ADSM_ATOMIC_SUB(p, v) atomic_sub(p, v)
#define ADSM_ATOMIC_MIN(p, v) atomic_min(p, v)
#define ADSM_ATOMIC_MAX(p, v) atomic_max(p, v)
#define ADSM_ATOMIC_AND(p, v) atomic_and(p, v)
#define ADSM_ATOMIC_OR(p, v) atomic_or(p, v)
#define ADSM_ATOMIC_XOR(p, v) atomic_xor(p, v)
#define ADSM_ATOMIC_EXCHANGE(p, v) atomic_xchg(p, v)
#define ADSM_ATOMIC_CAS(p, expected, v) atomic_cmpxchg(p, expected, v)

#define ADSM_MATH1_(c, cl) ADSM_FUNCTION float adsm_##c(float x) { return cl(x); }
#define ADSM_MATH2_(c, cl) ADSM_FUNCTION float adsm_##c(float x, float y) { return cl(x, y); }
#define ADSM_MATH3_(c, cl) ADSM_FUNCTION float adsm_##c(float x, float y, float z) { return cl(x, y, z); }

#elif defined(__CUDACC__)

/*
 * CUDA. A parameter is one argument. A constant is a pointer. NVRTC needs --std=c++20 for the macros, and --fmad=false
 * for the same numbers as other compilers.
 */
#define ADSM_KERNEL_MAX(name, max, ...) extern "C" __global__ void __launch_bounds__(max) \
	name(ADSM_TAIL_(0 ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__)))
#define ADSM_ENTER(...)
#define ADSM_DECLARE_(kind, access, c_type, type, name, ...) , ADSM_DECLARE_##kind##_(c_type, name)
#define ADSM_DECLARE_POINTER_(c_type, name) c_type *name
#define ADSM_DECLARE_VALUE_(c_type, name) c_type name
#define ADSM_DECLARE_CONST_(c_type, name) c_type *__restrict__ name
/* Write-once objects and services: this code compiles, but never runs. The library rejects calls of such kernels. */
#define ADSM_DECLARE_ONCE_(c_type, name) c_type *name, unsigned long long adsm_unit_##name
#define ADSM_GET(name, unit) ((decltype(name))((char *)(name) + adsm_unit_##name * (unsigned long long)(unit)))
#define ADSM_FRESH(name, unit) ADSM_GET(name, unit)
#define ADSM_SET(name, unit) ((void)(unit))
#define ADSM_ROOM(name, unit) ADSM_FRESH(name, unit)
#define ADSM_EMPTY(name, unit) ((void)(unit))
#define ADSM_SERVICE(name, in, in_size, out, out_size) ((void)(in), (void)(out), -95)
#define ADSM_PRINT(format, ...) (-95)
#define ADSM_NEXT(counter, chunk) ((long)0x7fffffffffffffffL)
#define ADSM_ALLOC(size) ((void *)0)
#define ADSM_FREE(p) ((void)(p))

#define ADSM_FUNCTION static inline __device__
#define ADSM_TABLE(type, name, count) static const __constant__ type name[count]
#define ADSM_SPACE_GLOBAL
#define ADSM_SPACE_SHARED
#define ADSM_SPACE_CONST
#define ADSM_SHARED(type, name, count) __shared__ type name[count]
#define ADSM_BARRIER __syncthreads()

#define ADSM_THREAD_X ((int)threadIdx.x)
#define ADSM_THREAD_Y ((int)threadIdx.y)
#define ADSM_THREAD_Z ((int)threadIdx.z)
#define ADSM_BLOCK_X ((int)blockIdx.x)
#define ADSM_BLOCK_Y ((int)blockIdx.y)
#define ADSM_BLOCK_Z ((int)blockIdx.z)
#define ADSM_BLOCK_DIM_X ((int)blockDim.x)
#define ADSM_BLOCK_DIM_Y ((int)blockDim.y)
#define ADSM_BLOCK_DIM_Z ((int)blockDim.z)
#define ADSM_GRID_DIM_X ((int)gridDim.x)
#define ADSM_GRID_DIM_Y ((int)gridDim.y)
#define ADSM_GRID_DIM_Z ((int)gridDim.z)

#define ADSM_ATOMIC_ADD(p, v) atomicAdd(p, v)
#define ADSM_ATOMIC_SUB(p, v) atomicSub(p, v)
#define ADSM_ATOMIC_MIN(p, v) atomicMin(p, v)
#define ADSM_ATOMIC_MAX(p, v) atomicMax(p, v)
#define ADSM_ATOMIC_AND(p, v) atomicAnd(p, v)
#define ADSM_ATOMIC_OR(p, v) atomicOr(p, v)
#define ADSM_ATOMIC_XOR(p, v) atomicXor(p, v)
#define ADSM_ATOMIC_EXCHANGE(p, v) atomicExch(p, v)
#define ADSM_ATOMIC_CAS(p, expected, v) atomicCAS(p, expected, v)

#define ADSM_MATH1_(c, cl) ADSM_FUNCTION float adsm_##c(float x) { return c(x); }
#define ADSM_MATH2_(c, cl) ADSM_FUNCTION float adsm_##c(float x, float y) { return c(x, y); }
#define ADSM_MATH3_(c, cl) ADSM_FUNCTION float adsm_##c(float x, float y, float z) { return c(x, y, z); }

#else

/*
 * Native C, for gcc and clang. For each kernel a module exports adsm_run_<name>(), which runs one block of the grid in
 * the calling thread. The section "adsm_kernels" describes the kernels: it is an array of struct adsm_kernel_desc. The
 * library reads it and need not run code of the module.
 */
struct adsm_kernel_block {
	__UINT32_TYPE__ grid[3], block[3];	/* number of blocks in the grid; of threads in a block */
	__UINT32_TYPE__ index[3];		/* this block */
};

/**
 * @args: one entry for each parameter. A pointer: the address of a uint64_t that contains it. A value: the address of
 *        its bytes, aligned or not. A constant: the address of its bytes, aligned for its type. Memory of the block:
 *        the address of a uint64_t with its size.
 */
typedef void adsm_kernel_run(const struct adsm_kernel_block *block, const void *const *args);

/*
 * A module may also export adsm_step_<name>(), for kernels whose blocks wait for each other. It runs a block until the
 * block ends, and returns 0; or until the block can only continue after other blocks have run. Then it stores the
 * block's state in *state, which is NULL at first, and a later call with the same state continues.
 * It returns 1: all threads of the block wait for all other blocks; the call with @open nonzero continues them. 2: the
 * block waits for memory to change.
 */
typedef int adsm_kernel_step(const struct adsm_kernel_block *block, const void *const *args, void **state, int open);

/* The entry of @args for a write-once object. A function that cannot do its work does not return. */
struct adsm_kernel_once {
	void *data;
	__UINT64_TYPE__ size, count;		/* bytes of a unit; number of units */
	const void *(*get)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
	void *(*fresh)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
	void (*set)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
	void *(*room)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
	void (*empty)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
};

#define ADSM_KERNEL_MAGIC "ADSMKRN"
#define ADSM_KERNEL_VERSION 1u		/* version of the descriptor and of the interface of adsm_run_<name>() */
#define ADSM_KERNEL_PARAMS_MAX 32
/* A flag: the kernel has no atomic operations except on memory of the block. adsmcc sets it only if that is certain. */
#define ADSM_KERNEL_NO_GLOBAL_ATOMICS 1u
/* A flag: the kernel is a task. Its module exports adsm_task_<name>() instead. */
#define ADSM_KERNEL_TASK 2u
/* A flag: the kernel may call services. adsmcc sets it. */
#define ADSM_KERNEL_SERVICES 4u
/* A flag: the kernel may use any object, because it follows pointers in memory. */
#define ADSM_KERNEL_ANY_OBJECT 8u
/* A flag: a pointer need not point to an object, and a value of 8 bytes may be one, as in CUDA C. */
#define ADSM_KERNEL_RAW 16u

struct adsm_kernel_param {
	char name[32], type[32];
	/* 1: pointer, 2: value, 3: constant, 5: memory of the block, 6: write-once; as ADSM_ARG_* of adsm.h. 7: a
	 * variable of the module; name: its index */
	__UINT32_TYPE__ kind;
	__UINT32_TYPE__ access;		/* pointer: 1: in, 2: out, 3: inout, 0: not declared */
	__UINT32_TYPE__ size;		/* bytes of the value, or of one element */
};

/* The size is a multiple of the alignment, and the alignment is the largest that a compiler gives to data by itself.
 * Therefore the section has no gaps. */
struct adsm_kernel_desc {
	char magic[8];
	__UINT32_TYPE__ version, size;	/* ADSM_KERNEL_VERSION; bytes of this structure */
	__UINT32_TYPE__ max_threads, n_params;
	char name[64];
	struct adsm_kernel_param params[ADSM_KERNEL_PARAMS_MAX];
	__UINT32_TYPE__ flags;		/* 0 in modules that are older than this field */
	char reserved[36];
} __attribute__((aligned(64)));

/* Define the descriptor of a kernel. */
#define ADSM_DESC_(name_, max, flags_, ...) \
	_Static_assert(sizeof(#name_) <= sizeof(((struct adsm_kernel_desc *)0)->name), \
		       "the name of the kernel is longer than 63 characters"); \
	_Static_assert((max) > 0, "a block has at least one thread"); \
	_Static_assert(0 ADSM_EACH_(ADSM_COUNT_, __VA_ARGS__) <= ADSM_KERNEL_PARAMS_MAX, \
		       "a kernel has at most 32 parameters"); \
	static const struct adsm_kernel_desc adsm_desc_##name_ \
		__attribute__((used, section("adsm_kernels"), aligned(64))) = { \
		.magic = ADSM_KERNEL_MAGIC, .version = ADSM_KERNEL_VERSION, \
		.size = sizeof(struct adsm_kernel_desc), .max_threads = (max), \
		.n_params = 0 ADSM_EACH_(ADSM_COUNT_, __VA_ARGS__), .name = #name_, \
		.params = { ADSM_EACH_(ADSM_DESCRIBE_, __VA_ARGS__) }, \
		.flags = (flags_), \
	};

/*
 * adsm_max_ brings the block limit into the body as a type. If a flag applies to the kernel, adsmcc defines
 * ADSM_NO_GLOBAL_ATOMICS_<name> or ADSM_USES_SERVICES_<name> before the text, as a comma and the flag.
 */
#define ADSM_KERNEL_MAX(name_, max, ...) \
	ADSM_DESC_(name_, max, \
		   0 ADSM_TAIL_(0 ADSM_NO_GLOBAL_ATOMICS_##name_) ADSM_TAIL_(0 ADSM_USES_SERVICES_##name_), \
		   __VA_ARGS__) \
	static inline __attribute__((always_inline)) void adsm_body_##name_( \
		const struct adsm_kernel_block adsm_block_, const char (*const adsm_max_)[max] \
		ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__)); \
	adsm_kernel_run adsm_run_##name_; \
	__attribute__((visibility("default"))) \
	void adsm_run_##name_(const struct adsm_kernel_block *adsm_block_, const void *const *adsm_args_) \
	{ \
		(void)adsm_args_; \
		ADSM_EACH_(ADSM_LOAD_, __VA_ARGS__) \
		adsm_body_##name_(*adsm_block_, 0 ADSM_EACH_(ADSM_PASS_, __VA_ARGS__)); \
	} \
	static inline void adsm_body_##name_( \
		__attribute__((unused)) const struct adsm_kernel_block adsm_block_, \
		__attribute__((unused)) const char (*const adsm_max_)[max] \
		ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__))
#define ADSM_ENTER(...)
#define ADSM_COUNT_(...) + 1
#define ADSM_DESCRIBE_(kind_, access_, c_type, type_, name_, type_text, name_text) { \
	.name = name_text, .type = type_text, .kind = ADSM_KIND_##kind_##_, .access = access_, \
	.size = sizeof(type_) + 0 * sizeof(struct { \
		_Static_assert(sizeof(name_text) <= 32 && sizeof(type_text) <= 32, \
			       "a parameter's name or type is longer than 31 characters"); char c; }) },
#define ADSM_KIND_POINTER_ 1
#define ADSM_KIND_VALUE_ 2
#define ADSM_KIND_CONST_ 3
#define ADSM_KIND_ONCE_ 6
#define ADSM_DECLARE_(kind, access, c_type, type, name, ...) , \
	ADSM_DECLARE_##kind##_(name) __attribute__((unused)) c_type ADSM_STAR_##kind##_ name
/* A write-once object is two parameters: the object, and a pointer to its data, which has the type of the units. */
#define ADSM_DECLARE_POINTER_(name)
#define ADSM_DECLARE_VALUE_(name)
#define ADSM_DECLARE_CONST_(name)
#define ADSM_DECLARE_ONCE_(name) __attribute__((unused)) const struct adsm_kernel_once *adsm_once_##name,
#define ADSM_STAR_POINTER_ ADSM_SPACE_GLOBAL *
#define ADSM_STAR_VALUE_
#define ADSM_STAR_CONST_ ADSM_SPACE_CONST *
#define ADSM_STAR_ONCE_ ADSM_SPACE_GLOBAL *
#define ADSM_LOAD_(kind, access, c_type, type, name, ...) \
	ADSM_KEEP_##kind##_(name, *adsm_args_) \
	c_type ADSM_STAR_##kind##_ name = ADSM_LOAD_##kind##_(c_type, *adsm_args_++);
#define ADSM_KEEP_POINTER_(name, arg)
#define ADSM_KEEP_VALUE_(name, arg)
#define ADSM_KEEP_CONST_(name, arg)
#define ADSM_KEEP_ONCE_(name, arg) const struct adsm_kernel_once *adsm_once_##name = (arg);
#define ADSM_LOAD_POINTER_(c_type, arg) \
	(c_type ADSM_SPACE_GLOBAL *)(__UINTPTR_TYPE__)ADSM_LOAD_VALUE_(__UINT64_TYPE__, arg)
#define ADSM_LOAD_VALUE_(c_type, arg) \
	((const struct { c_type value; } __attribute__((packed, may_alias)) *)(arg))->value
#define ADSM_LOAD_CONST_(c_type, arg) (c_type ADSM_SPACE_CONST *)(__UINTPTR_TYPE__)(arg)
#define ADSM_LOAD_ONCE_(c_type, arg) \
	(c_type ADSM_SPACE_GLOBAL *)(__UINTPTR_TYPE__)((const struct adsm_kernel_once *)(arg))->data
#define ADSM_PASS_(kind, access, c_type, type, name, ...) , ADSM_PASS_##kind##_(name) name
#define ADSM_PASS_POINTER_(name)
#define ADSM_PASS_VALUE_(name)
#define ADSM_PASS_CONST_(name)
#define ADSM_PASS_ONCE_(name) adsm_once_##name,
#define ADSM_GET(name, unit) \
	((const __typeof__(*name) *)(__UINTPTR_TYPE__)adsm_once_##name->get(adsm_once_##name, unit))
#define ADSM_FRESH(name, unit) \
	((__typeof__(*name) *)(__UINTPTR_TYPE__)adsm_once_##name->fresh(adsm_once_##name, unit))
#define ADSM_SET(name, unit) adsm_once_##name->set(adsm_once_##name, unit)
#define ADSM_ROOM(name, unit) \
	((__typeof__(*name) *)(__UINTPTR_TYPE__)adsm_once_##name->room(adsm_once_##name, unit))
#define ADSM_EMPTY(name, unit) adsm_once_##name->empty(adsm_once_##name, unit)

#define ADSM_INLINE_ static inline __attribute__((unused))
/*
 * For adsmcc --image. Functions must follow the ABI. The compiler must not make copies with other arguments, or rely on
 * registers that only a certain callee preserves.
 */
#if defined(ADSM_PARTITIONED_) && !defined(__clang__)
#define ADSM_PARTITION(n) __attribute__((noipa, section(".adsm.partition." #n)))
#define ADSM_FUNCTION static __attribute__((unused, noipa))
#elif defined(ADSM_PARTITIONED_)
#define ADSM_PARTITION(n) __attribute__((noinline, section(".adsm.partition." #n)))
#define ADSM_FUNCTION static __attribute__((unused))
#else
#define ADSM_FUNCTION ADSM_INLINE_
#endif
#define ADSM_TABLE(type, name, count) static const ADSM_SPACE_CONST type name[count]
/* For adsmcc --scratchpad. Memory outside of the local store has its own address spaces. A pass of adsmcc turns
 * accesses to them into accesses through the software cache. */
#ifdef ADSM_SCRATCHPAD_
#define ADSM_SPACE_GLOBAL __attribute__((address_space(1)))
#define ADSM_SPACE_CONST __attribute__((address_space(2)))
#else
#define ADSM_PER_NODE ADSM_PER_NODE_(__COUNTER__)	/* a section for each; adsmcc knows their names */
#define ADSM_PER_NODE_(n) ADSM_PER_NODE1_(n)
#define ADSM_PER_NODE1_(n) __attribute__((section("adsm_per_node" #n)))
#define ADSM_SPACE_GLOBAL
#define ADSM_SPACE_CONST
#endif
#define ADSM_SPACE_SHARED
/* adsmcc recognizes such an array by this name. */
enum { adsm_shared_ = 64 };
#define ADSM_SHARED(type, name, count) type name[count] __attribute__((aligned(adsm_shared_)))
#define ADSM_BARRIER ((void)0)

/* The threads of a phase do not depend on each other, so the compiler may vectorize the loop. The accesses of a thread
 * keep their order, so kernels that work in place stay correct. The global index is a loop counter too. gcc then splits
 * the loop at a bounds test of the index, of type int, and vectorizes both parts. */
#if defined(__clang__)
#define ADSM_INDEPENDENT_
#else
#define ADSM_INDEPENDENT_ _Pragma("GCC ivdep")
#endif
#define ADSM_THREADS \
	for (int adsm_z_ = 0; adsm_z_ < ADSM_BLOCK_DIM_Z; adsm_z_++) \
	for (int adsm_y_ = 0; adsm_y_ < ADSM_BLOCK_DIM_Y; adsm_y_++) \
	ADSM_INDEPENDENT_ \
	for (int adsm_x_ = 0, adsm_global_x_ __attribute__((unused)) = ADSM_BLOCK_X * ADSM_BLOCK_DIM_X; \
	     adsm_x_ < ADSM_BLOCK_DIM_X; adsm_x_++, adsm_global_x_++)
#define ADSM_PRIVATE(type, name) type name[sizeof(*adsm_max_)] __attribute__((aligned(64)))
#define ADSM_MY(name) name[ADSM_THREAD]

#define ADSM_THREAD_X adsm_x_
#define ADSM_THREAD_Y adsm_y_
#define ADSM_THREAD_Z adsm_z_
#define ADSM_GLOBAL_X adsm_global_x_
#define ADSM_BLOCK_X ((int)adsm_block_.index[0])
#define ADSM_BLOCK_Y ((int)adsm_block_.index[1])
#define ADSM_BLOCK_Z ((int)adsm_block_.index[2])
#define ADSM_BLOCK_DIM_X ((int)adsm_block_.block[0])
#define ADSM_BLOCK_DIM_Y ((int)adsm_block_.block[1])
#define ADSM_BLOCK_DIM_Z ((int)adsm_block_.block[2])
#define ADSM_GRID_DIM_X ((int)adsm_block_.grid[0])
#define ADSM_GRID_DIM_Y ((int)adsm_block_.grid[1])
#define ADSM_GRID_DIM_Z ((int)adsm_block_.grid[2])

#include <adsm_kernel_services.h>

/* ---- tasks: the device calls adsm_task_<name>() in a thread of each worker, and the worker calls the device */
#define ADSM_TASKS 1

struct adsm_task_worker {
	const struct adsm_task_calls *calls;
	__UINT32_TYPE__ index, n;	/* the worker's index; number of workers */
	__UINT64_TYPE__ own;		/* for the module's own use while the worker runs */
};

/* If the task has failed, these functions do not return. */
struct adsm_task_calls {
	__UINT32_TYPE__ size;		/* bytes of this structure */
	void (*lock)(struct adsm_task_worker *worker, __UINT32_TYPE__ id);
	void (*unlock)(struct adsm_task_worker *worker, __UINT32_TYPE__ id);
	void (*barrier)(struct adsm_task_worker *worker);
	void (*flush)(struct adsm_task_worker *worker, const volatile void *p);	/* NULL: all */
	void *(*alloc)(struct adsm_task_worker *worker, __SIZE_TYPE__ size);
	void (*free)(struct adsm_task_worker *worker, void *p);
	void (*set_flag)(struct adsm_task_worker *worker, __UINT32_TYPE__ id);
	void (*await_flag)(struct adsm_task_worker *worker, __UINT32_TYPE__ id);
	void (*clear_flag)(struct adsm_task_worker *worker, __UINT32_TYPE__ id);
};

/** @args: as for adsm_kernel_run. */
typedef void adsm_task_run(struct adsm_task_worker *worker, const void *const *args);

/* The calling worker. Functions that a task calls use it too. */
#ifdef ADSM_SCRATCHPAD_
#define adsm_worker_ (adsm_store_here_()->worker)
#define ADSM_BEGIN_(worker) ((void)(worker))
#else
static _Thread_local struct adsm_task_worker *adsm_worker_ __attribute__((unused));
#define ADSM_BEGIN_(worker) (adsm_worker_ = (worker))
#endif

#define ADSM_TASK(name_, ...) \
	ADSM_DESC_(name_, 1, ADSM_KERNEL_TASK ADSM_TAIL_(0 ADSM_USES_SERVICES_##name_), __VA_ARGS__) \
	static inline __attribute__((always_inline)) void adsm_body_##name_( \
		const int adsm_task_ ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__)); \
	adsm_task_run adsm_task_##name_; \
	__attribute__((visibility("default"))) \
	void adsm_task_##name_(struct adsm_task_worker *adsm_given_, const void *const *adsm_args_) \
	{ \
		(void)adsm_args_; \
		ADSM_BEGIN_(adsm_given_); \
		ADSM_EACH_(ADSM_LOAD_, __VA_ARGS__) \
		adsm_body_##name_(0 ADSM_EACH_(ADSM_PASS_, __VA_ARGS__)); \
	} \
	static inline void adsm_body_##name_( \
		__attribute__((unused)) const int adsm_task_ ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__))

#define ADSM_WORKER ((int)adsm_worker_->index)
#define ADSM_N_WORKERS ((int)adsm_worker_->n)
#define ADSM_READ(p) (*(p))
#define ADSM_WRITE(p, v) ((void)(*(p) = (v)))
#ifdef ADSM_SCRATCHPAD_
#define ADSM_LOCAL_ADDRESS_(p) \
	adsm_store_here_()->local(adsm_store_here_(), (__UINT64_TYPE__)(const ADSM_SPACE_GLOBAL void *)(p))
/* A pointer to the type of *(p), without its address space. */
#define ADSM_LOCAL(p) \
	((__typeof__(__extension__ ({ __auto_type adsm_v_ = *(p); &adsm_v_; })))ADSM_LOCAL_ADDRESS_(p))
#else
#define ADSM_LOCAL_ADDRESS_(p) ((void *)(p))
#define ADSM_LOCAL(p) (p)
#endif
#define ADSM_LOCK(id) adsm_worker_->calls->lock(adsm_worker_, (id))
#define ADSM_UNLOCK(id) adsm_worker_->calls->unlock(adsm_worker_, (id))
#define ADSM_FLAG_SET(id) adsm_worker_->calls->set_flag(adsm_worker_, (id))
#define ADSM_FLAG_WAIT(id) adsm_worker_->calls->await_flag(adsm_worker_, (id))
#define ADSM_FLAG_CLEAR(id) adsm_worker_->calls->clear_flag(adsm_worker_, (id))
#define ADSM_ALL_BARRIER adsm_worker_->calls->barrier(adsm_worker_)
#define ADSM_FLUSH(p) adsm_worker_->calls->flush(adsm_worker_, (void *)(__UINTPTR_TYPE__)(p))
#define ADSM_FLUSH_ALL adsm_worker_->calls->flush(adsm_worker_, 0)
#define ADSM_TASK_ALLOC(size) \
	((ADSM_SPACE_GLOBAL void *)(__UINTPTR_TYPE__)adsm_worker_->calls->alloc(adsm_worker_, (size)))
#define ADSM_TASK_FREE(p) adsm_worker_->calls->free(adsm_worker_, (void *)(__UINTPTR_TYPE__)(p))

#define ADSM_ATOMIC_ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define ADSM_ATOMIC_SUB(p, v) __atomic_fetch_sub(p, v, __ATOMIC_RELAXED)
#define ADSM_ATOMIC_MIN(p, v) ADSM_ATOMIC_IF_(p, v, <)
#define ADSM_ATOMIC_MAX(p, v) ADSM_ATOMIC_IF_(p, v, >)
#define ADSM_ATOMIC_AND(p, v) __atomic_fetch_and(p, v, __ATOMIC_RELAXED)
#define ADSM_ATOMIC_OR(p, v) __atomic_fetch_or(p, v, __ATOMIC_RELAXED)
#define ADSM_ATOMIC_XOR(p, v) __atomic_fetch_xor(p, v, __ATOMIC_RELAXED)
#define ADSM_ATOMIC_EXCHANGE(p, v) __atomic_exchange_n(p, v, __ATOMIC_RELAXED)
/* The type of *(p) + 0 is that of *(p), without its address space. */
#define ADSM_ATOMIC_CAS(p, expected, v) __extension__ ({ \
	__typeof__(*(p) + 0) adsm_old_ = (expected); \
	__atomic_compare_exchange_n(p, &adsm_old_, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
	adsm_old_; })
/* adsmcc takes the value that adsm_p_ is set to for the target. */
#define ADSM_ATOMIC_IF_(p, v, less) __extension__ ({ \
	__typeof__(&*(p)) adsm_p_ = (p); \
	const __typeof__(*adsm_p_ + 0) adsm_v_ = (v); \
	__typeof__(*adsm_p_ + 0) adsm_old_ = __atomic_load_n(adsm_p_, __ATOMIC_RELAXED); \
	while (adsm_v_ less adsm_old_ && \
	       !__atomic_compare_exchange_n(adsm_p_, &adsm_old_, adsm_v_, 1, __ATOMIC_RELAXED, \
					    __ATOMIC_RELAXED)) \
		; \
	adsm_old_; })

#define ADSM_MATH1_(c, cl) ADSM_INLINE_ float adsm_##c(float x) { return __builtin_##c(x); }
#define ADSM_MATH2_(c, cl) ADSM_INLINE_ float adsm_##c(float x, float y) { return __builtin_##c(x, y); }
#define ADSM_MATH3_(c, cl) \
	ADSM_INLINE_ float adsm_##c(float x, float y, float z) { return __builtin_##c(x, y, z); }

/* The functions on double, for tasks. The names are in brackets, because a name may be a macro elsewhere. */
#define ADSM_MATH1D_(c) ADSM_INLINE_ double (adsm_##c)(double x) { return __builtin_##c(x); }
#define ADSM_MATH2D_(c) ADSM_INLINE_ double (adsm_##c)(double x, double y) { return __builtin_##c(x, y); }
ADSM_MATH1D_(sqrt) ADSM_MATH1D_(sin) ADSM_MATH1D_(cos) ADSM_MATH1D_(tan) ADSM_MATH1D_(exp) ADSM_MATH1D_(log)
ADSM_MATH1D_(fabs) ADSM_MATH1D_(floor) ADSM_MATH1D_(ceil)
ADSM_MATH2D_(fmax) ADSM_MATH2D_(fmin) ADSM_MATH2D_(pow) ADSM_MATH2D_(atan2)

#endif

/* On a GPU the loop has one round. It is a loop so that `continue` has the same meaning. */
#ifndef ADSM_THREADS
#define ADSM_THREADS for (int adsm_round_ = 0; adsm_round_ < 1; adsm_round_++)
#define ADSM_PRIVATE(type, name) type name
#define ADSM_MY(name) name
#endif

#define ADSM_THREAD \
	((ADSM_THREAD_Z * ADSM_BLOCK_DIM_Y + ADSM_THREAD_Y) * ADSM_BLOCK_DIM_X + ADSM_THREAD_X)
#ifndef ADSM_GLOBAL_X
#define ADSM_GLOBAL_X (ADSM_BLOCK_X * ADSM_BLOCK_DIM_X + ADSM_THREAD_X)
#endif
#define ADSM_GLOBAL_Y (ADSM_BLOCK_Y * ADSM_BLOCK_DIM_Y + ADSM_THREAD_Y)
#define ADSM_GLOBAL_Z (ADSM_BLOCK_Z * ADSM_BLOCK_DIM_Z + ADSM_THREAD_Z)

ADSM_MATH_(ADSM_MATH1_, ADSM_MATH2_, ADSM_MATH3_)

/* Precedes a function that kernels call: the partition of its code, from 1 on, for cores that cannot hold all code. */
#ifndef ADSM_PARTITION
#define ADSM_PARTITION(n)
#endif
#ifndef ADSM_PER_NODE
#define ADSM_PER_NODE
#endif

#endif
