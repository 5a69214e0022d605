/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_link.c - the linker of images of partitions.
 *
 * A segment is a partition, or the resident part of the image (segment 0). It has its code, a copy of each constant
 * that the code loads, and a stub for each function in another segment that it calls. The program may keep the address
 * of a function or constant. So such an address must not be in a partition, and it is in a slot. For a function, it is
 * the address of its stub. For a constant, it is the address of the copy in segment 0, which is always loaded.
 */
#include "adsmcc_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/image.h"

#define NOWHERE (-1)

/* A stub in a segment. The segment's code calls a function elsewhere by it. */
struct stub {
	int64_t at;			/* place in the segment */
	uint32_t slot;			/* it jumps to the address in this slot */
	uint32_t section;		/* with slot 0: the function, in another partition */
	int64_t offset;
};

struct segment {
	int64_t *at;			/* by section: its place in this segment */
	uint32_t *constants;		/* sections of constants, in order */
	size_t n_constants;
	struct stub *stubs;
	size_t n_stubs;
	int64_t size;
	uint8_t *bytes;
};

struct slot {
	uint32_t kind;			/* enum adsm_image_slot_kind */
	const char *name;		/* of an import */
	uint32_t section;		/* of other kinds */
	int64_t offset;
};

/* A whole image. */
struct image {
	struct link *link;
	struct segment *segments;
	struct slot *slots;
	uint32_t n_slots;
	uint32_t *functions;		/* symbols, those with stubs first */
	uint32_t n_functions, n_function_stubs;
};

/* ---- what each reference needs */

static uint32_t find_slot(struct image *image, uint32_t kind, const char *name, uint32_t section, int64_t offset)
{
	for (uint32_t i = 0; i < image->n_slots; i++) {
		const struct slot *slot = &image->slots[i];

		if (slot->kind == kind && slot->section == section && slot->offset == offset &&
		    (name ? slot->name && !strcmp(slot->name, name) : !slot->name))
			return i;
	}
	if (image->n_slots == ADSM_IMAGE_MAX_SLOTS)
		die("the code uses more than %u external functions and constants", ADSM_IMAGE_MAX_SLOTS);
	image->slots = grow(image->slots, (image->n_slots + 1) * sizeof(*image->slots));
	image->slots[image->n_slots] = (struct slot) { kind, name, section, offset };
	return image->n_slots++;
}

static uint32_t segment_of(const struct image *image, uint32_t section)
{
	return image->link->object.sections[section].code ? image->link->partition[section] : 0;
}

static void need_constant(struct image *image, uint32_t segment, uint32_t section)
{
	struct segment *to = &image->segments[segment];

	for (size_t i = 0; i < to->n_constants; i++)
		if (to->constants[i] == section)
			return;
	to->constants = grow(to->constants, (to->n_constants + 1) * sizeof(*to->constants));
	to->constants[to->n_constants++] = section;
}

/* The slot for an address that stays valid, whatever partitions are loaded. */
static uint32_t slot_of_address(struct image *image, const char *name, uint32_t section, int64_t offset)
{
	if (!section)
		return find_slot(image, ADSM_IMAGE_SLOT_IMPORT, name, 0, 0);
	if (segment_of(image, section))
		return find_slot(image, ADSM_IMAGE_SLOT_STUB, NULL, section, offset);
	if (!image->link->object.sections[section].code)
		need_constant(image, 0, section);
	return find_slot(image, ADSM_IMAGE_SLOT_RESIDENT, NULL, section, offset);
}

static struct stub *find_stub(struct image *image, uint32_t segment, const char *name, uint32_t section, int64_t offset)
{
	struct segment *from = &image->segments[segment];
	struct stub stub = { .at = NOWHERE };

