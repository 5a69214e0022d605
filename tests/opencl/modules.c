/* SPDX-License-Identifier: MIT */
/*
 * modules.c - modules in the device's own languages, what is known of their kernels, and the cache of compiled ones.
 * TEST_SHIM: the ICD loader that fails by a plan.
 */
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>

#include "raw.h"

#include <adsm_opencl.h>

static const char scale_source[] =
	"__kernel void scale(__global const uint *in, __global uint *out, uint n)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"\n"
	"	if (i < n)\n"
	"		out[i] = SCALE * in[i];\n"
	"}\n";

#define LANGUAGE ""
#define SCALE_TEXT scale_source
#define CACHE_OPTION "opencl_cache"
#define NO_COMPILER "fail=clCreateProgramWithSource:-3"
#define NO_BINARIES "fail=clCreateProgramWithBinary:-42"

static void set_plan(const char *words);

#include "scale.h"

static void set_plan(const char *words)
{
	const char *shim = getenv("TEST_SHIM");

	CHECK(shim);
	setenv("TEST_OPENCL", words, 1);
	set("opencl_library", shim);
}

/* Every case begins with it: adsmInit(), or skip. */
static struct raw start(void)
{
	struct raw raw;

	raw_take(&raw);
	return raw;
}

/* ---- what an image is */

static void source(void)
{
	adsmModule *three, *five;

	start();
	three = load(scale_source, "-DSCALE=3");
	five = load(scale_source, "-DSCALE=5");
	check_scale(three, 3);
	check_scale(five, 5);
	CHECK_NULL(adsmKernelGet(three, "scales"), ENOENT);
	CHECK_SAYS("scale");
	CHECK_OK(adsmModuleUnload(five));
	stop(three);
}

/* The compiler's messages are reported, whatever their length. */
static void build_failure(void)
{
	static const char broken[] = "__kernel void broken(__global int *p)\n{\n%s\tp[0] = the_last_one;\n}\n";
	static const char bad_line[] = "\tp[0] = missing_and_rather_long_to_make_the_text_longer;\n";
	char many[1024] = "", text[2048];

	start();
	for (int i = 0; i < 10; i++)
		strcat(many, bad_line);
	snprintf(text, sizeof(text), broken, many);
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, text, strlen(text), NULL), ENOEXEC);
	CHECK_SAYS("the_last_one");
	CHECK(strstr(adsmLastError(), "the_last_one") - adsmLastError() > 512);
	/* And the next failure's sentence is its own. */
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, scale_source, strlen(scale_source), NULL), ENOEXEC);
	CHECK_SAYS("SCALE");
	CHECK(!strstr(adsmLastError(), "the_last_one"));
	CHECK_OK(adsmShutdown());
}

static void refused(void)
{
	adsmModuleOptions options = ADSM_MODULE_OPTIONS_INIT;

	start();
	options.kind = ADSM_MODULE_BINARY + 1;
	CHECK_NULL(adsmModuleLoadWith("x", 1, &options), EINVAL);
	options = (adsmModuleOptions){ 1, 0, 0, NULL };
	CHECK_NULL(adsmModuleLoadWith("x", 1, &options), EINVAL);
	CHECK_SAYS("struct_size");
	options = (adsmModuleOptions)ADSM_MODULE_OPTIONS_INIT;
	options.device = 7;
	CHECK_NULL(adsmModuleLoadWith("x", 1, &options), EINVAL);
	CHECK_NULL(adsmModuleLoadWith(NULL, 1, NULL), EINVAL);
	CHECK_NULL(load_as(ADSM_MODULE_BINARY, "no binary", 10, NULL), ENOEXEC);
	CHECK_NULL(load_as(ADSM_MODULE_AUTO, "no binary", 10, NULL), ENOEXEC);
	CHECK_NULL(load_as(ADSM_MODULE_ADSM, scale_source, sizeof(scale_source), NULL), ENOEXEC);
	options.device = 0;
	options.build_options = "-no-such-option";
	options.kind = ADSM_MODULE_SOURCE;
	CHECK_NULL(adsmModuleLoadWith(scale_source, strlen(scale_source), &options), ENOEXEC);
	CHECK_OK(adsmShutdown());
}

/* The device's languages are for its backend only. */
static void other_backend(void)
{
	set("backend", "cpu");
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, scale_source, strlen(scale_source), NULL), ENOEXEC);
	CHECK_SAYS("adsmcc");
	CHECK_OK(adsmShutdown());
}

