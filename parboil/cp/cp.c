/* SPDX-License-Identifier: MIT */
/*
 * cp.c - Coulombic potential of atoms on one plane: input, reference, verification.
 *
 * For point (i, j): V = sum over atoms of charge / distance.
 *
 * The original reads no input either: its atoms come from glibc's rand(), seeded with 54321, and all lie in the plane.
 * V has spikes beside them, of which no rounded sum says much, so only the sizes that are the original's have those
 * atoms; in the others they lie above the plane, and every point is checked closely.
 */
#include "cp.h"

#include <math.h>
#include <stdlib.h>

#include "../common/rng.h"

#define ROWS 17				/* in the output file */

static const char *const size_names[] = { "small", "medium", "paper", "cfc", "cfc-paper", "tiny", "short", NULL };
static const struct { size_t n, n_atoms, chunk; bool original; } sizes[] = {
	{ 128, 4000, 400, false },
	{ 256, 10000, 1000, false },
	{ 512, 40000, 4000, true },
	{ 1024, 4000, 160, false },	/* as many calls as CUDA-For-Clusters makes, of fewer atoms */
	{ 1024, 100000, 4000, true },
	{ 128, 100, 4000, true },
	{ 256, 200, 4000, true },
};

static void make_atoms(struct cp *cp)
{
	struct pb_rng rng = { 1 };
	float side = CP_SPACING * cp->n;

	for (size_t a = 0; a < cp->n_atoms; a++) {
		struct cp_atom *atom = &cp->atoms[a];

		atom->x = pb_rng_float(&rng) * side;
		atom->y = pb_rng_float(&rng) * side;
		atom->z = 0.25f + pb_rng_float(&rng);
		atom->q = 2.0f * pb_rng_float(&rng) - 1.0f;
	}
}

/* From 0 to 1, of glibc's random numbers. */
static float draw(struct random_data *random)
{
	int32_t number;

	random_r(random, &number);
	return (float)number / (float)RAND_MAX;
}

static void make_original_atoms(struct cp *cp)
{
	struct random_data random = { .state = NULL };
	/* The sides are whole numbers; that of z, the third number of each atom, is 0. */
	unsigned side = (unsigned)(CP_SPACING * (float)cp->n);
	char state[128];

	initstate_r(54321, state, sizeof(state), &random);
	for (size_t a = 0; a < cp->n_atoms; a++) {
		struct cp_atom *atom = &cp->atoms[a];

		atom->x = draw(&random) * (float)side;
		atom->y = draw(&random) * (float)side;
		atom->z = draw(&random) * 0;
		atom->q = (float)(draw(&random) * 2.0 - 1.0);
	}
}

void cp_open(struct cp *ret_cp, const struct pb_run *run)
{
	struct cp *cp = ret_cp;

	cp->n = sizes[run->size].n;
	cp->n_atoms = sizes[run->size].n_atoms;
	cp->chunk = sizes[run->size].chunk;
	cp->atoms = pb_host_alloc(cp->n_atoms * sizeof(*cp->atoms));
	cp->table = pb_host_alloc(cp->chunk * sizeof(*cp->table));
	if (sizes[run->size].original)
		make_original_atoms(cp);
	else
		make_atoms(cp);
}

void cp_close(struct cp *cp)
{
	free(cp->atoms);
	free(cp->table);
}

void cp_pack(struct cp *cp, size_t first, size_t n)
{
	const struct cp_atom *atoms = cp->atoms + first;

	for (size_t a = 0; a < n; a++)
		cp->table[a] = (struct cp_record){ atoms[a].x, atoms[a].y, atoms[a].z * atoms[a].z, atoms[a].q };
}

static double clamp(double v)
{
	return v < -20 ? -20 : v > 20 ? 20 : v;
}

double cp_checksum(const float *energy, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n * n; i++)
		sum += clamp(energy[i]);
	return sum;
}

void cp_write(struct pb_run *run, FILE *out, const float *energy, const struct cp *cp, double checksum)
{
	pb_io_start(run);
	fprintf(out, "%zu %zu 1 %zu\n%.4g\n", cp->n, cp->n, cp->n_atoms, checksum);
	for (size_t j = 0; j < ROWS; j++) {
		for (size_t i = 0; i < cp->n; i++)
			fprintf(out, "%.4g ", energy[j * cp->n + i]);
		fputc('\n', out);
	}
	pb_io_stop(run);
}

/*
 * ---- the reference: double precision, straight from the atoms, one tile of the plane after another. Over
 * a tile the potential of atoms that are not near it is as good as a polynomial (to 1e-8): it is computed
 * in few points only, and interpolated.
 */

#define TILE 64				/* points on a side */
#define NODES 12			/* on a side, at the zeros of a Chebyshev polynomial */
#define NEAR 3.0			/* nearer to the tile's centre in x and y, in halves of its side */

