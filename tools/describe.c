/* SPDX-License-Identifier: MIT */
/* describe.c - see describe.h. */
#include "describe.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_factor(const char *at)
{
	static const struct { char letter; const char *name; } names[] = {
		{ 't', "threadIdx" }, { 'b', "blockIdx" }, { 's', "blockDim" }, { 'g', "gridDim" },
	};
	char *rest;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (names[i].letter == *at)
			printf("%s.%c", names[i].name, at[1]);
	}
	if (*at == 'k')
		printf("turn%c", at[1]);
	if (*at != 'p')
		return;
	printf("p%ld", strtol(at + 1, &rest, 10));
	/* A part of a structure. */
	if (strncmp(rest, ".0.", 3) != 0)
		printf("[%ld]", strtol(rest + 1, NULL, 10));
}

/* Print the products with the sign @sign, without it. @more: a number to add. */
static void print_products(const char *at, char sign, long more)
{
	bool any = false;

	while (*at == '+' || *at == '-') {
		const char *end = at + 1 + strcspn(at + 1, "+- \n");
		char *factors;
		const long number = strtol(at + 1, &factors, 10);

		if (*at == sign && *factors == '*') {
			printf("%s", any ? " + " : "");
			if (number != 1)
				printf("%ld*", number);
			for (const char *p = factors; p < end && *p == '*'; p += 1 + strcspn(p + 1, "*+- \n"))
				printf("%s", p == factors ? "" : "*"), print_factor(p + 1);
			any = true;
		} else if (*at == sign) {
			more += number;
		}
		at = end;
	}
	if (more || !any)
		printf("%s%ld", any ? " + " : "", more);
}

/* Is there a product with this sign, other than the constant? */
static bool has_products(const char *at, char sign)
{
	while (*at == '+' || *at == '-') {
		const char *end = at + 1 + strcspn(at + 1, "+- \n");

		if (*at == sign && memchr(at, '*', (size_t)(end - at)))
			return true;
		at = end;
	}
	return false;
}

static long constant_of(const char *at)
{
	long sum = 0;

	while (*at == '+' || *at == '-') {
		const char *end = at + 1 + strcspn(at + 1, "+- \n");

		if (!memchr(at, '*', (size_t)(end - at)))
			sum += strtol(at, NULL, 10);
		at = end;
	}
	return sum;
}

/* Print a condition as a comparison of sums without signs. */
static void print_condition(const char *at)
{
	const char kind = *at++;
	bool less;

	at += *at >= '0' && *at <= '9';
	if (kind != 'g') {
		print_products(at, '+', 0);
		printf(kind == 'e' ? " == " : " != ");
		print_products(at, '-', 0);
		return;
	}
	/* a - b - 1 >= 0: b < a. */
	less = constant_of(at) < 0 && has_products(at, '-');
	print_products(at, '-', less ? -1 : 0);
	printf(less ? " < " : " <= ");
	print_products(at, '+', 0);
}

void describe_write(const char *line)
{
	const char *at = line + strcspn(line, " ") + 1;
	char *rest;
	bool any = false;

	strtol(at, &rest, 10);
	printf("%ld bytes at ", strtol(rest, &rest, 10));
	at = rest + 1;
	print_products(at, '+', 0);
	if (has_products(at, '-') || constant_of(at) < 0) {
		printf(" - (");
		print_products(at, '-', 0);
		printf(")");
	}
	for (at += strcspn(at, " \n"); *at == ' '; at += strcspn(at, " \n")) {
		at++;
		if (!strchr("gen", *at))
			continue;
		printf(any ? " and " : " if ");
		any = true;
		print_condition(at);
	}
}