	if (section && segment_of(image, section)) {
		stub.section = section;
		stub.offset = offset;
	} else {
		stub.slot = slot_of_address(image, name, section, offset);
	}
	for (size_t i = 0; i < from->n_stubs; i++)
		if (from->stubs[i].slot == stub.slot && from->stubs[i].section == stub.section &&
		    from->stubs[i].offset == stub.offset)
			return &from->stubs[i];
	from->stubs = grow(from->stubs, (from->n_stubs + 1) * sizeof(*from->stubs));
	from->stubs[from->n_stubs] = stub;
	return &from->stubs[from->n_stubs++];
}

static int64_t slot_at(uint32_t slot)
{
	return -8 * ((int64_t)slot + 1);
}

/*
 * The place in the segment that code of @section refers to. This is called twice for each reference. The first time, no
 * places are known: the call finds the stubs, slots and constants that are needed. The second time, the result is
 * valid.
 */
static int64_t resolve(struct image *image, uint32_t section, const struct object_relocation *relocation,
		       enum reference_kind *ret_kind)
{
	const struct object *object = &image->link->object;
	const char *name = object->symbols[relocation->symbol].name;
	const uint32_t segment = segment_of(image, section);
	uint32_t to;
	int64_t offset;

	*ret_kind = link_reference(image->link, section, relocation, &to, &offset);
	switch (*ret_kind) {
	case REFERENCE_BRANCH:
		if (to && segment_of(image, to) == segment && object->sections[to].code)
			return image->segments[segment].at[to] + offset;
		return find_stub(image, segment, name, to, offset)->at;
	case REFERENCE_ADDRESS:
	case REFERENCE_POINTER:
		return slot_at(slot_of_address(image, name, to, offset));
	case REFERENCE_BYTES:
		if (!to) {
			link_error(image->link, section, relocation->offset, "'%s' is a hidden variable that this file "
				   "does not define", name);
			return 0;
		}
		if (!object->sections[to].code)
			need_constant(image, segment, to);
		return image->segments[segment].at[to] + offset;
	default:
		return 0;
	}
}

/* Resolve all references. @complete: all places are known, so complete the instructions, too. */
static void resolve_all(struct image *image, bool complete)
{
	const struct object *object = &image->link->object;

	for (uint32_t i = 0; i < object->n_sections; i++) {
		const struct object_section *section = &object->sections[i];
		struct segment *segment = &image->segments[segment_of(image, i)];

		if (!image->link->reached[i] || !section->code)
			continue;
		for (size_t j = 0; j < section->n_relocations; j++) {
			const struct object_relocation *relocation = &section->relocations[j];
			enum reference_kind kind;
			const int64_t target = resolve(image, i, relocation, &kind);

			if (complete && !machine_complete(object->machine, relocation, kind,
							  segment->bytes + segment->at[i], segment->at[i], target))
				link_error(image->link, i, relocation->offset, "'%s' is too far away",
					   object->symbols[relocation->symbol].name);
		}
	}
}

/* ---- places of sections and stubs */

static void place_section(struct image *image, uint32_t segment, uint32_t section)
{
	struct segment *to = &image->segments[segment];
	const struct object_section *what = &image->link->object.sections[section];
	const int64_t alignment = (int64_t)what->align;

	if (what->align > ADSM_IMAGE_ALIGN)
		die("'%s' is aligned to %lu bytes, but loaded code to at most %u", what->name,
		    (unsigned long)what->align,
		    ADSM_IMAGE_ALIGN);
	to->size = (to->size + alignment - 1) / alignment * alignment;
	to->at[section] = to->size;
	to->size += (int64_t)what->size;
}