static void binary(void)
{
	struct raw raw = start();
	cl_program program = raw_program(&raw, scale_source, "-DSCALE=7 -cl-kernel-arg-info");
	unsigned char *image;
	adsmModule *module;
	size_t size;

	CL(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	image = malloc(size);
	CL(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(image), &image, NULL));
	CL(clReleaseProgram(program));
	module = load_as(ADSM_MODULE_BINARY, image, size, NULL);
	CHECK(module);
	check_scale(module, 7);
	memset(image, 0, size);
	free(image);		/* was copied */
	check_scale(module, 7);
	stop(module);
}

/* void answer(uint *p) { *p = 42; } */
static void spirv(void)
{
#define OP(n, code) ((n) << 16 | (code))
	enum { MAIN = 1, VOID, UINT, POINTER, FUNCTION, ANSWER, P, LABEL, BOUND };
	static const uint32_t image[] = {
		0x07230203, 0x00010000, 0, BOUND, 0,
		OP(2, 17), 4,				/* OpCapability Addresses */
		OP(2, 17), 6,				/* OpCapability Kernel */
		OP(3, 14), 2, 2,			/* OpMemoryModel Physical64 OpenCL */
		OP(5, 15), 6, MAIN, 0x77736e61, 0x7265,	/* OpEntryPoint Kernel %MAIN "answer" */
		OP(2, 19), VOID,			/* %VOID = OpTypeVoid */
		OP(4, 21), UINT, 32, 0,			/* %UINT = OpTypeInt 32 0 */
		OP(4, 32), POINTER, 5, UINT,		/* %POINTER = OpTypePointer CrossWorkgroup %UINT */
		OP(4, 33), FUNCTION, VOID, POINTER,	/* %FUNCTION = OpTypeFunction %VOID %POINTER */
		OP(4, 43), UINT, ANSWER, 42,		/* %ANSWER = OpConstant %UINT 42 */
		OP(5, 54), VOID, MAIN, 0, FUNCTION,	/* %MAIN = OpFunction %VOID None %FUNCTION */
		OP(3, 55), POINTER, P,			/* %P = OpFunctionParameter %POINTER */
		OP(2, 248), LABEL,			/* %LABEL = OpLabel */
		OP(5, 62), P, ANSWER, 2, 4,		/* OpStore %P %ANSWER Aligned 4 */
		OP(1, 253),				/* OpReturn */
		OP(1, 56),				/* OpFunctionEnd */
	};
#undef OP
	struct raw raw = start();
	char versions[256] = "";
	adsmModule *module;
	unsigned *p;

	clGetDeviceInfo(raw.device, CL_DEVICE_IL_VERSION, sizeof(versions) - 1, versions, NULL);
	if (!strstr(versions, "SPIR-V")) {
		CHECK_NULL(load_as(ADSM_MODULE_SPIRV, image, sizeof(image), NULL), ENOEXEC);
		CHECK_SAYS("does not accept SPIR-V");
		CHECK_NULL(load_as(ADSM_MODULE_AUTO, image, sizeof(image), NULL), ENOEXEC);
		CHECK_SAYS("does not accept SPIR-V");
		skip("the device does not accept SPIR-V");
	}
	module = load_as(ADSM_MODULE_AUTO, image, sizeof(image), NULL);
	if (!module)
		FAIL("%s", adsmLastError());
	p = words(FEW, 0);
	CHECK_OK(adsmCall(get(module, "answer"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmInOut(p)));
	CHECK_OK(adsmSync());
	CHECK_EQ(p[0], 42);
	CHECK_EQ(p[1], 1);
	CHECK_OK(adsmFree(p));
	stop(module);
}

/* The contents of a file decide what it is. */
static void file(void)
{
	static const char text[] = "#define SCALE 9\n";
	char path[] = "/tmp/opencl-modules-XXXXXX.cl";
	adsmModule *module;
	int fd;

	start();
	fd = mkstemps(path, 3);
	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(write(fd, scale_source, strlen(scale_source)) == (ssize_t)strlen(scale_source));
	close(fd);
	module = adsmModuleLoad(path);
	unlink(path);
	if (!module)
		FAIL("%s", adsmLastError());
	check_scale(module, 9);
	CHECK_OK(adsmModuleUnload(module));
	/* Next to those of adsmcc's. */
	CHECK(kernel("increment"));
	unload();
	CHECK_OK(adsmShutdown());
}

/* ---- arguments */

struct pair {
	uint32_t first, second;
};

static const char kinds_source[] =
	"struct pair { uint first, second; };\n"
	"__kernel void kinds(__global const uint *in, __global uint *out, struct pair pair, uint4 four,\n"
	"		     __constant uint *table, __local uint *part, uint n)\n"
	"{\n"
	"	uint l = get_local_id(0);\n"
	"\n"
	"	part[l] = pair.first * in[get_global_id(0)];\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	out[get_global_id(0)] = part[get_local_size(0) - 1 - l] + pair.second + four.z + table[l % 4] + n;\n"
	"}\n"
	"\n"
	"__kernel void is_null(__global uint *maybe, __global uint *out)\n"
	"{\n"
	"	out[0] = !maybe;\n"
	"}\n";

static const struct pair pair = { 3, 1000 };
static const uint32_t four[4] = { 1, 2, 30000, 4 }, table[4] = { 5, 6, 7, 8 };

#define PAIR adsmVal(pair)
#define FOUR adsmArgMake_(ADSM_ARG_VALUE, ADSM_ACCESS_IN, four, sizeof(four))
#define TABLE adsmConst(table, sizeof(table))
#define PART adsmLocal(GROUP * sizeof(uint32_t))
#define KINDS(...) adsmCall(kinds, adsmDim3(1, 1, 1), adsmDim3(GROUP, 1, 1), __VA_ARGS__)

static void check_kinds(const unsigned *out)
{
	for (unsigned i = 0; i < GROUP; i++)
		CHECK_AT(out[i], i, 3 * (GROUP - i) + 1000 + 30000 + table[i % 4] + 17);
}

/* Each argument is a part of an object of its own. */
static void many_arguments(void)
{
	enum { MANY = 100 };	/* all devices take 1024 bytes of parameters */
	char text[MANY * 48], *end = text;
	adsmArg args[1 + MANY];
	unsigned *out, *in[MANY], sum = 0;
	struct raw raw = start();
	size_t at = raw_align(&raw) / sizeof(unsigned);
	adsmModule *module;

	end += sprintf(end, "__kernel void add(__global uint *sum");
	for (int i = 0; i < MANY; i++)
		end += sprintf(end, ", __global const uint *p%d", i);
	end += sprintf(end, ")\n{\n\tsum[0] = 0");
	for (int i = 0; i < MANY; i++)
		end += sprintf(end, " + p%d[0]", i);
	sprintf(end, ";\n}\n");
	module = load(text, NULL);
	out = words(1, 0);
	args[0] = adsmOut(out);
	for (unsigned i = 0; i < MANY; i++) {
		in[i] = words((unsigned)at + 1, i);
		sum += in[i][at];
		args[1 + i] = adsmIn(in[i] + at);
	}
	CHECK_OK(adsmCallArgs(get(module, "add"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), args, 1 + MANY));
	CHECK_OK(adsmSync());
	CHECK_EQ(out[0], sum);
	for (int i = 0; i < MANY; i++)
		CHECK_OK(adsmFree(in[i]));
	CHECK_OK(adsmFree(out));
	stop(module);
}

static void arguments(void)
{
	adsmModule *module;
	adsmKernel *kinds;
	unsigned *in, *out, *object;

	start();
	module = load(kinds_source, NULL);
	kinds = get(module, "kinds");
	in = words(FEW, 1);
	out = words(FEW, 0);
	CHECK_OK(KINDS(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, PART, adsmVal(17u)));
	CHECK_OK(adsmSync());
	check_kinds(out);
	/* A __constant may be an object, too. */
	object = words(FEW, 5);
	memset(out, 0, GROUP * sizeof(*out));
	CHECK_OK(KINDS(adsmPtr(in), adsmOut(out), PAIR, FOUR, adsmIn(object), PART, adsmVal(17u)));
	CHECK_OK(adsmSync());
	check_kinds(out);
	CHECK_OK(adsmFree(object));
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(out));
	stop(module);
	many_arguments();
}

