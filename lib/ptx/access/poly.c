/* SPDX-License-Identifier: MIT */
/* poly.c - see poly.h. */
#include "poly.h"

#include <stdio.h>
#include <string.h>

#define OFFSETS 65536u

uint32_t adsm_ptx_atom_of_param(uint32_t param, uint32_t offset, uint32_t size)
{
	return ADSM_PTX_ATOM_PARAM + ((param * OFFSETS + offset) << 1 | (size == 8));
}

void adsm_ptx_poly_constant(int64_t value, struct adsm_ptx_poly *ret)
{
	ret->n = value != 0;
	ret->terms[0] = (struct adsm_ptx_term){ .factor = value };
}

void adsm_ptx_poly_atom(uint32_t atom, struct adsm_ptx_poly *ret)
{
	ret->n = 1;
	ret->terms[0] = (struct adsm_ptx_term){ .factor = 1, .n = 1, .atoms = { atom } };
}

static int compare_atoms(const struct adsm_ptx_term *a, const struct adsm_ptx_term *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		if (a->atoms[i] != b->atoms[i])
			return a->atoms[i] < b->atoms[i] ? -1 : 1;
	}
	/* The constant is the last one. */
	return a->n == b->n ? 0 : a->n > b->n ? -1 : 1;
}

/* Add a term to a polynomial. */
static bool add_term(struct adsm_ptx_poly *poly, const struct adsm_ptx_term *term)
{
	uint32_t at = 0;
	int order = 1;

	while (at < poly->n && (order = compare_atoms(&poly->terms[at], term)) < 0)
		at++;
	if (at < poly->n && order == 0) {
		if (__builtin_add_overflow(poly->terms[at].factor, term->factor, &poly->terms[at].factor))
			return false;
		if (!poly->terms[at].factor) {
			poly->n--;
			memmove(&poly->terms[at], &poly->terms[at + 1], (poly->n - at) * sizeof(*term));
		}
		return true;
	}
	if (poly->n == ADSM_PTX_POLY_TERMS)
		return false;
	memmove(&poly->terms[at + 1], &poly->terms[at], (poly->n - at) * sizeof(*term));
	poly->terms[at] = *term;
	poly->n++;
	return true;
}

bool adsm_ptx_poly_add(const struct adsm_ptx_poly *a, int64_t factor, const struct adsm_ptx_poly *b,
		       struct adsm_ptx_poly *ret)
{
	struct adsm_ptx_poly sum = *a;

	for (uint32_t i = 0; i < b->n && factor; i++) {
		struct adsm_ptx_term term = b->terms[i];

		if (__builtin_mul_overflow(term.factor, factor, &term.factor) || !add_term(&sum, &term))
			return false;
	}
	*ret = sum;
	return true;
}

static bool multiply_terms(const struct adsm_ptx_term *a, const struct adsm_ptx_term *b, struct adsm_ptx_term *ret)
{
	struct adsm_ptx_term product = { .n = 0 };
	uint32_t i = 0, j = 0;

	if (__builtin_mul_overflow(a->factor, b->factor, &product.factor) || a->n + b->n > ADSM_PTX_POLY_ATOMS)
		return false;
	while (i < a->n || j < b->n) {
		if (j == b->n || (i < a->n && a->atoms[i] <= b->atoms[j]))
			product.atoms[product.n++] = a->atoms[i++];
		else
			product.atoms[product.n++] = b->atoms[j++];
	}
	*ret = product;
	return true;
}

bool adsm_ptx_poly_multiply(const struct adsm_ptx_poly *a, const struct adsm_ptx_poly *b, struct adsm_ptx_poly *ret)
{
	struct adsm_ptx_poly product = { .n = 0 };

	for (uint32_t i = 0; i < a->n; i++) {
		for (uint32_t j = 0; j < b->n; j++) {
			struct adsm_ptx_term term;

			if (!multiply_terms(&a->terms[i], &b->terms[j], &term) || !add_term(&product, &term))
				return false;
		}
	}
	*ret = product;
	return true;
}

