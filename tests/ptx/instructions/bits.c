/* SPDX-License-Identifier: MIT */
/* bits.c - logic, shifts and fields of bits, bit by bit. */
#include "forms.h"

#include <stdlib.h>

static int bit(uint64_t x, int i)
{
	return i >= 0 && i < 64 ? x >> i & 1 : 0;
}

static uint64_t put(uint64_t x, int i, int value)
{
	return value ? x | (uint64_t)1 << i : x;
}

/* Logic of two or three values by a table of the result's bit. */
static void logic(const struct form *form, uint64_t *v)
{
	uint64_t result = 0;

	for (int i = 0; i < (int)form->bits; i++)
		result = put(result, i, form->operation >> (4 * bit(v[1], i) + 2 * bit(v[2], i) + bit(v[3], i)) & 1);
	v[0] = result;
}

static void cnot(const struct form *form, uint64_t *v)
{
	int any = 0;

	for (int i = 0; i < (int)form->bits; i++)
		any |= bit(v[1], i);
	v[0] = !any;
}

static void shift(const struct form *form, uint64_t *v)
{
	const int n = (int)form->bits;
	const int64_t by = (int64_t)(uint32_t)v[2];
	uint64_t result = 0;

	for (int i = 0; i < n; i++) {
		const int64_t from = form->operation == 'l' ? i - by : i + by;

		result = put(result, i, from < 0 ? 0 : from < n ? bit(v[1], (int)from) :
			     form->is_signed ? bit(v[1], n - 1) : 0);
	}
	v[0] = result;
}

static void funnel(const struct form *form, uint64_t *v)
{
	const uint32_t by = form->flag ? (uint32_t)v[3] & 31 : (uint32_t)v[3] > 32 ? 32 : (uint32_t)v[3];
	const uint64_t both = v[2] << 32 | (uint32_t)v[1];
	uint64_t result = 0;

	for (int i = 0; i < 32; i++)
		result = put(result, i, bit(both, form->operation == 'l' ? 32 + i - (int)by : i + (int)by));
	v[0] = result;
}

static void extract(const struct form *form, uint64_t *v)
{
	const int msb = (int)form->bits - 1, position = v[2] & 255, size = v[3] & 255;
	const int last = position + size - 1 < msb ? position + size - 1 : msb;
	const int sign = form->is_signed && size ? bit(v[1], last) : 0;
	uint64_t result = 0;

	for (int i = 0; i <= msb; i++)
		result = put(result, i, i < size && position + i <= msb ? bit(v[1], position + i) : sign);
	v[0] = result;
}

static void insert(const struct form *form, uint64_t *v)
{
	const int msb = (int)form->bits - 1, position = v[3] & 255, size = v[4] & 255;
	uint64_t result = v[2];

	for (int i = 0; i < size && position + i <= msb; i++)
		result = put(result & ~((uint64_t)1 << (position + i)), position + i, bit(v[1], i));
	v[0] = result;
}

static void find(const struct form *form, uint64_t *v)
{
	const int msb = (int)form->bits - 1;
	const int wanted = !(form->is_signed && bit(v[1], msb));

	v[0] = UINT32_MAX;
	for (int i = 0; i <= msb; i++) {
		if (bit(v[1], i) == wanted)
			v[0] = (uint32_t)(form->flag ? msb - i : i);
	}
}

static void count(const struct form *form, uint64_t *v)
{
	const int n = (int)form->bits;
	uint64_t result = 0;
	int ones = 0, zeros = 0;

	for (int i = 0; i < n; i++) {
		ones += bit(v[1], i);
		zeros = bit(v[1], i) ? 0 : zeros + 1;
		result = put(result, n - 1 - i, bit(v[1], i));
	}
	v[0] = form->operation == 'p' ? (uint64_t)ones : form->operation == 'c' ? (uint64_t)zeros : result;
}

