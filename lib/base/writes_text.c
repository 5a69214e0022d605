/* SPDX-License-Identifier: MIT */
/* writes_text.c - see writes_text.h. */
#include "base/writes_text.h"

#include <string.h>

static bool read_digits(const char **at, int64_t *ret)
{
	int64_t value = 0;
	const char *p = *at;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (value > INT64_MAX / 10 - 1)
			return false;
		value = value * 10 + (*p - '0');
	}
	if (p == *at)
		return false;
	*at = p;
	*ret = value;
	return true;
}

/* Read a parameter: 3.0.4. */
static bool read_param(const char **at, const struct adsm_writes_launch *launch, int64_t *ret_value)
{
	int64_t param, offset, size;

	if (!read_digits(at, &param) || *(*at)++ != '.' || !read_digits(at, &offset) || *(*at)++ != '.' ||
	    !read_digits(at, &size) || param > UINT16_MAX || offset > UINT16_MAX || (size != 4 && size != 8))
		return false;
	*ret_value = 1;
	return !launch || launch->value(launch->arg, (uint32_t)param, (uint32_t)offset, (uint32_t)size, ret_value);
}

/* Read a factor: a number, or a variable; -1: no variable. Without a launch only the form matters. */
static bool read_factor(const char **at, const struct adsm_writes_launch *launch, int64_t *ret_value,
			int *ret_variable)
{
	const char letter = *(*at)++;
	char component = '\0';
	int i;

	if (letter && letter != 'p')
		component = *(*at)++;
	i = component - 'x';
	*ret_variable = -1;
	*ret_value = 1;
	if (letter == 'p')
		return read_param(at, launch, ret_value);
	if (letter == 'k' && component >= '0' && component < '0' + ADSM_WRITES_VARIABLES - ADSM_WRITES_LOOPS) {
		*ret_variable = ADSM_WRITES_LOOPS + component - '0';
		return true;
	}
	if (i < 0 || i > 2)
		return false;
	switch (letter) {
	case 't': *ret_variable = i; return true;
	case 'b': *ret_variable = 3 + i; return true;
	case 's': *ret_value = launch ? launch->block[i] : 1; return true;
	case 'g': *ret_value = launch ? launch->grid[i] : 1; return true;
	default: return false;
	}
}

/* Read a product with its sign, and add it. */
static bool read_product(const char **at, const struct adsm_writes_launch *launch, struct adsm_writes_sum *sum)
{
	const bool negative = *(*at)++ == '-';
	int64_t *to = &sum->constant, product;
	int variable = -1;

	if (!read_digits(at, &product))
		return false;
	product = negative ? -product : product;
	while (**at == '*') {
		int64_t value;
		int which;

		(*at)++;
		if (!read_factor(at, launch, &value, &which) || (which >= 0 && variable >= 0))
			return false;
		if (which >= 0)
			variable = which;
		if (!adsm_writes_is_small((__int128)product * value))
			return false;
		product *= value;
	}
	if (variable >= 0)
		to = &sum->factors[variable];
	if (!adsm_writes_is_small((__int128)*to + product))
		return false;
	*to += product;
	return true;
}

bool adsm_writes_read_sum(const char **at, const struct adsm_writes_launch *launch, struct adsm_writes_sum *ret_sum)
{
	*ret_sum = (struct adsm_writes_sum){ 0 };
	if (**at != '+' && **at != '-')
		return false;
	while (**at == '+' || **at == '-') {
		if (!read_product(at, launch, ret_sum))
			return false;
	}
	return **at == ' ' || **at == '\n';
}

bool adsm_writes_read_condition(const char **at, const struct adsm_writes_launch *launch,
				struct adsm_writes_condition *ret)
{
	ret->kind = *(*at)++;
	ret->loop = -1;
	if (!strchr("gensuSU", ret->kind) || !ret->kind)
		return false;
	if (**at >= '0' && **at < '0' + ADSM_WRITES_VARIABLES - ADSM_WRITES_LOOPS &&
	    (ret->kind == 'g' || ret->kind == 'n'))
		ret->loop = ADSM_WRITES_LOOPS + *(*at)++ - '0';
	return adsm_writes_read_sum(at, launch, &ret->sum);
}

bool adsm_writes_read_head(const char **at, int64_t *ret_param, int64_t *ret_size)
{
	*at += strcspn(*at, " \n");
	return *(*at)++ == ' ' && read_digits(at, ret_param) && *(*at)++ == ' ' && read_digits(at, ret_size) &&
	       *ret_param <= UINT16_MAX && *ret_size > 0 && *ret_size <= 1024 && *(*at)++ == ' ';
}

bool adsm_writes_are_valid(const char *text)
{
	while (*text) {
		struct adsm_writes_condition condition;
		struct adsm_writes_sum sum;
		int64_t param, size;

		if (*text == ' ' || !adsm_writes_read_head(&text, &param, &size) ||
		    !adsm_writes_read_sum(&text, NULL, &sum))
			return false;
		while (*text == ' ') {
			text++;
			if (!adsm_writes_read_condition(&text, NULL, &condition))
				return false;
		}
		if (*text++ != '\n')
			return false;
	}
	return true;
}

const char *adsm_writes_find(const char *text, const char *kernel, uint32_t param)
{
	const size_t size = strlen(kernel);

	while (*text) {
		const char *rest = text;
		int64_t of_param, bytes;

		if (!strncmp(text, kernel, size) && text[size] == ' ' &&
		    adsm_writes_read_head(&rest, &of_param, &bytes) && of_param == param)
			return text;
		text = strchr(text, '\n');
		if (!text)
			return NULL;
		text++;
	}
	return NULL;
}
