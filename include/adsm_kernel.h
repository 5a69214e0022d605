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
 * A kernel's body is a sequence of phases, ADSM_THREADS { ... }, with ADSM_BARRIER between two of which
 * one uses what the other wrote. All threads of the block run a phase, in any order or at once, so
 * inside one no thread may depend on another; `continue` ends the thread's phase, and nothing else
 * leaves one. What stands outside the phases (declarations, loops around them) must be the same for
 * all threads of the block and write to nothing but its own variables.
 *
 * Parameters, at most 32. Pointers: ADSM_IN (only read), ADSM_OUT (all of the object is overwritten),
 * ADSM_INOUT, ADSM_PTR (not declared). ADSM_VAL(type, name) is a value; ADSM_CONST(type, name) a
 * pointer to constant bytes copied at the call. Two pointers may name the same object.
 *
 * ADSM_ONCE(type, name) is a write-once object (adsm_once.h), ADSM_ONCE_IN(type, name) one of which the kernel sets no
 * unit. Outside of phases ADSM_GET(name, unit) waits until a unit is set and gives its address (const type *);
 * ADSM_FRESH(name, unit) gives the address (type *) where the block writes a unit that is not, in phases that follow;
 * ADSM_SET(name, unit), after ADSM_BARRIER, says that it is there. A block may wait for what blocks before it set
 * (linear, x fastest), earlier calls, other devices or the CPU. A task's workers may for each other, and use these
 * words anywhere.
 *
 * ADSM_KERNEL(name, ...) runs in blocks of up to 1024 threads, ADSM_KERNEL_MAX(name, max, ...) states
 * its own limit.
 *
 * ADSM_SHARED(type, name, count)	an array of the block; undefined at first
 * ADSM_PRIVATE(type, name)		a value of each thread that lives across phases: ADSM_MY(name)
 * ADSM_FUNCTION			before a function that kernels call
 * ADSM_TABLE(type, name, count) = {}	a constant table at file scope
 * ADSM_PER_NODE			before a static variable of which each node of a cluster may have its own
 * ADSM_SPACE_GLOBAL, _SHARED, _CONST	where the target of a pointer lives that points into a pointer
 *					parameter, into ADSM_SHARED, into ADSM_CONST or ADSM_TABLE:
 *					const ADSM_SPACE_GLOBAL float *p = a + 1;
 * ADSM_THREAD_X/_Y/_Z, ADSM_BLOCK_X.., ADSM_BLOCK_DIM_X.., ADSM_GRID_DIM_X.., ADSM_GLOBAL_X.. and
 * ADSM_THREAD (linear in the block, x fastest) are of type int; ADSM_THREAD* and ADSM_GLOBAL* have a
 * meaning in phases only.
 * ADSM_ATOMIC_*(p, v)			on int and unsigned; they give the old value. Where the target is not
 *					plainly in ADSM_SHARED (a, a + i, &a[i]) it is taken to be in an object
 * adsm_sinf() and so on		the math functions, on float
 *
 * While a kernel runs it may ask the program and the device (docs/scratchpad.md, Services); not every device has that,
 * and ADSM_SERVICES is defined where it can be:
 *
 * ADSM_SERVICE(name, in, in_size, out, out_size)	call a function that the program has registered by that name
 *				(adsm_service.h): so many bytes that it wrote to out, or a negative errno; int
 * ADSM_PRINT(format, ...)	as printf() of C99, to the program's standard error, in whole lines; int
 * ADSM_NEXT(counter, chunk)	so much more of a counter of the call, 0 to 15, from 0 on: where that begins; long
 *				for (long i; (i = ADSM_NEXT(0, 8)) < n;) these 8 are the caller's alone
 * ADSM_ALLOC(size), ADSM_FREE(p)	memory of the device's until the call ends: void ADSM_SPACE_GLOBAL *; NULL
 *
 * A task's workers run all at once and talk to each other, by locks and barriers (docs/tasks.md). The grid of its call
 * is the workers, of one thread each; not every device has them.
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
 * ADSM_WORKER, ADSM_N_WORKERS	which worker this is, of how many; of type int
 * ADSM_READ(p), ADSM_WRITE(p, v)	what is shared: the target of p is a number of a type of C's
 * ADSM_LOCK(id), ADSM_UNLOCK(id)	locks have numbers, below 1048576. Who gets one sees what those wrote who had it
 * ADSM_ALL_BARRIER			all workers come here before one goes on, and each sees what all have written
 * ADSM_LOCAL(p)			where the number at p is until the next word of these, to be read there: where
 *					workers have caches, in the cache
 * ADSM_FLUSH(p), ADSM_FLUSH_ALL	such a cache gives up what it has of p, or all: written back
 * ADSM_TASK_ALLOC(size)		memory that all workers, of later tasks too, see, and the host does not; NULL:
 * ADSM_TASK_FREE(p)			there is none
 * adsm_sqrt() and so on		sqrt, sin, cos, tan, exp, log, fabs, floor, ceil, fmax, fmin, pow, atan2 on
 *					double
 * ADSM_TASKS				defined where tasks can run: elsewhere they are left out, and functions that use
 *					these words have to be
 */
