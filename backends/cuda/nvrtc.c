/* SPDX-License-Identifier: MIT */
/* nvrtc.c - compiles CUDA C++ to code of a device, by the toolkit's run-time compiler (NVRTC), or takes it from the
 * cache. NVRTC's functions are declared here, so the build needs no toolkit. */
#include "nvrtc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "base/log.h"
#include "driven.h"
#include "options.h"
#include "base/os.h"

#define OPTIONS_MAX 64
#define ARCHS_MAX 64

typedef struct program *nvrtcProgram;

/* The newer ones may be missing. All but the last return 0 or an error. */
#define FUNCTIONS(F, OPTIONAL) \
	F(int, nvrtcVersion, (int *major, int *minor)) \
	F(int, nvrtcCreateProgram, (nvrtcProgram *program, const char *text, const char *name, int n_headers, \
				    const char *const *headers, const char *const *header_names)) \
	F(int, nvrtcDestroyProgram, (nvrtcProgram *program)) \
	F(int, nvrtcCompileProgram, (nvrtcProgram program, int n, const char *const *options)) \
	F(int, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t *size)) \
	F(int, nvrtcGetProgramLog, (nvrtcProgram program, char *log)) \
	F(int, nvrtcGetPTXSize, (nvrtcProgram program, size_t *size)) \
	F(int, nvrtcGetPTX, (nvrtcProgram program, char *ptx)) \
	OPTIONAL(int, nvrtcGetCUBINSize, (nvrtcProgram program, size_t *size)) \
	OPTIONAL(int, nvrtcGetCUBIN, (nvrtcProgram program, char *cubin)) \
	OPTIONAL(int, nvrtcGetNumSupportedArchs, (int *n)) \
	OPTIONAL(int, nvrtcGetSupportedArchs, (int *archs)) \
	F(const char *, nvrtcGetErrorString, (int error))

enum { NVRTC_ERROR_OUT_OF_MEMORY = 1 };

struct compiler {
#define FIELD(type, name, params) type (*name) params;
	FUNCTIONS(FIELD, FIELD)
#undef FIELD
	void *library;
	char file[PATH_MAX];		/* the library's */
	int major, minor;
	int archs[ARCHS_MAX], n_archs;	/* n_archs is 0: unknown */
};

static const struct adsm_driven_function functions[] = {
#define REQUIRED(type, name, params) { #name, offsetof(struct compiler, name), true },
#define OPTIONAL(type, name, params) { #name, offsetof(struct compiler, name), false },
	FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* ---- finding the compiler */

static void *open_in(const char *folder, const char *below)
{
	static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" };
	char path[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; i < N(names) && !library; i++)
		if (adsm_format(path, sizeof(path), "%s%s%s", folder, below, names[i]) < (int)sizeof(path))
			library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return library;
}

static void *open_library(void)
{
	const char *toolkit = adsm_os_getenv("CUDA_PATH");
	const char *const folders[] = { "/usr/local/cuda", toolkit && *toolkit ? toolkit : NULL };
	void *library = open_in("", "");

	for (size_t i = 0; i < N(folders) && folders[i] && !library; i++) {
		library = open_in(folders[i], "/lib64/");
		if (!library)
			library = open_in(folders[i], "/lib/");
	}
	return library;
}

/* Find the library's functions and version. Returns -ENOTSUP if it is not NVRTC. */
static int look_up(struct compiler *compiler)
{
	const char *missing = adsm_driven_functions(compiler->library, functions, N(functions), compiler);
	Dl_info where;
	int n = 0;

	if (missing)
		return adsm_fail(-ENOTSUP, "no CUDA compiler: %s lacks the function %s", adsm_cuda_options.compiler,
				 missing);
	if (dladdr((void *)compiler->nvrtcVersion, &where) && where.dli_fname)
		adsm_format(compiler->file, sizeof(compiler->file), "%s", where.dli_fname);
	if (compiler->nvrtcVersion(&compiler->major, &compiler->minor))
		return adsm_fail(-ENOTSUP, "no CUDA compiler: %s does not report its version", compiler->file);
	if (compiler->nvrtcGetNumSupportedArchs && compiler->nvrtcGetSupportedArchs &&
	    !compiler->nvrtcGetNumSupportedArchs(&n) && n > 0 && n <= ARCHS_MAX &&
	    !compiler->nvrtcGetSupportedArchs(compiler->archs))
		compiler->n_archs = n;
	adsm_debug("cuda: the compiler is NVRTC %d.%d, %s", compiler->major, compiler->minor, compiler->file);
	return 0;
}

/* The compiler that the option names. Libraries stay open: they are large, and have threads. */
static int find_compiler(const struct compiler **ret_compiler)
{
	static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_DRIVER);
	static struct compiler found;
	const char *file = adsm_cuda_options.compiler;
	int ret = 0;

	if (!strcmp(file, "off"))
		return adsm_fail(-ENOTSUP, "ADSM_CUDA_COMPILER=off: the library does not compile modules");
	if (adsm_os_is_privileged())
		return adsm_fail(-EPERM, "no CUDA compiler: the library does not open one in a set-user-ID program");
	adsm_mutex_lock(&mutex);
	if (!found.library) {
		found.library = *file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : open_library();
		if (!found.library && *file)
			ret = adsm_fail(-ENOTSUP, "no CUDA compiler: the file of ADSM_CUDA_COMPILER cannot be opened "
					"(%s)", dlerror());
		else if (!found.library)
			ret = adsm_fail(-ENOTSUP, "no CUDA compiler: NVRTC, a part of the CUDA toolkit (libnvrtc.so), "
					"was not found; set ADSM_CUDA_COMPILER to its file");
		else
			ret = look_up(&found);
		if (ret && found.library) {
			dlclose(found.library);
			found.library = NULL;
		}
	}
	adsm_mutex_unlock(&mutex);
	if (!ret)
		*ret_compiler = &found;
	return ret;
}

