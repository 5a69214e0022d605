/* SPDX-License-Identifier: MIT */
/*
 * nvrtc_real.c - kernel modules through the toolkit's own compilers, which need no device: what the modules carry
 * compiles, for old devices and new ones, and has all of their kernels.
 *
 *	nvrtc MODULE...		by the library's own way to NVRTC
 *	nvcc MODULE...		the same text, by nvcc
 *	ptx ADSMCC MODULE...	adsmcc --ptx
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adsm.h"
#include "cuda/nvrtc.h"
#include "base/log.h"
#include "base/module.h"
#include "start/options.h"
#include "cuda/options.h"

#define DIALECT "--std=c++20 --fmad=false"	/* as modules are compiled */

#define CHECK_MORE adsm_last_error()
#include "../check.h"

extern char **environ;

static const char *what = "";		/* is being looked at */
static posix_spawn_file_actions_t quiet;	/* programs say nothing */
static char folder[] = "/tmp/adsm-nvrtc-XXXXXX";

static char *read_whole(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	char *bytes;

	CHECK(file && !fstat(fileno(file), &status));
	bytes = malloc((size_t)status.st_size + 1);
	CHECK(bytes && fread(bytes, 1, (size_t)status.st_size, file) == (size_t)status.st_size);
	bytes[status.st_size] = '\0';
	*ret_size = (size_t)status.st_size;
	fclose(file);
	return bytes;
}

static void write_whole(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static struct adsm_module_info *load(const char *path)
{
	struct adsm_module_info *info;
	size_t size;
	char *bytes;

	what = path;
	bytes = read_whole(path, &size);
	CHECK(!adsm_module_info_create(bytes, size, &info));
	free(bytes);
	CHECK(*info->text);
	return info;
}

/* PTX for this architecture, with all of the module's kernels. */
static void check_ptx(const struct adsm_module_info *info, const char *ptx, int architecture)
{
	char line[128];

	CHECK(adsm_module_is_ptx(ptx, strlen(ptx)));
	snprintf(line, sizeof(line), ".target sm_%d", architecture);
	CHECK(strstr(ptx, line));
	for (size_t i = 0; i < info->n_kernels; i++) {
		snprintf(line, sizeof(line), ".entry %s(", info->kernels[i].name);
		if (!strstr(ptx, line)) {
			fprintf(stderr, "%s: no kernel '%s' in its PTX\n", what, info->kernels[i].name);
			exit(1);
		}
	}
}

/* ---- NVRTC */

static void check_nvrtc(const char *path)
{
	static const int architectures[] = { 75, 90 };
	struct adsm_module_info *info = load(path);
	char options[64], *image;
	size_t size;

	for (size_t i = 0; i < 2; i++) {
		snprintf(options, sizeof(options), DIALECT " --gpu-architecture=compute_%d", architectures[i]);
		CHECK(!adsm_cuda_compile(info->text, options, 0, &image, &size));
		CHECK(strlen(image) == size - 1);
		check_ptx(info, image, architectures[i]);
		free(image);
	}
	/* As devices are served: a cubin for one that the compiler knows, PTX of the one before for another. */
	CHECK(!adsm_cuda_compile(info->text, DIALECT, 90, &image, &size));
	CHECK(adsm_module_is_cuda(image, size) && !adsm_module_is_cuda(image, size / 2));
	free(image);
	CHECK(!adsm_cuda_compile(info->text, DIALECT, 91, &image, &size));
	check_ptx(info, image, 90);
	free(image);
	adsm_module_info_destroy(info);
}

/* Numbers are those of other compilers: nothing is contracted. */
static void check_numbers(void)
{
	static const char text[] = "extern \"C\" __global__ void k(float *p) { *p = p[1] * p[2] + p[3]; }";
	char *image;
	size_t size;

	what = "numbers";
	for (int contracts = 0; contracts <= 1; contracts++) {
		CHECK(!adsm_cuda_compile(text, contracts ? "" : DIALECT, 91, &image, &size));
		CHECK((strstr(image, "fma.rn") != NULL) == contracts);
		free(image);
	}
}

static void check_refusals(void)
{
	char *image = NULL;
	size_t size;

	what = "refusals";
	CHECK(adsm_cuda_compile("__global__ void k(int *p) { *p = missing; }", "", 90, &image, &size) == -ENOEXEC);
	CHECK(strstr(adsm_last_error(), "missing"));
	CHECK(adsm_cuda_compile("__global__ void k(int *p) { }", "--no-such-option", 90, &image, &size) == -ENOEXEC);
	CHECK(adsm_cuda_compile("__global__ void k(int *p) { }", "", 10, &image, &size) == -ENOEXEC);
	CHECK(strstr(adsm_last_error(), "1.0"));
	CHECK(!image);
	adsm_cuda_options.compiler = "off";
	CHECK(adsm_cuda_compile("__global__ void k(int *p) { }", "", 90, &image, &size) == -ENOTSUP);
	CHECK(strstr(adsm_last_error(), "ADSM_CUDA_COMPILER"));
	adsm_cuda_options.compiler = "";
}

/* ---- programs */

/* Its exit status; 127: it cannot be run. */
static int run(const char *const *argv)
{
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, argv[0], &quiet, NULL, (char *const *)(uintptr_t)argv, environ))
		return 127;
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static const char *find_nvcc(void)
{
	static const char *const places[] = { "nvcc", "/usr/local/cuda/bin/nvcc" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!run((const char *const[]){ places[i], "--list-gpu-arch", NULL }))
			return places[i];
	return NULL;
}