#ifndef ADSM_KERNEL_H
#define ADSM_KERNEL_H

#define ADSM_KERNEL(name, ...) ADSM_KERNEL_MAX(name, 1024 __VA_OPT__(,) __VA_ARGS__)

/* A parameter is a tuple: kind, access, type as the body sees it, type, name, both as strings. */
#define ADSM_IN(type, name) (POINTER, 1, const type, type, name, #type, #name)
#define ADSM_OUT(type, name) (POINTER, 2, type, type, name, #type, #name)
#define ADSM_INOUT(type, name) (POINTER, 3, type, type, name, #type, #name)
#define ADSM_PTR(type, name) (POINTER, 0, type, type, name, #type, #name)
#define ADSM_ONCE(type, name) (ONCE, 3, type, type, name, #type, #name)
#define ADSM_ONCE_IN(type, name) (ONCE, 1, const type, type, name, #type, #name)
#define ADSM_VAL(type, name) (VALUE, 0, type, type, name, #type, #name)
#define ADSM_CONST(type, name) (CONST, 1, const type, type, name, #type, #name)

/* ADSM_EACH_(macro, (1, 2), (3, 4)) is macro(1, 2) macro(3, 4). A macro does not expand inside itself, so each
 * step leaves the next one unexpanded behind and ADSM_SCAN_ rescans often enough. */
#define ADSM_SCAN_(...) ADSM_SCAN1_(ADSM_SCAN1_(ADSM_SCAN1_(ADSM_SCAN1_(__VA_ARGS__))))
#define ADSM_SCAN1_(...) ADSM_SCAN2_(ADSM_SCAN2_(ADSM_SCAN2_(ADSM_SCAN2_(__VA_ARGS__))))
#define ADSM_SCAN2_(...) ADSM_SCAN3_(ADSM_SCAN3_(ADSM_SCAN3_(ADSM_SCAN3_(__VA_ARGS__))))
#define ADSM_SCAN3_(...) __VA_ARGS__
#define ADSM_EACH_(macro, ...) __VA_OPT__(ADSM_SCAN_(ADSM_STEP_(macro, __VA_ARGS__)))
#define ADSM_STEP_(macro, tuple, ...) \
	macro tuple __VA_OPT__(ADSM_NEXT_ ADSM_PARENS_ (macro, __VA_ARGS__))
#define ADSM_NEXT_() ADSM_STEP_
#define ADSM_PARENS_ ()
/* What follows the first comma of a list that has to be expanded first. */
#define ADSM_TAIL_(...) ADSM_TAIL1_(__VA_ARGS__)
#define ADSM_TAIL1_(first, ...) __VA_ARGS__

/* One list of math functions: the C name, the name OpenCL C has for it. */
#define ADSM_MATH_(unary, binary, ternary) \
	unary(acosf, acos) unary(asinf, asin) unary(atanf, atan) unary(ceilf, ceil) unary(cosf, cos) \
	unary(coshf, cosh) unary(expf, exp) unary(exp2f, exp2) unary(fabsf, fabs) unary(floorf, floor) \
	unary(logf, log) unary(log2f, log2) unary(log10f, log10) unary(roundf, round) unary(sinf, sin) \
	unary(sinhf, sinh) unary(sqrtf, sqrt) unary(tanf, tan) unary(tanhf, tanh) unary(truncf, trunc) \
	unary(erff, erf) unary(erfcf, erfc) \
	binary(atan2f, atan2) binary(fmaxf, fmax) binary(fminf, fmin) binary(fmodf, fmod) binary(powf, pow) \
	ternary(fmaf, fma)

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)

/* Each product is rounded before it is added to something, as on all other devices, unless an option asks for speed. */
#ifndef __FAST_RELAXED_MATH__
#pragma OPENCL FP_CONTRACT OFF
#endif

