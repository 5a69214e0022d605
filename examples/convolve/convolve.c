/* SPDX-License-Identifier: MIT */
/* convolve.c - applies a filter to a PNG file. libpng reads and writes the pixels in shared memory. */
#include <adsm.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct filter {
	const char *name;
	int divisor, weights[9];
} filters[] = {
	{ "blur", 16, { 1, 2, 1, 2, 4, 2, 1, 2, 1 } },
	{ "sharpen", 1, { 0, -1, 0, -1, 5, -1, 0, -1, 0 } },
	{ "edges", 1, { -1, -1, -1, -1, 8, -1, -1, -1, -1 } },
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "convolve: %s: %s\n", what, why);
	exit(1);
}

static const struct filter *find_filter(const char *name)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		if (!strcmp(filters[i].name, name))
			return &filters[i];
	fail(name, "no such filter: blur, sharpen and edges are possible");
	return NULL;
}

static unsigned char *shared(size_t size)
{
	unsigned char *p = adsmAlloc(size);

	if (!p)
		fail("adsmAlloc", adsmLastError());
	return p;
}

/* The pixels of a file, in shared memory. */
static unsigned char *read_png(const char *path, int *ret_width, int *ret_height)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	unsigned char *pixels;

	if (!png_image_begin_read_from_file(&image, path))
		fail(path, image.message);
	image.format = PNG_FORMAT_RGBA;
	pixels = shared(PNG_IMAGE_SIZE(image));
	if (!png_image_finish_read(&image, NULL, pixels, 0, NULL))
		fail(path, image.message);
	*ret_width = (int)image.width;
	*ret_height = (int)image.height;
	return pixels;
}

static void write_png(const char *path, const unsigned char *pixels, int width, int height)
{
	png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGBA };

	image.width = (png_uint_32)width;
	image.height = (png_uint_32)height;
	if (!png_image_write_to_file(&image, path, 0, pixels, 0, NULL))
		fail(path, image.message);
}

int main(int argc, char **argv)
{
	const struct filter *filter;
	unsigned char *in, *out;
	adsmKernel *convolve;
	int width, height;

	if (argc != 4)
		fail("usage", "convolve FILTER IN.png OUT.png");
	filter = find_filter(argv[1]);
	convolve = adsmKernelGet(adsmModuleLoad("kernels.adsm"), "convolve");
	if (!convolve)
		fail("kernels.adsm", adsmLastError());
	in = read_png(argv[2], &width, &height);
	out = shared((size_t)width * (size_t)height * 4);
	if (adsmCall(convolve, adsmDim3((unsigned)(width + 15) / 16, (unsigned)(height + 15) / 16, 1),
		     adsmDim3(16, 16, 1), adsmIn(in), adsmOut(out),
		     adsmConst(filter->weights, sizeof(filter->weights)), adsmVal(filter->divisor), adsmVal(width),
		     adsmVal(height)) || adsmSync())
		fail("convolve", adsmLastError());
	write_png(argv[3], out, width, height);
	adsmFree(in);
	adsmFree(out);
	return 0;
}
