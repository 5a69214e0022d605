/* SPDX-License-Identifier: MIT */
/* print.c - see print.h. libc formats each conversion, with an argument whose type was checked. */
#include "print.h"

#include "adsm_kernel.h"
#include "shared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST 4095			/* the longest output that C99 guarantees for a conversion */

struct text {
	char *at;
	size_t left;
};

struct input {
	const uint8_t *bytes;
	size_t size;
	uint64_t n_args, next;
};

/* A conversion: flags, width, precision, the relevant part of the length modifier, and the letter. */
struct conversion {
	char flags[8];
	int width, precision;		/* precision -1: none */
	unsigned h;			/* number of "h" */
	bool wide;			/* has an "l", which means wide characters for c and s */
	char letter;
};

static int next_arg(struct input *input, struct adsm_process_print_arg *ret_arg)
{
	if (input->next >= input->n_args)
		return -EINVAL;
	memcpy(ret_arg, input->bytes + input->next * sizeof(*ret_arg), sizeof(*ret_arg));
	input->next++;
	return 0;
}

static bool is_number(const struct adsm_process_print_arg *arg)
{
	return (arg->kind & ADSM_PRINT_KIND) == ADSM_PRINT_NUMBER;
}

static size_t size_of(const struct adsm_process_print_arg *arg)
{
	return (size_t)(arg->kind >> ADSM_PRINT_SIZE_SHIFT);
}

/* Read a number from the format, or for a star from the arguments. */
static int read_count(const char **p, struct input *input, int *ret_count)
{
	struct adsm_process_print_arg arg;
	int ret;

	*ret_count = 0;
	if (**p == '*') {
		(*p)++;
		ret = next_arg(input, &arg);
		if (ret || !is_number(&arg) || size_of(&arg) > sizeof(int))
			return -EINVAL;
		*ret_count = (int)arg.value;
		return *ret_count > MOST || *ret_count < -MOST ? -EINVAL : 0;
	}
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		*ret_count = *ret_count * 10 + (**p - '0');
		if (*ret_count > MOST)
			return -EINVAL;
	}
	return 0;
}

/* *p is behind the percent sign. */
static int read_conversion(const char **p, struct input *input, struct conversion *ret)
{
	size_t n = 0;

	*ret = (struct conversion){ .precision = -1 };
	for (; **p && strchr("-+ #0", **p); (*p)++)
		if (!memchr(ret->flags, **p, n))
			ret->flags[n++] = **p;
	if (read_count(p, input, &ret->width))
		return -EINVAL;
	if (**p == '.') {
		(*p)++;
		if (read_count(p, input, &ret->precision))
			return -EINVAL;
		/* A negative precision counts as none. */
		if (ret->precision < 0)
			ret->precision = -1;
	}
	for (; **p && strchr("hljztL", **p); (*p)++) {
		ret->h += **p == 'h';
		ret->wide = ret->wide || **p == 'l';
	}
	ret->letter = **p;
	if (!ret->letter)
		return -EINVAL;
	(*p)++;
	return 0;
}

static int advance(struct text *text, int n)
{
	if (n < 0)
		return -EINVAL;
	if ((size_t)n >= text->left)
		return -E2BIG;
	text->at += n;
	text->left -= (size_t)n;
	return 0;
}

/* Format by libc; the format of one conversion is built here. */
#define PUT(text, c, length, ...) __extension__ ({ \
	char format_[24]; \
\
	if ((c)->precision < 0) \
		snprintf(format_, sizeof(format_), "%%%s*%s%c", (c)->flags, length, (c)->letter); \
	else \
		snprintf(format_, sizeof(format_), "%%%s*.*%s%c", (c)->flags, length, (c)->letter); \
	advance(text, (c)->precision < 0 ? snprintf((text)->at, (text)->left, format_, (c)->width, __VA_ARGS__) : \
		snprintf((text)->at, (text)->left, format_, (c)->width, (c)->precision, __VA_ARGS__)); })

/* Convert to the size that the kernel's compiler used, then to the length in the format. */
static int put_integer(struct text *text, const struct conversion *c, const struct adsm_process_print_arg *arg)
{
	const bool is_signed = c->letter == 'd' || c->letter == 'i';
	uint64_t value = arg->value;

	if (!is_number(arg))
		return -EINVAL;
	if (size_of(arg) <= sizeof(int))
		value = is_signed ? (uint64_t)(int32_t)value : (uint32_t)value;
	if (c->h == 1)
		value = is_signed ? (uint64_t)(int16_t)value : (uint16_t)value;
	else if (c->h)
		value = is_signed ? (uint64_t)(int8_t)value : (uint8_t)value;
	return is_signed ? PUT(text, c, "ll", (long long)value) : PUT(text, c, "ll", (unsigned long long)value);
}

static int put_string(struct text *text, const struct input *input, const struct conversion *c,
		      const struct adsm_process_print_arg *arg)
{
	const char *string;

	if ((arg->kind & ADSM_PRINT_KIND) != ADSM_PRINT_STRING || c->wide || arg->value >= input->size)
		return -EINVAL;
	string = (const char *)input->bytes + arg->value;
	if (!memchr(string, '\0', input->size - arg->value))
		return -EINVAL;
	return PUT(text, c, "", string);
}

static int put_conversion(struct text *text, struct input *input, const struct conversion *c)
{
	struct adsm_process_print_arg arg;
	double number;

	if (next_arg(input, &arg))
		return -EINVAL;
	switch (c->letter) {
	case 'd': case 'i': case 'o': case 'u': case 'x': case 'X':
		return put_integer(text, c, &arg);
	case 'a': case 'A': case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
		memcpy(&number, &arg.value, sizeof(number));
		return (arg.kind & ADSM_PRINT_KIND) == ADSM_PRINT_DOUBLE ? PUT(text, c, "", number) : -EINVAL;
	case 'c':
		return is_number(&arg) && !c->wide ? PUT(text, c, "", (int)arg.value) : -EINVAL;
	case 's':
		return put_string(text, input, c, &arg);
	case 'p':
		return (arg.kind & ADSM_PRINT_KIND) == ADSM_PRINT_POINTER || size_of(&arg) == sizeof(void *) ?
			PUT(text, c, "", (void *)(uintptr_t)arg.value) : -EINVAL;
	default:
		return -EINVAL;
	}
}

int adsm_process_format(const uint8_t *bytes, size_t bytes_size, uint64_t n_args, bool line, char *ret_text,
			size_t size)
{
	struct input input = { bytes, bytes_size, n_args, 0 };
	struct text text = { ret_text, size };
	struct conversion c;
	const char *p;
	int ret = 0;

	if (n_args > bytes_size / sizeof(struct adsm_process_print_arg))
		return -EINVAL;
	p = (const char *)bytes + n_args * sizeof(struct adsm_process_print_arg);
	if (!memchr(p, '\0', bytes_size - (size_t)(p - (const char *)bytes)))
		return -EINVAL;
	/* Leaves room for a newline at the end. */
	while (*p && !ret && text.left > 1) {
		if (*p != '%' || p[1] == '%') {
			*text.at++ = *p;
			text.left--;
			p += *p == '%' ? 2 : 1;
			continue;
		}
		p++;
		ret = read_conversion(&p, &input, &c);
		if (!ret)
			ret = put_conversion(&text, &input, &c);
	}
	if (ret)
		return ret;
	if (*p || text.left <= 1)
		return -E2BIG;
	if (line && text.at > ret_text && text.at[-1] != '\n')
		*text.at++ = '\n';
	return (int)(text.at - ret_text);
}
