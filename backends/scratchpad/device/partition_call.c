/* SPDX-License-Identifier: MIT */
/*
 * partition_call.c - the code that runs between the call of a function in another partition and its first instruction,
 * and between its return and the caller's next instruction.
 *
 * Arguments and results are in vector registers at that time, which are not saved. So this file and policy.c are
 * compiled without vector registers and sanitizers, and call no functions of libraries, unless the call has failed.
 */
#include "partition_call.h"

#include <stdio.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The call ends here: the contents of registers are no longer needed. */
__attribute__((noreturn, noinline, cold))
static void fail(struct adsm_partitions *partitions, const char *text)
{
	partitions->fail(partitions->context, text);
	__builtin_trap();
}

#if defined(__x86_64__)

/* Copy bytes without vector registers. */
static void copy(void *to, const void *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/*
 * The code was written at one address and is executed at another. The manuals guarantee that this works only after a
 * serializing instruction. Few are possible here: CPUID would exit a virtual machine, and fences do not serialize. IRET
 * to the next instruction works on all processors.
 */
void adsm_partition_serialise(void *code, size_t size)
{
	static int8_t has_serialize;	/* 1: yes, -1: no; all threads find the same */
	unsigned a, b, c, d = 0;
	uint64_t segment, stack;

	if (!has_serialize)
		has_serialize = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 14 & 1) ? 1 : -1;
	if (has_serialize > 0) {
		__asm__ volatile(".byte 0x0f, 0x01, 0xe8" : : : "memory");	/* serialize */
		return;
	}
	__asm__ volatile("movq %%rsp, %1\n\t"
			 "movl %%ss, %k0\n\t"
			 "pushq %q0\n\t"
			 "pushq %1\n\t"
			 "pushfq\n\t"
			 "movl %%cs, %k0\n\t"
			 "pushq %q0\n\t"
			 "leaq 1f(%%rip), %q0\n\t"
			 "pushq %q0\n\t"
			 "iretq\n"
			 "1:" : "=&r"(segment), "=&r"(stack) : : "memory", "cc");
}

#elif defined(__aarch64__)

/* Copy bytes without vector registers. */
static void copy(void *to, const void *from, size_t size)
{
	uint64_t *p = to;
	const uint64_t *q = from;

	/* Assembly, because compilers would turn a loop into a call of memcpy(). */
	for (; size >= 8; size -= 8, p++, q++)
		__asm__ volatile("ldr x9, [%1]\n\tstr x9, [%0]" : : "r"(p), "r"(q) : "x9", "memory");
	for (size_t i = 0; i < size; i++)
		__asm__ volatile("ldrb w9, [%1]\n\tstrb w9, [%0]" : : "r"((uint8_t *)p + i), "r"((const uint8_t *)q + i)
				 : "x9", "memory");
}

/* Use the address that is executed. Data is written back to where instructions are fetched from by physical addresses,
 * so any mapping does; but instructions may be cached by virtual addresses. */
void adsm_partition_serialise(void *code, size_t size)
{
	__builtin___clear_cache(code, (char *)code + size);
}

#endif

static uint8_t *address_in(const struct adsm_partitions *partitions, uint8_t *first, uint32_t buffer)
{
	return first + buffer * partitions->stride;
}

static uint32_t size_of(const struct adsm_partitions *partitions, uint32_t id)
{
	return partitions->image.partitions[id].size;
}

/* Exchange the contents of the victim entry and a sub-buffer. */
static void exchange(uint8_t *victim, uint8_t *buffer, uint32_t size)
{
	/* Both consist of whole words: their sizes are multiples of the alignment. */
	for (uint32_t i = 0; i < size; i += 8) {
		const uint64_t word = *(uint64_t *)(victim + i);

		*(uint64_t *)(victim + i) = *(uint64_t *)(buffer + i);
		*(uint64_t *)(buffer + i) = word;
	}
}

__attribute__((noinline))
static void load(struct adsm_partitions *partitions, const struct adsm_policy_load *load)
{
	struct adsm_partition_counters *counters = &partitions->counters;
	uint8_t *to = address_in(partitions, partitions->write, load->buffer);
	const uint32_t size = size_of(partitions, load->id);
	const uint64_t start = partitions->spans ? adsm_spans_now() : 0;

	if (load->source == ADSM_POLICY_VICTIM) {
		const uint32_t saved = load->saved ? size_of(partitions, load->saved) : 0;

		exchange(partitions->victim, to, saved > size ? saved : size);
		counters->victim_hits++;
	} else if (load->saved) {
		copy(partitions->victim, to, size_of(partitions, load->saved));
	}
	if (load->saved) {
		partitions->victim_bytes = size_of(partitions, load->saved);
		counters->victim_saves++;
	} else if (load->source == ADSM_POLICY_VICTIM) {
		partitions->victim_bytes = 0;
	}
	if (load->source == ADSM_POLICY_MOVE) {
		copy(to, address_in(partitions, partitions->write, load->from), size);
		counters->moves++;
	} else if (load->source == ADSM_POLICY_DMA) {
		copy(to, adsm_image_code(&partitions->image, load->id), size);
		counters->loads++;
		counters->bytes += size;
	}
	adsm_partition_serialise(address_in(partitions, partitions->run, load->buffer), size);
	if (partitions->spans && load->source == ADSM_POLICY_DMA)
		adsm_spans_add(partitions->spans, start, adsm_spans_now(), size);
}

