/* SPDX-License-Identifier: MIT */
/*
 * modules.c - modules in a CUDA device's own languages, what is known of their kernels, their arguments, and the cache
 * of compiled ones. On the driver's double and the compiler's: TEST_TEXT is the text of texts.c, TEST_PTX a module with
 * PTX embedded, which there is where there is nvcc.
 */
#include <elf.h>

#include <adsm_cuda.h>

static char *text;			/* of texts.c */

#define LANGUAGE "--std=c++20 "		/* which the dialect's macros need */
#define SCALE_TEXT text
#define CACHE_OPTION "cuda_cache"
#define NO_COMPILER "fail"

static void set_plan(const char *words);

#include "scale.h"

#define ONE_CALL(k, ...) adsmCall(k, adsmDim3(1, 1, 1), adsmDim3(GROUP, 1, 1), __VA_ARGS__)

static void set_plan(const char *words)
{
	setenv("TEST_NVRTC", words, 1);
}

static char *read_whole(const char *path, size_t *ret_size)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	struct stat status;
	char *bytes;

	CHECK(file && !fstat(fileno(file), &status));
	bytes = malloc((size_t)status.st_size + 1);
	CHECK(bytes && fread(bytes, 1, (size_t)status.st_size, file) == (size_t)status.st_size);
	bytes[status.st_size] = '\0';
	if (ret_size)
		*ret_size = (size_t)status.st_size;
	fclose(file);
	return bytes;
}

static void read_text(void)
{
	if (!text)
		text = read_whole(getenv("TEST_TEXT"), NULL);
}

/* Every case begins with it. */
static void start(void)
{
	read_text();
	CHECK_OK(adsmInit());
}

/* ---- what an image is */

static void source(void)
{
	adsmModule *three, *five;

	start();
	three = load(text, LANGUAGE "-DSCALE=3");
	five = load(text, LANGUAGE "  -DSCALE=5 ");
	check_scale(three, 3);
	check_scale(five, 5);
	CHECK_NULL(adsmKernelGet(three, "scales"), ENOENT);
	CHECK_SAYS("scale");
	CHECK_SAYS("is_null");
	CHECK_OK(adsmModuleUnload(five));
	stop(three);
}

/* The compiler's messages are reported, whatever their length. */
static void build_failure(void)
{
	static const char bad_line[] = "static int broken = missing_and_rather_long_to_make_the_text_longer;\n";
	char many[1024] = "", *broken = NULL;

	start();
	for (int i = 0; i < 10; i++)
		strcat(many, bad_line);
	CHECK(asprintf(&broken, "%s\n%sstatic int more = the_last_one;\n", text, many) > 0);
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, broken, strlen(broken), LANGUAGE "-DSCALE=1"), ENOEXEC);
	CHECK_SAYS("the_last_one");
	CHECK_SAYS("NVRTC");
	CHECK(strstr(adsmLastError(), "the_last_one") - adsmLastError() > 512);
	/* And the next failure's sentence is its own. */
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, text, strlen(text), LANGUAGE), ENOEXEC);
	CHECK_SAYS("SCALE");
	CHECK(!strstr(adsmLastError(), "the_last_one"));
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, text, strlen(text), "--no-such-option"), ENOEXEC);
	CHECK_SAYS("no-such-option");
	CHECK_OK(adsmShutdown());
	free(broken);
}

static void refused(void)
{
	adsmModuleOptions options = ADSM_MODULE_OPTIONS_INIT;
	static const uint32_t spirv[] = { 0x07230203, 0x00010000, 0, 1, 0 };

	start();
	options.kind = ADSM_MODULE_BINARY + 1;
	CHECK_NULL(adsmModuleLoadWith("x", 1, &options), EINVAL);
	CHECK_NULL(load_as(ADSM_MODULE_BINARY, "no binary", 10, NULL), ENOEXEC);
	CHECK_SAYS("cubin");
	CHECK_NULL(load_as(ADSM_MODULE_ADSM, text, strlen(text), NULL), ENOEXEC);
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, "a\0b", 3, NULL), ENOEXEC);
	CHECK_NULL(load_as(ADSM_MODULE_AUTO, spirv, sizeof(spirv), NULL), ENOEXEC);
	CHECK_SAYS("SPIR-V");
	CHECK_SAYS("PTX");
	CHECK_OK(adsmShutdown());
}