/* What does not fit the kernel is refused, and named; and nothing has happened. */
static void mismatches(void)
{
	adsmModule *module;
	adsmKernel *kinds;
	unsigned *in, *out;

	start();
	module = load(kinds_source, NULL);
	kinds = get(module, "kinds");
	in = words(FEW, 1);
	out = words(FEW, 0);
#define REFUSED(...) CHECK_ERROR(KINDS(__VA_ARGS__), EINVAL)
	REFUSED(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, PART);
	CHECK_SAYS("takes 7 arguments (in, out, pair, four, table, part, n), got 6");
	REFUSED(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, PART, adsmVal(1), adsmVal(1));
	CHECK_SAYS("at least 8");
	REFUSED(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, PART, adsmPtr(in));
	CHECK_SAYS("'n': expected a value");
	REFUSED(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, PART, adsmVal((char)1));
	CHECK_SAYS("'n': expected a uint of 4 bytes, got 1");
	REFUSED(adsmPtr(in), adsmOut(out), PAIR, adsmVal(1), TABLE, PART, adsmVal(17u));
	CHECK_SAYS("'four': expected a uint4 of 16 bytes, got 4");
	REFUSED(adsmPtr(in), adsmLocal(GROUP), PAIR, FOUR, TABLE, PART, adsmVal(17u));
	CHECK_SAYS("'out': expected a pointer");
	REFUSED(adsmPtr(in), adsmConst(table, sizeof(table)), PAIR, FOUR, TABLE, PART, adsmVal(17u));
	CHECK_SAYS("'out': expected a pointer");
	REFUSED(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, adsmPtr(in), adsmVal(17u));
	CHECK_SAYS("'part': expected memory of the block (adsmLocal)");
	REFUSED(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, adsmLocal(0), adsmVal(17u));
	CHECK_SAYS("'part'");
	/* Only the driver knows this. */
	REFUSED(adsmVal(1), adsmOut(out), PAIR, FOUR, TABLE, PART, adsmVal(17u));
	CHECK_SAYS("argument 0");
#undef REFUSED
	CHECK_OK(adsmSync());
	CHECK_EQ(out[0], 0);
	CHECK_OK(KINDS(adsmPtr(in), adsmOut(out), PAIR, FOUR, TABLE, PART, adsmVal(17u)));
	CHECK_OK(adsmSync());
	check_kinds(out);
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(out));
	stop(module);
}

