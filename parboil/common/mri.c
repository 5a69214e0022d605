/* SPDX-License-Identifier: MIT */
/* mri.c - what mri-q and mri-fhd share: the input file, the reference, the original's rule of comparison. */
#include "mri.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the files are little endian");

/* ---- the input file */

static const char *const array_names[] = {
	"kx", "ky", "kz", "x", "y", "z", "phiR", "phiI", "dR", "dI",
};

static size_t bytes_of(enum mri_array array, size_t n_samples, size_t n_voxels)
{
	return (array >= MRI_X && array <= MRI_Z ? n_voxels : n_samples) * sizeof(float);
}

void mri_generate(FILE *out, int n_arrays, int32_t n, int32_t n_voxels, int32_t n_samples)
{
	const int32_t header[] = { n_samples, n_voxels };
	struct pb_rng rng = { 2 };
	float *arrays[MRI_N_ARRAYS];

	for (int a = 0; a < MRI_N_ARRAYS; a++)
		arrays[a] = pb_host_alloc(bytes_of(a, n_samples, n_voxels));
	/* One order of draws for both benchmarks, also where one of them has no use for d. */
	for (int32_t k = 0; k < n_samples; k++) {
		for (int a = MRI_KX; a <= MRI_KZ; a++)
			arrays[a][k] = 20.0f * (pb_rng_float(&rng) - 0.5f);
		arrays[MRI_PHI_R][k] = 0.3125f + 0.0625f * pb_rng_float(&rng);
		arrays[MRI_PHI_I][k] = 0.40625f + 0.0625f * pb_rng_float(&rng);
		arrays[MRI_D_R][k] = pb_rng_float(&rng) - 0.5f;
		arrays[MRI_D_I][k] = pb_rng_float(&rng) - 0.5f;
	}
	for (int32_t v = 0; v < n_voxels; v++) {
		arrays[MRI_X][v] = (float)(v % n) / (float)n - 0.5f;
		arrays[MRI_Y][v] = (float)(v / n % n) / (float)n - 0.5f;
		arrays[MRI_Z][v] = (float)(v / n / n) / (float)n - 0.5f;
	}
	fwrite(header, sizeof(header), 1, out);
	for (int a = 0; a < n_arrays; a++)
		fwrite(arrays[a], bytes_of(a, n_samples, n_voxels), 1, out);
	for (int a = 0; a < MRI_N_ARRAYS; a++)
		free(arrays[a]);
}