/* Text whose first directive is .version is for the driver, which says what it does not like. */
static void ptx(void)
{
	static const char *const texts[] = {
		".version 7.5\nthis is none\n",
		"// a comment\n/* and\n another // */ \t\n .version 7.5\n.target sm_75\nthis is none\n",
	};

	start();
	for (size_t i = 0; i < 2; i++) {
		/* With and without the end of a string. */
		CHECK_NULL(load_as(ADSM_MODULE_AUTO, texts[i], strlen(texts[i]), NULL), ENOEXEC);
		CHECK_SAYS("INVALID_PTX");
		CHECK(!strstr(adsmLastError(), "NVRTC"));
		CHECK_NULL(load_as(ADSM_MODULE_SOURCE, texts[i], strlen(texts[i]) + 1, NULL), ENOEXEC);
		CHECK_SAYS("INVALID_PTX");
		/* And what it says of it. */
		CHECK_SAYS("INVALID_PTX): ");
	}
	/* Not the first thing in it: the compiler's. */
	CHECK_NULL(load_as(ADSM_MODULE_AUTO, "x // .version\n", 14, NULL), ENOEXEC);
	CHECK_SAYS("NVRTC");
	CHECK_OK(adsmShutdown());
}

/* Code for devices that there are not here; never more of it than there is. */
static void binary(void)
{
	struct { uint32_t magic; uint16_t version, header_size; uint64_t size; char code[64]; } fat = {
		0xBA55ED50, 1, 16, 64, "",
	};
	Elf64_Ehdr cubin = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			     .e_machine = 190, .e_shoff = sizeof(cubin), .e_shentsize = sizeof(Elf64_Shdr) };
	adsmModule *module;
	size_t size;
	char *image;

	start();
	for (int kind = 0; kind < 2; kind++) {
		int as = kind ? ADSM_MODULE_BINARY : ADSM_MODULE_AUTO;

		CHECK_NULL(load_as(as, &fat, sizeof(fat), NULL), ENOEXEC);
		CHECK_SAYS("CUDA_ERROR");
		CHECK_NULL(load_as(as, &cubin, sizeof(cubin), NULL), ENOEXEC);
		CHECK_SAYS("CUDA_ERROR");
	}
	CHECK_NULL(load_as(ADSM_MODULE_BINARY, &fat, sizeof(fat) - 1, NULL), ENOEXEC);
	CHECK_SAYS("not a complete cubin or fatbin");
	fat.size = UINT64_MAX;
	CHECK_NULL(load_as(ADSM_MODULE_BINARY, &fat, sizeof(fat), NULL), ENOEXEC);
	CHECK_SAYS("not a complete cubin or fatbin");
	cubin.e_shnum = 1;
	CHECK_NULL(load_as(ADSM_MODULE_BINARY, &cubin, sizeof(cubin), NULL), ENOEXEC);
	CHECK_SAYS("not a complete cubin or fatbin");
	CHECK_NULL(load_as(ADSM_MODULE_AUTO, &cubin, sizeof(cubin), NULL), ENOEXEC);

	/* What the double's devices run are this machine's own shared objects. */
	image = read_whole(module_path("conform"), &size);
	module = load_as(ADSM_MODULE_BINARY, image, size, NULL);
	if (!module)
		FAIL("%s", adsmLastError());
	memset(image, 0, size);
	free(image);		/* was copied */
	{
		unsigned *a = words(FEW, 0);

		CHECK_OK(adsmCall(get(module, "increment"), blocks(FEW), lanes(), adsmInOut(a), adsmVal(FEW)));
		CHECK_OK(adsmSync());
		CHECK_EQ(a[FEW - 1], FEW);
		CHECK_OK(adsmFree(a));
	}
	stop(module);
}

