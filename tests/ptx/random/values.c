/* SPDX-License-Identifier: MIT */
/* values.c - what instructions compute of integers, bits and predicates. */
#include "machine.h"

#include <string.h>

typedef __int128 wide;
typedef unsigned __int128 unsigned_wide;

static bool is_signed(const struct code *code)
{
	return adsm_ptx_is_signed(code->type);
}

/* Operand @i as a number. */
static wide number(struct thread *t, const struct code *c, uint32_t i)
{
	const uint64_t value = machine_in(t, c, i);

	return is_signed(c) ? (wide)extend(value, bits_of(c->type)) : (wide)value;
}

static uint64_t clamp32(wide value)
{
	return (uint32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value);
}

static void run_add(struct thread *t, const struct code *c)
{
	const bool extended = c->in->opcode[3] == 'c', subtracts = c->in->opcode[0] == 's';
	const uint64_t a = machine_in(t, c, 1), b = machine_in(t, c, 2);
	const uint32_t bits = bits_of(c->type);
	/* sub is a + ~b + 1, and the borrow is the complement of that carry. */
	const unsigned_wide in = subtracts ? !(extended && t->carry) : extended && t->carry;
	const unsigned_wide sum = (unsigned_wide)a + (subtracts ? cut(~b, bits) : b) + in;

	if (HAS(c, sat)) {
		machine_out(t, c,
			    clamp32(subtracts ? number(t, c, 1) - number(t, c, 2) : number(t, c, 1) + number(t, c, 2)));
		return;
	}
	if (HAS(c, cc))
		t->carry = (bool)(sum >> bits & 1) != subtracts;
	machine_out(t, c, (uint64_t)sum);
}

/* mul and mad, without carry. */
static void run_mul(struct thread *t, const struct code *c)
{
	const uint32_t bits = bits_of(c->type);
	const bool adds = c->in->opcode[1] == 'a';
	const unsigned_wide product =
		(unsigned_wide)(is_signed(c) ? number(t, c, 1) * number(t, c, 2)
					     : (wide)((unsigned_wide)number(t, c, 1) * (unsigned_wide)number(t, c, 2)));
	uint64_t value = (uint64_t)(HAS(c, hi) ? product >> bits : product);

	if (HAS(c, wide)) {
		const enum adsm_ptx_type type = bits == 16 ? ADSM_PTX_b32 : ADSM_PTX_b64;

		if (adds)
			value += machine_get(t, &c->in->operands[3], type);
		machine_put(t, &c->in->operands[0], type, value);
		return;
	}
	machine_out(t, c, value + (adds ? machine_in(t, c, 3) : 0));
}

static void run_mul24(struct thread *t, const struct code *c)
{
	const uint64_t a = machine_in(t, c, 1), b = machine_in(t, c, 2);
	const uint64_t product =
		is_signed(c) ? (uint64_t)(extend(cut(a, 24), 24) * extend(cut(b, 24), 24)) : cut(a, 24) * cut(b, 24);

	machine_out(t, c, (HAS(c, hi) ? product >> 16 : product) + (c->in->opcode[1] == 'a' ? machine_in(t, c, 3) : 0));
}

static void run_sad(struct thread *t, const struct code *c)
{
	const wide difference = number(t, c, 1) - number(t, c, 2);

	machine_out(t, c, machine_in(t, c, 3) + (uint64_t)(difference < 0 ? -difference : difference));
}

static void run_div(struct thread *t, const struct code *c)
{
	const wide a = number(t, c, 1), b = number(t, c, 2);

	if (!b)
		machine_fail(t, c, "a division by zero");
	machine_out(t, c, (uint64_t)(c->in->opcode[0] == 'd' ? a / b : a % b));
}

static void run_abs(struct thread *t, const struct code *c)
{
	const wide a = number(t, c, 1);

	machine_out(t, c, (uint64_t)(a < 0 || c->in->opcode[0] == 'n' ? -a : a));
}

static void run_min(struct thread *t, const struct code *c)
{
	const wide a = number(t, c, 1), b = number(t, c, 2);

	machine_out(t, c, (uint64_t)((c->in->opcode[1] == 'i') == (a < b) ? a : b));
}

static void run_popc(struct thread *t, const struct code *c)
{
	machine_put(t, &c->in->operands[0], ADSM_PTX_b32, (uint64_t)__builtin_popcountll(machine_in(t, c, 1)));
}

static uint32_t leading_zeros(uint64_t value, uint32_t bits)
{
	uint32_t n = 0;

	while (n < bits && !(value >> (bits - 1 - n) & 1))
		n++;
	return n;
}