static void nth(const struct form *form, uint64_t *v)
{
	const int base = (int)(v[2] & 0xffffffff);
	const int64_t offset = (int32_t)v[3];
	int64_t left = llabs(offset) - 1;

	if ((uint32_t)v[2] > 31) {
		any_result = true;
		return;
	}
	v[0] = UINT32_MAX;
	if (!offset) {
		if (bit(v[1], base))
			v[0] = (uint64_t)base;
		return;
	}
	for (int i = base; i >= 0 && i < 32; i += offset > 0 ? 1 : -1) {
		if (!bit(v[1], i))
			continue;
		if (!left--) {
			v[0] = (uint64_t)i;
			return;
		}
	}
}

/* prmt, with the modes' tables: the numbers of the bytes, the highest first. */
static void permute(const struct form *form, uint64_t *v)
{
	static const char *const tables[6][4] = {
		{ "3210", "4321", "5432", "6543" }, { "5670", "6701", "7012", "0123" },
		{ "0000", "1111", "2222", "3333" }, { "3210", "3211", "3222", "3333" },
		{ "0000", "1110", "2210", "3210" }, { "1010", "3232", "1010", "3232" },
	};
	uint8_t bytes[8], result[4];

	for (int i = 0; i < 4; i++) {
		bytes[i] = (uint8_t)(v[1] >> 8 * i);
		bytes[4 + i] = (uint8_t)(v[2] >> 8 * i);
	}
	for (int i = 0; i < 4; i++) {
		if (form->operation >= 0) {
			result[i] = bytes[tables[form->operation][v[3] & 3][3 - i] - '0'];
			continue;
		}
		result[i] = bytes[v[3] >> 4 * i & 7];
		if (v[3] >> 4 * i & 8)
			result[i] = result[i] & 128 ? 255 : 0;
	}
	v[0] = result[0] | result[1] << 8 | result[2] << 16 | (uint64_t)result[3] << 24;
}

static void extend(const struct form *form, uint64_t *v)
{
	const uint32_t n = (uint32_t)v[2];
	uint64_t result = 0;
	int bits = form->flag ? (int)(n & 31) : n > 31 ? 32 : (int)n;

	for (int i = 0; i < 32; i++)
		result = put(result, i, i < bits ? bit(v[1], i) : form->is_signed && bits ? bit(v[1], bits - 1) : 0);
	v[0] = result;
}

static void mask(const struct form *form, uint64_t *v)
{
	const uint64_t a = (uint32_t)v[1], b = (uint32_t)v[2];
	const uint64_t first = form->flag ? a & 31 : a, size = form->flag ? b & 31 : b;
	uint64_t result = 0;

	for (uint64_t i = 0; i < 32; i++)
		result = put(result, (int)i, i >= first && i - first < size);
	v[0] = result;
}

static struct form *set(struct form *form, int operation, unsigned bits)
{
	form->operation = operation;
	form->bits = bits;
	return form;
}

static void add_sized(unsigned bits)
{
	char registers[96];

	snprintf(registers, sizeof(registers), "d:b%u:i a:b%u:i b:b%u:i", bits, bits, bits);
	set(add_form(logic, registers, "and.b%u %%d, %%a, %%b;", bits), 0xc0, bits);
	set(add_form(logic, registers, "or.b%u %%d, %%a, %%b;", bits), 0xfc, bits);
	set(add_form(logic, registers, "xor.b%u %%d, %%a, %%b;", bits), 0x3c, bits);
	set(add_form(logic, registers, "not.b%u %%d, %%a;", bits), 0x0f, bits);
	set(add_form(cnot, registers, "cnot.b%u %%d, %%a;", bits), 0, bits);
	snprintf(registers, sizeof(registers), "d:b%u:i a:b%u:i b:b32:n", bits, bits);
	set(add_form(shift, registers, "shl.b%u %%d, %%a, %%b;", bits), 'l', bits);
	for (int i = 0; i < 3; i++)
		set(add_form(shift, registers, "shr.%c%u %%d, %%a, %%b;", "bus"[i], bits), 'r', bits)->is_signed =
			i == 2;
}

