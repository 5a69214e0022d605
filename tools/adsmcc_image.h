/* SPDX-License-Identifier: MIT */
/* adsmcc_image.h - makes an image of partitions for a partition manager, instead of a module. */
#ifndef ADSMCC_IMAGE_H
#define ADSMCC_IMAGE_H

#include "adsmcc_link.h"

#define PARTITION_LIMIT 4096		/* bytes in a partition for --partition auto without a size */

/* Parse the value of --partition: auto, auto:SIZE, or source. adsmcc exits if it is invalid. */
struct partition_options parse_partition(const char *how);
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

#endif
