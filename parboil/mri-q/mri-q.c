/* SPDX-License-Identifier: MIT */
/*
 * mri-q.c - Q matrix of a non-Cartesian MRI reconstruction: input, reference, verification.
 *
 * For voxel v: Qr = sum over samples k of |phi(k)|^2 cos(2 pi k.v), Qi the same with sin.
 */
#include "mri-q.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/rng.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the files are little endian");

static const char *const size_names[] = { "small", "medium", "paper", "large32", NULL };
static const struct { int32_t n, n_samples; size_t tile; } sizes[] = {
	{ 16, 512, 64 },
	{ 32, 512, 64 },
	{ 64, 2048, 1024 },
	{ 32, 3072, 1024 },
};

/* ---- the input file: int32 K, int32 X, then these arrays of float */

enum { KX, KY, KZ, X, Y, Z, PHI_R, PHI_I, N_ARRAYS };
static const char *const array_names[] = { "kx", "ky", "kz", "x", "y", "z", "phiR", "phiI" };

static void generate(size_t size, FILE *const *outs)
{
	FILE *out = outs[0];
	const int32_t n = sizes[size].n, n_samples = sizes[size].n_samples, n_voxels = n * n * n;
	const int32_t header[] = { n_samples, n_voxels };
	struct pb_rng rng = { 2 };
	float *arrays[N_ARRAYS];

	for (int a = 0; a < N_ARRAYS; a++)
		arrays[a] = pb_host_alloc((a >= X && a <= Z ? n_voxels : n_samples) * sizeof(float));
	for (int32_t k = 0; k < n_samples; k++) {
		for (int a = KX; a <= KZ; a++)
			arrays[a][k] = 20.0f * (pb_rng_float(&rng) - 0.5f);
		arrays[PHI_R][k] = 0.3125f + 0.0625f * pb_rng_float(&rng);
		arrays[PHI_I][k] = 0.40625f + 0.0625f * pb_rng_float(&rng);
		/* mri-fhd draws its two values of d here. */
		pb_rng_next(&rng);
		pb_rng_next(&rng);
	}
	for (int32_t v = 0; v < n_voxels; v++) {
		arrays[X][v] = (float)(v % n) / (float)n - 0.5f;
		arrays[Y][v] = (float)(v / n % n) / (float)n - 0.5f;
		arrays[Z][v] = (float)(v / n / n) / (float)n - 0.5f;
	}
	fwrite(header, sizeof(header), 1, out);
	for (int a = 0; a < N_ARRAYS; a++) {
		fwrite(arrays[a], sizeof(float), a >= X && a <= Z ? n_voxels : n_samples, out);
		free(arrays[a]);
	}
}

/* Read the header and check that the file has the length it promises. */
static FILE *open_input(struct pb_run *run, size_t *ret_n_samples, size_t *ret_n_voxels)
{
	const char *path = run->inputs[0];
	FILE *in = pb_open(path, "rb");
	int32_t header[2];
	uint64_t size = pb_file_size(in, path), end = sizeof(header);

	if (size < sizeof(header))
		pb_die("%s: ends at byte %llu, inside the header of %zu bytes", path,
		       (unsigned long long)size, sizeof(header));
	pb_read(run, in, path, header, sizeof(header));
	if (header[0] <= 0)
		pb_die("%s: byte 0: K is %d, and must be more than 0", path, header[0]);
	if (header[1] <= 0 || header[1] % MRI_Q_THREADS)
		pb_die("%s: byte 4: X is %d, and must be a multiple of %u more than 0", path, header[1],
		       MRI_Q_THREADS);
	for (int a = 0; a < N_ARRAYS; a++) {
		uint64_t start = end;

		end += (uint64_t)header[a >= X && a <= Z] * sizeof(float);
		if (size < end)
			pb_die("%s: ends at byte %llu, inside %s (bytes %llu to %llu)", path,
			       (unsigned long long)size, array_names[a], (unsigned long long)start,
			       (unsigned long long)end);
	}
	if (size > end)
		pb_die("%s: the data ends at byte %llu, the file at byte %llu", path,
		       (unsigned long long)end, (unsigned long long)size);
	*ret_n_samples = (size_t)header[0];
	*ret_n_voxels = (size_t)header[1];
	return in;
}

void mri_q_open(struct mri_q *ret_q, struct pb_run *run)
{
	struct mri_q *q = ret_q;
	size_t bytes;

	q->in = open_input(run, &q->n_samples, &q->n_voxels);
	q->tile = sizes[run->size].tile;
	bytes = q->n_samples * sizeof(float);
	q->samples = pb_host_alloc(q->n_samples * sizeof(*q->samples));
	q->kx = pb_host_alloc(bytes);
	q->ky = pb_host_alloc(bytes);
	q->kz = pb_host_alloc(bytes);
	pb_read(run, q->in, run->inputs[0], q->kx, bytes);
	pb_read(run, q->in, run->inputs[0], q->ky, bytes);
	pb_read(run, q->in, run->inputs[0], q->kz, bytes);
}

void mri_q_close(struct mri_q *q)
{
	fclose(q->in);
	free(q->kx);
	free(q->ky);
	free(q->kz);
	free(q->samples);
}

