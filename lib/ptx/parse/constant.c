/* SPDX-License-Identifier: MIT */
/* constant.c - see constant.h. */
#include "constant.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 32			/* of parentheses and signs */
#define FLOAT_TEXT 400			/* characters of a decimal number */

static struct adsm_ptx_constant conditional(struct adsm_ptx_lexer *lexer, int depth);

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* The digits from @i on, all of them. */
static uint64_t digits(struct adsm_ptx_lexer *lexer, size_t i, size_t end, int base)
{
	uint64_t value = 0;

	if (i == end)
		adsm_ptx_fail_token(lexer, "the number has no digits");
	for (; i < end; i++) {
		const int digit = digit_of(lexer->text[i]);

		if (digit >= base)
			adsm_ptx_fail_token(lexer, "this is no number: digits to the base %d are expected", base);
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			adsm_ptx_fail_token(lexer, "the number has more than 64 bits");
	}
	return value;
}

/* The program may have set a locale whose decimal point is another one. */
static struct adsm_ptx_constant decimal_float(struct adsm_ptx_lexer *lexer)
{
	struct adsm_ptx_constant constant = { .kind = ADSM_PTX_OP_F64 };
	char text[FLOAT_TEXT + 1], *end;
	locale_t c;
	double value;

	if (lexer->length > FLOAT_TEXT)
		adsm_ptx_fail_token(lexer, "the number has more than %d characters", FLOAT_TEXT);
	memcpy(text, lexer->text, lexer->length);
	text[lexer->length] = 0;
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		adsm_ptx_fail_memory(lexer);
	value = strtod_l(text, &end, c);
	freelocale(c);
	if (*end)
		adsm_ptx_fail_token(lexer, "this is no number");
	memcpy(&constant.bits, &value, sizeof(value));
	return constant;
}

static struct adsm_ptx_constant number(struct adsm_ptx_lexer *lexer)
{
	struct adsm_ptx_constant constant = { .kind = ADSM_PTX_OP_INTEGER };
	const char *text = lexer->text;
	size_t end = lexer->length;
	char second = '\0';

	if (end > 1 && text[0] == '0')
		second = text[1];
	if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
		const bool is_double = second == 'd' || second == 'D';

		if (end != (is_double ? 18 : 10))
			adsm_ptx_fail_token(lexer, "a number has %d hexadecimal digits after 0%c",
					    is_double ? 16 : 8, second);
		constant.kind = is_double ? ADSM_PTX_OP_F64 : ADSM_PTX_OP_F32;
		constant.bits = digits(lexer, 2, end, 16);
		return constant;
	}
	if (second != 'x' && second != 'X' &&
	    (memchr(text, '.', end) || memchr(text, 'e', end) || memchr(text, 'E', end)))
		return decimal_float(lexer);
	if (text[end - 1] == 'U') {
		constant.is_unsigned = true;
		end--;
	}
	if (second == 'x' || second == 'X')
		constant.bits = digits(lexer, 2, end, 16);
	else if (second == 'b' || second == 'B')
		constant.bits = digits(lexer, 2, end, 2);
	else if (text[0] == '0' && end > 1)
		constant.bits = digits(lexer, 1, end, 8);
	else
		constant.bits = digits(lexer, 0, end, 10);
	constant.is_unsigned |= constant.bits > INT64_MAX;
	return constant;
}

static void need_integer(struct adsm_ptx_lexer *lexer, struct adsm_ptx_constant constant)
{
	if (constant.kind != ADSM_PTX_OP_INTEGER)
		adsm_ptx_fail_token(lexer, "an integer is expected before this");
}

static struct adsm_ptx_constant unary(struct adsm_ptx_lexer *lexer, int depth)
{
	struct adsm_ptx_constant constant;
	const int sign = lexer->kind;

