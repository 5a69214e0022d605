/* SPDX-License-Identifier: MIT */
/* image.c - see image.h. */
#include "base/image.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct adsm_image_header) == 64, "the header's size is part of the format");

uint64_t adsm_image_checksum(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	const size_t at = offsetof(struct adsm_image_header, checksum);
	uint64_t sum = 0xcbf29ce484222325;

	/* FNV-1a: each step is a bijection of the sum, so two images that differ in one byte have different sums. */
	for (size_t i = 0; i < size; i++)
		if (i < at || i >= at + sizeof(uint64_t))
			sum = (sum ^ p[i]) * 0x100000001b3;
	return sum;
}

/* The image that is being checked. */
struct check {
	const struct adsm_image *image;
	size_t size, code;		/* bytes of the image; where its code begins */
	char *text;
	size_t text_size;
};

__attribute__((format(printf, 3, 4)))
static int refuse(const struct check *check, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(check->text, check->text_size, format, args);
	va_end(args);
	return error;
}

static size_t align(size_t offset)
{
	return (offset + ADSM_IMAGE_ALIGN - 1) & ~(size_t)(ADSM_IMAGE_ALIGN - 1);
}

static int check_header(struct check *check, const struct adsm_image_header *header)
{
	if (check->size < sizeof(*header) || memcmp(header->magic, ADSM_IMAGE_MAGIC, sizeof(header->magic)))
		return refuse(check, -ENOEXEC, "the %zu bytes are not an image of partitions: they do not begin "
			      "with " ADSM_IMAGE_MAGIC, check->size);
	if (header->version != ADSM_IMAGE_VERSION)
		return refuse(check, -ENOTSUP, "the image has version %u, but this device reads version %u: compile it "
			      "again", header->version, ADSM_IMAGE_VERSION);
	if (header->size != check->size)
		return refuse(check, -ENOEXEC, "the image is damaged: it has %zu bytes, but its header says %u",
			      check->size, header->size);
	if (header->checksum != adsm_image_checksum(header, check->size))
		return refuse(check, -ENOEXEC, "the image is damaged: its checksum is wrong");
	if (header->machine != adsm_image_machine())
		return refuse(check, -ENOTSUP, "the image is for machine %u, but this machine is %u", header->machine,
			      adsm_image_machine());
	for (size_t i = 0; i < sizeof(header->reserved) / sizeof(header->reserved[0]); i++)
		if (header->reserved[i])
			return refuse(check, -ENOEXEC, "the image is damaged: a reserved field of its header is not 0");
	return 0;
}

/* The numbers of entries determine where the tables are. */
static int place_tables(struct check *check, struct adsm_image *image)
{
	const struct adsm_image_header *header = image->header;
	size_t at = sizeof(*header);

	if (header->n_partitions > ADSM_IMAGE_MAX_PARTITIONS || header->n_slots > ADSM_IMAGE_MAX_SLOTS ||
	    header->n_symbols > check->size / sizeof(struct adsm_image_function) ||
	    header->n_stubs > header->n_symbols || header->names_size > check->size || !header->n_slots)
		return refuse(check, -ENOEXEC, "the image is damaged: its header has invalid numbers: %u partitions, "
			      "%u symbols, %u of them with stubs, %u slots", header->n_partitions, header->n_symbols,
			      header->n_stubs, header->n_slots);
	image->partitions = (const void *)(image->bytes + at);
	at += ((size_t)header->n_partitions + 1) * sizeof(*image->partitions);
	image->functions = (const void *)(image->bytes + at);
	at += (size_t)header->n_symbols * sizeof(*image->functions);
	image->slots = (const void *)(image->bytes + at);
	at += (size_t)header->n_slots * sizeof(*image->slots);
	image->names = (const char *)image->bytes + at;
	at += header->names_size;
	if (at > check->size || !header->names_size || image->bytes[at - 1])
		return refuse(check, -ENOEXEC, "the image is damaged: its tables are too long, or its names do not end "
			      "with a NUL");
	check->code = at;
	return 0;
}