/* ---- options */

struct arguments {
	char *text;			/* a copy that was cut at its blanks */
	char target[64];
	const char *items[OPTIONS_MAX];
	int n;
};

static bool names_target(const char *option)
{
	return !strncmp(option, "--gpu-architecture", 18) || !strncmp(option, "-arch", 5);
}

/* The device's own architecture, or the newest older one that the compiler supports: the driver accepts its PTX. */
static int choose_target(const struct compiler *compiler, int capability, char *ret_target, size_t size)
{
	int best = compiler->n_archs ? 0 : capability;
	bool own = false;

	for (int i = 0; i < compiler->n_archs; i++) {
		if (compiler->archs[i] <= capability && compiler->archs[i] > best)
			best = compiler->archs[i];
		own |= compiler->archs[i] == capability;
	}
	if (!best)
		return adsm_fail(-ENOEXEC, "NVRTC %d.%d does not support devices of compute capability %d.%d: set "
				 "ADSM_CUDA_COMPILER to NVRTC of an older toolkit", compiler->major, compiler->minor,
				 capability / 10, capability % 10);
	adsm_format(ret_target, size, "--gpu-architecture=%s_%d",
		    own && compiler->nvrtcGetCUBINSize && compiler->nvrtcGetCUBIN ? "sm" : "compute", best);
	return 0;
}

/* Options are separated by blanks, as on a command line without quotes. */
static int split_options(struct arguments *arguments, const struct compiler *compiler, const char *options,
			 int capability)
{
	bool has_target = false;
	char *rest, *word;

	arguments->text = rest = strdup(options);
	if (!rest)
		return adsm_fail(-ENOMEM, "not enough memory for the compiler's options");
	while ((word = strsep(&rest, " \t\n"))) {
		if (!*word)
			continue;
		if (arguments->n == OPTIONS_MAX - 1)
			return adsm_fail(-EINVAL, "the compiler can have at most %d options", OPTIONS_MAX - 1);
		has_target |= names_target(word);
		arguments->items[arguments->n++] = word;
	}
	if (has_target)
		return 0;
	arguments->items[arguments->n++] = arguments->target;
	return choose_target(compiler, capability, arguments->target, sizeof(arguments->target));
}

/* ---- compiling */

static int failed(const struct compiler *compiler, int error, const char *what)
{
	return adsm_fail(error == NVRTC_ERROR_OUT_OF_MEMORY ? -ENOMEM : -ENOEXEC, "NVRTC %d.%d: %s failed: %s",
			 compiler->major, compiler->minor, what, compiler->nvrtcGetErrorString(error));
}

/* The compiler failed: store a sentence with its log, and return an errno. */
static int refused(const struct compiler *compiler, nvrtcProgram program, int error)
{
	char before[160], *log = NULL;
	size_t size = 0;

	adsm_format(before, sizeof(before), "NVRTC %d.%d cannot compile the program (%s): ", compiler->major,
		    compiler->minor, compiler->nvrtcGetErrorString(error));
	if (!compiler->nvrtcGetProgramLogSize(program, &size))
		log = calloc(1, size + 1);
	if (log && compiler->nvrtcGetProgramLog(program, log))
		*log = '\0';
	adsm_say_long(before, log && *log ? log : "the compiler gave no reason");
	free(log);
	return error == NVRTC_ERROR_OUT_OF_MEMORY ? -ENOMEM : -ENOEXEC;
}

