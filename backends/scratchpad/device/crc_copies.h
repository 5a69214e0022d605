/* SPDX-License-Identifier: MIT */
/*
 * crc_copies.h - keeps the caches of workers (store/copies.h) consistent by crc.h. Twins are in main memory, one for
 * each page that the cache has room for. A twin is copied from the worker's page when the page is first written, and
 * stays until the page is given up.
 */
#pragma once

#include "crc.h"
#include "store/copies.h"

/* Its argument is the struct adsm_crc. */
extern const struct adsm_copies_below adsm_crc_copies;