/* The device's languages are for its backend only. */
static void other_backend(void)
{
	Elf64_Ehdr cubin = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			     .e_machine = 190, .e_shoff = sizeof(cubin), .e_shentsize = sizeof(Elf64_Shdr) };
	adsmCudaHandles handles = { .struct_size = sizeof(handles) };
	unsigned *p;
	adsmArg use;

	set("backend", "cpu");
	start();
	CHECK_NULL(load_as(ADSM_MODULE_SOURCE, text, strlen(text), NULL), ENOEXEC);
	CHECK_SAYS("adsmcc");
	CHECK_NULL(load_as(ADSM_MODULE_AUTO, &cubin, sizeof(cubin), NULL), ENOEXEC);
	CHECK_SAYS("CUDA");
	p = words(FEW, 1);
	use = adsmInOut(p);
	CHECK_ERROR(adsmCudaGet(0, &handles), ENOTSUP);
	CHECK_ERROR(adsmCudaRelease(&use, 1, NULL), ENOTSUP);
	CHECK_NULL(adsmCudaKernel(0, (struct CUfunc_st *)p), ENOTSUP);
	CHECK_ERROR(adsmCudaUse(NULL, 0), EBUSY);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmShutdown());
}

/* A module of adsmcc's needs a compiler, or PTX. */
static void no_compiler(void)
{
	static const char *const without[] = { "off", "/no/such/compiler.so", "libc.so.6" };
	adsmModule *module;
	adsmKernel *k;
	unsigned *a;

	for (size_t i = 0; i < 3; i++) {
		set("cuda_compiler", without[i]);
		start();
		CHECK_NULL(load_as(ADSM_MODULE_SOURCE, text, strlen(text), LANGUAGE "-DSCALE=1"), ENOEXEC);
		CHECK_SAYS(i ? "compiler" : "ADSM_CUDA_COMPILER");
		module = adsmModuleLoad(module_path("conform"));
		CHECK(module);
		k = get(module, "increment");
		a = words(FEW, 0);
		CHECK_ERROR(adsmCall(k, blocks(FEW), lanes(), adsmInOut(a), adsmVal(FEW)), ENOEXEC);
		CHECK_SAYS("adsmcc --ptx");
		CHECK_SAYS("NVRTC");
		CHECK_EQ(a[0], 0);
		CHECK_OK(adsmFree(a));
		stop(module);
	}
}

/* PTX comes first; where the driver refuses it, which the double does, the text is compiled. */
static void embedded(void)
{
	const char *path = getenv("TEST_PTX");
	adsmModule *module;

	if (!path || !*path)
		skip("no nvcc, which is a part of the CUDA toolkit");
	for (int off = 0; off <= 1; off++) {
		unsigned n = FEW;
		unsigned *a;

		if (off)
			set("cuda_compiler", "off");
		start();
		module = adsmModuleLoad(path);
		CHECK(module);
		a = words(FEW, 0);
		if (off) {
			CHECK_ERROR(adsmCall(get(module, "increment"), blocks(n), lanes(), adsmInOut(a), adsmVal(n)),
				    ENOEXEC);
			CHECK_SAYS("PTX");
			CHECK_SAYS("CUDA_ERROR");
		} else {
			CHECK_OK(adsmCall(get(module, "increment"), blocks(n), lanes(), adsmInOut(a), adsmVal(n)));
			CHECK_OK(adsmSync());
			CHECK_EQ(a[FEW - 1], FEW);
		}
		CHECK_OK(adsmFree(a));
		stop(module);
	}
}

/* ---- arguments */

struct pair {
	uint32_t first, second;
};

static const struct pair pair = { 3, 1000 };
static const uint32_t four[4] = { 5, 6, 7, 8 }, eight[8] = { 10, 20, 30, 40, 50, 60, 70, 80 };

