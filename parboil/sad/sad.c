/* SPDX-License-Identifier: MIT */
/*
 * sad.c - sums of absolute differences for the motion search of an H.264 encoder: input, reference, output
 * file, verification.
 *
 * The current frame is cut into macroblocks of 16x16 pixels, and each of these into blocks of seven types. For
 * every block and displacement (dx, dy) there is the sum over the block's pixels of |reference(x + dx, y + dy)
 * - current(x, y)|, where coordinates are clamped to the image; the sums of one block are a vector. On the
 * device vectors are ordered by type, then by macroblock, then by block within it, all of these row by row.
 */
#include "sad.h"

#include <stdlib.h>

#include "../common/rng.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the files are little endian");

static const char *const size_names[] = { "small", "medium", "paper", "tiny", "large", NULL };
static const struct { uint16_t width, height; } sizes[] = {
	{ 176, 144 },
	{ 352, 288 },
	{ 176, 144 },
	{ 64, 64 },
	{ 1920, 1072 },
};

/* Type 1, type 2 and so on: size of a block in units of 4 pixels, blocks in a macroblock, and vectors of a
 * macroblock that are of the types before. */
#define N_TYPES 7
static const struct { int width, height, n, first; } types[N_TYPES] = {
	{ 4, 4, 1, 0 },
	{ 4, 2, 2, 1 },
	{ 2, 4, 2, 3 },
	{ 2, 2, 4, 5 },
	{ 2, 1, 8, 9 },
	{ 1, 2, 8, 17 },
	{ 1, 1, 16, 25 },
};