	if (depth > DEPTH)
		adsm_ptx_fail_token(lexer, "the expression has more than %d levels", DEPTH);
	if (sign == ADSM_PTX_NUMBER) {
		constant = number(lexer);
		adsm_ptx_next(lexer);
		return constant;
	}
	if (adsm_ptx_accept_word(lexer, ADSM_PTX_NAME, "WARP_SZ"))
		return (struct adsm_ptx_constant){ .kind = ADSM_PTX_OP_INTEGER, .bits = 32 };
	if (!adsm_ptx_at_constant(lexer))
		adsm_ptx_fail_token(lexer, "a number is expected");
	adsm_ptx_next(lexer);
	if (sign == '(' && lexer->kind == ADSM_PTX_DOT) {
		const bool is_unsigned = adsm_ptx_at(lexer, ADSM_PTX_DOT, "u64");

		if (!is_unsigned && !adsm_ptx_at(lexer, ADSM_PTX_DOT, "s64"))
			adsm_ptx_fail_token(lexer, "a cast is (.s64) or (.u64)");
		adsm_ptx_next(lexer);
		adsm_ptx_expect(lexer, ')', "\")\" is expected after the type of a cast");
		constant = unary(lexer, depth + 1);
		need_integer(lexer, constant);
		constant.is_unsigned = is_unsigned;
		return constant;
	}
	if (sign == '(') {
		constant = conditional(lexer, depth + 1);
		adsm_ptx_expect(lexer, ')', "\")\" is expected at the end of the expression");
		return constant;
	}
	constant = unary(lexer, depth + 1);
	if (sign == '-' && constant.kind == ADSM_PTX_OP_F32)
		constant.bits ^= UINT64_C(1) << 31;
	else if (sign == '-' && constant.kind == ADSM_PTX_OP_F64)
		constant.bits ^= UINT64_C(1) << 63;
	else if (sign == '-')
		constant.bits = -constant.bits;
	if (sign == '~' || sign == '!')
		need_integer(lexer, constant);
	if (sign == '~')
		constant.bits = ~constant.bits;
	else if (sign == '!')
		constant = (struct adsm_ptx_constant){ .kind = ADSM_PTX_OP_INTEGER, .bits = !constant.bits };
	return constant;
}

/* The precedence of the current token as an operator between two operands; 0: it is none. */
static int precedence(const struct adsm_ptx_lexer *lexer)
{
	static const struct { char text[3]; int precedence; } operators[] = {
		{ "*", 10 }, { "/", 10 }, { "%", 10 }, { "+", 9 }, { "-", 9 }, { "<<", 8 }, { ">>", 8 }, { "<", 7 },
		{ ">", 7 }, { "<=", 7 }, { ">=", 7 }, { "==", 6 }, { "!=", 6 }, { "&", 5 }, { "^", 4 }, { "|", 3 },
		{ "&&", 2 }, { "||", 1 },
	};

	if (lexer->kind != ADSM_PTX_OPERATOR && lexer->kind >= ADSM_PTX_END)
		return 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (lexer->length == strlen(operators[i].text) &&
		    !memcmp(lexer->text, operators[i].text, lexer->length))
			return operators[i].precedence;
	}
	return 0;
}