#define PAIR adsmVal(pair)
#define FOUR adsmConst(four, sizeof(four))
#define EIGHT adsmConst(eight, sizeof(eight))
#define N adsmVal((unsigned char)17)

static void check_kinds(const unsigned *out)
{
	for (unsigned i = 0; i < GROUP; i++)
		CHECK_AT(out[i], i, 3 * (i + 1) + 1000 + four[i % 4] + eight[i % 8] + 17);
}

static void arguments(void)
{
	adsmModule *module;
	adsmKernel *kinds;
	unsigned *in, *out, *object;

	start();
	module = load(text, LANGUAGE "-DSCALE=1");
	kinds = get(module, "kinds");
	in = words(FEW, 1);
	out = words(FEW, 0);
	CHECK_OK(ONE_CALL(kinds, adsmIn(in), adsmInOut(out), PAIR, FOUR, EIGHT, N));
	CHECK_OK(adsmSync());
	check_kinds(out);
	/* A pointer is a pointer: constants may be an object. */
	object = words(FEW, 5);
	memset(out, 0, GROUP * sizeof(*out));
	CHECK_OK(ONE_CALL(kinds, adsmIn(in), adsmInOut(out), PAIR, adsmIn(object), EIGHT, N));
	CHECK_OK(adsmSync());
	check_kinds(out);
	/* Parts of objects. */
	CHECK_OK(ONE_CALL(kinds, adsmIn(in + 100), adsmInOut(out + 51), PAIR, FOUR, EIGHT, N));
	CHECK_OK(adsmSync());
	CHECK_EQ(out[51], 3 * 101 + 1000 + 5 + 10 + 17);
	CHECK_EQ(out[50], 50);
	/* And none. */
	CHECK_OK(ONE_CALL(get(module, "is_null"), adsmIn(NULL), adsmOut(out)));
	CHECK_OK(adsmSync());
	CHECK_EQ(out[0], 1);
	CHECK_OK(ONE_CALL(get(module, "is_null"), adsmIn(in), adsmOut(out)));
	CHECK_OK(adsmSync());
	CHECK_EQ(out[0], 0);
	CHECK_OK(adsmFree(object));
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(out));
	stop(module);
}

/* What does not fit the kernel is refused, and named; and nothing has happened. */
static void mismatches(void)
{
	adsmModule *module;
	adsmKernel *kinds, *is_null;
	unsigned *in, *out;

	start();
	module = load(text, LANGUAGE "-DSCALE=1");
	kinds = get(module, "kinds");
	is_null = get(module, "is_null");
	in = words(FEW, 1);
	out = words(FEW, 0);
#define REFUSED(...) CHECK_ERROR(ONE_CALL(kinds, __VA_ARGS__), EINVAL)
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT);
	CHECK_SAYS("takes 6 arguments");
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N, N);
	CHECK_SAYS("at least 7");
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, adsmIn(in));
	CHECK_SAYS("argument 5: the parameter is not a pointer");
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, adsmVal(17));
	CHECK_SAYS("argument 5: the value has 4 bytes");
	REFUSED(adsmIn(in), adsmOut(out), adsmVal(1), FOUR, EIGHT, N);
	CHECK_SAYS("argument 2: the value has 4 bytes");
	REFUSED(adsmVal(1), adsmOut(out), PAIR, FOUR, EIGHT, N);
	CHECK_SAYS("argument 0");
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, FOUR);
	CHECK_SAYS("argument 5: the parameter is not a pointer");
	/* Memory of the block: behind all arguments, once. */
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, adsmLocal(64));
	CHECK_SAYS("adsmLocal");
	REFUSED(adsmIn(in), adsmOut(out), PAIR, adsmLocal(64), EIGHT, adsmLocal(64));
	CHECK_SAYS("adsmLocal");
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N, adsmLocal(64), adsmLocal(64));
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N, adsmLocal(0));
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N, adsmLocal((size_t)1 << 40));
	REFUSED(adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N, adsmLocal((size_t)1 << 30));
	CHECK_SAYS("more shared memory than");
