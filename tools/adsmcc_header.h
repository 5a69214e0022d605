/* SPDX-License-Identifier: MIT */
/* adsmcc_header.h - writes a C++ header that describes the kernels of a module. */
#pragma once

/*
 * Write the header @path for the module @module. Its types are those of adsm.hpp. Its namespace has the name of the
 * file, without folder and suffix. If the module is invalid, adsmcc exits.
 */
void write_header(const char *module, const char *path);