static uint64_t divide(struct adsm_ptx_lexer *lexer, bool is_signed, uint64_t a, uint64_t b, bool remainder)
{
	if (!b)
		adsm_ptx_fail_token(lexer, "the expression before this divides by zero");
	if (!is_signed)
		return remainder ? a % b : a / b;
	if (b == UINT64_MAX)
		return remainder ? 0 : -a;
	return (uint64_t)(remainder ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shift(bool is_signed, uint64_t a, uint64_t b, bool left)
{
	if (b > 63)
		return left || !is_signed || (int64_t)a >= 0 ? 0 : UINT64_MAX;
	if (left)
		return a << b;
	return is_signed ? (uint64_t)((int64_t)a >> b) : a >> b;
}

static struct adsm_ptx_constant combine(struct adsm_ptx_lexer *lexer, const char *operator, size_t length,
					struct adsm_ptx_constant x, struct adsm_ptx_constant y)
{
	const uint64_t a = x.bits, b = y.bits;
	const bool is_signed = !x.is_unsigned && !y.is_unsigned;
	const bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
	struct adsm_ptx_constant result = { .kind = ADSM_PTX_OP_INTEGER, .is_unsigned = !is_signed };

	need_integer(lexer, x);
	need_integer(lexer, y);
	switch (length == 2 ? operator[0] << 8 | operator[1] : operator[0]) {
	case '*': result.bits = a * b; return result;
	case '/': result.bits = divide(lexer, is_signed, a, b, false); return result;
	case '%': result.bits = divide(lexer, is_signed, a, b, true); return result;
	case '+': result.bits = a + b; return result;
	case '-': result.bits = a - b; return result;
	case '&': result.bits = a & b; return result;
	case '^': result.bits = a ^ b; return result;
	case '|': result.bits = a | b; return result;
	case '<' << 8 | '<':
	case '>' << 8 | '>':
		result.bits = shift(!x.is_unsigned, a, b, operator[0] == '<');
		result.is_unsigned = x.is_unsigned;
		return result;
	}
	result.is_unsigned = false;
	switch (length == 2 ? operator[0] << 8 | operator[1] : operator[0]) {
	case '<': result.bits = less; break;
	case '>': result.bits = !less && a != b; break;
	case '<' << 8 | '=': result.bits = less || a == b; break;
	case '>' << 8 | '=': result.bits = !less; break;
	case '=' << 8 | '=': result.bits = a == b; break;
	case '!' << 8 | '=': result.bits = a != b; break;
	case '&' << 8 | '&': result.bits = a && b; break;
	default: result.bits = a || b; break;
	}
	return result;
}

/* Operators of at least a precedence. */
static struct adsm_ptx_constant binary(struct adsm_ptx_lexer *lexer, int least, int depth)
{
	struct adsm_ptx_constant constant = unary(lexer, depth);

	for (int here = precedence(lexer); here >= least && here; here = precedence(lexer)) {
		const char *operator = lexer->text;
		const size_t length = lexer->length;

		adsm_ptx_next(lexer);
		constant = combine(lexer, operator, length, constant, binary(lexer, here + 1, depth));
	}
	return constant;
}

static struct adsm_ptx_constant conditional(struct adsm_ptx_lexer *lexer, int depth)
{
	struct adsm_ptx_constant condition = binary(lexer, 1, depth), yes, no;

	if (lexer->kind != '?')
		return condition;
	need_integer(lexer, condition);
	adsm_ptx_next(lexer);
	yes = conditional(lexer, depth + 1);
	adsm_ptx_expect(lexer, ':', "\":\" is expected in a conditional expression");
	no = conditional(lexer, depth + 1);
	return condition.bits ? yes : no;
}

bool adsm_ptx_at_constant(const struct adsm_ptx_lexer *lexer)
{
	return lexer->kind == ADSM_PTX_NUMBER || lexer->kind == '-' || lexer->kind == '+' || lexer->kind == '~' ||
	       lexer->kind == '!' || lexer->kind == '(' || adsm_ptx_at(lexer, ADSM_PTX_NAME, "WARP_SZ");
}

struct adsm_ptx_constant adsm_ptx_constant(struct adsm_ptx_lexer *lexer)
{
	return conditional(lexer, 0);
}

uint64_t adsm_ptx_integer(struct adsm_ptx_lexer *lexer)
{
	struct adsm_ptx_constant constant = conditional(lexer, 0);

	need_integer(lexer, constant);
	return constant.bits;
}

static void check_bounds(struct adsm_ptx_lexer *lexer, int line, uint64_t value, uint64_t least, uint64_t most,
			 const char *what)
{
	if (value < least || value > most)
		adsm_ptx_fail(lexer, line, "%s is %lld: it can be %llu to %llu", what, (long long)value,
			      (unsigned long long)least, (unsigned long long)most);
}

uint64_t adsm_ptx_bounded(struct adsm_ptx_lexer *lexer, uint64_t least, uint64_t most, const char *what)
{
	const int line = lexer->token_line;
	const uint64_t value = adsm_ptx_integer(lexer);

	check_bounds(lexer, line, value, least, most, what);
	return value;
}

uint64_t adsm_ptx_literal(struct adsm_ptx_lexer *lexer, uint64_t least, uint64_t most, const char *what)
{
	const int line = lexer->token_line;
	struct adsm_ptx_constant constant;

	if (lexer->kind != ADSM_PTX_NUMBER)
		adsm_ptx_fail_token(lexer, "a number is expected");
	constant = number(lexer);
	adsm_ptx_next(lexer);
	need_integer(lexer, constant);
	check_bounds(lexer, line, constant.bits, least, most, what);
	return constant.bits;
}

uint64_t adsm_ptx_convert(struct adsm_ptx_lexer *lexer, struct adsm_ptx_constant constant, enum adsm_ptx_type type,
			  int line)
{
	float single;
	double value;

	if (type == ADSM_PTX_f32 || type == ADSM_PTX_f64) {
		if (constant.kind == ADSM_PTX_OP_F32) {
			const uint32_t bits = (uint32_t)constant.bits;

			/* A NaN keeps its bits. */
			if (type == ADSM_PTX_f32)
				return bits;
			memcpy(&single, &bits, sizeof(bits));
			value = single;
		} else if (constant.kind == ADSM_PTX_OP_F64) {
			memcpy(&value, &constant.bits, sizeof(value));
		} else {
			value = constant.is_unsigned ? (double)constant.bits : (double)(int64_t)constant.bits;
		}
		if (type == ADSM_PTX_f64) {
			memcpy(&constant.bits, &value, sizeof(value));
			return constant.bits;
		}
		single = (float)value;
		constant.bits = 0;
		memcpy(&constant.bits, &single, sizeof(single));
		return constant.bits;
	}
	if (constant.kind == ADSM_PTX_OP_F32 && adsm_ptx_size(type) != 4 && adsm_ptx_size(type) != 8)
		adsm_ptx_fail(lexer, line, "an element of type .%s cannot be a number with a fraction",
			      adsm_ptx_type_name(type));
	if (constant.kind == ADSM_PTX_OP_F64 && adsm_ptx_size(type) != 8)
		adsm_ptx_fail(lexer, line, "an element of type .%s cannot be a number with a fraction",
			      adsm_ptx_type_name(type));
	return adsm_ptx_size(type) < 8 ? constant.bits & ((UINT64_C(1) << adsm_ptx_size(type) * 8) - 1) : constant.bits;
}
