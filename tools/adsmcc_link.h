/* SPDX-License-Identifier: MIT */
/* adsmcc_link.h - the linker of images of partitions: it makes what base/image.h describes of an object file. */
#ifndef ADSMCC_LINK_H
#define ADSMCC_LINK_H

#include "adsmcc_partition.h"

/*
 * Make an image of @object, the bytes of a relocatable file. It must be position-independent, with each function in its
 * own section, and with global symbols for all functions. Functions with default visibility can be called from outside.
 * Whatever cannot be in an image is reported and counted in n_errors. The image is valid if there are no errors.
 */
void link_image(const struct text *object, const struct partition_options *options, struct text *ret_image);

#endif