static const char *name_of(const struct adsm_partitions *partitions, uint32_t symbol)
{
	const struct adsm_image *image = &partitions->image;

	for (uint32_t i = 0; i < image->header->n_symbols; i++)
		if (image->functions[i].symbol == symbol)
			return adsm_image_name(image, i);
	return "?";
}

__attribute__((noreturn, noinline, cold))
static void refuse(struct adsm_partitions *partitions, uint32_t symbol)
{
	const uint32_t id = adsm_image_partition(symbol);
	char text[ADSM_PARTITION_TEXT];

	if (!id || id > partitions->image.header->n_partitions || adsm_image_offset(symbol) >= size_of(partitions, id))
		snprintf(text, sizeof(text), "the code calls byte %u of partition %u, which the image does not have: "
			 "the code was overwritten, or entered by a wrong jump", adsm_image_offset(symbol), id);
	else
		snprintf(text, sizeof(text), "the partition stack is full: %u calls between partitions are open, and "
			 "the next one is of %s() in partition %u; the recursion has no end, or is too deep",
			 partitions->n_frames, name_of(partitions, symbol), id);
	fail(partitions, text);
}

/* Separate functions: so calls that load nothing save no registers for them. */
__attribute__((noinline))
static void load_called(struct adsm_partitions *partitions, uint32_t id)
{
	struct adsm_policy_load change;

	adsm_policy_call_load(&partitions->policy, id, &change);
	load(partitions, &change);
}

__attribute__((noinline))
static void load_caller(struct adsm_partitions *partitions, uint32_t id, uint32_t buffer)
{
	struct adsm_policy_load change;

	adsm_policy_return_load(&partitions->policy, id, buffer, &change);
	partitions->counters.loads_for_returns += change.source == ADSM_POLICY_DMA;
	load(partitions, &change);
}

static inline uintptr_t push(struct adsm_partitions *partitions, uint32_t symbol, uintptr_t address)
{
	const uint32_t id = adsm_image_partition(symbol), offset = adsm_image_offset(symbol);
	struct adsm_policy *policy = &partitions->policy;
	struct adsm_partition_frame *frame;

	if (__builtin_expect(id - 1 >= policy->n_partitions || offset >= size_of(partitions, id) ||
			     partitions->n_frames == partitions->max_frames, 0))
		refuse(partitions, symbol);
	frame = &partitions->frames[partitions->n_frames++];
	if (partitions->n_frames > partitions->depth)
		partitions->depth = partitions->n_frames;
	frame->address = address;
	frame->id = policy->current;
	frame->buffer = policy->buffer;
	partitions->calls++;
	if (!adsm_policy_call(policy, id))
		load_called(partitions, id);
	return (uintptr_t)address_in(partitions, partitions->run, policy->buffer) + offset;
}

static inline uintptr_t pop(struct adsm_partitions *partitions)
{
	struct adsm_partition_frame *frame;

	if (__builtin_expect(!partitions->n_frames, 0))
		fail(partitions, "the code returns from more calls between partitions than it made: its stack was "
		     "overwritten");
	frame = &partitions->frames[--partitions->n_frames];
	if (!adsm_policy_return(&partitions->policy, frame->id, frame->buffer))
		load_caller(partitions, frame->id, frame->buffer);
	return frame->address;
}

/* Separate for the same reason. */
__attribute__((noinline))
static uintptr_t push_noted(struct adsm_partitions *partitions, uint32_t symbol, uintptr_t address)
{
	const uintptr_t callee = push(partitions, symbol, address);

	adsm_policy_log_note(partitions->log, adsm_image_partition(symbol));
	return callee;
}

__attribute__((noinline))
static uintptr_t pop_noted(struct adsm_partitions *partitions)
{
	const uintptr_t caller = pop(partitions);

	adsm_policy_log_note(partitions->log, 0);
	return caller;
}

uintptr_t adsm_partition_push(struct adsm_partitions *partitions, uint32_t symbol, uintptr_t address)
{
	if (__builtin_expect(partitions->log != NULL, 0))
		return push_noted(partitions, symbol, address);
	return push(partitions, symbol, address);
}

uintptr_t adsm_partition_pop(struct adsm_partitions *partitions)
{
	if (__builtin_expect(partitions->log != NULL, 0))
		return pop_noted(partitions);
	return pop(partitions);
}

void adsm_partition_load(struct adsm_partitions *partitions, uint32_t partition, uint32_t buffer)
{
	struct adsm_policy_load change;

	adsm_policy_place(&partitions->policy, partition, buffer, &change);
	load(partitions, &change);
}