/* A pointer to const data is read only: the CPU keeps what it has. */
static void constant_pointers(void)
{
	unsigned *in, *out, value;
	adsmModule *module;
	adsmKernel *scale;
	adsmStats before;

	start();
	module = load(scale_source, "-DSCALE=3");
	scale = get(module, "scale");
	in = words(FEW, 1);
	out = words(FEW, 0);
	CHECK_OK(RUN_SCALE(adsmPtr(in), adsmOut(out), adsmVal(FEW)));
	CHECK_EQ(info(in).n_read_only, info(in).n_blocks);
	CHECK_EQ(info(out).n_invalid, info(out).n_blocks);
	CHECK_OK(adsmSync());
	before = object_stats(in);
	value = in[5];
	CHECK_EQ(value, 6);
	CHECK_EQ(object_stats(in).d2h_bytes, before.d2h_bytes);
	CHECK_EQ(out[5], 18);
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(out));
	stop(module);
}

static void null_pointer(void)
{
	adsmModule *module;
	unsigned *out, *other;

	start();
	module = load(kinds_source, NULL);
	out = words(FEW, 5);
	other = words(FEW, 5);
	CHECK_OK(adsmCall(get(module, "is_null"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmIn(NULL), adsmOut(out)));
	CHECK_OK(adsmSync());
	CHECK_EQ(out[0], 1);
	CHECK_OK(adsmCall(get(module, "is_null"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmIn(other), adsmOut(out)));
	CHECK_OK(adsmSync());
	CHECK_EQ(out[0], 0);
	CHECK_OK(adsmFree(out));
	CHECK_OK(adsmFree(other));
	stop(module);
}

/* A part of an object, where the device's alignment allows it. */
static void interior(void)
{
	struct raw raw = start();
	size_t align = raw_align(&raw) / sizeof(unsigned);
	unsigned *in = words(FEW + 4 * align, 1), *out = words(FEW + 4 * align, 0);
	adsmModule *module = load(scale_source, "-DSCALE=3");
	adsmKernel *scale = get(module, "scale");
	char multiple[64];
	int error;

	CHECK_OK(RUN_SCALE(adsmPtr(in + align), adsmInOut(out + 3 * align), adsmVal(FEW)));
	CHECK_OK(adsmSync());
	for (size_t i = 0; i < FEW; i++)
		CHECK_AT(out[3 * align + i], i, 3 * (align + i + 1));
	CHECK_EQ(out[3 * align - 1], 3 * align - 1);
	CHECK_EQ(out[3 * align + FEW], 3 * align + FEW);

	/* Some devices need no alignment after all: then the result is right. */
	error = RUN_SCALE(adsmPtr(in), adsmInOut(out + align + 1), adsmVal(FEW));
	if (error) {
		CHECK_EQ(error, -EINVAL);
		snprintf(multiple, sizeof(multiple), "multiples of %zu", align * sizeof(unsigned));
		CHECK_SAYS(multiple);
		CHECK_SAYS("argument 1");
	}
	CHECK_OK(adsmSync());
	CHECK_EQ(out[align + 1], error ? align + 1 : 3);
	CHECK_EQ(out[align], align);
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(out));
	stop(module);
}

/* ---- the cache */

/* A fresh folder for the cache; or skip. */
static void cache_create(void)
{
	struct raw raw;

	/* In another process, as one that has used a driver cannot fork. */
	if (!fork()) {
		raw_find(&raw);
		_exit(0);
	}
	int status;

	wait(&status);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		_exit(77);
	make_folder();
}

static void cache_hit(void)
{
	static const char other_source[] = "#define SCALE 4\n__kernel void scale(__global const uint *in,"
		"__global uint *out, uint n) { uint i = get_global_id(0); if (i < n) out[i] = SCALE * in[i]; }\n";

	cache_create();
	check_hit();
	/* Another text, too. */
	CHECK_EQ(elsewhere(NO_COMPILER, other_source, NULL, 4), IS_REFUSED);
	CHECK_EQ(elsewhere("", other_source, NULL, 4), WORKS);
	CHECK_EQ(entries(false, false), 3);
	CHECK_EQ(elsewhere(NO_COMPILER, other_source, NULL, 4), WORKS);
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), WORKS);
	remove_folder();
}