static void run_clz(struct thread *t, const struct code *c)
{
	machine_put(t, &c->in->operands[0], ADSM_PTX_b32, leading_zeros(machine_in(t, c, 1), bits_of(c->type)));
}

static void run_bfind(struct thread *t, const struct code *c)
{
	const uint32_t bits = bits_of(c->type);
	uint64_t a = machine_in(t, c, 1);
	uint32_t zeros;

	if (is_signed(c) && a >> (bits - 1) & 1)
		a = cut(~a, bits);
	zeros = leading_zeros(a, bits);
	machine_put(t, &c->in->operands[0], ADSM_PTX_b32,
		    zeros == bits      ? UINT32_MAX
		    : HAS(c, shiftamt) ? zeros
				       : bits - 1 - zeros);
}

static void run_brev(struct thread *t, const struct code *c)
{
	const uint64_t a = machine_in(t, c, 1);
	uint64_t value = 0;

	for (uint32_t i = 0; i < bits_of(c->type); i++)
		value |= (a >> i & 1) << (bits_of(c->type) - 1 - i);
	machine_out(t, c, value);
}

static void run_fns(struct thread *t, const struct code *c)
{
	const uint32_t mask = (uint32_t)machine_get(t, &c->in->operands[1], ADSM_PTX_b32);
	const int32_t base = (int32_t)machine_get(t, &c->in->operands[2], ADSM_PTX_b32);
	const int32_t offset = (int32_t)machine_get(t, &c->in->operands[3], ADSM_PTX_s32);
	uint32_t found = UINT32_MAX;
	int32_t left = offset < 0 ? -offset : offset;

	if (!offset && mask >> base & 1)
		found = (uint32_t)base;
	for (int32_t i = base; offset && i >= 0 && i < 32; i += offset < 0 ? -1 : 1) {
		if (mask >> i & 1 && --left == 0) {
			found = (uint32_t)i;
			break;
		}
	}
	machine_put(t, &c->in->operands[0], ADSM_PTX_b32, found);
}

static void run_bfe(struct thread *t, const struct code *c)
{
	const uint32_t bits = bits_of(c->type);
	const uint64_t a = machine_in(t, c, 1);
	const uint32_t start = (uint32_t)machine_get(t, &c->in->operands[2], ADSM_PTX_u32) & 255;
	const uint32_t n = (uint32_t)machine_get(t, &c->in->operands[3], ADSM_PTX_u32) & 255;
	const uint32_t last = start + n - 1 < bits - 1 ? start + n - 1 : bits - 1;
	const uint64_t sign = is_signed(c) && n ? a >> last & 1 : 0;
	uint64_t value = 0;

	for (uint32_t i = 0; i < bits; i++)
		value |= (i < n && start + i < bits ? a >> (start + i) & 1 : sign) << i;
	machine_out(t, c, value);
}

static void run_bfi(struct thread *t, const struct code *c)
{
	const uint32_t bits = bits_of(c->type);
	const uint64_t a = machine_in(t, c, 1);
	const uint32_t start = (uint32_t)machine_get(t, &c->in->operands[3], ADSM_PTX_u32) & 255;
	const uint32_t n = (uint32_t)machine_get(t, &c->in->operands[4], ADSM_PTX_u32) & 255;
	uint64_t value = machine_in(t, c, 2);

	for (uint32_t i = 0; i < n && start + i < bits; i++)
		value = (value & ~(UINT64_C(1) << (start + i))) | (a >> i & 1) << (start + i);
	machine_out(t, c, value);
}

static void run_szext(struct thread *t, const struct code *c)
{
	const uint64_t a = machine_in(t, c, 1);
	uint32_t n = (uint32_t)machine_get(t, &c->in->operands[2], ADSM_PTX_u32);

	if (HAS(c, wrap))
		n &= 31;
	machine_out(t, c, n >= 32 ? a : !n ? 0 : is_signed(c) ? (uint64_t)extend(cut(a, n), n) : cut(a, n));
}

static void run_bmsk(struct thread *t, const struct code *c)
{
	uint32_t start = (uint32_t)machine_get(t, &c->in->operands[1], ADSM_PTX_u32);
	uint32_t n = (uint32_t)machine_get(t, &c->in->operands[2], ADSM_PTX_u32);
	uint64_t value = 0;

	if (HAS(c, wrap)) {
		start &= 31;
		n &= 31;
	}
	for (uint32_t i = start; i < 32 && i - start < n; i++)
		value |= UINT64_C(1) << i;
	machine_out(t, c, value);
}

