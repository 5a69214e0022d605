/* SPDX-License-Identifier: MIT */
/*
 * rpes.c - two-electron repulsion integrals of s shells: input, lists of work, reference, verification.
 *
 * The integral (ij|kl) of four shells is the sum over all combinations of one primitive of each, with
 * exponents a, coefficients c and centres R:
 *
 *	p = a1 + a2, P = (a1 R1 + a2 R2) / p, q and Q the same of 3 and 4, x = |P - Q|^2 pq / (p + q)
 *	pre = c1 c2 c3 c4 exp(-(a1 a2 / p |R1 - R2|^2 + a3 a4 / q |R3 - R4|^2)) / (p q sqrt(p + q))
 *	2 pi^(5/2) pre F0(x), where F0(x) is the integral of exp(-x t^2) for t from 0 to 1
 *
 * and 0 where pre^2 is at most 1e-23.
 *
 * The geometry file lists the atoms, at coordinates in the unit of length that the exponents are made for:
 *
 *	ATOMS 2			how many of them count; more may follow, and are not read
 *	H 0 0 0			symbol, x, y, z
 *	H 1.4 0 0
 *
 * The basis file lists the shells of each kind of atom, and the primitives of each shell:
 *
 *	TOTAL ATOMS 1		kinds of atom in the file
 *	TOTAL SHELLS 2		of all of them
 *	ATOM H			symbol
 *	SHELLS 2		of this kind
 *	SHELL 1 PRIMITIVES 2	number of the shell, and of its primitives
 *	1 S 1 13 0.03		numbers in the basis that it is taken from, around the type; exponent, coefficient
 *	1 S 2 2 0.23
 *	SHELL 2 PRIMITIVES 1
 *	2 S 3 0.12 1
 *
 * Blank lines are skipped in both.
 */
#include "rpes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/rng.h"
#include "../common/text.h"

static const char *const size_names[] = { "small", "medium", "paper", "one", NULL };
static const struct { int n_waters; unsigned launch; size_t n_read; } sizes[] = {
	{ 3, 4096, 2000 },
	{ 6, 65535, 20000 },
	{ 10, 65535, 20000 },
	{ 1, 4096, 2000 },
};

/* ---- input: molecules of water on a lattice */

static void generate_geometry(int n_waters, FILE *out)
{
	struct pb_rng rng = { 3 };
	int side = 1;

	while (side * side * side < n_waters)
		side++;
	fprintf(out, "ATOMS %d\n", 3 * n_waters);
	for (int w = 0; w < n_waters; w++) {
		float x = 5.0f * (float)(w % side) + pb_rng_float(&rng);
		float y = 5.0f * (float)(w / side % side) + pb_rng_float(&rng);
		float z = 5.0f * (float)(w / (side * side)) + pb_rng_float(&rng);

		fprintf(out, "O %.9g %.9g %.9g\n", x, y, z);
		fprintf(out, "H %.9g %.9g %.9g\n", x + 1.43f, y + 1.11f, z);
		fprintf(out, "H %.9g %.9g %.9g\n", x - 1.43f, y + 1.11f, z);
	}
}

/* @shell and @first: numbers of the shell in its atom, and of its first primitive in the file. */
static void print_shell(FILE *out, int shell, int first, const struct primitive *primitives, int n)
{
	fprintf(out, "\nSHELL\t%d\tPRIMITIVES\t%d\n", shell, n);
	for (int i = 0; i < n; i++)
		fprintf(out, "%7d   S %7d %18.9g %18.9g\n", shell, first + i, primitives[i].exponent,
			primitives[i].coefficient);
}