/*
 * OpenCL C. A pointer is two kernel arguments, the buffer and a ulong offset in bytes; a value and a
 * constant (a buffer) are one each. The pointers themselves are made at the top of the body by
 * ADSM_ENTER(parameters), which adsmcc writes behind its opening brace.
 */
#define ADSM_KERNEL_MAX(name, max, ...) \
	__kernel void name(ADSM_TAIL_(0 ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__)))
#define ADSM_ENTER(...) ADSM_EACH_(ADSM_ENTER_, __VA_ARGS__)
#define ADSM_DECLARE_(kind, access, seen, type, name, ...) , ADSM_DECLARE_##kind##_(seen, name)
#define ADSM_DECLARE_POINTER_(seen, name) __global seen *adsm_base_##name, ulong adsm_offset_##name
#define ADSM_DECLARE_VALUE_(seen, name) seen name
#define ADSM_DECLARE_CONST_(seen, name) __constant seen *name
/* Write-once objects: it compiles, and no launch gets here (the library says so). */
#define ADSM_DECLARE_ONCE_(seen, name) __global seen *name, ulong adsm_unit_##name
#define ADSM_ENTER_(kind, access, seen, type, name, ...) ADSM_ENTER_##kind##_(seen, name)
#define ADSM_ENTER_POINTER_(seen, name) \
	__global seen *name = (__global seen *)((__global char *)adsm_base_##name + adsm_offset_##name);
#define ADSM_ENTER_VALUE_(seen, name)
#define ADSM_ENTER_CONST_(seen, name)
#define ADSM_ENTER_ONCE_(seen, name)
#define ADSM_GET(name, unit) ((const __global void *)((const __global char *)name + adsm_unit_##name * (ulong)(unit)))
#define ADSM_FRESH(name, unit) ((__global void *)((__global char *)name + adsm_unit_##name * (ulong)(unit)))
#define ADSM_SET(name, unit) ((void)(unit))
/* Services: the same. */
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
 * CUDA: one argument for each parameter, a pointer also for a constant. NVRTC needs --std=c++20 for the macros, and
 * --fmad=false for the numbers that other compilers make.
 */
#define ADSM_KERNEL_MAX(name, max, ...) extern "C" __global__ void __launch_bounds__(max) \
	name(ADSM_TAIL_(0 ADSM_EACH_(ADSM_DECLARE_, __VA_ARGS__)))
#define ADSM_ENTER(...)
#define ADSM_DECLARE_(kind, access, seen, type, name, ...) , ADSM_DECLARE_##kind##_(seen, name)
#define ADSM_DECLARE_POINTER_(seen, name) seen *name
#define ADSM_DECLARE_VALUE_(seen, name) seen name
#define ADSM_DECLARE_CONST_(seen, name) seen *__restrict__ name
/* Write-once objects: as in OpenCL C. */
#define ADSM_DECLARE_ONCE_(seen, name) seen *name, unsigned long long adsm_unit_##name
#define ADSM_GET(name, unit) ((decltype(name))((char *)(name) + adsm_unit_##name * (unsigned long long)(unit)))
#define ADSM_FRESH(name, unit) ADSM_GET(name, unit)
#define ADSM_SET(name, unit) ((void)(unit))
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
 * Native C, of gcc and clang. A module exports adsm_run_<name>() for each kernel, which runs one block
 * of the grid on the calling thread, and describes the kernel in section "adsm_kernels": an array of
 * struct adsm_kernel_desc, plain bytes that are read without running anything.
 */
struct adsm_kernel_block {
	__UINT32_TYPE__ grid[3], block[3];	/* sizes: blocks, threads */
	__UINT32_TYPE__ index[3];		/* which block */
};

/**
 * @args: one entry for each parameter. Pointer: the address of a uint64_t that holds it; value: the
 * address of its bytes, aligned or not; constant: the address of its bytes, aligned for its type.
 */
typedef void adsm_kernel_run(const struct adsm_kernel_block *block, const void *const *args);

/* A write-once object, instead of a pointer's uint64_t. None of these returns where it cannot do what is asked. */
struct adsm_kernel_once {
	void *data;
	__UINT64_TYPE__ size, count;		/* bytes of a unit; units */
	const void *(*get)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
	void *(*fresh)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
	void (*set)(const struct adsm_kernel_once *once, __UINT64_TYPE__ unit);
};

#define ADSM_KERNEL_MAGIC "ADSMKRN"
#define ADSM_KERNEL_VERSION 1u		/* of the descriptor and of the calls of adsm_run_<name>() */
#define ADSM_KERNEL_PARAMS_MAX 32
/* In flags: the kernel does no atomics but on memory of the block. adsmcc says it where it is certain. */
#define ADSM_KERNEL_NO_GLOBAL_ATOMICS 1u
/* The kernel is a task: its module exports adsm_task_<name>() instead. */
#define ADSM_KERNEL_TASK 2u
/* The kernel may call services: adsmcc says it. */
#define ADSM_KERNEL_SERVICES 4u

struct adsm_kernel_param {
	char name[32], type[32];
	__UINT32_TYPE__ kind;		/* 1: pointer, 2: value, 3: constant, 6: write-once; as ADSM_ARG_* of adsm.h */
	__UINT32_TYPE__ access;		/* pointer: 1: in, 2: out, 3: inout, 0: not declared */
	__UINT32_TYPE__ size;		/* bytes of the value, or of one element */
};

/* Its size is a multiple of its alignment, and that the largest a compiler gives to data on its own: no
 * gaps in the section. */
struct adsm_kernel_desc {
	char magic[8];
	__UINT32_TYPE__ version, size;	/* of this structure */
	__UINT32_TYPE__ max_threads, n_params;
	char name[64];
	struct adsm_kernel_param params[ADSM_KERNEL_PARAMS_MAX];
	__UINT32_TYPE__ flags;		/* 0 in modules that are older than it */
	char reserved[36];
} __attribute__((aligned(64)));

/* What a kernel says of itself. */
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
 * adsm_max_ carries the block limit into the body as a type. ADSM_NO_GLOBAL_ATOMICS_<name>, ADSM_USES_SERVICES_<name>
 * are defined by adsmcc, before the text, as a comma and the flag, where it found that.
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
#define ADSM_DESCRIBE_(kind_, access_, seen, type_, name_, type_text, name_text) { \
	.name = name_text, .type = type_text, .kind = ADSM_KIND_##kind_##_, .access = access_, \
	.size = sizeof(type_) + 0 * sizeof(struct { \
		_Static_assert(sizeof(name_text) <= 32 && sizeof(type_text) <= 32, \
			       "a parameter's name or type is longer than 31 characters"); char c; }) },