/* How often a term has an atom. The term without it: ret_rest, if it has the atom once. */
static uint32_t count_atom(const struct adsm_ptx_term *term, uint32_t atom, struct adsm_ptx_term *ret_rest)
{
	uint32_t count = 0;

	*ret_rest = (struct adsm_ptx_term){ .factor = term->factor };
	for (uint32_t i = 0; i < term->n; i++) {
		if (term->atoms[i] == atom)
			count++;
		else
			ret_rest->atoms[ret_rest->n++] = term->atoms[i];
	}
	return count;
}

bool adsm_ptx_poly_step_back(const struct adsm_ptx_poly *a, uint32_t atom, struct adsm_ptx_poly *ret)
{
	struct adsm_ptx_poly result = *a;

	for (uint32_t i = 0; i < a->n; i++) {
		struct adsm_ptx_term rest;
		const uint32_t count = count_atom(&a->terms[i], atom, &rest);

		if (!count)
			continue;
		if (count > 1 || __builtin_sub_overflow(0, rest.factor, &rest.factor) || !add_term(&result, &rest))
			return false;
	}
	*ret = result;
	return true;
}

bool adsm_ptx_poly_is_constant(const struct adsm_ptx_poly *a, int64_t *ret_value)
{
	*ret_value = a->n ? a->terms[0].factor : 0;
	return !a->n || (a->n == 1 && !a->terms[0].n);
}

bool adsm_ptx_poly_has(const struct adsm_ptx_poly *a, uint32_t atom)
{
	for (uint32_t i = 0; i < a->n; i++) {
		for (uint32_t j = 0; j < a->terms[i].n; j++) {
			if (a->terms[i].atoms[j] == atom)
				return true;
		}
	}
	return false;
}

int64_t adsm_ptx_poly_take(struct adsm_ptx_poly *a, uint32_t atom)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const int64_t factor = a->terms[i].factor;

		if (a->terms[i].n != 1 || a->terms[i].atoms[0] != atom)
			continue;
		a->n--;
		memmove(&a->terms[i], &a->terms[i + 1], (a->n - i) * sizeof(a->terms[0]));
		return factor;
	}
	return 0;
}

static bool varies(uint32_t atom)
{
	return atom < ADSM_PTX_ATOM_BLOCK_SIZE ||
	       (atom >= ADSM_PTX_ATOM_LOOP && atom < ADSM_PTX_ATOM_LOOP + ADSM_PTX_POLY_LOOPS);
}

bool adsm_ptx_poly_is_linear(const struct adsm_ptx_poly *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t n = 0;

		for (uint32_t j = 0; j < a->terms[i].n; j++)
			n += varies(a->terms[i].atoms[j]);
		if (n > 1)
			return false;
	}
	return true;
}

static size_t print_atom(uint32_t atom, char *text, size_t size)
{
	static const char letters[] = "tbsgk";
	const uint32_t of_param = (atom - ADSM_PTX_ATOM_PARAM) >> 1;

	if (adsm_ptx_atom_is_param(atom))
		return (size_t)snprintf(text, size, "p%u.%u.%u", of_param / OFFSETS, of_param % OFFSETS,
					(atom - ADSM_PTX_ATOM_PARAM) & 1 ? 8 : 4);
	if (atom >= ADSM_PTX_ATOM_LOOP)
		return (size_t)snprintf(text, size, "k%u", atom - ADSM_PTX_ATOM_LOOP);
	return (size_t)snprintf(text, size, "%c%c", letters[atom / 3], "xyz"[atom % 3]);
}

void adsm_ptx_poly_print(const struct adsm_ptx_poly *a, char *text, size_t size)
{
	size_t at = strlen(text);

	if (!a->n)
		snprintf(text + at, size - at, "+0");
	for (uint32_t i = 0; i < a->n; i++) {
		const struct adsm_ptx_term *term = &a->terms[i];

		at += (size_t)snprintf(text + at, at < size ? size - at : 0, "%+lld", (long long)term->factor);
		for (uint32_t j = 0; j < term->n; j++) {
			at += (size_t)snprintf(text + at, at < size ? size - at : 0, "*");
			at += print_atom(term->atoms[j], text + at, at < size ? size - at : 0);
		}
	}
}