static int check_partitions(const struct check *check)
{
	const struct adsm_image *image = check->image;
	size_t at = check->code;

	for (uint32_t i = 0; i <= image->header->n_partitions; i++) {
		const struct adsm_image_entry *entry = &image->partitions[i];

		if (entry->offset != align(at) || entry->offset > check->size ||
		    entry->size > check->size - entry->offset ||
		    entry->size > ADSM_IMAGE_MAX_SIZE)
			return refuse(check, -ENOEXEC, "the image is damaged: partition %u has an invalid place: %u "
				      "bytes at offset %u", i, entry->size, entry->offset);
		for (; at < entry->offset; at++)
			if (image->bytes[at])
				return refuse(check, -ENOEXEC, "the image is damaged: the bytes before partition %u "
					      "are not 0", i);
		at += entry->size;
	}
	return at == check->size ? 0 : refuse(check, -ENOEXEC, "the image is damaged: bytes follow its last partition");
}

static int check_functions(const struct check *check)
{
	const struct adsm_image *image = check->image;

	for (uint32_t i = 0; i < image->header->n_symbols; i++) {
		const struct adsm_image_function *function = &image->functions[i];
		const uint32_t partition = adsm_image_partition(function->symbol);
		const uint32_t offset = adsm_image_offset(function->symbol);

		if (partition > image->header->n_partitions || offset >= image->partitions[partition].size ||
		    function->size > image->partitions[partition].size - offset ||
		    function->name >= image->header->names_size)
			return refuse(check, -ENOEXEC, "the image is damaged: symbol %u has an invalid partition, size "
				      "or name", i);
		if (i < image->header->n_stubs && !partition)
			return refuse(check, -ENOEXEC, "the image is damaged: symbol %u has a stub, but it is resident",
				      i);
	}
	return 0;
}

static int check_slots(const struct check *check)
{
	const struct adsm_image *image = check->image;
	/* An address may point to the end of an array. */
	const uint64_t limits[ADSM_IMAGE_SLOT_KINDS] = {
		[ADSM_IMAGE_SLOT_ENTER] = 1, [ADSM_IMAGE_SLOT_IMPORT] = image->header->names_size,
		[ADSM_IMAGE_SLOT_STUB] = image->header->n_stubs,
		[ADSM_IMAGE_SLOT_RESIDENT] = (uint64_t)image->partitions[0].size + 1,
	};

	for (uint32_t i = 0; i < image->header->n_slots; i++) {
		const struct adsm_image_slot *slot = &image->slots[i];

		if (slot->kind >= ADSM_IMAGE_SLOT_KINDS || slot->value >= limits[slot->kind] ||
		    (slot->kind == ADSM_IMAGE_SLOT_ENTER) != !i)
			return refuse(check, -ENOEXEC, "the image is damaged: slot %u has an invalid kind or value", i);
	}
	return 0;
}

int adsm_image_check(const void *bytes, size_t size, struct adsm_image *ret_image, char *ret_text, size_t text_size)
{
	struct adsm_image image = { .bytes = bytes, .header = bytes };
	struct check check = { .image = &image, .size = size, .text = ret_text, .text_size = text_size };
	int ret;

	if ((uintptr_t)bytes % sizeof(uint64_t))
		return refuse(&check, -ENOEXEC, "the image is not aligned to %zu bytes", sizeof(uint64_t));
	ret = check_header(&check, bytes);
	ret = ret ? ret : place_tables(&check, &image);
	ret = ret ? ret : check_partitions(&check);
	ret = ret ? ret : check_functions(&check);
	ret = ret ? ret : check_slots(&check);
	if (!ret)
		*ret_image = image;
	return ret;
}

int32_t adsm_image_find(const struct adsm_image *image, const char *name)
{
	for (uint32_t i = 0; i < image->header->n_symbols; i++)
		if (!strcmp(adsm_image_name(image, i), name))
			return (int32_t)i;
	return -1;
}
