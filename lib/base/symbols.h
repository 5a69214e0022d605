/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - the variables in device memory that a module has: __device__ and __constant__ of CUDA C.
 *
 * The section adsm_symbols has a line for each: name, size in bytes, alignment in bytes, "c" (kernels only read it) or
 * "d", the first bytes of its initial value in hexadecimal digits or "-", addresses in its initial value or "-". The
 * rest of the value is 0. An address is offset:symbol:addend:size:shift. Such an address is that of the symbol with
 * this index in device memory, plus the addend, shifted right by the shift in bits. Each address ends with a comma.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adsm_symbol {
	const char *name;		/* not NUL-terminated */
	size_t name_size;
	uint64_t size;
	uint32_t align;
	bool constant;
	const char *bytes;		/* hexadecimal digits */
	size_t n_bytes;
	const char *addresses;		/* the next one; see adsm_symbol_address() */
};

struct adsm_symbol_address {
	uint64_t offset, addend;
	uint32_t symbol, size, shift;	/* bytes; bits */
};

/* Read the line at *text, and advance *text to the next one. False: it is no such line. */
bool adsm_symbol_next(const char **text, struct adsm_symbol *ret_symbol);
/* Read the next address of a symbol's initial value. False: there is none. */
bool adsm_symbol_address(struct adsm_symbol *symbol, struct adsm_symbol_address *ret_address);
/* The number of symbols. -1: a line is damaged, or an address is not one of a symbol. */
long adsm_symbols_count(const char *text);