static void generate_basis(FILE *out)
{
	static const struct primitive h[] = { { 13.0f, 0.03f }, { 2.0f, 0.23f }, { 0.45f, 0.81f }, { 0.12f, 1.0f } };
	static const struct primitive outer = { 0.30f, 1.0f };
	struct primitive core[2][8];
	float exponent = 9000.0f;

	for (int i = 0; i < 8; i++) {
		float coefficient = (float)(i + 1) / 36.0f;

		core[0][i] = (struct primitive){ exponent, coefficient };
		core[1][i] = (struct primitive){ exponent, coefficient * (i < 6 ? -0.5f : 1.5f) };
		exponent = 0.26f * exponent;
	}
	fprintf(out, "TOTAL ATOMS\t\t2\nTOTAL SHELLS\t5\n\nATOM\t\tO\nSHELLS\t3\n");
	print_shell(out, 1, 1, core[0], 8);
	print_shell(out, 2, 9, core[1], 8);
	print_shell(out, 3, 17, &outer, 1);
	fprintf(out, "\nATOM\t\tH\nSHELLS\t2\n");
	print_shell(out, 1, 18, h, 3);
	print_shell(out, 2, 21, h + 3, 1);
}

static void generate(size_t size, FILE *const *outs)
{
	generate_geometry(sizes[size].n_waters, outs[0]);
	generate_basis(outs[1]);
}

/* ---- reading it */

/* The shells of a kind of atom, in the basis. */
struct element {
	char symbol[8];
	size_t n_shells;
	struct shell *shells;
};

struct basis {
	size_t n_elements, n_shells;
	/* Each shell has an offset of its own; and one more is begun before it is refused. */
	struct element elements[RPES_OFFSET_MAX + 1];
	struct shell shells[RPES_OFFSET_MAX + 2];
};

/* Go to the next line; @what it is to be. */
static void next_line(struct pb_text *text, const char *what)
{
	if (!pb_text_line(text))
		pb_text_die(text, "the file ends, and %s is missing", what);
}

/* One word of @keyword. */
static void read_word(struct pb_text *text, const char *expected, const char *keyword)
{
	const char *word = pb_text_word(text, keyword);

	if (strcmp(word, expected) != 0)
		pb_text_die(text, "\"%s\" is there instead of %s", word, keyword);
}

static void read_keyword(struct pb_text *text, const char *keyword)
{
	read_word(text, keyword, keyword);
}

/* What is left of a line: a number. */
static size_t read_count(struct pb_text *text, const char *what, long max)
{
	long n = pb_text_count(text, what, 1, max);

	pb_text_line_end(text);
	return (size_t)n;
}

/* The next line: @keyword, which is "TOTAL " and @second, and a number. */
static size_t read_total(struct pb_text *text, const char *keyword, const char *second, const char *what)
{
	next_line(text, keyword);
	read_word(text, "TOTAL", keyword);
	read_word(text, second, keyword);
	return read_count(text, what, RPES_OFFSET_MAX + 1);
}

static const char *read_symbol(struct pb_text *text)
{
	const char *symbol = pb_text_word(text, "the symbol");

	if (strlen(symbol) >= sizeof(((struct element *)0)->symbol))
		pb_text_die(text, "the symbol \"%s\" is longer than %zu characters", symbol,
			    sizeof(((struct element *)0)->symbol) - 1);
	return symbol;
}

static float read_float(struct pb_text *text, const char *what)
{
	double number = pb_text_number(text, what);

	if (!isfinite((float)number))
		pb_text_die(text, "%s is %g, which is too large for single precision", what, number);
	return (float)number;
}

static const struct element *find_element(const struct basis *basis, const char *symbol)
{
	for (size_t i = 0; i < basis->n_elements; i++)
		if (strcmp(basis->elements[i].symbol, symbol) == 0)
			return &basis->elements[i];
	return NULL;
}

/* The columns around the type are the primitive's place in a larger basis, and say nothing here. */
static struct primitive read_primitive(struct pb_text *text)
{
	struct primitive primitive;
	const char *type;

	next_line(text, "a primitive");
	pb_text_number(text, "the number of the shell");
	type = pb_text_word(text, "the type");
	if (strcmp(type, "S") != 0)
		pb_text_die(text, "the type is \"%s\", but must be S", type);
	pb_text_number(text, "the number of the primitive");
	primitive.exponent = read_float(text, "the exponent");
	if (!(primitive.exponent > 0))
		pb_text_die(text, "the exponent is %g, but must be more than 0", primitive.exponent);
	primitive.coefficient = read_float(text, "the coefficient");
	pb_text_line_end(text);
	return primitive;
}

