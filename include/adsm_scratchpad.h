/* SPDX-License-Identifier: MIT */
/*
 * adsm_scratchpad.h - kernels for cores with a local store: the part of the software cache that adsmcc compiles into
 * them, and the descriptor that adsmcc writes. It is installed for adsmcc only. Programs and sources of kernels do not
 * include it.
 *
 * A core has a window of ADSM_STORE_WINDOW bytes of address space, aligned to its size. struct adsm_store is at the
 * beginning of the window, and the stack is at its end. Therefore a kernel finds its store by the stack pointer, in
 * every function and at every address of its code. It needs no symbols of other files.
 */
#ifndef ADSM_SCRATCHPAD_H
#define ADSM_SCRATCHPAD_H

#define ADSM_STORE_VERSION 2u
#define ADSM_STORE_WINDOW ((__UINT64_TYPE__)1 << 24)
#define ADSM_STORE_INLINE_WAYS 4	/* ways that the kernel searches itself; get() searches the others */

/* A line of the cache. */
struct adsm_store_way {
	__UINT64_TYPE__ tag;		/* address of the first byte; ADSM_STORE_NO_LINE: the way is empty */
	__UINT64_TYPE__ bias;		/* the byte with address a is at a + bias */
	__UINT64_TYPE__ used;		/* the clock at the last access */
	/* A bit for each byte, or for each 1 << dirty_shift bytes. NULL: a store must call put(). */
	__UINT64_TYPE__ *dirty;
};

#define ADSM_STORE_NO_LINE (~(__UINT64_TYPE__)0)

enum { ADSM_STORE_GET, ADSM_STORE_PUT };

/* A copy of a line's way. It stays valid if the way moves to another place of its set: the bytes do not move. */
struct adsm_store_last { __UINT64_TYPE__ tag, bias, *dirty; };

enum adsm_store_op {
	ADSM_STORE_LOAD, ADSM_STORE_STORE, ADSM_STORE_XCHG, ADSM_STORE_ADD, ADSM_STORE_SUB, ADSM_STORE_AND,
	ADSM_STORE_NAND, ADSM_STORE_OR, ADSM_STORE_XOR, ADSM_STORE_MAX, ADSM_STORE_MIN, ADSM_STORE_UMAX,
	ADSM_STORE_UMIN, ADSM_STORE_FADD, ADSM_STORE_FSUB,
};

struct adsm_store {
	struct adsm_store_way *ways;	/* the ways of all sets */
	__UINT64_TYPE__ tag_mask;	/* bits of an address that all bytes of a line have in common */
	__UINT64_TYPE__ set_mask;	/* the bits of tag_mask that select the set */
	__UINT64_TYPE__ set_scale;	/* 256 * bytes of the ways of a set / bytes of a line */
	/*
	 * The line of the last load and the line of the last store. A kernel compares an address with them first. Each
	 * is the most recently used line of its set, so an access to it need not advance the clock. The least recently
	 * used line of a set is still known exactly. If accesses are counted, there are no such lines, and each access
	 * advances the clock. In that case counted has all bits set, else it is 0.
	 */
	struct adsm_store_last last[2];
	__UINT64_TYPE__ clock, counted;
	__UINT64_TYPE__ dirty_shift;	/* a dirty bit stands for 1 << dirty_shift bytes */
	__UINT64_TYPE__ dirty_ones[5];	/* dirty bits of 1, 2, 4, 8 and 16 bytes */

	/* For accesses that miss, or cross lines, and for accesses that are not plain loads or stores. */
	__UINT64_TYPE__ (*get)(struct adsm_store *store, __UINT64_TYPE__ address, __UINT64_TYPE__ size);
	void (*put)(struct adsm_store *store, __UINT64_TYPE__ address, __UINT64_TYPE__ size, __UINT64_TYPE__ value);
	void (*read)(struct adsm_store *store, __UINT64_TYPE__ address, void *to, __UINT64_TYPE__ size);
	void (*write)(struct adsm_store *store, __UINT64_TYPE__ address, const void *from, __UINT64_TYPE__ size);
	void (*move)(struct adsm_store *store, __UINT64_TYPE__ to, __UINT64_TYPE__ from, __UINT64_TYPE__ size);
	void (*fill)(struct adsm_store *store, __UINT64_TYPE__ to, __UINT64_TYPE__ byte, __UINT64_TYPE__ size);
	__UINT64_TYPE__ (*atomic)(struct adsm_store *store, __UINT64_TYPE__ op, __UINT64_TYPE__ address,
				  __UINT64_TYPE__ size, __UINT64_TYPE__ value);
	__UINT64_TYPE__ (*exchange)(struct adsm_store *store, __UINT64_TYPE__ address, __UINT64_TYPE__ size,
				    __UINT64_TYPE__ expected, __UINT64_TYPE__ value);
	void (*fence)(struct adsm_store *store);
	const struct adsm_kernel_services *services;