static void run_dot(struct thread *t, const struct code *c)
{
	const uint32_t a = (uint32_t)machine_get(t, &c->in->operands[1], ADSM_PTX_b32);
	const uint32_t b = (uint32_t)machine_get(t, &c->in->operands[2], ADSM_PTX_b32);
	const bool a_signed = adsm_ptx_is_signed(c->in->types[0]), b_signed = adsm_ptx_is_signed(c->in->types[1]);
	uint32_t sum = (uint32_t)machine_get(t, &c->in->operands[3], ADSM_PTX_b32);

	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t x = a >> 8 * i & 255, y = b >> 8 * i & 255;

		sum += (uint32_t)((a_signed ? (int8_t)x : (int32_t)x) * (b_signed ? (int8_t)y : (int32_t)y));
	}
	machine_put(t, &c->in->operands[0], ADSM_PTX_b32, sum);
}

static void run_and(struct thread *t, const struct code *c)
{
	machine_out(t, c, machine_in(t, c, 1) & machine_in(t, c, 2));
}

static void run_or(struct thread *t, const struct code *c)
{
	machine_out(t, c, machine_in(t, c, 1) | machine_in(t, c, 2));
}

static void run_xor(struct thread *t, const struct code *c)
{
	machine_out(t, c, machine_in(t, c, 1) ^ machine_in(t, c, 2));
}

static void run_not(struct thread *t, const struct code *c)
{
	machine_out(t, c, ~machine_in(t, c, 1));
}

static void run_cnot(struct thread *t, const struct code *c)
{
	machine_out(t, c, !machine_in(t, c, 1));
}

static void run_lop3(struct thread *t, const struct code *c)
{
	const uint64_t a = machine_in(t, c, 1), b = machine_in(t, c, 2), d = machine_in(t, c, 3);
	const uint64_t table = machine_in(t, c, 4);
	uint64_t value = 0;

	for (uint32_t i = 0; i < 32; i++)
		value |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (d >> i & 1)) & 1) << i;
	machine_out(t, c, value);
}

static void run_shift(struct thread *t, const struct code *c)
{
	const uint32_t bits = bits_of(c->type);
	const uint64_t a = machine_in(t, c, 1);
	const uint32_t n = (uint32_t)machine_get(t, &c->in->operands[2], ADSM_PTX_u32);

	if (c->in->opcode[2] == 'l')
		machine_out(t, c, n >= bits ? 0 : a << n);
	else if (is_signed(c))
		machine_out(t, c, (uint64_t)(extend(a, bits) >> (n >= bits ? bits - 1 : n)));
	else
		machine_out(t, c, n >= bits ? 0 : a >> n);
}

static void run_shf(struct thread *t, const struct code *c)
{
	const uint64_t both = machine_in(t, c, 2) << 32 | machine_in(t, c, 1);
	uint32_t n = (uint32_t)machine_in(t, c, 3);

	n = HAS(c, wrap) ? n & 31 : n > 32 ? 32 : n;
	machine_out(t, c, HAS(c, l) ? both >> (32 - n) : both >> n);
}

static uint32_t select_byte(const struct code *c, uint32_t selector, uint32_t i)
{
	const uint32_t s = selector & 3;

	if (HAS(c, f4e))
		return s + i;
	if (HAS(c, b4e))
		return (s - i) & 7;
	if (HAS(c, rc8))
		return s;
	if (HAS(c, ecl))
		return i > s ? i : s;
	if (HAS(c, ecr))
		return i < s ? i : s;
	if (HAS(c, rc16))
		return (s & 1) * 2 + (i & 1);
	return selector >> 4 * i & 15;
}

static void run_prmt(struct thread *t, const struct code *c)
{
	const uint64_t both = machine_in(t, c, 2) << 32 | machine_in(t, c, 1);
	const uint32_t selector = (uint32_t)machine_in(t, c, 3);
	uint64_t value = 0;

	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t s = select_byte(c, selector, i);
		uint64_t byte = both >> 8 * (s & 7) & 255;

		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		value |= byte << 8 * i;
	}
	machine_out(t, c, value);
}

static void run_selp(struct thread *t, const struct code *c)
{
	machine_out(t, c, machine_in(t, c, machine_get(t, &c->in->operands[3], ADSM_PTX_pred) ? 1 : 2));
}

static void run_slct(struct thread *t, const struct code *c)
{
	const enum adsm_ptx_type type = c->in->types[0];
	const uint64_t by = machine_in(t, c, 3);
	bool first;

	if (c->type == ADSM_PTX_f32) {
		const uint32_t word = (uint32_t)by;
		float number;

		memcpy(&number, &word, sizeof(number));
		first = number >= 0;
	} else {
		first = (int32_t)by >= 0;
	}
	machine_put(t, &c->in->operands[0], type, machine_get(t, &c->in->operands[first ? 1 : 2], type));
}