static void read_shell(struct pb_text *text, struct rpes *r, struct shell *ret_shell)
{
	struct shell shell = { .first = (uint32_t)r->n_primitives };

	next_line(text, "SHELL");
	read_keyword(text, "SHELL");
	pb_text_number(text, "the number of the shell");
	read_keyword(text, "PRIMITIVES");
	shell.n = (uint32_t)read_count(text, "the number of primitives", RPES_COUNT_MAX);
	if (shell.first > RPES_OFFSET_MAX)
		pb_text_die(text, "%u primitives come before this shell, but at most %d are possible", shell.first,
			    RPES_OFFSET_MAX);
	for (uint32_t i = 0; i < shell.n; i++)
		r->primitives[r->n_primitives++] = read_primitive(text);
	*ret_shell = shell;
}

static void read_element(struct pb_text *text, struct rpes *r, struct basis *basis)
{
	struct element *element = &basis->elements[basis->n_elements];
	const char *symbol;

	next_line(text, "ATOM");
	read_keyword(text, "ATOM");
	symbol = read_symbol(text);
	if (find_element(basis, symbol))
		pb_text_die(text, "the atom \"%s\" is defined twice", symbol);
	strcpy(element->symbol, symbol);
	pb_text_line_end(text);
	next_line(text, "SHELLS");
	read_keyword(text, "SHELLS");
	element->n_shells = read_count(text, "the number of shells", RPES_OFFSET_MAX + 1);
	element->shells = &basis->shells[basis->n_shells];
	for (size_t i = 0; i < element->n_shells; i++)
		read_shell(text, r, &basis->shells[basis->n_shells++]);
	basis->n_elements++;
}

static void read_basis(const char *path, struct rpes *r, struct basis *ret_basis)
{
	struct basis *basis = ret_basis;
	size_t n_elements, n_shells;
	struct pb_text text;

	pb_text_open(&text, path);
	basis->n_elements = basis->n_shells = r->n_primitives = 0;
	n_elements = read_total(&text, "TOTAL ATOMS", "ATOMS", "the number of atoms");
	n_shells = read_total(&text, "TOTAL SHELLS", "SHELLS", "the number of shells");
	while (basis->n_elements < n_elements)
		read_element(&text, r, basis);
	if (pb_text_line(&text))
		pb_text_die(&text, "the file continues after %zu atoms, the number of TOTAL ATOMS", n_elements);
	if (basis->n_shells != n_shells)
		pb_die("%s: TOTAL SHELLS is %zu, but the atoms have %zu", path, n_shells, basis->n_shells);
	pb_text_close(&text);
}

static void read_geometry(const char *path, struct rpes *r, const struct basis *basis)
{
	struct pb_text text;

	pb_text_open(&text, path);
	next_line(&text, "ATOMS");
	read_keyword(&text, "ATOMS");
	r->n_atoms = read_count(&text, "the number of atoms", RPES_ATOMS_MAX);
	r->n_shells = 0;
	for (size_t a = 0; a < r->n_atoms; a++) {
		const struct element *element;
		const char *symbol;

		if (!pb_text_line(&text))
			pb_text_die(&text, "the file ends after %zu of %zu atoms", a, r->n_atoms);
		symbol = read_symbol(&text);
		element = find_element(basis, symbol);
		if (!element)
			pb_text_die(&text, "the basis has no atom \"%s\"", symbol);
		r->atoms[a].x = read_float(&text, "x");
		r->atoms[a].y = read_float(&text, "y");
		r->atoms[a].z = read_float(&text, "z");
		r->atoms[a].unused = 0;
		pb_text_line_end(&text);
		if (r->n_shells + element->n_shells > RPES_SHELLS_MAX)
			pb_text_die(&text, "the atoms up to this one have %zu shells, but at most %d are possible",
				    r->n_shells + element->n_shells, RPES_SHELLS_MAX);
		for (size_t i = 0; i < element->n_shells; i++) {
			r->shells[r->n_shells] = element->shells[i];
			r->shells[r->n_shells++].atom = (uint32_t)a;
		}
	}
	/* The published file has more atoms than its first line says. */
	pb_text_close(&text);
}

