/* SPDX-License-Identifier: MIT */
/* adsmcc_commands.h - a file of compile commands, from which clangd and other tools learn how to parse kernels. */
#pragma once

#include "adsmcc_cuda.h"

/*
 * Write to the file @path an entry for each of @inputs: the dialect, CUDA C (.cu) or OpenCL C (.cl). Entries that the
 * file has for other sources stay. @cuda: its compiler, headers and options. Errors end adsmcc.
 */
void write_commands(const char *path, const struct cuda *cuda, const struct list *inputs);