	/* Only for tasks (adsm_kernel.h). local() returns where the byte of an address is until the next miss. */
	struct adsm_task_worker *worker;
	void *(*local)(struct adsm_store *store, __UINT64_TYPE__ address);
};

/*
 * How much of a store a kernel needs. The section "adsm_needs" of a module is an array of these structures, like
 * "adsm_kernels". The stack and the code do not include functions of the device and of libm.
 */
struct adsm_store_needs {
	char name[64];
	__UINT32_TYPE__ version, size;	/* ADSM_STORE_VERSION; bytes of this structure */
	__UINT32_TYPE__ stack, code;	/* bytes of the deepest chain of calls; of all functions that may run */
	__UINT32_TYPE__ data;		/* bytes of the module's variables and constants, without ADSM_TABLE */
	__UINT32_TYPE__ flags;		/* ADSM_STORE_RECURSIVE, ADSM_STORE_TASK */
	__UINT32_TYPE__ library;	/* bytes of code of libm's functions that may run, besides the code */
	char reserved[36];
};

/* Flags. */
#define ADSM_STORE_RECURSIVE 1u		/* the kernel is recursive, or calls by pointers: its stack size is unknown */
#define ADSM_STORE_TASK 2u		/* the kernel is a task */

#ifdef ADSM_SCRATCHPAD_

/* The pass of adsmcc writes calls of these functions. Each module contains them, and the compiler inlines them. */
#ifndef ADSM_STORE_INLINE_
#define ADSM_STORE_INLINE_ __attribute__((always_inline, visibility("hidden")))
#endif

/* Read a field that does not change while a kernel runs. The compiler may read it once and keep it across calls. */
#if defined(__x86_64__)
#define ADSM_STORE_READ_ "movq %c2(%1), %0"
#elif defined(__aarch64__)
#define ADSM_STORE_READ_ "ldr %0, [%1, %2]"
#endif
#define ADSM_STORE_CONSTANT_(store, member) __extension__ ({ \
	__UINT64_TYPE__ value_; \
\
	__asm__(ADSM_STORE_READ_ : "=r"(value_) : "r"(store), "i"(__builtin_offsetof(struct adsm_store, member))); \
	value_; })

static inline __attribute__((always_inline)) struct adsm_store *adsm_store_here_(void)
{
	__UINT64_TYPE__ here;

#if defined(__x86_64__)
	__asm__("movq %%rsp, %0" : "=r"(here));
#elif defined(__aarch64__)
	__asm__("mov %0, sp" : "=r"(here));
#else
#error "which register is the stack pointer?"
#endif
	return (struct adsm_store *)(here & ~(ADSM_STORE_WINDOW - 1));
}

/*
 * Find the way of a line. NULL: the caller must call get() or put().
 *
 * @tag: contains also the low bits of the address that are 0 if the access is aligned to its size. An unaligned access
 *       may cross lines. Its tag is no line's tag, so the function returns NULL.
 */
static inline __attribute__((always_inline)) struct adsm_store_way *adsm_store_find_(
	const struct adsm_store *store, __UINT64_TYPE__ address, __UINT64_TYPE__ tag)
{
	const __UINT64_TYPE__ set = address & ADSM_STORE_CONSTANT_(store, set_mask);
	struct adsm_store_way *way = (struct adsm_store_way *)(ADSM_STORE_CONSTANT_(store, ways) +
							      (set * ADSM_STORE_CONSTANT_(store, set_scale) >> 8));

	if (__builtin_expect(way[0].tag == tag, 1))
		return way;
	if (way[1].tag == tag)
		return way + 1;
	if (way[2].tag == tag)
		return way + 2;
	if (way[3].tag == tag)
		return way + 3;
	return 0;
}

/* Note an access to a line that is not the last line of its kind, load or store. */
static inline __attribute__((always_inline)) void adsm_store_use_(
	struct adsm_store *store, struct adsm_store_way *way, int kind)
{
	const __UINT64_TYPE__ tag = way->tag, other = store->last[!kind].tag;

	way->used = ++store->clock;
	if (other != tag && !((other ^ tag) & ADSM_STORE_CONSTANT_(store, set_mask)))
		store->last[!kind].tag = ADSM_STORE_NO_LINE;
	store->last[kind].bias = way->bias;
	store->last[kind].dirty = way->dirty;
	store->last[kind].tag = tag | store->counted;
}

