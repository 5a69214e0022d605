/* SPDX-License-Identifier: MIT */
/* symbols.c - see symbols.h. */
#include "base/symbols.h"

#include <string.h>

static bool read_number(const char **at, char end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = *at;

	while (*p >= '0' && *p <= '9') {
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value))
			return false;
		p++;
	}
	if (p == *at || *p != end)
		return false;
	*ret = value;
	*at = p + 1;
	return true;
}

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool adsm_symbol_next(const char **text, struct adsm_symbol *ret_symbol)
{
	struct adsm_symbol symbol = { .name = *text, .name_size = strcspn(*text, " \n") };
	const char *at = *text + symbol.name_size;
	uint64_t align;

	if (!symbol.name_size || *at++ != ' ' || !read_number(&at, ' ', &symbol.size) ||
	    !read_number(&at, ' ', &align) || (*at != 'c' && *at != 'd') || at[1] != ' ')
		return false;
	symbol.align = (uint32_t)align;
	symbol.constant = *at == 'c';
	at += 2;
	symbol.bytes = at;
	while (is_digit(*at))
		at++;
	symbol.n_bytes = (size_t)(at - symbol.bytes) / 2;
	at += *at == '-' && at == symbol.bytes;
	if (*at++ != ' ')
		return false;
	symbol.addresses = at;
	at += strcspn(at, "\n");
	if (*at != '\n' || !symbol.size || symbol.n_bytes > symbol.size || align > 4096 || (align & (align - 1)))
		return false;
	*text = at + 1;
	*ret_symbol = symbol;
	return true;
}

bool adsm_symbol_address(struct adsm_symbol *symbol, struct adsm_symbol_address *ret_address)
{
	const char *at = symbol->addresses;
	uint64_t offset, target, addend, size, shift;

	if (!read_number(&at, ':', &offset) || !read_number(&at, ':', &target) || !read_number(&at, ':', &addend) ||
	    !read_number(&at, ':', &size) || !read_number(&at, ',', &shift))
		return false;
	if (!size || size > 8 || shift > 63 || target > UINT32_MAX || offset > symbol->size ||
	    size > symbol->size - offset)
		return false;
	*ret_address = (struct adsm_symbol_address){
		offset, addend, (uint32_t)target, (uint32_t)size, (uint32_t)shift,
	};
	symbol->addresses = at;
	return true;
}

long adsm_symbols_count(const char *text)
{
	struct adsm_symbol symbol;
	struct adsm_symbol_address address;
	uint32_t most = 0;
	long n = 0;

	while (*text) {
		if (!adsm_symbol_next(&text, &symbol))
			return -1;
		n++;
		while (adsm_symbol_address(&symbol, &address))
			most = address.symbol >= most ? address.symbol + 1 : most;
		if (*symbol.addresses != '-' && *symbol.addresses != '\n')
			return -1;
	}
	return most > n ? -1 : n;
}
