/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_link.h - makes an image of partitions: reads an object file, decides what is in which partition, and links.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "adsmcc_text.h"

/* ---- sections, symbols and relocations of a relocatable object file (adsmcc_object.c) */

struct object_symbol {
	const char *name;
	uint32_t section;		/* 0: not in this object */
	uint64_t value, size;
	bool function, local, exported;	/* exported: the program that loads the code may call it */
};

struct object_relocation {
	uint64_t offset;
	uint32_t type, symbol;
	int64_t addend;
};

struct object_section {
	const char *name;
	uint64_t align, size;
	uint8_t *bytes;			/* a copy; NULL: the file has no bytes, and all are 0 */
	bool kept, code, writable;	/* kept: the section is in memory when the code runs */
	struct object_relocation *relocations;
	size_t n_relocations;
};

struct object {
	uint32_t machine;		/* e_machine of the ELF header */
	struct object_section *sections;
	size_t n_sections;
	struct object_symbol *symbols;
	size_t n_symbols;
};

/* Read @bytes, a relocatable ELF file of 64 bits. adsmcc exits if it is invalid. */
struct object read_object(const struct text *bytes);
/* The function that contains this code, for messages; "?" if no symbol does. */
const char *object_function_at(const struct object *object, uint32_t section, uint64_t offset);

/* ---- instructions of x86-64 and aarch64 with relocations (adsmcc_machine.c) */

enum reference_kind {
	REFERENCE_UNKNOWN,
	REFERENCE_BRANCH,		/* calls the target, or jumps to it */
	REFERENCE_ADDRESS,		/* takes the target's address; not valid as it is, because loaded code moves */
	REFERENCE_POINTER,		/* loads the target's address from memory */
	REFERENCE_BYTES,		/* loads the target's bytes */
};

/* What the instruction of a relocation does with its target. @ret_offset: of the target, from the symbol. */
enum reference_kind machine_reference(uint32_t machine, const struct object_section *section,
				      const struct object_relocation *relocation, int64_t *ret_offset);
/*
 * Complete the instruction of @relocation in @code, a copy of its section that lies at @at. It then refers to @target.
 * For REFERENCE_ADDRESS it is changed into a load of the address from @target. False: @target is too far away.
 */
bool machine_complete(uint32_t machine, const struct object_relocation *relocation, enum reference_kind kind,
		      uint8_t *code, int64_t at, int64_t target);

#define MACHINE_STUB 16			/* bytes of a stub */

/* Write a stub to @code that jumps to the address in a slot. @at, @slot: the places of the stub and the slot. */
void machine_slot_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot);
/* The same, but it also passes @symbol to the partition manager. */
void machine_call_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot, uint32_t symbol);

/* ---- the sections of an object that an image needs, and the references between them (adsmcc_reach.c) */

struct link {
	struct object object;
	bool *reached;			/* by section: an exported function needs it */
	uint32_t *partition;		/* by section: the partition of its code, if it is reached */
	uint32_t n_partitions;
	bool in_module;			/* the code is of a module, and not of an image */
};

/* Set reached. Report an error for everything that cannot be in an image. */
void find_reached(struct link *link);
/* What a relocation of @section refers to. Returns the kind. *ret_section: the target's section, 0 if the target is not
 * in the object; *ret_offset: its offset in the section. */
enum reference_kind link_reference(const struct link *link, uint32_t section,
				   const struct object_relocation *relocation, uint32_t *ret_section,
				   int64_t *ret_offset);
void link_error(const struct link *link, uint32_t section, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- which function is in which partition (adsmcc_partition.c) */

/* A section with this prefix and a number has functions of the partition with that number. */
#define PARTITION_SECTION ".adsm.partition."

struct partition_options {
	bool automatic;			/* functions without ADSM_PARTITION get partitions, too */
	uint32_t limit;			/* bytes of such a partition, at most */
	bool each;			/* each function gets one of its own */
	bool map;			/* print what each partition contains */
	struct text calls;		/* estimated calls: what divide_write_calls() writes; no bytes: unknown */
	struct text profile;		/* counted calls: the notes of a run; no bytes: unknown */
	const char *profile_path;	/* its file */
	struct text lines;		/* the lines of each function, for messages; no bytes: unknown */
	const char *roots;		/* only functions with this prefix stay exported; NULL: all */
};

/* Set partition and n_partitions: as the source says and, if options->automatic, by calls and sizes. */
void assign_partitions(struct link *link, const struct partition_options *options);
/* Bytes that the code of the section takes in a partition, about: its code, constants that it loads, stubs. */
uint64_t partition_bytes(const struct link *link, uint32_t section);
/* Is the section code that the source puts into no partition? */
bool partition_is_free(const struct link *link, uint32_t section);

/* ---- how often functions call each other (adsmcc_calls.c) */

/* The number of calls between two sections of code, in both directions, counted or estimated: an array of n_sections
 * rows of n_sections numbers. */
double *weigh_calls(const struct link *link, const struct partition_options *options);
/* Exit if the notes of a run are not of a module with each function in a partition of its own. */
void check_profile(const struct text *profile, const char *path);

/* ---- the linker: it makes what base/image.h describes of an object file (adsmcc_link.c) */

/*
 * Make an image of @object, the bytes of a relocatable file. It must be position-independent, with each function in its
 * own section, and with global symbols for all functions. Functions with default visibility can be called from outside.
 * Whatever cannot be in an image is reported and counted in n_errors. The image is valid if there are no errors.
 */
void link_image(const struct text *object, const struct partition_options *options, struct text *ret_image);
/* Is it a table or a variable that the code does not have, but uses from the code in one piece? */
bool in_device_memory(const struct object *object, const struct object_symbol *symbol);
/* Append a line to @sizes for each function that is larger than a partition: its name, its bytes, and the bytes that it
 * may have, which are @share of a partition. Returns the number of lines. */
size_t list_large(const struct text *object, const struct partition_options *options, double share,
		  struct text *sizes);

/* ---- an image for a partition manager, instead of a module (adsmcc_image.c) */

#define PARTITION_LIMIT 4096		/* bytes in a partition for --partition auto without a size */

/* Parse a value of --partition: auto, each, auto:SIZE, each:SIZE, profile:FILE or source. adsmcc exits if it is
 * invalid. */
void parse_partition(const char *how, struct partition_options *options);
/*
 * Add to @argv, a command line of @compiler, the options for code that is loaded in partitions. It is
 * position-independent. Each function has its own section. Functions are called as the ABI says, by call instructions.
 * The code has no parts that are not loaded with it.
 */
void add_image_options(const char *compiler, struct list *argv);
/*
 * Make the object file @ret_object, for link_image(), by the command @argv of @compiler. The command names its input,
 * or reads @input, which may be NULL. @object: a temporary file. Returns the compiler's exit status.
 */
int compile_object(const char *compiler, struct list argv, const struct text *input, const char *object,
		   struct text *ret_object);
/* Compile @text into the image @output, by @compiler with @options. Returns the compiler's exit status. */
int compile_image(const char *compiler, const struct list *options, const struct text *text,
		  const struct partition_options *partition, const char *output);