static int clamp(int i, int n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

/* ---- the input files: uint16 width, height, then the pixels, uint16 */

enum { REFERENCE, CURRENT };
#define HEADER_BYTES (2 * sizeof(uint16_t))

static void generate(size_t size, FILE *const *outs)
{
	const int width = sizes[size].width, height = sizes[size].height;
	const size_t n = (size_t)width * height;
	uint16_t *reference = pb_host_alloc(n * sizeof(*reference));
	uint16_t *current = pb_host_alloc(n * sizeof(*current));
	struct pb_rng rng = { 4 };

	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			reference[y * width + x] =
				((7 * x + 13 * y + (x * y >> 3)) & 0xF0) | pb_rng_below(&rng, 16);
	/* Moved by (3, -2), with noise. */
	for (int y = 0; y < height; y++) {
		for (int x = 0; x < width; x++) {
			unsigned pixel = reference[clamp(y - 2, height) * width + clamp(x + 3, width)] +
					 pb_rng_below(&rng, 4);

			current[y * width + x] = pixel < 255 ? pixel : 255;
		}
	}
	fwrite(&sizes[size], HEADER_BYTES, 1, outs[REFERENCE]);
	fwrite(reference, sizeof(*reference), n, outs[REFERENCE]);
	fwrite(&sizes[size], HEADER_BYTES, 1, outs[CURRENT]);
	fwrite(current, sizeof(*current), n, outs[CURRENT]);
	free(reference);
	free(current);
}

/* Read the header and check that the file has the length it promises. */
static FILE *open_image(struct pb_run *run, int which, int *ret_width, int *ret_height)
{
	const char *path = run->inputs[which];
	FILE *in = pb_open(path, "rb");
	uint64_t size = pb_file_size(in, path), end;
	uint16_t header[2];

	if (size < sizeof(header))
		pb_die("%s: ends at byte %llu, inside the header of %zu bytes", path,
		       (unsigned long long)size, sizeof(header));
	pb_read(run, in, path, header, sizeof(header));
	for (int i = 0; i < 2; i++)
		if (!header[i] || header[i] % 16)
			pb_die("%s: byte %d: the %s is %u, but must be a multiple of 16 more than 0", path,
			       2 * i, i ? "height" : "width", header[i]);
	end = sizeof(header) + (uint64_t)header[0] * header[1] * sizeof(uint16_t);
	if (size < end)
		pb_die("%s: ends at byte %llu, inside the pixels (bytes %zu to %llu)", path,
		       (unsigned long long)size, sizeof(header), (unsigned long long)end);
	if (size > end)
		pb_die("%s: the data ends at byte %llu, the file at byte %llu", path,
		       (unsigned long long)end, (unsigned long long)size);
	*ret_width = header[0];
	*ret_height = header[1];
	return in;
}

/* Open both images, read up to their pixels. */
static void open_images(struct pb_run *run, FILE *ret_ins[2], int *ret_width, int *ret_height)
{
	int width, height;

	ret_ins[REFERENCE] = open_image(run, REFERENCE, ret_width, ret_height);
	ret_ins[CURRENT] = open_image(run, CURRENT, &width, &height);
	if (width != *ret_width || height != *ret_height)
		pb_die("%s: byte %d: the image is %dx%d, but the reference image %s is %dx%d",
		       run->inputs[CURRENT], width == *ret_width ? 2 : 0, width, height,
		       run->inputs[REFERENCE], *ret_width, *ret_height);
}

void sad_open(struct sad *ret_sad, struct pb_run *run)
{
	struct sad *sad = ret_sad;
	FILE *ins[2];

	open_images(run, ins, &sad->width, &sad->height);
	sad->in = ins[CURRENT];
	sad->n_macroblocks = (size_t)(sad->width / 16) * (sad->height / 16);
	sad->frame_bytes = (size_t)sad->width * sad->height * sizeof(uint16_t);
	sad->sads_bytes = sad->n_macroblocks * SAD_VECTORS * SAD_VECTOR * sizeof(uint16_t);
	sad->reference = pb_host_alloc(sad->frame_bytes);
	pb_read(run, ins[REFERENCE], run->inputs[REFERENCE], sad->reference, sad->frame_bytes);
	fclose(ins[REFERENCE]);
	sad->d_reference = NULL;
}

void sad_close(struct sad *sad)
{
	fclose(sad->in);
	if (sad->d_reference)
		pb_check(adsmDeviceFree(sad->d_reference));
	free(sad->reference);
}

adsmKernel *sad_search_kernel(struct sad *sad, struct pb_run *run)
{
	if (sad->frame_bytes > ADSM_CONST_MAX) {
		sad->d_reference = pb_device_alloc(sad->frame_bytes);
		pb_check(adsmCopyToDevice(sad->d_reference, sad->reference, sad->frame_bytes));
	}
	return pb_kernel(run, sad->d_reference ? "Search" : "SearchConst");
}

adsmArg sad_search_reference(const struct sad *sad)
{
	return sad->d_reference ? adsmPtr(sad->d_reference) : adsmConst(sad->reference, sad->frame_bytes);
}

/*
 * ---- the output file: uint32 macroblocks in it, uint32 0, then their sums without padding: row by row, macroblock by
 * macroblock, and the vectors of one as above, type by type
 */

/* The rows of macroblocks that the original writes: two at the top, in the middle and at the bottom. */
static bool row_is_written(int row, int n_rows)
{
	return row < 2 || row >= n_rows - 2 || row == n_rows / 2 - 1 || row == n_rows / 2;
}

static void write_macroblock(const struct sad *sad, struct pb_run *run, FILE *out, const uint16_t *sads,
			     size_t macroblock)
{
	for (int t = 0; t < N_TYPES; t++) {
		size_t first = sad->n_macroblocks * types[t].first + macroblock * types[t].n;

		for (int i = 0; i < types[t].n; i++)
			pb_write(run, out, sads + (first + i) * SAD_VECTOR, SAD_POSITIONS * sizeof(*sads));
	}
}

void sad_write(const struct sad *sad, struct pb_run *run, const uint16_t *sads)
{
	const int n_rows = sad->height / 16;
	const size_t row_macroblocks = sad->width / 16;
	uint32_t header[] = { 0, 0 };
	FILE *out = pb_open(run->output, "wb");

	for (int row = 0; row < n_rows; row++)
		header[0] += row_is_written(row, n_rows) ? row_macroblocks : 0;
	pb_write(run, out, header, sizeof(header));
	for (int row = 0; row < n_rows; row++)
		for (size_t i = 0; i < row_macroblocks && row_is_written(row, n_rows); i++)
			write_macroblock(sad, run, out, sads, row * row_macroblocks + i);
	pb_close(out, run->output);
}

/*
 * ---- the reference: straight from the files, macroblock by macroblock and displacement by displacement. A
 * table of the sums over all rectangles at the macroblock's corner gives every block, of any type, by four
 * of its values.
 */

#define WINDOW (16 + 2 * SAD_RANGE)

/* All pixels of an image, in 16 bits with a sign. Closes the file. */
static int16_t *read_pixels(struct pb_run *run, int which, FILE *in, size_t n)
{
	int16_t *pixels = pb_host_alloc(n * sizeof(*pixels));

	pb_read(run, in, run->inputs[which], pixels, n * sizeof(*pixels));
	fclose(in);
	for (size_t i = 0; i < n; i++)
		if ((uint16_t)pixels[i] > 255)
			pb_die("%s: byte %zu: the pixel is %u, but must be at most 255", run->inputs[which],
			       HEADER_BYTES + i * sizeof(*pixels), (uint16_t)pixels[i]);
	return pixels;
}

/* The table for one displacement: ret_table[y][x] is the sum over 4y rows of 4x pixels. */
static void sum_rectangles(unsigned ret_table[5][5], int16_t window[][WINDOW], int dx, int dy,
			   int16_t current[16][16])
{
	for (int x = 0; x < 5; x++)
		ret_table[0][x] = 0;
	for (int y = 0; y < 4; y++) {
		int16_t columns[16] = { 0 };
		unsigned sum = 0;

		for (int i = 4 * y; i < 4 * y + 4; i++)
			for (int x = 0; x < 16; x++)
				columns[x] += abs(window[i + dy][x + dx] - current[i][x]);
		ret_table[y + 1][0] = 0;
		for (int x = 0; x < 4; x++) {
			for (int i = 4 * x; i < 4 * x + 4; i++)
				sum += columns[i];
			ret_table[y + 1][x + 1] = ret_table[y][x + 1] + sum;
		}
	}
}

static void prepare(struct pb_run *run)
{
	struct sad_reference *reference;
	size_t n_pixels, n_macroblocks;
	int16_t *images[2];
	int width, height;
	FILE *ins[2];

	open_images(run, ins, &width, &height);
	n_pixels = (size_t)width * height;
	n_macroblocks = n_pixels / 256;
	for (int i = REFERENCE; i <= CURRENT; i++)
		images[i] = read_pixels(run, i, ins[i], n_pixels);
	reference = pb_host_alloc(sizeof(*reference) + n_macroblocks * SAD_VECTORS * SAD_POSITIONS *
				  sizeof(*reference->sads));
	reference->n_macroblocks = n_macroblocks;

	for (size_t m = 0; m < n_macroblocks; m++) {
		const int left = m % (width / 16) * 16, top = m / (width / 16) * 16;
		int16_t window[WINDOW][WINDOW], current[16][16];

		for (int y = 0; y < WINDOW; y++)
			for (int x = 0; x < WINDOW; x++)
				window[y][x] = images[REFERENCE][
					(size_t)clamp(top + y - SAD_RANGE, height) * width +
					clamp(left + x - SAD_RANGE, width)];
		for (int y = 0; y < 16; y++)
			for (int x = 0; x < 16; x++)
				current[y][x] = images[CURRENT][(size_t)(top + y) * width + left + x];
		for (int p = 0; p < SAD_POSITIONS; p++) {
			unsigned table[5][5];

			sum_rectangles(table, window, p % SAD_SIDE, p / SAD_SIDE, current);
			for (int t = 0; t < N_TYPES; t++) {
				const int w = types[t].width, h = types[t].height;
				uint16_t *sads = reference->sads + SAD_POSITIONS *
						 (types[t].first * n_macroblocks + types[t].n * m) + p;

				for (int y = 0; y < 4; y += h)
					for (int x = 0; x < 4; x += w, sads += SAD_POSITIONS)
						*sads = table[y + h][x + w] - table[y][x + w] -
							table[y + h][x] + table[y][x];
			}
		}
	}
	free(images[REFERENCE]);
	free(images[CURRENT]);
	run->data = reference;
}

void sad_verify(struct pb_run *run, const uint16_t *sads)
{
	const struct sad_reference *reference = run->data;
	const uint16_t *expected = reference->sads;

	for (size_t v = 0; v < reference->n_macroblocks * SAD_VECTORS; v++)
		for (int p = 0; p < SAD_POSITIONS; p++)
			pb_compare(run, sads[v * SAD_VECTOR + p], expected[v * SAD_POSITIONS + p], 0);
}

const struct pb_bench sad_bench = {
	.name = "sad",
	.about = "sums of absolute differences of a motion search",
	.sizes = size_names,
	.inputs = "reference image and current frame",
	.n_inputs = 2,
	.writes = true,
	.generate = generate,
	.prepare = prepare,
	.variants = { [PB_ADSM] = sad_adsm, [PB_EXPLICIT] = sad_explicit, PB_CUDA_RIVALS(sad) },
};
