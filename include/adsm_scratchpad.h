/* SPDX-License-Identifier: MIT */
/*
 * adsm_scratchpad.h - what kernels for cores with a local store are compiled with: the part of the software cache that
 * is put into them, and what adsmcc says of them. It is installed for adsmcc alone: neither programs nor
 * sources of kernels include it.
 *
 * A core has a window of ADSM_STORE_WINDOW bytes of address space, aligned to that, with struct adsm_store at its
 * beginning and the stack at its end. So kernels find it by their stack pointer, in whatever function and at
 * whatever address their code is, and need no symbol of anybody's.
 */
#ifndef ADSM_SCRATCHPAD_H
#define ADSM_SCRATCHPAD_H

#define ADSM_STORE_VERSION 2u
#define ADSM_STORE_WINDOW ((__UINT64_TYPE__)1 << 24)
#define ADSM_STORE_INLINE_WAYS 4	/* are looked at in the kernel; where a set has more, the rest behind get() */

/* A line of the cache. */
struct adsm_store_way {
	__UINT64_TYPE__ tag;		/* the address of its first byte; ADSM_STORE_NO_LINE: none */
	__UINT64_TYPE__ bias;		/* its byte of address a lies at a + bias */
	__UINT64_TYPE__ used;		/* the clock at the last access to it */
	/* A bit for each byte, or for so many as the cache was told. NULL: stores are to ask first. */
	__UINT64_TYPE__ *dirty;
};

#define ADSM_STORE_NO_LINE (~(__UINT64_TYPE__)0)

enum { ADSM_STORE_GET, ADSM_STORE_PUT };

/* What is kept of a line's way: where it is, whatever becomes of the way. */
struct adsm_store_last { __UINT64_TYPE__ tag, bias, *dirty; };

enum adsm_store_op {
	ADSM_STORE_LOAD, ADSM_STORE_STORE, ADSM_STORE_XCHG, ADSM_STORE_ADD, ADSM_STORE_SUB, ADSM_STORE_AND,
	ADSM_STORE_NAND, ADSM_STORE_OR, ADSM_STORE_XOR, ADSM_STORE_MAX, ADSM_STORE_MIN, ADSM_STORE_UMAX,
	ADSM_STORE_UMIN, ADSM_STORE_FADD, ADSM_STORE_FSUB,
};

struct adsm_store {
	struct adsm_store_way *ways;	/* of all sets */
	__UINT64_TYPE__ tag_mask;	/* of an address, those bits that all bytes of a line have in common */
	__UINT64_TYPE__ set_mask;	/* and of these those that choose the set */
	__UINT64_TYPE__ set_scale;	/* 256 times the bytes of a set's ways, by those of a line */
	/*
	 * The lines that loads and stores were made to last, which are found at once. Each is the one of its set that
	 * was used most recently, whatever is used of other sets; so it need not tick, and the line of a set that was
	 * used least recently is known exactly. While accesses are counted there are none, and each ticks: counted is
	 * all bits then, else 0.
	 */
	struct adsm_store_last last[2];
	__UINT64_TYPE__ clock, counted;
	__UINT64_TYPE__ dirty_shift;	/* bytes of a dirty bit: 1 << that */
	__UINT64_TYPE__ dirty_ones[5];	/* the bits of 1, 2, 4, 8 and 16 bytes */

	/* What is not in the cache, or not in one line; and all that is no plain load or store. */
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

	/* Of tasks alone (adsm_kernel.h): who runs here, and where the byte of an address is until the next miss. */
	struct adsm_task_worker *worker;
	void *(*local)(struct adsm_store *store, __UINT64_TYPE__ address);
};

/*
 * What a kernel needs of a store, in section "adsm_needs" of its module, an array like "adsm_kernels". The stack is
 * that of the deepest chain of calls, without what is called of the library's and of libm.
 */
struct adsm_store_needs {
	char name[64];
	__UINT32_TYPE__ version, size;	/* of this structure */
	__UINT32_TYPE__ stack, code;	/* bytes: of the deepest chain of calls, of all functions that it reaches */
	__UINT32_TYPE__ data;		/* of the module's variables and constants outside of ADSM_TABLE */
	__UINT32_TYPE__ flags;
	char reserved[40];
};

/* In flags: it calls itself, or calls by pointers: nobody knows its stack; and: it is a task. */
#define ADSM_STORE_RECURSIVE 1u
#define ADSM_STORE_TASK 2u

#ifdef ADSM_SCRATCHPAD_

/* Where adsmcc's pass writes calls of these. They are in each module, and inlined. */
#ifndef ADSM_STORE_INLINE_
#define ADSM_STORE_INLINE_ __attribute__((always_inline, visibility("hidden")))
#endif

/* Of what does not change while a kernel runs: read once, whatever is called and stored in between. */
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
 * The line of an address with this tag; NULL: ask behind it. A tag has those bits, too, that only what is not aligned
 * to its size has, and no line: it may lie in two.
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

/* An access to it that is not of the kind's last line. */
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

/* All else, of any size. */
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