/* ---- quartets of shells, i <= j <= k <= l, l fastest */

struct quartet { size_t shells[4]; };

/* The one after it; false after the last. The first is all zeros. */
static bool next_quartet(const struct rpes *r, struct quartet *q)
{
	for (int i = 3; i >= 0; i--) {
		if (++q->shells[i] < r->n_shells) {
			for (int j = i + 1; j < 4; j++)
				q->shells[j] = q->shells[i];
			return true;
		}
	}
	return false;
}

static uint32_t count_blocks(const struct rpes *r, const struct quartet *q)
{
	uint32_t n = 1;

	for (int i = 0; i < 4; i++)
		n *= r->shells[q->shells[i]].n;
	return (n + RPES_LANES - 1) / RPES_LANES;
}

static void read_input(const struct pb_run *run, struct rpes *r)
{
	struct quartet q = { { 0 } };
	struct basis basis;

	read_basis(run->inputs[1], r, &basis);
	read_geometry(run->inputs[0], r, &basis);
	r->n_quartets = r->n_blocks = 0;
	do {
		r->n_quartets++;
		r->n_blocks += count_blocks(r, &q);
		if (r->n_blocks > INT32_MAX)
			pb_die("%s: its %zu shells make more than %d blocks of work", run->inputs[0], r->n_shells,
			       INT32_MAX);
	} while (next_quartet(r, &q));
}

void rpes_open(struct rpes *ret_rpes, struct pb_run *run)
{
	struct rpes *r = ret_rpes;

	pb_io_start(run);
	read_input(run, r);
	pb_io_stop(run);
	r->launch = sizes[run->size].launch;
	r->n_read = sizes[run->size].n_read < r->n_quartets ? sizes[run->size].n_read : r->n_quartets;
}

void rpes_fill_reduce(const struct rpes *r, struct final_reduce *final_reduce)
{
	struct quartet q = { { 0 } };
	uint32_t block = 0;

	do {
		uint32_t n = count_blocks(r, &q);

		*final_reduce++ = (struct final_reduce){ block, n };
		block += n;
	} while (next_quartet(r, &q));
}

void rpes_fill_work(const struct rpes *r, struct block_work *block_work)
{
	struct quartet q = { { 0 } };
	uint32_t block = 0;

	do {
		struct block_work work = { .first = block };

		for (int i = 0; i < 4; i++) {
			const struct shell *shell = &r->shells[q.shells[i]];

			work.counts |= shell->n << 4 * i;
			work.atoms |= shell->atom << 8 * i;
			work.offsets |= shell->first << 8 * i;
		}
		for (uint32_t n = count_blocks(r, &q); n; n--)
			block_work[block++] = work;
	} while (next_quartet(r, &q));
}

/* ---- output */

void rpes_write(struct pb_run *run, const struct rpes *r, const float *reduction_sum)
{
	FILE *out = pb_open(run->output, "w");

	pb_io_start(run);
	for (size_t i = 0; i < r->n_read; i++)
		fprintf(out, "%zu\t%e\n", i, reduction_sum[i]);
	pb_close(out, run->output);
	pb_io_stop(run);
}

/* ---- the reference: double precision, from the input files; what depends on two shells only is computed once */

/* The product of two primitives. */
struct product { double exponent, factor, x, y, z; };

static struct product multiply(const struct rpes *r, const struct shell *a, uint32_t i, const struct shell *b,
			       uint32_t j)
{
	const struct primitive *pa = &r->primitives[a->first + i], *pb = &r->primitives[b->first + j];
	const struct atom *ra = &r->atoms[a->atom], *rb = &r->atoms[b->atom];
	double ea = pa->exponent, eb = pb->exponent, p = ea + eb;
	double x = (double)ra->x - rb->x, y = (double)ra->y - rb->y, z = (double)ra->z - rb->z;

	return (struct product){
		.exponent = p,
		.factor = (double)pa->coefficient * pb->coefficient / p *
			  exp(-ea * eb / p * (x * x + y * y + z * z)),
		.x = (ea * ra->x + eb * rb->x) / p,
		.y = (ea * ra->y + eb * rb->y) / p,
		.z = (ea * ra->z + eb * rb->z) / p,
	};
}