#define ADSM_KIND_POINTER_ 1
#define ADSM_KIND_VALUE_ 2
#define ADSM_KIND_CONST_ 3
#define ADSM_KIND_ONCE_ 6
#define ADSM_DECLARE_(kind, access, seen, type, name, ...) , \
	ADSM_DECLARE_##kind##_(name) __attribute__((unused)) seen ADSM_STAR_##kind##_ name
/* A write-once object is two: itself, and where its data is, which says its type. */
#define ADSM_DECLARE_POINTER_(name)
#define ADSM_DECLARE_VALUE_(name)
#define ADSM_DECLARE_CONST_(name)
#define ADSM_DECLARE_ONCE_(name) __attribute__((unused)) const struct adsm_kernel_once *adsm_once_##name,
#define ADSM_STAR_POINTER_ ADSM_SPACE_GLOBAL *
#define ADSM_STAR_VALUE_
#define ADSM_STAR_CONST_ ADSM_SPACE_CONST *
#define ADSM_STAR_ONCE_ ADSM_SPACE_GLOBAL *
#define ADSM_LOAD_(kind, access, seen, type, name, ...) \
	ADSM_KEEP_##kind##_(name, *adsm_args_) \
	seen ADSM_STAR_##kind##_ name = ADSM_LOAD_##kind##_(seen, *adsm_args_++);
#define ADSM_KEEP_POINTER_(name, arg)
#define ADSM_KEEP_VALUE_(name, arg)
#define ADSM_KEEP_CONST_(name, arg)
#define ADSM_KEEP_ONCE_(name, arg) const struct adsm_kernel_once *adsm_once_##name = (arg);
#define ADSM_LOAD_POINTER_(seen, arg) (seen ADSM_SPACE_GLOBAL *)(__UINTPTR_TYPE__)ADSM_LOAD_VALUE_(__UINT64_TYPE__, arg)
#define ADSM_LOAD_VALUE_(seen, arg) \
	((const struct { seen value; } __attribute__((packed, may_alias)) *)(arg))->value