static void place_segment(struct image *image, uint32_t number)
{
	const struct object *object = &image->link->object;
	struct segment *segment = &image->segments[number];

	for (uint32_t i = 0; i < object->n_sections; i++)
		if (image->link->reached[i] && object->sections[i].code && segment_of(image, i) == number)
			place_section(image, number, i);
	for (size_t i = 0; i < segment->n_constants; i++)
		place_section(image, number, segment->constants[i]);
	segment->size = (segment->size + MACHINE_STUB - 1) / MACHINE_STUB * MACHINE_STUB;
	for (size_t i = 0; i < segment->n_stubs; i++) {
		segment->stubs[i].at = segment->size;
		segment->size += MACHINE_STUB;
	}
	if (segment->size > ADSM_IMAGE_MAX_SIZE)
		die("partition %u has %ld bytes, but a partition can have at most %u", number, (long)segment->size,
		    ADSM_IMAGE_MAX_SIZE);
	segment->bytes = grow(NULL, (size_t)segment->size + 1);
	memset(segment->bytes, 0, (size_t)segment->size);
}

static void fill_segment(struct image *image, uint32_t number)
{
	const struct object *object = &image->link->object;
	struct segment *segment = &image->segments[number];

	for (uint32_t i = 0; i < object->n_sections; i++)
		if (segment->at[i] != NOWHERE)
			memcpy(segment->bytes + segment->at[i], object->sections[i].bytes, object->sections[i].size);
	for (size_t i = 0; i < segment->n_stubs; i++) {
		const struct stub *stub = &segment->stubs[i];
		uint8_t *code = segment->bytes + stub->at;
		uint32_t to;

		if (stub->slot) {
			machine_slot_stub(object->machine, code, stub->at, slot_at(stub->slot));
			continue;
		}
		to = segment_of(image, stub->section);
		machine_call_stub(object->machine, code, stub->at, slot_at(0),
				  adsm_image_symbol(to, (uint32_t)(image->segments[to].at[stub->section] +
								   stub->offset)));
	}
}

/* ---- functions */

/* Does the function need a stub for calls from outside, or by its address? */
static bool has_stub(const struct image *image, const struct object_symbol *symbol)
{
	if (!segment_of(image, symbol->section))
		return false;
	for (uint32_t i = 0; i < image->n_slots; i++)
		if (image->slots[i].kind == ADSM_IMAGE_SLOT_STUB && image->slots[i].section == symbol->section &&
		    image->slots[i].offset == (int64_t)symbol->value)
			return true;
	return symbol->exported;
}

static void collect_functions(struct image *image, bool stubs)
{
	const struct object *object = &image->link->object;

	for (uint32_t i = 0; i < object->n_symbols; i++) {
		const struct object_symbol *symbol = &object->symbols[i];

		if (!symbol->function || !symbol->section || !image->link->reached[symbol->section] ||
		    !object->sections[symbol->section].code || has_stub(image, symbol) != stubs)
			continue;
		image->functions = grow(image->functions, (image->n_functions + 1) * sizeof(*image->functions));
		image->functions[image->n_functions++] = i;
	}
	if (stubs)
		image->n_function_stubs = image->n_functions;
}

/* The number of the slot's function among the functions with stubs. */
static uint32_t function_with_stub(const struct image *image, const struct slot *slot)
{
	for (uint32_t i = 0; i < image->n_function_stubs; i++) {
		const struct object_symbol *symbol = &image->link->object.symbols[image->functions[i]];

		if (symbol->section == slot->section && (int64_t)symbol->value == slot->offset)
			return i;
	}
	die("the code takes an address that is not the beginning of a function, in section %s at %ld: compile it with "
	    "the options of adsmcc", image->link->object.sections[slot->section].name, (long)slot->offset);
}

/* ---- the image's bytes */

static uint32_t add_name(struct text *names, const char *name)
{
	const uint32_t at = (uint32_t)names->size;

	text_add(names, name, strlen(name) + 1);
	return at;
}