static double f0(double x)
{
	return x < 1e-7 ? 1 - x / 3 : 0.5 * sqrt(M_PI / x) * erf(sqrt(x));
}

/* The products of two shells. */
struct pair {
	struct product *products;
	uint32_t n;
};

/* @ret_size: the sum of the terms' absolute values. */
static double integral(const struct pair *a, const struct pair *b, struct rpes_reference *reference, double *ret_size)
{
	const double scale = 2 * pow(M_PI, 2.5);
	double sum = 0, size = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct product *p = &a->products[i];

		for (uint32_t j = 0; j < b->n; j++) {
			const struct product *q = &b->products[j];
			double total = p->exponent + q->exponent, factor = p->factor * q->factor;
			double x = p->x - q->x, y = p->y - q->y, z = p->z - q->z, term;

			if (factor * factor <= 1e-23 * total) {
				reference->n_screened++;
				continue;
			}
			term = factor / sqrt(total) *
			       f0((x * x + y * y + z * z) * p->exponent * q->exponent / total);
			sum += term;
			size += fabs(term);
		}
	}
	reference->n_combinations += (uint64_t)a->n * b->n;
	*ret_size = scale * size;
	return scale * sum;
}

static void prepare(struct pb_run *run)
{
	struct rpes_reference *reference;
	struct product *products, *next;
	struct pair *pairs;
	size_t n, n_products = 0;
	double *integrals, *sizes;
	struct rpes r;

	read_input(run, &r);
	n = r.n_shells;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			n_products += r.shells[i].n * r.shells[j].n;
	pairs = pb_host_alloc(n * n * sizeof(*pairs));
	products = next = pb_host_alloc(n_products * sizeof(*products));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i; j < n; j++) {
			const struct shell *a = &r.shells[i], *b = &r.shells[j];

			pairs[i * n + j] = (struct pair){ next, a->n * b->n };
			for (uint32_t k = 0; k < a->n * b->n; k++)
				*next++ = multiply(&r, a, k / b->n, b, k % b->n);
		}
	}
	reference = pb_host_alloc(sizeof(*reference) + 2 * r.n_quartets * sizeof(double));
	*reference = (struct rpes_reference){
		.n_quartets = r.n_quartets, .integrals = (double *)(reference + 1),
	};
	integrals = reference->integrals;
	sizes = reference->sizes = integrals + r.n_quartets;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			for (size_t k = j; k < n; k++)
				for (size_t l = k; l < n; l++)
					*integrals++ = integral(&pairs[i * n + j], &pairs[k * n + l],
								reference, sizes++);
	for (size_t i = 0; i < r.n_quartets; i++)
		reference->max = fmax(reference->max, fabs(reference->integrals[i]));
	free(pairs);
	free(products);
	run->data = reference;
}

void rpes_verify(struct pb_run *run, const float *reduction_sum)
{
	const struct rpes_reference *reference = run->data;

	for (size_t i = 0; i < reference->n_quartets; i++) {
		/* Terms of both signs may leave less than their rounding, which is at most 3e-6 of their size. */
		double rounding = fmin(1e-6 * reference->max, 1e-5 * reference->sizes[i] + 1e-9);
		double expected = reference->integrals[i];

		pb_compare(run, reduction_sum[i], expected, rounding + 1e-3 * fabs(expected));
	}
}

const struct pb_bench rpes_bench = {
	.name = "rpes",
	.about = "two-electron repulsion integrals",
	.sizes = size_names,
	.inputs = "geometry and basis",
	.n_inputs = 2,
	.writes = true,
	.generate = generate,
	.prepare = prepare,
	.variants = { [PB_ADSM] = rpes_adsm, [PB_EXPLICIT] = rpes_explicit, PB_CUDA_RIVALS(rpes) },
};