#define ADSM_LOAD_CONST_(seen, arg) (seen ADSM_SPACE_CONST *)(__UINTPTR_TYPE__)(arg)
#define ADSM_LOAD_ONCE_(seen, arg) \
	(seen ADSM_SPACE_GLOBAL *)(__UINTPTR_TYPE__)((const struct adsm_kernel_once *)(arg))->data
#define ADSM_PASS_(kind, access, seen, type, name, ...) , ADSM_PASS_##kind##_(name) name
#define ADSM_PASS_POINTER_(name)
#define ADSM_PASS_VALUE_(name)
#define ADSM_PASS_CONST_(name)
#define ADSM_PASS_ONCE_(name) adsm_once_##name,
#define ADSM_GET(name, unit) \
	((const __typeof__(*name) *)(__UINTPTR_TYPE__)adsm_once_##name->get(adsm_once_##name, unit))
#define ADSM_FRESH(name, unit) \
	((__typeof__(*name) *)(__UINTPTR_TYPE__)adsm_once_##name->fresh(adsm_once_##name, unit))
#define ADSM_SET(name, unit) adsm_once_##name->set(adsm_once_##name, unit)

#define ADSM_INLINE_ static inline __attribute__((unused))
/*
 * adsmcc --image. As the ABI has it: no copies with other arguments, no registers that only this callee leaves alone.
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
/* Where adsmcc --scratchpad compiles it, what is not in the local store is in address spaces of its own: of accesses
 * to these its pass makes accesses by the software cache. */
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
/* By this name adsmcc knows such an array. */
enum { adsm_shared_ = 64 };
#define ADSM_SHARED(type, name, count) type name[count] __attribute__((aligned(adsm_shared_)))
#define ADSM_BARRIER ((void)0)

/* The threads of a phase do not depend on each other: that is what lets the loop be vectorised, and it
 * says nothing about one thread's own accesses, so in-place kernels stay right. The global index is a loop
 * counter too: gcc then splits the loop at a bounds test of it (of type int) and vectorises both. */
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

/* ---- tasks. The device calls adsm_task_<name>() in a thread of each worker, and the worker calls the device. */
#define ADSM_TASKS 1

struct adsm_task_worker {
	const struct adsm_task_calls *calls;
	__UINT32_TYPE__ index, n;	/* which worker, of how many */
	__UINT64_TYPE__ own;		/* the module's: what it likes, as long as the worker runs */
};

/* None returns to a worker of a task that has failed. */
struct adsm_task_calls {
	__UINT32_TYPE__ size;		/* of this structure */
	void (*lock)(struct adsm_task_worker *worker, __UINT32_TYPE__ id);
	void (*unlock)(struct adsm_task_worker *worker, __UINT32_TYPE__ id);
	void (*barrier)(struct adsm_task_worker *worker);
	void (*flush)(struct adsm_task_worker *worker, const volatile void *p);	/* NULL: all */
	void *(*alloc)(struct adsm_task_worker *worker, __SIZE_TYPE__ size);
	void (*free)(struct adsm_task_worker *worker, void *p);
};

/** @args: as of adsm_kernel_run. */
typedef void adsm_task_run(struct adsm_task_worker *worker, const void *const *args);

/* The calling worker: functions that a task calls need it, too. */
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
/* adsmcc takes what adsm_p_ is set to for the target. */
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

/* Of double, for tasks. In brackets, as a name may be a macro elsewhere. */
#define ADSM_MATH1D_(c) ADSM_INLINE_ double (adsm_##c)(double x) { return __builtin_##c(x); }
#define ADSM_MATH2D_(c) ADSM_INLINE_ double (adsm_##c)(double x, double y) { return __builtin_##c(x, y); }
ADSM_MATH1D_(sqrt) ADSM_MATH1D_(sin) ADSM_MATH1D_(cos) ADSM_MATH1D_(tan) ADSM_MATH1D_(exp) ADSM_MATH1D_(log)
ADSM_MATH1D_(fabs) ADSM_MATH1D_(floor) ADSM_MATH1D_(ceil)
ADSM_MATH2D_(fmax) ADSM_MATH2D_(fmin) ADSM_MATH2D_(pow) ADSM_MATH2D_(atan2)

#endif

/* One round on a GPU; a loop there too, so that `continue` means the same. */
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

/* Before a function that kernels call: the partition of its code, from 1 on, for cores that cannot have all of it. */
#ifndef ADSM_PARTITION
#define ADSM_PARTITION(n)
#endif
#ifndef ADSM_PER_NODE
#define ADSM_PER_NODE
#endif

#endif