static void add_wide(unsigned bits)
{
	static const char *const searches[] = { "bfind.", "bfind.shiftamt." };
	char registers[96];

	for (int i = 0; i < 2; i++) {
		snprintf(registers, sizeof(registers), "d:b%u:i a:b%u:i b:b32:n c:b32:n", bits, bits);
		set(add_form(extract, registers, "bfe.%c%u %%d, %%a, %%b, %%c;", "us"[i], bits), 0, bits)->is_signed =
			i;
		snprintf(registers, sizeof(registers), "d:b32:i a:b%u:i", bits);
		for (int j = 0; j < 2; j++) {
			struct form *form = set(add_form(find, registers, "%s%c%u %%d, %%a;", searches[j], "us"[i],
							 bits), 0,
						bits);

			form->is_signed = i;
			form->flag = j;
		}
	}
	snprintf(registers, sizeof(registers), "d:b%u:i a:b%u:i b:b%u:i c:b32:n e:b32:n", bits, bits, bits);
	set(add_form(insert, registers, "bfi.b%u %%d, %%a, %%b, %%c, %%e;", bits), 0, bits);
	snprintf(registers, sizeof(registers), "d:b32:i a:b%u:i", bits);
	set(add_form(count, registers, "popc.b%u %%d, %%a;", bits), 'p', bits);
	set(add_form(count, registers, "clz.b%u %%d, %%a;", bits), 'c', bits);
	snprintf(registers, sizeof(registers), "d:b%u:i a:b%u:i", bits, bits);
	set(add_form(count, registers, "brev.b%u %%d, %%a;", bits), 'b', bits);
}

static void add_words(void)
{
	static const char *const modes[] = { ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16" };
	static const char three[] = "d:b32:i a:b32:i b:b32:i c:b32:n";

	for (int i = 0; i < 4; i++)
		set(add_form(funnel, three, "shf.%c.%s.b32 %%d, %%a, %%b, %%c;", "lr"[i & 1], i & 2 ? "wrap" : "clamp"),
		    "lr"[i & 1], 32)->flag = i & 2;
	for (int i = 0; i < 4; i++) {
		struct form *form = add_form(extend, "d:b32:i a:b32:i b:b32:n", "szext.%s.%c32 %%d, %%a, %%b;",
					     i & 2 ? "wrap" : "clamp", "us"[i & 1]);

		form->is_signed = i & 1;
		form->flag = i & 2;
	}
	for (int i = 0; i < 2; i++)
		add_form(mask, "d:b32:i a:b32:n b:b32:n", "bmsk.%s.b32 %%d, %%a, %%b;", i ? "wrap" : "clamp")->flag = i;
	add_form(nth, "d:b32:i a:b32:i b:b32:n c:b32:n", "fns.b32 %%d, %%a, %%b, %%c;");
	set(add_form(permute, "d:b32:i a:b32:i b:b32:i c:b32:i", "prmt.b32 %%d, %%a, %%b, %%c;"), -1, 32);
	for (int i = 0; i < 6; i++)
		set(add_form(permute, three, "prmt.b32%s %%d, %%a, %%b, %%c;", modes[i]), i, 32);
	for (int i = 0; i < 256; i++)
		set(add_form(logic, "d:b32:i a:b32:i b:b32:i c:b32:i", "lop3.b32 %%d, %%a, %%b, %%c, %d;", i), i, 32);
	set(add_form(logic, "d:pred:p a:pred:p b:pred:p", "and.pred %%d, %%a, %%b;"), 0xc0, 1);
	set(add_form(logic, "d:pred:p a:pred:p b:pred:p", "or.pred %%d, %%a, %%b;"), 0xfc, 1);
	set(add_form(logic, "d:pred:p a:pred:p b:pred:p", "xor.pred %%d, %%a, %%b;"), 0x3c, 1);
	set(add_form(logic, "d:pred:p a:pred:p", "not.pred %%d, %%a;"), 0x0f, 1);
}

void add_bits(void)
{
	for (unsigned bits = 16; bits <= 64; bits *= 2)
		add_sized(bits);
	add_wide(32);
	add_wide(64);
	add_words();
}