static void check_nvcc(const char *nvcc, const char *path)
{
	struct adsm_module_info *info = load(path);
	char text[64], output[64], *ptx;
	size_t size;

	snprintf(text, sizeof(text), "%s/text.cu", folder);
	snprintf(output, sizeof(output), "%s/text.ptx", folder);
	write_whole(text, info->text);
	CHECK(!run((const char *const[]){ nvcc, "-x", "cu", "--ptx", "--fmad=false", "-arch=compute_75", "-o", output,
					  text, NULL }));
	ptx = read_whole(output, &size);
	check_ptx(info, ptx, 75);
	free(ptx);
	unlink(text);
	unlink(output);
	adsm_module_info_destroy(info);
}

/* What adsmcc embeds is as good, and the rest of the module is there too. */
static void check_embedded(const char *adsmcc, const char *source)
{
	struct adsm_module_info *info;
	char output[64];

	what = source;
	snprintf(output, sizeof(output), "%s/module.adsm", folder);
	CHECK(!run((const char *const[]){ adsmcc, "-o", output, source, NULL }));
	info = load(output);
	CHECK(!*info->ptx);
	adsm_module_info_destroy(info);
	CHECK(!run((const char *const[]){ adsmcc, "--ptx", "-o", output, source, NULL }));
	info = load(output);
	check_ptx(info, info->ptx, 75);
	adsm_module_info_destroy(info);
	CHECK(!run((const char *const[]){ adsmcc, "--ptx=compute_90", "-o", output, source, NULL }));
	info = load(output);
	check_ptx(info, info->ptx, 90);
	adsm_module_info_destroy(info);
	CHECK(!unlink(output));
	/* Without a compiler, and with one that fails: no module. */
	CHECK(run((const char *const[]){ adsmcc, "--ptx", "--nvcc", "/no/nvcc", "-o", output, source, NULL }) == 1);
	CHECK(run((const char *const[]){ adsmcc, "--ptx=compute_1", "-o", output, source, NULL }) == 1);
	CHECK(access(output, F_OK));
}

static void skip(const char *why)
{
	rmdir(folder);
	printf("%s\n", why);
	exit(77);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *nvcc;
	char *image;
	size_t size;

	CHECK(argc > 2 && mkdtemp(folder) && !adsm_options_load());
	adsm_cuda_options.cache = "off";
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	adsm_cuda_options.compiler = "";
	if (!strcmp(mode, "nvrtc")) {
		int ret = adsm_cuda_compile("__global__ void nothing() { }", "", 90, &image, &size);

		if (ret == -ENOTSUP)
			skip(adsm_last_error());
		what = "nothing";
		CHECK(!ret);
		free(image);
		for (int i = 2; i < argc; i++)
			check_nvrtc(argv[i]);
		check_numbers();
		check_refusals();
	} else {
		nvcc = find_nvcc();
		if (!nvcc)
			skip("no nvcc, which is a part of the CUDA toolkit");
		for (int i = mode[0] == 'p' ? 3 : 2; i < argc; i++)
			if (mode[0] == 'p')
				check_embedded(argv[2], argv[i]);
			else
				check_nvcc(nvcc, argv[i]);
	}
	rmdir(folder);
	return 0;
}