static void cache_includes(void)
{
	cache_create();
	check_includes();
	remove_folder();
}

static void cache_damaged(void)
{
	cache_create();
	check_damaged();
	remove_folder();
}

/* An entry that is whole, but that the driver does not take any more. */
static void cache_refused(void)
{
	cache_create();
	CHECK_EQ(scale_elsewhere("", 3), WORKS);
	CHECK_EQ(scale_elsewhere(NO_COMPILER "," NO_BINARIES, 3), IS_REFUSED);
	CHECK_EQ(scale_elsewhere(NO_BINARIES, 3), WORKS);
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), WORKS);
	remove_folder();
}

/* While another process compiles a program, this one waits, and takes what that process leaves in the cache. */
static void cache_turn(void)
{
	char *name = NULL, *path, *aside, *locked;
	struct pollfd events[2];
	struct dirent *entry;
	int ends[2], fd, status;
	DIR *dir;
	pid_t pid;

	cache_create();
	CHECK_EQ(scale_elsewhere("", 3), WORKS);
	dir = opendir(folder);
	CHECK(dir);
	while (!name && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			name = strdup(entry->d_name);
	closedir(dir);
	CHECK(name && asprintf(&path, "%s/%s", folder, name) > 0 && asprintf(&aside, "%s/.aside", folder) > 0);
	CHECK(asprintf(&locked, "%s.locked", path) > 0);
	CHECK(!rename(path, aside));
	fd = open(locked, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && !flock(fd, LOCK_EX));
	events[0] = (struct pollfd){ inotify_init1(IN_CLOEXEC), POLLIN, 0 };
	CHECK(events[0].fd >= 0 && inotify_add_watch(events[0].fd, locked, IN_OPEN) >= 0);
	CHECK(!pipe2(ends, O_CLOEXEC));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(scale_elsewhere(NO_COMPILER, 3) == WORKS ? 0 : 1);
	close(ends[1]);
	events[1] = (struct pollfd){ ends[0], POLLIN, 0 };
	CHECK(poll(events, 2, -1) >= 1);
	CHECK(events[0].revents && !events[1].revents);		/* it has opened the lock, and has not ended */
	CHECK(!rename(aside, path) && !flock(fd, LOCK_UN));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(entries(false, false), 1);
	remove_folder();
	free(name);
	free(path);
	free(aside);
	free(locked);
}

static void cache_off(void)
{
	cache_create();
	set("opencl_cache", "off");
	check_off();
	remove_folder();
}

/* Where it cannot be written, programs are compiled, and that is all. */
static void cache_no_folder(void)
{
	cache_create();
	set("opencl_cache", "/dev/null/folder");
	check_off();
	remove_folder();
}

static const struct conform_case cases[] = {
	CASE("source", source),
	CASE("build-failure", build_failure),
	CASE("refused", refused),
	CASE("other-backend", other_backend),
	CASE("binary", binary),
	CASE("spirv", spirv),
	CASE("file", file),
	CASE("arguments", arguments),
	CASE("mismatches", mismatches),
	FAULT_CASE("constant-pointers", constant_pointers),
	CASE("null-pointer", null_pointer),
	CASE("interior", interior),
	CASE("cache-hit", cache_hit),
	CASE("cache-includes", cache_includes),
	CASE("cache-damaged", cache_damaged),
	CASE("cache-refused", cache_refused),
	CASE("cache-turn", cache_turn),
	CASE("cache-off", cache_off),
	CASE("cache-no-folder", cache_no_folder),
};

CONFORM_MAIN(cases)