static void write_functions(const struct image *image, struct text *tables, struct text *names)
{
	for (uint32_t i = 0; i < image->n_functions; i++) {
		const struct object_symbol *symbol = &image->link->object.symbols[image->functions[i]];
		const uint32_t segment = segment_of(image, symbol->section);
		const int64_t at = image->segments[segment].at[symbol->section] + (int64_t)symbol->value;
		const struct adsm_image_function function = {
			.symbol = adsm_image_symbol(segment, (uint32_t)at), .size = (uint32_t)symbol->size,
			.name = add_name(names, symbol->name),
		};

		text_add(tables, (const char *)&function, sizeof(function));
	}
}

static void write_slots(const struct image *image, struct text *tables, struct text *names)
{
	for (uint32_t i = 0; i < image->n_slots; i++) {
		const struct slot *from = &image->slots[i];
		struct adsm_image_slot slot = { .kind = from->kind };

		if (from->kind == ADSM_IMAGE_SLOT_IMPORT)
			slot.value = add_name(names, from->name);
		else if (from->kind == ADSM_IMAGE_SLOT_STUB)
			slot.value = function_with_stub(image, from);
		else if (from->kind == ADSM_IMAGE_SLOT_RESIDENT)
			slot.value = (uint32_t)(image->segments[0].at[from->section] + from->offset);
		text_add(tables, (const char *)&slot, sizeof(slot));
	}
}

static size_t align(size_t size)
{
	return (size + ADSM_IMAGE_ALIGN - 1) & ~(size_t)(ADSM_IMAGE_ALIGN - 1);
}

static void write_image(const struct image *image, struct text *out)
{
	static const char zeroes[ADSM_IMAGE_ALIGN];
	const uint32_t n = image->link->n_partitions;
	struct adsm_image_header header = {
		.magic = ADSM_IMAGE_MAGIC, .version = ADSM_IMAGE_VERSION, .machine = image->link->object.machine,
		.n_partitions = n, .n_symbols = image->n_functions, .n_stubs = image->n_function_stubs,
		.n_slots = image->n_slots,
	};
	struct text functions = { 0 }, slots = { 0 }, names = { 0 };
	size_t at = sizeof(header) + (n + 1) * sizeof(struct adsm_image_entry);

	text_add(&names, "", 1);
	text_add(&functions, "", 0);
	text_add(&slots, "", 0);
	write_functions(image, &functions, &names);
	write_slots(image, &slots, &names);
	header.names_size = (uint32_t)names.size;
	text_add(out, (const char *)&header, sizeof(header));
	at += functions.size + slots.size + names.size;
	for (uint32_t i = 0; i <= n; i++) {
		const struct adsm_image_entry entry = { (uint32_t)align(at), (uint32_t)image->segments[i].size };

		text_add(out, (const char *)&entry, sizeof(entry));
		at = entry.offset + entry.size;
	}
	text_add(out, functions.bytes, functions.size);
	text_add(out, slots.bytes, slots.size);
	text_add(out, names.bytes, names.size);
	for (uint32_t i = 0; i <= n; i++) {
		text_add(out, zeroes, align(out->size) - out->size);
		text_add(out, (const char *)image->segments[i].bytes, (size_t)image->segments[i].size);
	}
	header.size = (uint32_t)out->size;
	memcpy(out->bytes, &header, sizeof(header));
	header.checksum = adsm_image_checksum(out->bytes, out->size);
	memcpy(out->bytes, &header, sizeof(header));
}

static void print_map(const struct image *image, uint32_t number)
{
	const struct segment *segment = &image->segments[number];
	int64_t constants = 0;

	for (size_t i = 0; i < segment->n_constants; i++)
		constants += (int64_t)image->link->object.sections[segment->constants[i]].size;
	if (number)
		printf("partition %u: %ld bytes", number, (long)segment->size);
	else
		printf("resident: %ld bytes, and %zu of stubs and slots", (long)segment->size,
		       ADSM_IMAGE_ALIGN + 16 * (size_t)image->n_function_stubs + 8 * (size_t)image->n_slots);
	printf(", %ld of them constants, %zu stubs\n", (long)constants, segment->n_stubs);
	for (uint32_t i = 0; i < image->n_functions; i++) {
		const struct object_symbol *symbol = &image->link->object.symbols[image->functions[i]];

		if (segment_of(image, symbol->section) == number)
			printf("  %6lu  %s\n", (unsigned long)symbol->size, symbol->name);
	}
}