/* Read the header and check that the file has the length it promises. */
static FILE *open_file(struct pb_run *run, int n_arrays, size_t *ret_n_samples, size_t *ret_n_voxels)
{
	const char *path = run->inputs[0];
	FILE *file = pb_open(path, "rb");
	int32_t header[2];
	uint64_t size = pb_file_size(file, path), end = sizeof(header);

	if (size < sizeof(header))
		pb_die("%s: ends at byte %llu, inside the header of %zu bytes", path,
		       (unsigned long long)size, sizeof(header));
	pb_read(run, file, path, header, sizeof(header));
	if (header[0] <= 0)
		pb_die("%s: byte 0: K is %d, but must be more than 0", path, header[0]);
	if (header[1] <= 0 || header[1] % MRI_THREADS)
		pb_die("%s: byte 4: X is %d, but must be a multiple of %u more than 0", path, header[1],
		       MRI_THREADS);
	for (int a = 0; a < n_arrays; a++) {
		uint64_t start = end;

		end += bytes_of(a, header[0], header[1]);
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
	return file;
}

void mri_open(struct mri_input *ret_in, struct pb_run *run, int n_arrays)
{
	struct mri_input *in = ret_in;
	size_t bytes;

	in->file = open_file(run, n_arrays, &in->n_samples, &in->n_voxels);
	bytes = in->n_samples * sizeof(float);
	in->kx = pb_host_alloc(bytes);
	in->ky = pb_host_alloc(bytes);
	in->kz = pb_host_alloc(bytes);
	pb_read(run, in->file, run->inputs[0], in->kx, bytes);
	pb_read(run, in->file, run->inputs[0], in->ky, bytes);
	pb_read(run, in->file, run->inputs[0], in->kz, bytes);
}

void mri_close(struct mri_input *in)
{
	fclose(in->file);
	free(in->kx);
	free(in->ky);
	free(in->kz);
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

/* The next array of the file. */
static void read_array(struct pb_run *run, FILE *file, enum mri_array array, float *values, size_t bytes)
{
	pb_read(run, file, run->inputs[0], values, bytes);
	for (size_t i = 0; i < bytes / sizeof(*values); i++)
		if (!isfinite(values[i]))
			pb_die("%s: byte %llu: this value of %s is %g, but must be finite", run->inputs[0],
			       (unsigned long long)ftell(file) - bytes + i * sizeof(*values), array_names[array],
			       values[i]);
}

void mri_prepare(struct pb_run *run, int n_arrays, mri_weigh *weigh)
{
	struct mri_reference *reference;
	float *arrays[MRI_N_ARRAYS];
	struct axis axes[3];
	const struct axis *x = &axes[0], *y = &axes[1], *z = &axes[2];
	size_t n_samples, n_voxels;
	FILE *file = open_file(run, n_arrays, &n_samples, &n_voxels);

	for (int a = 0; a < n_arrays; a++) {
		arrays[a] = pb_host_alloc(bytes_of(a, n_samples, n_voxels));
		read_array(run, file, a, arrays[a], bytes_of(a, n_samples, n_voxels));
	}
	fclose(file);
	for (int a = 0; a < 3; a++)
		axis_init(&axes[a], arrays[MRI_X + a], n_voxels);
	reference = pb_host_alloc(sizeof(*reference) + 2 * n_voxels * sizeof(double));
	reference->n_voxels = n_voxels;
	reference->re = (double *)(reference + 1);
	reference->im = reference->re + n_voxels;
	for (size_t v = 0; v < n_voxels; v++)
		reference->re[v] = reference->im[v] = 0;
	for (size_t k = 0; k < n_samples; k++) {
		double w_re, w_im;

		weigh(arrays, k, &w_re, &w_im);
		for (int a = 0; a < 3; a++)
			for (size_t i = 0; i < axes[a].n; i++)
				sincos(2 * M_PI * arrays[MRI_KX + a][k] * axes[a].values[i],
				       &axes[a].s[i], &axes[a].c[i]);
		for (size_t v = 0; v < n_voxels; v++) {
			uint32_t ix = x->index[v], iy = y->index[v], iz = z->index[v];
			double c_xy = x->c[ix] * y->c[iy] - x->s[ix] * y->s[iy];
			double s_xy = x->c[ix] * y->s[iy] + x->s[ix] * y->c[iy];
			double c = c_xy * z->c[iz] - s_xy * z->s[iz];
			double s = c_xy * z->s[iz] + s_xy * z->c[iz];

			reference->re[v] += w_re * c - w_im * s;
			reference->im[v] += w_im * c + w_re * s;
		}
	}
	reference->max = 0;
	for (size_t v = 0; v < n_voxels; v++)
		reference->max = fmax(reference->max,
				      fmax(fabs(reference->re[v]), fabs(reference->im[v])));
	for (int a = 0; a < 3; a++)
		axis_finish(&axes[a]);
	for (int a = 0; a < n_arrays; a++)
		free(arrays[a]);
	run->data = reference;
}

void mri_verify(struct pb_run *run, const float *re, const float *im)
{
	const struct mri_reference *reference = run->data;
	const double *expected[] = { reference->re, reference->im };
	const float *got[] = { re, im };

	for (int part = 0; part < 2; part++) {
		for (size_t v = 0; v < reference->n_voxels; v++) {
			double ref = expected[part][v];

			pb_compare(run, got[part][v], ref, fmax(1e-4 * reference->max, 2e-3 * fabs(ref)));
		}
	}
}

/* ---- the run of CUDA-For-Clusters */

static void make_records(const struct mri_cfc *cfc, float *const *arrays, size_t n, float *ret_records)
{
	float *record = ret_records;

	for (size_t k = 0; k < n; k++) {
		double weights[2];

		cfc->weigh(arrays, k, &weights[0], &weights[1]);
		for (int a = MRI_KX; a <= MRI_KZ; a++)
			*record++ = arrays[a][k];
		for (int i = 0; i < cfc->n_weights; i++)
			*record++ = (float)weights[i];
	}
}

static void write_output(struct pb_run *run, size_t n_voxels, const float *re, const float *im)
{
	FILE *out = pb_open(run->output, "wb");
	uint32_t n = (uint32_t)n_voxels;

	pb_write(run, out, &n, sizeof(n));
	pb_write(run, out, re, n_voxels * sizeof(*re));
	pb_write(run, out, im, n_voxels * sizeof(*im));
	pb_close(out, run->output);
}

void mri_cfc(struct pb_run *run, const struct mri_cfc *cfc)
{
	const size_t width = 3 + (size_t)cfc->n_weights;
	adsmKernel *kernel = pb_kernel(run, cfc->kernel);
	adsmDim grid, block = { .x = MRI_THREADS };
	float *arrays[MRI_N_ARRAYS], *records, *re, *im;
	size_t n_samples, n_voxels;
	FILE *file = open_file(run, cfc->n_arrays, &n_samples, &n_voxels);

	for (int a = 0; a < cfc->n_arrays; a++) {
		size_t bytes = bytes_of(a, n_samples, n_voxels);

		arrays[a] = a >= MRI_X && a <= MRI_Z ? pb_shared_alloc(bytes) : pb_host_alloc(bytes);
		pb_read(run, file, run->inputs[0], arrays[a], bytes);
	}
	fclose(file);
	re = pb_shared_alloc(n_voxels * sizeof(*re));
	im = pb_shared_alloc(n_voxels * sizeof(*im));
	records = pb_shared_alloc((n_samples > cfc->room ? n_samples : cfc->room) * width * sizeof(*records));

	make_records(cfc, arrays, n_samples, records);
	memset(re, 0, n_voxels * sizeof(*re));
	memset(im, 0, n_voxels * sizeof(*im));
	grid = (adsmDim){ .x = n_voxels / block.x };
	for (size_t k = 0; k < n_samples; k += cfc->tile) {
		size_t n = n_samples - k < cfc->tile ? n_samples - k : cfc->tile;

		pb_check(adsmCall(kernel, grid, block,
				  adsmConst(records + k * width, n * width * sizeof(*records)), adsmVal((int)n),
				  adsmPtr(arrays[MRI_X]), adsmPtr(arrays[MRI_Y]), adsmPtr(arrays[MRI_Z]),
				  adsmPtr(re), adsmPtr(im)));
		pb_check(adsmSync());
	}

	write_output(run, n_voxels, re, im);
	pb_stop(run);
	mri_verify(run, re, im);
	pb_check(adsmFree(re));
	pb_check(adsmFree(im));
	pb_check(adsmFree(records));
	for (int a = 0; a < cfc->n_arrays; a++)
		if (a >= MRI_X && a <= MRI_Z)
			pb_check(adsmFree(arrays[a]));
		else
			free(arrays[a]);
}