#undef REFUSED
	/* Blocks and grids. */
	CHECK_ERROR(adsmCall(is_null, adsmDim3(1, 1, 1), adsmDim3(65, 1, 1), adsmIn(in), adsmOut(out)), EINVAL);
	CHECK_SAYS("64");
	CHECK_ERROR(adsmCall(is_null, adsmDim3(1, 1, 1), adsmDim3(1, 1, 65), adsmIn(in), adsmOut(out)), EINVAL);
	CHECK_ERROR(adsmCall(is_null, adsmDim3(1, 70000, 1), adsmDim3(1, 1, 1), adsmIn(in), adsmOut(out)), EINVAL);
	CHECK_SAYS("a grid of 70000 blocks along y");
	CHECK_OK(adsmSync());
	CHECK_EQ(out[0], 0);
	CHECK_OK(ONE_CALL(kinds, adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N));
	CHECK_OK(adsmSync());
	check_kinds(out);
	/* As much as blocks have without asking, and more. */
	CHECK_OK(ONE_CALL(kinds, adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N, adsmLocal((size_t)48 << 10)));
	CHECK_OK(ONE_CALL(kinds, adsmIn(in), adsmOut(out), PAIR, FOUR, EIGHT, N, adsmLocal((size_t)64 << 10)));
	CHECK_OK(adsmSync());
	check_kinds(out);
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(out));
	stop(module);
}

static unsigned sum_of(const unsigned *table, unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + table[i];
	return sum;
}

/* Each launch has its own, however many are on their way. */
static void constants(void)
{
	enum { MANY = 600, MOST = ADSM_CONST_MAX / sizeof(unsigned) };
	static unsigned table[MOST], sums[MANY];
	adsmModule *module, *other;
	unsigned *out;

	start();
	module = load(text, LANGUAGE "-DSCALE=1");
	other = load(text, LANGUAGE "-DSCALE=2");
	out = words(MANY, 0);
	for (unsigned i = 0; i < MANY; i++) {
		unsigned n = i % 100 == 99 ? MOST : 1 + i * 37 % 3000;

		for (unsigned j = 0; j < n; j++)
			table[j] = i * 1000 + j;
		sums[i] = sum_of(table, n);
		CHECK_OK(ONE_CALL(get(i % 3 ? module : other, "sum"), adsmInOut(out),
				  adsmConst(table, n * sizeof(*table)), adsmVal(n), adsmVal(i)));
	}
	memset(table, 0, sizeof(table));
	CHECK_OK(adsmModuleUnload(other));
	CHECK_OK(adsmSync());
	for (unsigned i = 0; i < MANY; i++)
		CHECK_AT(out[i], i, sums[i]);
	CHECK_OK(adsmFree(out));
	stop(module);
}

/* ---- the cache */

static void cache_create(void)
{
	read_text();
	make_folder();
}

static void cache_hit(void)
{
	cache_create();
	check_hit();
	remove_folder();
}

static void cache_includes(void)
{
	/* The compiler's double keeps what it made, too. */
	unsetenv("TEST_NVRTC_CACHE");
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

static void cache_off(void)
{
	cache_create();
	set("cuda_cache", "off");
	check_off();
	remove_folder();
}

static const struct conform_case cases[] = {
	CASE("source", source),
	CASE("build-failure", build_failure),
	CASE("refused", refused),
	CASE("ptx", ptx),
	CASE("binary", binary),
	CASE("other-backend", other_backend),
	CASE("no-compiler", no_compiler),
	CASE("embedded", embedded),
	CASE("arguments", arguments),
	CASE("mismatches", mismatches),
	CASE("constants", constants),
	CASE("cache-hit", cache_hit),
	CASE("cache-includes", cache_includes),
	CASE("cache-damaged", cache_damaged),
	CASE("cache-off", cache_off),
};

CONFORM_MAIN(cases)
