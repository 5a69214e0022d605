/* SPDX-License-Identifier: MIT */
/* wordcount.c - counts the lines, words and bytes of a file, as wc does. The file is mapped into memory. */
#include <adsm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 4096 };			/* bytes; as in kernels.c */

struct counts {
	int lines, words;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "wordcount: %s: %s\n", what, why);
	exit(1);
}

/* Map a file into memory. The mapping is ordinary memory, which no kernel can use. NULL: the file is empty. */
static const char *map_file(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	const char *p = NULL;

	if (fd < 0 || fstat(fd, &status))
		fail(path, strerror(errno));
	*ret_size = (size_t)status.st_size;
	if (*ret_size)
		p = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		fail(path, strerror(errno));
	close(fd);
	return p;
}

/* Count on the device. */
static void count(const char *mapped, size_t size, long *ret_lines, long *ret_words)
{
	const int n = (int)((size + PIECE - 1) / PIECE);
	adsmModule *module = adsmModuleLoad("kernels.adsm");
	adsmKernel *kernel = module ? adsmKernelGet(module, "count") : NULL;
	char *text = adsmAlloc(size);
	struct counts *counts = adsmAlloc((size_t)n * sizeof(*counts));

	if (!kernel || !text || !counts || adsmMemcpy(text, mapped, size) ||
	    adsmCall(kernel, adsmDim3((unsigned)(n + 63) / 64, 1, 1), adsmDim3(64, 1, 1), adsmIn(text), adsmOut(counts),
		     adsmVal((long)size), adsmVal(n)) || adsmSync())
		fail("count", adsmLastError());
	for (int i = 0; i < n; i++) {
		*ret_lines += counts[i].lines;
		*ret_words += counts[i].words;
	}
	adsmFree(text);
	adsmFree(counts);
	adsmModuleUnload(module);
}

int main(int argc, char **argv)
{
	long lines = 0, words = 0;
	const char *mapped;
	size_t size;

	if (argc != 2)
		fail("usage", "wordcount FILE");
	mapped = map_file(argv[1], &size);
	if (size)
		count(mapped, size, &lines, &words);
	printf("%ld %ld %zu %s\n", lines, words, size, argv[1]);
	return 0;
}