static void start_segments(struct image *image)
{
	const size_t n_sections = image->link->object.n_sections;

	image->segments = grow(NULL, (image->link->n_partitions + 1) * sizeof(*image->segments));
	for (uint32_t i = 0; i <= image->link->n_partitions; i++) {
		image->segments[i] = (struct segment) { .at = grow(NULL, (n_sections + 1) * sizeof(int64_t)) };
		for (size_t j = 0; j < n_sections; j++)
			image->segments[i].at[j] = NOWHERE;
	}
}

bool in_device_memory(const struct object *object, const struct object_symbol *symbol)
{
	const char *section = symbol->section ? object->sections[symbol->section].name : "";

	return !strcmp(section, "adsm_tables") || !strcmp(section, "adsm_variables_");
}

/* Apply options->roots to the symbols. Tables and variables are in device memory, and not loaded with the code: it uses
 * those of the code in one piece. */
static void narrow(struct object *object, const struct partition_options *options)
{
	for (size_t i = 0; i < object->n_symbols; i++) {
		struct object_symbol *symbol = &object->symbols[i];

		if (options->roots && !starts(symbol->name, options->roots))
			symbol->exported = false;
		if (in_device_memory(object, symbol))
			symbol->section = 0;
	}
}

/* Read the object, and find what an image of it needs. */
static struct link open_link(const struct text *object, const struct partition_options *options, bool in_module)
{
	struct link link = { .object = read_object(object), .in_module = in_module };

	if (link.object.machine != ADSM_IMAGE_MACHINE_X86_64 && link.object.machine != ADSM_IMAGE_MACHINE_AARCH64)
		die("images support x86-64 and aarch64, not machine %u of ELF", link.object.machine);
	link.reached = grow(NULL, link.object.n_sections * sizeof(*link.reached));
	link.partition = grow(NULL, link.object.n_sections * sizeof(*link.partition));
	memset(link.reached, 0, link.object.n_sections * sizeof(*link.reached));
	memset(link.partition, 0, link.object.n_sections * sizeof(*link.partition));
	narrow(&link.object, options);
	find_reached(&link);
	return link;
}

size_t list_large(const struct text *object, const struct partition_options *options, double share,
		  struct text *sizes)
{
	const struct link link = open_link(object, options, true);
	size_t n = 0;

	for (uint32_t i = 0; i < link.object.n_sections; i++) {
		const uint64_t size = partition_is_free(&link, i) ? partition_bytes(&link, i) : 0;

		if (size <= options->limit || starts(link.object.sections[i].name, PARTITION_SECTION))
			continue;
		text_print(sizes, "%s %lu %.0f\n", object_function_at(&link.object, i, 0), (unsigned long)size,
			   options->limit * share);
		n++;
	}
	return n;
}

void link_image(const struct text *object, const struct partition_options *options, struct text *ret_image)
{
	struct link link = open_link(object, options, options->roots);
	struct image image = { .link = &link };

	if (n_errors)
		return;
	assign_partitions(&link, options);
	start_segments(&image);
	find_slot(&image, ADSM_IMAGE_SLOT_ENTER, NULL, 0, 0);
	resolve_all(&image, false);
	for (uint32_t i = 0; i <= link.n_partitions; i++)
		place_segment(&image, i);
	for (uint32_t i = 0; i <= link.n_partitions; i++)
		fill_segment(&image, i);
	resolve_all(&image, true);
	collect_functions(&image, true);
	collect_functions(&image, false);
	write_image(&image, ret_image);
	for (uint32_t i = 0; i <= link.n_partitions && options->map; i++)
		print_map(&image, i);
}