#define ADSM_STORE_ACCESS_(size, type, log) \
ADSM_STORE_INLINE_ void adsm_store_get_##size(__UINT64_TYPE__ address, void *to); \
ADSM_STORE_INLINE_ void adsm_store_get_##size(__UINT64_TYPE__ address, void *to) \
{ \
	struct adsm_store *store = adsm_store_here_(); \
	const __UINT64_TYPE__ tag = address & (ADSM_STORE_CONSTANT_(store, tag_mask) | (size - 1)); \
	__UINT64_TYPE__ bias = store->last[ADSM_STORE_GET].bias; \
	type value; \
\
	if (__builtin_expect(tag != store->last[ADSM_STORE_GET].tag, 0)) { \
		struct adsm_store_way *way = adsm_store_find_(store, address, tag); \
\
		if (__builtin_expect(!way, 0)) { \
			value = (type)store->get(store, address, size); \
			__builtin_memcpy(to, &value, size); \
			return; \
		} \
		adsm_store_use_(store, way, ADSM_STORE_GET); \
		bias = way->bias; \
	} \
	__builtin_memcpy(&value, (const char *)(address + bias), size); \
	__builtin_memcpy(to, &value, size); \
} \
ADSM_STORE_INLINE_ void adsm_store_put_##size(__UINT64_TYPE__ address, const void *from); \
ADSM_STORE_INLINE_ void adsm_store_put_##size(__UINT64_TYPE__ address, const void *from) \
{ \
	struct adsm_store *store = adsm_store_here_(); \
	const __UINT64_TYPE__ tag = address & (ADSM_STORE_CONSTANT_(store, tag_mask) | (size - 1)); \
	const __UINT64_TYPE__ bit = (address & ~ADSM_STORE_CONSTANT_(store, tag_mask)) >> \
		ADSM_STORE_CONSTANT_(store, dirty_shift); \
	__UINT64_TYPE__ bias = store->last[ADSM_STORE_PUT].bias, *dirty = store->last[ADSM_STORE_PUT].dirty; \
	type value; \
\
	__builtin_memcpy(&value, from, size); \
	if (__builtin_expect(tag != store->last[ADSM_STORE_PUT].tag, 0)) { \
		struct adsm_store_way *way = adsm_store_find_(store, address, tag); \
\
		if (__builtin_expect(!way || !way->dirty, 0)) { \
			store->put(store, address, size, value); \
			return; \
		} \
		adsm_store_use_(store, way, ADSM_STORE_PUT); \
		bias = way->bias; \
		dirty = way->dirty; \
	} \
	dirty[bit >> 6] |= store->dirty_ones[log] << (bit & 63); \
	__builtin_memcpy((char *)(address + bias), &value, size); \
}

ADSM_STORE_ACCESS_(1, __UINT8_TYPE__, 0)
ADSM_STORE_ACCESS_(2, __UINT16_TYPE__, 1)
ADSM_STORE_ACCESS_(4, __UINT32_TYPE__, 2)
ADSM_STORE_ACCESS_(8, __UINT64_TYPE__, 3)

/* All other accesses, of any size. */
#define ADSM_STORE_CALL_(type, name, parameters, ...) \
ADSM_STORE_INLINE_ type adsm_store_##name parameters; \
ADSM_STORE_INLINE_ type adsm_store_##name parameters \
{ \
	struct adsm_store *store = adsm_store_here_(); \
\
	return store->name(store __VA_OPT__(,) __VA_ARGS__); \
}

ADSM_STORE_CALL_(void, read, (__UINT64_TYPE__ address, void *to, __UINT64_TYPE__ size), address, to, size)
ADSM_STORE_CALL_(void, write, (__UINT64_TYPE__ address, const void *from, __UINT64_TYPE__ size), address, from, size)
ADSM_STORE_CALL_(void, move, (__UINT64_TYPE__ to, __UINT64_TYPE__ from, __UINT64_TYPE__ size), to, from, size)
ADSM_STORE_CALL_(void, fill, (__UINT64_TYPE__ to, __UINT64_TYPE__ byte, __UINT64_TYPE__ size), to, byte, size)
ADSM_STORE_CALL_(__UINT64_TYPE__, atomic, (__UINT64_TYPE__ op, __UINT64_TYPE__ address, __UINT64_TYPE__ size,
		 __UINT64_TYPE__ value), op, address, size, value)
ADSM_STORE_CALL_(__UINT64_TYPE__, exchange, (__UINT64_TYPE__ address, __UINT64_TYPE__ size, __UINT64_TYPE__ expected,
		 __UINT64_TYPE__ value), address, size, expected, value)
ADSM_STORE_CALL_(void, fence, (void))

#endif
#endif
