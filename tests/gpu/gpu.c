/* SPDX-License-Identifier: MIT */
/* gpu.c - the driver, a context and kernels, for the programs of this folder. */
#include "gpu.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct adsm_cu adsm_cu;
CUdevice gpu_device;
CUcontext gpu_context;
CUmodule gpu_module;
CUfunction gpu_increment, gpu_late, gpu_crash, gpu_thirty;

static void *driver;

#define FOUR(type, name) type name "0" type name "1" type name "2" type name "3"

/* PTX of long ago, which every driver takes. */
static const char ptx[] =
	".version 6.4\n.target sm_70\n.address_size 64\n"
	/* words[i]++ */
	".visible .entry increment(.param .u64 words, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %out;\n	.reg .b32 %r<6>;\n	.reg .b64 %a<3>;\n"
	"	ld.param.u64 %a1, [words];\n	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %ntid.x;\n	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n	setp.ge.u32 %out, %r5, %r1;\n	@%out ret;\n"
	"	mul.wide.u32 %a2, %r5, 4;\n	add.s64 %a1, %a1, %a2;\n"
	"	ld.global.u32 %r4, [%a1];\n	add.u32 %r4, %r4, 1;\n	st.global.u32 [%a1], %r4;\n	ret;\n"
	"}\n"
	/* words[0]++ when ns nanoseconds are over */
	".visible .entry late(.param .u64 words, .param .u64 ns)\n"
	"{\n"
	"	.reg .pred %more;\n	.reg .b32 %r<2>;\n	.reg .b64 %a<5>;\n"
	"	ld.param.u64 %a1, [words];\n	ld.param.u64 %a2, [ns];\n	mov.u64 %a3, %globaltimer;\n"
	"	add.u64 %a3, %a3, %a2;\n"
	"again:\n"
	"	mov.u64 %a4, %globaltimer;\n	setp.lt.u64 %more, %a4, %a3;\n	@%more bra again;\n"
	"	ld.global.u32 %r1, [%a1];\n	add.u32 %r1, %r1, 1;\n	st.global.u32 [%a1], %r1;\n	ret;\n"
	"}\n"
	".visible .entry crash(.param .u64 words)\n"
	"{\n"
	"	.reg .b64 %a<2>;\n"
	"	mov.u64 %a1, 8;\n	st.global.u32 [%a1], 1;\n	ret;\n"
	"}\n"
	/* words[i] += g3 */
	".visible .entry thirty(.param .u64 words, .param .u32 n"
	FOUR(", .param .u32 ", "a") FOUR(", .param .u32 ", "b") FOUR(", .param .u32 ", "c")
	FOUR(", .param .u32 ", "d") FOUR(", .param .u32 ", "e") FOUR(", .param .u32 ", "f")
	FOUR(", .param .u32 ", "g") ")\n"
	"{\n"
	"	.reg .pred %out;\n	.reg .b32 %r<7>;\n	.reg .b64 %a<3>;\n"
	"	ld.param.u64 %a1, [words];\n	ld.param.u32 %r1, [n];\n	ld.param.u32 %r6, [g3];\n"
	"	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %ntid.x;\n	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n	setp.ge.u32 %out, %r5, %r1;\n	@%out ret;\n"
	"	mul.wide.u32 %a2, %r5, 4;\n	add.s64 %a1, %a1, %a2;\n"
	"	ld.global.u32 %r4, [%a1];\n	add.u32 %r4, %r4, %r6;\n	st.global.u32 [%a1], %r4;\n	ret;\n"
	"}\n";

void gpu_open(const char *library)
{
	driver = dlopen(library ? library : "libcuda.so.1", RTLD_NOW);
	if (!driver) {
		printf("no driver: %s\n", dlerror());
		exit(77);
	}
#define LOOK_UP(function, params) *(void **)&adsm_cu.function = dlsym(driver, #function);
	ADSM_CU_FUNCTIONS(LOOK_UP, LOOK_UP)
	/* What ends by a signal was written. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!adsm_cu.cuInit || adsm_cu.cuInit(0) || adsm_cu.cuDeviceGet(&gpu_device, 0)) {
		printf("no device\n");
		exit(77);
	}
}

void *gpu_function(const char *name)
{
	return dlsym(driver, name);
}

/* A whole file; NULL where there is none. */
static char *file_of(const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	char *bytes = NULL;
	long size;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) > 0) {
		rewind(file);
		bytes = malloc((size_t)size);
		if (bytes && fread(bytes, (size_t)size, 1, file) != 1) {
			free(bytes);
			bytes = NULL;
		}
	}
	fclose(file);
	return bytes;
}

const void *gpu_image(void)
{
	static const char *native;
	CUmodule module;

	if (!adsm_cu.cuModuleLoadDataEx(&module, ptx, 0, NULL, NULL)) {
		adsm_cu.cuModuleUnload(module);
		return ptx;
	}
	if (!native)
		native = file_of(getenv("GPU_KERNELS"));
	return native;
}

void gpu_start(void)
{
	static const struct { CUfunction *function; const char *name; } kernels[] = {
		{ &gpu_increment, "increment" }, { &gpu_late, "late" }, { &gpu_crash, "crash" },
		{ &gpu_thirty, "thirty" },
	};
	const void *image;

	gpu_must(adsm_cu.cuDevicePrimaryCtxRetain(&gpu_context, gpu_device), "cuDevicePrimaryCtxRetain");
	gpu_must(adsm_cu.cuCtxPushCurrent_v2(gpu_context), "cuCtxPushCurrent");
	image = gpu_image();
	if (!image || adsm_cu.cuModuleLoadDataEx(&gpu_module, image, 0, NULL, NULL)) {
		gpu_module = NULL;
		return;
	}
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		gpu_must(adsm_cu.cuModuleGetFunction(kernels[i].function, gpu_module, kernels[i].name),
			 kernels[i].name);
}

double gpu_now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

const char *gpu_error(CUresult error)
{
	const char *text = "an unknown error";

	if (!error)
		return "works";
	adsm_cu.cuGetErrorName(error, &text);
	return text;
}

void gpu_must(CUresult error, const char *what)
{
	if (!error)
		return;
	printf("- %s: %s; the experiment ends here\n", what, gpu_error(error));
	exit(1);
}

void gpu_answer(const char *question, bool yes, const char *format, ...)
{
	va_list args;

	printf("- **%s** %s: ", question, yes ? "yes" : "NO");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

CUresult gpu_launch(CUfunction kernel, CUdeviceptr words, unsigned long value, CUstream stream)
{
	return adsm_cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){ &words, &value }, NULL);
}
