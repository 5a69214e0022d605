/* SPDX-License-Identifier: MIT */
/* adsmcc_image.h - code for a partition manager, instead of a module. */
#ifndef ADSMCC_IMAGE_H
#define ADSMCC_IMAGE_H

#include "adsmcc_link.h"

#define PARTITION_LIMIT 4096		/* bytes of a partition, where --partition auto says no others */

/* What --partition says: auto, auto:SIZE, or source; ends adsmcc where it is none of them. */
struct partition_options parse_partition(const char *how);
/*
 * What code that is loaded has to be: position-independent, each function by itself, called as the ABI says and by call
 * instructions, with nothing beside it that nobody loads. Add it to @argv, of the command @compiler.
 */
void add_image_options(const char *compiler, struct list *argv);
/*
 * By @argv, of @compiler, which names its input or reads @input, make @ret_object, of which images are linked. The file
 * @object is used meanwhile. Returns the compiler's exit status.
 */
int compile_object(const char *compiler, struct list argv, const struct text *input, const char *object,
		   struct text *ret_object);
/* Compile @text, by @compiler with @options, into the image @output. Returns the compiler's exit status. */
int compile_image(const char *compiler, const struct list *options, const struct text *text,
		  const struct partition_options *partition, const char *output);

#endif