/* Get the cubin, which exists for targets sm_…, or else the PTX. A NUL follows in both cases. */
static int take_image(const struct compiler *compiler, nvrtcProgram program, char **ret_image, size_t *ret_size)
{
	bool cubin = compiler->nvrtcGetCUBINSize && compiler->nvrtcGetCUBIN;
	size_t size = 0;
	char *image;
	int error;

	cubin = cubin && !compiler->nvrtcGetCUBINSize(program, &size) && size;
	error = cubin ? 0 : compiler->nvrtcGetPTXSize(program, &size);
	if (error)
		return failed(compiler, error, "getting the compiled code");
	image = malloc(size + 1);
	if (!image)
		return adsm_fail(-ENOMEM, "not enough memory for a compiled program of %zu bytes", size);
	error = cubin ? compiler->nvrtcGetCUBIN(program, image) : compiler->nvrtcGetPTX(program, image);
	if (error) {
		free(image);
		return failed(compiler, error, "getting the compiled code");
	}
	image[size] = '\0';
	*ret_image = image;
	*ret_size = size;
	return 0;
}

static int compile(const struct compiler *compiler, const char *text, const struct arguments *arguments,
		   char **ret_image, size_t *ret_size)
{
	nvrtcProgram program;
	int error = compiler->nvrtcCreateProgram(&program, text, "module.cu", 0, NULL, NULL), ret;

	if (error)
		return failed(compiler, error, "creating a program");
	error = compiler->nvrtcCompileProgram(program, arguments->n, arguments->items);
	ret = error ? refused(compiler, program, error) : take_image(compiler, program, ret_image, ret_size);
	compiler->nvrtcDestroyProgram(&program);
	return ret;
}

/* Everything that a compiled module depends on, also the compiler's file: a double of NVRTC has other output. */
static struct adsm_cache_key make_key(const struct compiler *compiler, const struct arguments *arguments,
				      const char *text)
{
	struct adsm_cache_key key = { NULL, 0, 0 };
	char version[32];

	adsm_format(version, sizeof(version), "NVRTC %d.%d", compiler->major, compiler->minor);
	adsm_cache_key_add(&key, version, strlen(version));
	adsm_cache_key_add(&key, compiler->file, strlen(compiler->file));
	for (int i = 0; i < arguments->n; i++)
		adsm_cache_key_add(&key, arguments->items[i], strlen(arguments->items[i]));
	adsm_cache_key_add(&key, text, strlen(text));
	return key;
}

static int from_cache(const struct adsm_cache_key *key, char **ret_image, size_t *ret_size)
{
	const struct adsm_cache cache = { "cuda", adsm_cuda_options.cache, 0 };
	char *image;
	size_t size;
	void *data;
	int ret = adsm_cache_get(&cache, key->bytes, key->size, &data, &size);

	if (ret)
		return ret;
	image = realloc(data, size + 1);	/* PTX is a string */
	if (!image) {
		free(data);
		return -ENOMEM;
	}
	image[size] = '\0';
	*ret_image = image;
	*ret_size = size;
	return 0;
}

/* May text include other files? The names of files in it, and its words, do not count. */
static bool includes(const char *text)
{
	for (const char *p = strstr(text, "include"); p; p = strstr(p + 1, "include")) {
		const char *before = p;

		while (before > text && (before[-1] == ' ' || before[-1] == '\t'))
			before--;
		if (before == text || strchr("#:_\n", before[-1]) ||
		    (before - text >= 2 && !memcmp(before - 2, "*/", 2)))
			return true;
	}
	return false;
}

static int make_image(const struct compiler *compiler, const char *text, const struct arguments *arguments,
		      char **ret_image, size_t *ret_size)
{
	const struct adsm_cache cache = { "cuda", adsm_cuda_options.cache, 0 };
	struct adsm_cache_key key = { NULL, 0, 0 };
	bool closed = !includes(text);
	int ret;

	/* The key does not contain files that the text includes. Modules are one text, without includes. */
	for (int i = 0; i < arguments->n; i++)
		closed &= !strstr(arguments->items[i], "include");
	if (closed)
		key = make_key(compiler, arguments, text);
	ret = key.bytes ? from_cache(&key, ret_image, ret_size) : -ENOENT;
	if (ret) {
		ret = compile(compiler, text, arguments, ret_image, ret_size);
		if (!ret && key.bytes)
			adsm_cache_put(&cache, key.bytes, key.size, *ret_image, *ret_size);
	}
	free(key.bytes);
	return ret;
}

int adsm_cuda_compile(const char *text, const char *options, int capability, char **ret_image, size_t *ret_size)
{
	struct arguments arguments = { .n = 0 };
	const struct compiler *compiler;
	int ret = find_compiler(&compiler);

	if (ret)
		return ret;
	ret = split_options(&arguments, compiler, options, capability);
	if (!ret)
		ret = make_image(compiler, text, &arguments, ret_image, ret_size);
	free(arguments.text);
	return ret;
}