static void run_mov(struct thread *t, const struct code *c)
{
	const struct adsm_ptx_operand *to = &c->in->operands[0], *from = &c->in->operands[1];
	const uint32_t n = to->kind == ADSM_PTX_OP_VECTOR ? to->n : from->kind == ADSM_PTX_OP_VECTOR ? from->n : 1;
	const uint32_t bits = bits_of(c->type) / n;
	const enum adsm_ptx_type part = bits == 8 ? ADSM_PTX_b8 : bits == 16 ? ADSM_PTX_b16 : ADSM_PTX_b32;
	uint64_t value = 0;

	if (from->kind == ADSM_PTX_OP_VECTOR)
		for (uint32_t i = 0; i < n; i++)
			value |= machine_get(t, &from->elements[i], part) << bits * i;
	else
		value = machine_in(t, c, 1);
	if (to->kind != ADSM_PTX_OP_VECTOR) {
		machine_out(t, c, value);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		machine_put(t, &to->elements[i], part, value >> bits * i);
}

/* What a comparison says if a < b, a == b, a > b; unordered is for floats.c. */
static bool compare(const struct code *c, wide a, wide b)
{
	if (HAS(c, eq))
		return a == b;
	if (HAS(c, ne))
		return a != b;
	if (HAS(c, lt) || HAS(c, lo))
		return a < b;
	if (HAS(c, le) || HAS(c, ls))
		return a <= b;
	if (HAS(c, gt) || HAS(c, hi))
		return a > b;
	return a >= b;
}

/* The two results of setp, or the one of set, of a comparison. */
void values_set(struct thread *t, const struct code *c, bool holds)
{
	const struct adsm_ptx_operand *to = &c->in->operands[0];
	const uint64_t with = c->in->n == 4 ? machine_get(t, &c->in->operands[3], ADSM_PTX_pred) : 0;
	const bool results[2] = {
		c->in->n < 4  ? holds
		: HAS(c, and) ? holds && with
		: HAS(c, or)  ? holds || with
			      : holds != (bool)with,
		c->in->n < 4  ? !holds
		: HAS(c, and) ? !holds && with
		: HAS(c, or)  ? !holds || with
			      : !holds != (bool)with,
	};

	if (!strcmp(c->in->opcode, "set")) {
		const enum adsm_ptx_type type = c->in->types[0];

		machine_put(t, to, type, !results[0] ? 0 : type == ADSM_PTX_f32 ? 0x3f800000 : ~UINT64_C(0));
	} else if (to->kind == ADSM_PTX_OP_PAIR) {
		machine_put(t, &to->elements[0], ADSM_PTX_pred, results[0]);
		machine_put(t, &to->elements[1], ADSM_PTX_pred, results[1]);
	} else {
		machine_put(t, to, ADSM_PTX_pred, results[0]);
	}
}

static void run_setp(struct thread *t, const struct code *c)
{
	values_set(t, c, compare(c, number(t, c, 1), number(t, c, 2)));
}

operation *values_operation(const char *opcode)
{
	static const struct {
		const char *opcode;
		operation *run;
	} table[] = {
		{ "add", run_add },   { "sub", run_add },     { "addc", run_add },    { "subc", run_add },
		{ "mul", run_mul },   { "mad", run_mul },     { "mul24", run_mul24 }, { "mad24", run_mul24 },
		{ "sad", run_sad },   { "div", run_div },     { "rem", run_div },     { "abs", run_abs },
		{ "neg", run_abs },   { "min", run_min },     { "max", run_min },     { "popc", run_popc },
		{ "clz", run_clz },   { "bfind", run_bfind }, { "brev", run_brev },   { "fns", run_fns },
		{ "bfe", run_bfe },   { "bfi", run_bfi },     { "szext", run_szext }, { "bmsk", run_bmsk },
		{ "dp4a", run_dot },  { "and", run_and },     { "or", run_or },	      { "xor", run_xor },
		{ "not", run_not },   { "cnot", run_cnot },   { "lop3", run_lop3 },   { "shl", run_shift },
		{ "shr", run_shift }, { "shf", run_shf },     { "prmt", run_prmt },   { "selp", run_selp },
		{ "slct", run_slct }, { "mov", run_mov },     { "setp", run_setp },   { "set", run_setp },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].opcode, opcode))
			return table[i].run;
	return NULL;
}