struct nodes {
	double half;			/* of a tile's side */
	double offsets[NODES];		/* from a tile's centre */
	double weights[TILE][NODES];	/* of each node's value at each point */
};

static void nodes_init(struct nodes *nodes)
{
	nodes->half = CP_SPACING * (TILE - 1) / 2.0;
	for (int k = 0; k < NODES; k++)
		nodes->offsets[k] = nodes->half * cos(M_PI * (k + 0.5) / NODES);
	for (int p = 0; p < TILE; p++) {
		double offset = (double)CP_SPACING * p - nodes->half;

		for (int k = 0; k < NODES; k++) {
			nodes->weights[p][k] = 1;
			for (int l = 0; l < NODES; l++)
				if (l != k)
					nodes->weights[p][k] *= (offset - nodes->offsets[l]) /
								(nodes->offsets[k] - nodes->offsets[l]);
		}
	}
}

static double potential(const struct cp_atom *atom, double x, double y)
{
	double dx = x - atom->x, dy = y - atom->y, dz = atom->z;

	return atom->q / sqrt(dx * dx + dy * dy + dz * dz);
}

/* Add @atom to the point (@x, @y). */
static void add_atom(const struct cp_atom *atom, double x, double y, double *energy, double *slope)
{
	double dx = x - atom->x, dy = y - atom->y, dz = atom->z, inverse = 1 / sqrt(dx * dx + dy * dy + dz * dz);

	*energy += atom->q * inverse;
	*slope += fabs(atom->q) * inverse * inverse;
}

/* Fill the tile of @reference that starts at point (@i, @j). */
static void fill_tile(const struct cp *cp, const struct nodes *nodes, struct cp_reference *reference, size_t i,
		      size_t j)
{
	const double h = CP_SPACING, x = h * i + nodes->half, y = h * j + nodes->half;
	double *energy = reference->energy + j * cp->n + i, *slope = reference->slope + j * cp->n + i;
	double far[NODES][NODES] = { 0 };

	for (size_t a = 0; a < cp->n_atoms; a++) {
		const struct cp_atom *atom = &cp->atoms[a];

		if (fabs(atom->x - x) < NEAR * nodes->half && fabs(atom->y - y) < NEAR * nodes->half) {
			for (int q = 0; q < TILE; q++)
				for (int p = 0; p < TILE; p++)
					add_atom(atom, h * (i + p), h * (j + q), &energy[q * cp->n + p],
						 &slope[q * cp->n + p]);
			continue;
		}
		for (int l = 0; l < NODES; l++)
			for (int k = 0; k < NODES; k++)
				far[l][k] += potential(atom, x + nodes->offsets[k], y + nodes->offsets[l]);
	}
	for (int q = 0; q < TILE; q++)
		for (int p = 0; p < TILE; p++)
			for (int l = 0; l < NODES; l++)
				for (int k = 0; k < NODES; k++)
					energy[q * cp->n + p] +=
						nodes->weights[q][l] * nodes->weights[p][k] * far[l][k];
}

static void prepare(struct pb_run *run)
{
	struct cp_reference *reference;
	struct nodes nodes;
	struct cp cp;
	size_t n;

	cp_open(&cp, run);
	n = cp.n;
	nodes_init(&nodes);
	reference = pb_host_alloc(sizeof(*reference) + 2 * n * n * sizeof(*reference->energy));
	reference->n = n;
	reference->energy = (double *)(reference + 1);
	reference->slope = reference->energy + n * n;
	for (size_t v = 0; v < 2 * n * n; v++)
		reference->energy[v] = 0;
	for (size_t j = 0; j < n; j += TILE)
		for (size_t i = 0; i < n; i += TILE)
			fill_tile(&cp, &nodes, reference, i, j);
	reference->checksum = 0;
	for (size_t v = 0; v < n * n; v++)
		reference->checksum += clamp(reference->energy[v]);
	cp_close(&cp);
	run->data = reference;
}

void cp_verify(struct pb_run *run, const float *energy, double checksum)
{
	const struct cp_reference *reference = run->data;
	/* Coordinates are rounded, up to four times: by so much in all. */
	const double moved = CP_SPACING * (double)reference->n * 0x1p-22;

	for (size_t v = 0; v < reference->n * reference->n; v++)
		pb_compare(run, energy[v], reference->energy[v],
			   1e-3 + 1e-4 * fabs(reference->energy[v]) + moved * reference->slope[v]);
	/* The original's rule, as a ratio: errors of a sum would hide those of its points. */
	pb_compare(run, checksum / reference->checksum, 1, 5e-3);
}

const struct pb_bench cp_bench = {
	.name = "cp",
	.about = "Coulombic potential on a plane",
	.sizes = size_names,
	.writes = true,
	.prepare = prepare,
	.variants = { [PB_ADSM] = cp_adsm, [PB_EXPLICIT] = cp_explicit, PB_IN_CUDA_C(cp_cuda_c)
		      PB_CUDA_RIVALS(cp) },
};
