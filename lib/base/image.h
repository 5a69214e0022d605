/* SPDX-License-Identifier: MIT */
/*
 * image.h - images of partitions: code that is loaded piece by piece into a core's local store, as adsmcc writes it and
 * the device reads it (OPELL, sections 4.1 and 4.2). docs/scratchpad-reference.md has the whole of it.
 *
 * One after the other: the header, the list of partitions, the symbols, the slots, the names, and the code. All words
 * are little-endian; there is nothing between these parts but zeroes up to the alignment of code. Partition 0 is what
 * stays in the local store: functions that are in no partition, and the constants that have an address.
 */
#ifndef ADSM_IMAGE_H
#define ADSM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_IMAGE_MAGIC "ADSMIMG"
#define ADSM_IMAGE_VERSION 1u
#define ADSM_IMAGE_ALIGN 64u		/* of code, in the image and in the local store */
#define ADSM_IMAGE_MACHINE_X86_64 62u	/* as in ELF files */
#define ADSM_IMAGE_MACHINE_AARCH64 183u

/* A symbol: 14 bits of the partition, 18 of the byte in it. */
#define ADSM_IMAGE_OFFSET_BITS 18
#define ADSM_IMAGE_MAX_SIZE (1u << ADSM_IMAGE_OFFSET_BITS)	/* of a partition */
#define ADSM_IMAGE_MAX_PARTITIONS ((1u << (32 - ADSM_IMAGE_OFFSET_BITS)) - 1)
#define ADSM_IMAGE_MAX_SLOTS 8192u

static inline uint32_t adsm_image_symbol(uint32_t partition, uint32_t offset)
{
	return partition << ADSM_IMAGE_OFFSET_BITS | offset;
}

static inline uint32_t adsm_image_partition(uint32_t symbol)
{
	return symbol >> ADSM_IMAGE_OFFSET_BITS;
}

static inline uint32_t adsm_image_offset(uint32_t symbol)
{
	return symbol & (ADSM_IMAGE_MAX_SIZE - 1);
}

struct adsm_image_header {
	char magic[8];
	uint32_t version, machine;
	uint64_t checksum;		/* of all bytes but these, by adsm_image_checksum() */
	uint32_t size;			/* bytes of the image */
	uint32_t n_partitions;		/* without 0 */
	uint32_t n_symbols;
	uint32_t n_stubs;		/* the first symbols: those that are called by an address */
	uint32_t n_slots;
	uint32_t names_size;
	uint32_t reserved[4];		/* 0 */
};

/*
 * n_partitions + 1 of these. Where the code of one ends that of the next begins, on the next multiple of the alignment.
 */
struct adsm_image_entry {
	uint32_t offset, size;		/* size 0: nothing is in it */
};

/* A function. */
struct adsm_image_function {
	uint32_t symbol, size;
	uint32_t name;			/* its offset in the names: strings that end with 0, and so do the names */
};

/*
 * What code finds in memory before its first byte: slot i is the 8 bytes at -8 * (i + 1). They are filled when code
 * gets its place, so no relocations are left in the code itself.
 */
enum adsm_image_slot_kind {
	ADSM_IMAGE_SLOT_ENTER,		/* the partition manager, for calls of others: slot 0, and only that */
	ADSM_IMAGE_SLOT_IMPORT,		/* value: the name of what is not in the image */
	ADSM_IMAGE_SLOT_STUB,		/* value: the function that is called by this address */
	ADSM_IMAGE_SLOT_RESIDENT,	/* value: an offset in partition 0 */
	ADSM_IMAGE_SLOT_KINDS,
};

struct adsm_image_slot {
	uint32_t kind, value;
};

/* An image that was checked: pointers into its bytes. */
struct adsm_image {
	const uint8_t *bytes;
	const struct adsm_image_header *header;
	const struct adsm_image_entry *partitions;
	const struct adsm_image_function *functions;
	const struct adsm_image_slot *slots;
	const char *names;
};

/* The checksum of @size bytes, a header among them. */
uint64_t adsm_image_checksum(const void *bytes, size_t size);

/*
 * Check all of an image, and describe it; what it says of itself is not trusted, and what its code does is not known.
 * @bytes: aligned to 8, as they are for as long as the description is used. @ret_text: of @text_size bytes, why it was
 * refused. 0, -ENOEXEC (no image, or a damaged one), -ENOTSUP (of another version or machine). Any thread.
 */
int adsm_image_check(const void *bytes, size_t size, struct adsm_image *ret_image, char *ret_text, size_t text_size);

/* Where the code of a partition lies in the image. */
static inline const uint8_t *adsm_image_code(const struct adsm_image *image, uint32_t partition)
{
	return image->bytes + image->partitions[partition].offset;
}

static inline const char *adsm_image_name(const struct adsm_image *image, uint32_t function)
{
	return image->names + image->functions[function].name;
}

/* The function of that name; -1: there is none. */
int32_t adsm_image_find(const struct adsm_image *image, const char *name);

/* Of the machine that this code was compiled for. */
static inline uint32_t adsm_image_machine(void)
{
#if defined(__x86_64__)
	return ADSM_IMAGE_MACHINE_X86_64;
#elif defined(__aarch64__)
	return ADSM_IMAGE_MACHINE_AARCH64;
#else
	return 0;
#endif
}

#endif
