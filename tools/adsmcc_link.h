/* SPDX-License-Identifier: MIT */
/* adsmcc_link.h - the linker of images of partitions: from an object to what base/image.h describes. */
#ifndef ADSMCC_LINK_H
#define ADSMCC_LINK_H

#include "adsmcc_partition.h"

/*
 * Make an image of @object, the bytes of a relocatable file: compiled position-independent, each function in a section
 * of its own, all functions with global symbols. Those with default visibility can be called from outside. What cannot
 * be in an image is counted as an error and named; the image is valid where there are none.
 */
void link_image(const struct text *object, const struct partition_options *options, struct text *ret_image);

#endif
