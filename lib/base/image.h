/* SPDX-License-Identifier: MIT */
/*
 * image.h - images of partitions: code that is loaded in parts into a core's local store. adsmcc writes them, and the
 * device reads them (OPELL, sections 4.1 and 4.2). docs/scratchpad-reference.md describes the whole format.
 *
 * An image consists of the header, the list of partitions, the symbols, the slots, the names, and the code, in this
 * order. All words are little-endian; between the parts are only zeros, up to the alignment of code. Partition 0 is
 * what stays in the local store: functions that are in no partition, and constants that have an address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_IMAGE_MAGIC "ADSMIMG"
#define ADSM_IMAGE_VERSION 1u
#define ADSM_IMAGE_ALIGN 64u		/* of code, in the image and in the local store */
#define ADSM_IMAGE_MACHINE_X86_64 62u	/* as in ELF files */
#define ADSM_IMAGE_MACHINE_AARCH64 183u

/* A symbol: 14 bits for the partition, 18 bits for the byte in it. */
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
	uint64_t checksum;		/* of all bytes except these, by adsm_image_checksum() */
	uint32_t size;			/* bytes of the image */
	uint32_t n_partitions;		/* without partition 0 */
	uint32_t n_symbols;
	uint32_t n_stubs;		/* of the symbols, the first ones: functions that are called by address */
	uint32_t n_slots;
	uint32_t names_size;
	uint32_t reserved[4];		/* 0 */
};

/* There are n_partitions + 1 of these. The code of a partition begins at the next multiple of the alignment after the
 * code of the one before. */
struct adsm_image_entry {
	uint32_t offset, size;		/* size 0: the partition is empty */
};

/* A function. */
struct adsm_image_function {
	uint32_t symbol, size;
	uint32_t name;			/* its offset in the names, which are strings with a 0 at the end of each */
};

/* Slots are in memory before the first byte of the code: slot i is the 8 bytes at -8 * (i + 1). They are filled when
 * the code gets its place, so the code itself needs no relocations. */
enum adsm_image_slot_kind {
	ADSM_IMAGE_SLOT_ENTER,		/* the partition manager, for calls into other partitions: always slot 0 */
	ADSM_IMAGE_SLOT_IMPORT,		/* value: the name of a symbol outside of the image */
	ADSM_IMAGE_SLOT_STUB,		/* value: the function that is called by the stub's address */
	ADSM_IMAGE_SLOT_RESIDENT,	/* value: an offset in partition 0 */
	ADSM_IMAGE_SLOT_KINDS,
};

struct adsm_image_slot {
	uint32_t kind, value;
};

/* A checked image: pointers into its bytes. */
struct adsm_image {
	const uint8_t *bytes;
	const struct adsm_image_header *header;
	const struct adsm_image_entry *partitions;
	const struct adsm_image_function *functions;
	const struct adsm_image_slot *slots;
	const char *names;
};

/* The checksum of @size bytes, which begin with a header. */
uint64_t adsm_image_checksum(const void *bytes, size_t size);

/*
 * Check an image completely, and describe it. The check does not trust what the image says of itself; it cannot check
 * what its code does. @bytes: aligned to 8; must stay while the description is used. @ret_text: of @text_size bytes,
 * why the image was refused. Returns 0, -ENOEXEC (not an image, or damaged), or -ENOTSUP (another version or machine).
 * Any thread.
 */
int adsm_image_check(const void *bytes, size_t size, struct adsm_image *ret_image, char *ret_text, size_t text_size);

/* The code of a partition in the image. */
static inline const uint8_t *adsm_image_code(const struct adsm_image *image, uint32_t partition)
{
	return image->bytes + image->partitions[partition].offset;
}

static inline const char *adsm_image_name(const struct adsm_image *image, uint32_t function)
{
	return image->names + image->functions[function].name;
}

/* The index of the function of that name; -1: there is none. */
int32_t adsm_image_find(const struct adsm_image *image, const char *name);

/* The machine that this code was compiled for. */
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