void mri_q_pack(struct mri_q *q, const float *phiMag)
{
	for (size_t k = 0; k < q->n_samples; k++)
		q->samples[k] = (struct ksample){ q->kx[k], q->ky[k], q->kz[k], phiMag[k] };
}

/*
 * ---- the reference: double precision, straight from the file, sample by sample. A lattice has few
 * different values on each axis, so e^(2 pi i k.v) is made of one factor for each axis.
 */

struct axis {
	size_t n;			/* different values */
	float *values;
	uint32_t *index;		/* of each voxel's value */
	double *c, *s;			/* of one sample: cos and sin for each value */
};

/* Any order will do, as long as it is one for whatever the file holds. */
static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(float));
}

static void axis_init(struct axis *axis, const float *coordinates, size_t n_voxels)
{
	axis->n = 0;
	axis->values = pb_host_alloc(n_voxels * sizeof(*axis->values));
	axis->index = pb_host_alloc(n_voxels * sizeof(*axis->index));
	memcpy(axis->values, coordinates, n_voxels * sizeof(*axis->values));
	qsort(axis->values, n_voxels, sizeof(*axis->values), by_bytes);
	for (size_t v = 0; v < n_voxels; v++)
		if (!v || by_bytes(&axis->values[v], &axis->values[axis->n - 1]))
			axis->values[axis->n++] = axis->values[v];
	for (size_t v = 0; v < n_voxels; v++)
		axis->index[v] = (float *)bsearch(&coordinates[v], axis->values, axis->n,
						  sizeof(*axis->values), by_bytes) - axis->values;
	axis->c = pb_host_alloc(axis->n * sizeof(*axis->c));
	axis->s = pb_host_alloc(axis->n * sizeof(*axis->s));
}

static void axis_finish(struct axis *axis)
{
	free(axis->values);
	free(axis->index);
	free(axis->c);
	free(axis->s);
}

static void prepare(struct pb_run *run)
{
	struct mri_q_reference *reference;
	float *arrays[N_ARRAYS];
	struct axis axes[3];
	const struct axis *x = &axes[0], *y = &axes[1], *z = &axes[2];
	size_t n_samples, n_voxels;
	FILE *in = open_input(run, &n_samples, &n_voxels);

	for (int a = 0; a < N_ARRAYS; a++) {
		size_t bytes = (a >= X && a <= Z ? n_voxels : n_samples) * sizeof(float);

		arrays[a] = pb_host_alloc(bytes);
		pb_read(run, in, run->inputs[0], arrays[a], bytes);
	}
	fclose(in);
	for (int a = 0; a < 3; a++)
		axis_init(&axes[a], arrays[X + a], n_voxels);
	reference = pb_host_alloc(sizeof(*reference) + 2 * n_voxels * sizeof(double));
	reference->n_voxels = n_voxels;
	reference->Qr = (double *)(reference + 1);
	reference->Qi = reference->Qr + n_voxels;
	for (size_t v = 0; v < n_voxels; v++)
		reference->Qr[v] = reference->Qi[v] = 0;
	for (size_t k = 0; k < n_samples; k++) {
		double phiR = arrays[PHI_R][k], phiI = arrays[PHI_I][k];
		double m = phiR * phiR + phiI * phiI;

		for (int a = 0; a < 3; a++)
			for (size_t i = 0; i < axes[a].n; i++)
				sincos(2 * M_PI * arrays[KX + a][k] * axes[a].values[i],
				       &axes[a].s[i], &axes[a].c[i]);
		for (size_t v = 0; v < n_voxels; v++) {
			uint32_t ix = x->index[v], iy = y->index[v], iz = z->index[v];
			double c = x->c[ix] * y->c[iy] - x->s[ix] * y->s[iy];
			double s = x->c[ix] * y->s[iy] + x->s[ix] * y->c[iy];

			reference->Qr[v] += m * (c * z->c[iz] - s * z->s[iz]);
			reference->Qi[v] += m * (c * z->s[iz] + s * z->c[iz]);
		}
	}
	reference->max = 0;
	for (size_t v = 0; v < n_voxels; v++)
		reference->max = fmax(reference->max,
				      fmax(fabs(reference->Qr[v]), fabs(reference->Qi[v])));
	for (int a = 0; a < 3; a++)
		axis_finish(&axes[a]);
	for (int a = 0; a < N_ARRAYS; a++)
		free(arrays[a]);
	run->data = reference;
}

void mri_q_verify(struct pb_run *run, const float *Qr, const float *Qi)
{
	const struct mri_q_reference *reference = run->data;
	const double *expected[] = { reference->Qr, reference->Qi };
	const float *got[] = { Qr, Qi };

	for (int part = 0; part < 2; part++) {
		for (size_t v = 0; v < reference->n_voxels; v++) {
			double ref = expected[part][v];

			/* The original's rule. */
			pb_compare(run, got[part][v], ref, fmax(1e-4 * reference->max, 2e-3 * fabs(ref)));
		}
	}
}

const struct pb_bench mri_q_bench = {
	.name = "mri-q",
	.about = "Q matrix of an MRI reconstruction",
	.sizes = size_names,
	.inputs = "samples and voxels",
	.n_inputs = 1,
	.writes = true,
	.generate = generate,
	.prepare = prepare,
	.variants = { [PB_ADSM] = mri_q_adsm, [PB_EXPLICIT] = mri_q_explicit },
};
