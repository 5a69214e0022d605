/* SPDX-License-Identifier: MIT */
/* adsmcc_header.c - see adsmcc_header.h. */
#include "adsmcc_header.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "adsm.h"
#include "adsm_kernel.h"
#include "adsmcc_text.h"
#include "base/entries.h"

/* The kernels of a module, in either form. */
struct kernels {
	struct adsm_kernel_info *items;
	size_t n;
};

/* ---- reading the module ------------------------------------------------------------------ */

static const void *at(const struct text *module, uint64_t offset, uint64_t size, const char *path)
{
	if (offset > module->size || size > module->size - offset)
		die("%s: not a kernel module, or damaged", path);
	return module->bytes + offset;
}

/* The contents of a section. Empty: there is none. */
static struct text find_section(const struct text *module, const char *name, const char *path)
{
	const Elf64_Ehdr *elf = at(module, 0, sizeof(*elf), path);
	const Elf64_Shdr *sections, *names;
	struct text found = { 0 };

	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->e_shentsize != sizeof(*sections) || elf->e_shstrndx >= elf->e_shnum)
		die("%s: not a kernel module", path);
	sections = at(module, elf->e_shoff, elf->e_shnum * sizeof(*sections), path);
	names = &sections[elf->e_shstrndx];
	at(module, names->sh_offset, names->sh_size, path);
	for (unsigned i = 0; i < elf->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];
		const char *own = module->bytes + names->sh_offset + section->sh_name;

		if (section->sh_name >= names->sh_size || strnlen(own, names->sh_size - section->sh_name) ==
		    names->sh_size - section->sh_name || strcmp(own, name))
			continue;
		found.size = section->sh_size;
		found.bytes = grow(NULL, found.size + 1);
		memcpy(found.bytes, at(module, section->sh_offset, section->sh_size, path), found.size);
		found.bytes[found.size] = '\0';
	}
	return found;
}

/* The kernels in the dialect. */
static struct kernels read_dialect(const struct text *section, const char *path)
{
	const size_t n = section->size / sizeof(struct adsm_kernel_desc);
	struct kernels kernels = { grow(NULL, n * sizeof(*kernels.items)), n };
	struct adsm_param *params = grow(NULL, n * ADSM_KERNEL_PARAMS_MAX * sizeof(*params));

	for (size_t i = 0; i < n; i++) {
		struct adsm_kernel_info *kernel = &kernels.items[i];
		struct adsm_kernel_desc desc;

		memcpy(&desc, section->bytes + i * sizeof(desc), sizeof(desc));
		if (memcmp(desc.magic, ADSM_KERNEL_MAGIC, sizeof(desc.magic)) || desc.version != ADSM_KERNEL_VERSION ||
		    desc.size != sizeof(desc) || desc.n_params > ADSM_KERNEL_PARAMS_MAX)
			die("%s: the module has another version of the kernel dialect: compile it again", path);
		*kernel = (struct adsm_kernel_info){
			.n_params = desc.n_params, .max_threads = desc.max_threads,
			.task = desc.flags & ADSM_KERNEL_TASK, .params = params,
		};
		memcpy(kernel->name, desc.name, sizeof(kernel->name));
		for (uint32_t p = 0; p < desc.n_params; p++, params++) {
			const struct adsm_kernel_param *param = &desc.params[p];

			*params = (struct adsm_param){
				.kind = param->kind, .access = param->access, .size = param->size,
			};
			memcpy(params->name, param->name, sizeof(params->name));
			memcpy(params->type, param->type, sizeof(params->type));
		}
	}
	return kernels;
}

/* The kernels in CUDA C. */
static struct kernels read_cuda(const struct text *section, const char *path)
{
	size_t n_params;
	const long n = adsm_entries_count(section->bytes, &n_params);
	struct kernels kernels = { NULL, (size_t)n };
	struct adsm_param *params;
	unsigned level;

	if (n <= 0)
		die("%s: another version of adsmcc made this module: compile it again", path);
	kernels.items = grow(NULL, kernels.n * sizeof(*kernels.items));
	params = grow(NULL, (n_params + 1) * sizeof(*params));
	adsm_entries_read(section->bytes, kernels.n, kernels.items, params, &level);
	return kernels;
}

static struct kernels read_kernels(const char *path)
{
	struct text module, section;

	if (!read_file(path, &module))
		die("%s: %s", path, strerror(errno));
	section = find_section(&module, "adsm_entries", path);
	if (section.size)
		return read_cuda(&section, path);
	section = find_section(&module, "adsm_kernels", path);
	if (!section.size || section.size % sizeof(struct adsm_kernel_desc))
		die("%s: not a kernel module, or damaged", path);
	return read_dialect(&section, path);
}

/* ---- names and types of C++ -------------------------------------------------------------- */

/* Words of C++ that are names in C, and names of the members below. */
static const char *const taken[] = {
	"alignas", "alignof", "and", "and_eq", "asm", "bitand", "bitor", "bool", "catch", "char8_t", "char16_t",
	"char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const_cast", "consteval",
	"constexpr", "constinit", "decltype", "delete", "dynamic_cast", "explicit", "export", "false", "friend",
	"mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
	"private", "protected", "public", "reinterpret_cast", "requires", "static_assert", "static_cast",
	"template", "this", "thread_local", "throw", "true", "try", "typeid", "typename", "using", "virtual",
	"wchar_t", "xor", "xor_eq", "adsm", "std", "kernel_name", "max_threads", "is_task", "parameter_list",
	"parameters",
};

/* Words of C, which no kernel can have as its name. */
static const char *const words[] = {
	"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
	"float", "for", "goto", "if", "inline", "int", "long", "register", "return", "short", "signed", "sizeof",
	"static", "struct", "switch", "typedef", "typeof", "union", "unsigned", "void", "volatile", "while",
};

/* Names of C's library in the global namespace: those that <adsm.hpp> brings along, and common ones of others. */
static const char *const taken_globally[] = {
	"EOF", "FILE", "L_ctermid", "L_cuserid", "L_tmpnam", "NULL", "P_tmpdir", "a64l", "abort", "abs", "accept",
	"access", "acct", "alarm", "aligned_alloc", "alloca", "arc4random", "arc4random_buf", "arc4random_uniform",
	"asctime", "asctime_r", "asprintf", "at_quick_exit", "atexit", "atof", "atoi", "atol", "atoll", "basename",
	"bcmp", "bcopy", "bind", "brk", "bsearch", "btowc", "bzero", "calloc", "canonicalize_file_name", "chdir",
	"chown", "chroot", "clearenv", "clearerr", "clearerr_unlocked", "clock", "clock_adjtime",
	"clock_getcpuclockid", "clock_getres", "clock_gettime", "clock_nanosleep", "clock_settime", "clone", "close",
	"confstr", "connect", "creat", "crypt", "ctermid", "ctime", "ctime_r", "cuserid", "daemon", "daylight",
	"difftime", "div", "dprintf", "drand48", "drand48_data", "drand48_r", "dup", "duplocale", "dysize", "ecvt",
	"ecvt_r", "environ", "erand48", "erand48_r", "errno", "execl", "execv", "exit", "fclose", "fcloseall",
	"fcntl", "fcvt", "fcvt_r", "fd_mask", "fd_set", "fdopen", "feof", "feof_unlocked", "ferror",
	"ferror_unlocked", "fflush", "fflush_unlocked", "ffs", "fgetc", "fgetc_unlocked", "fgetpos", "fgetpos64",
	"fgets", "fgets_unlocked", "fgetwc", "fgetwc_unlocked", "fgetws", "fgetws_unlocked", "fileno",
	"fileno_unlocked", "flockfile", "fmemopen", "fopen", "fopen64", "fopencookie", "fork", "fprintf", "fputc",
	"fputc_unlocked", "fputs", "fputs_unlocked", "fputwc", "fputwc_unlocked", "fputws", "fputws_unlocked",
	"fread", "fread_unlocked", "free", "freelocale", "freopen", "freopen64", "fscanf", "fseek", "fseeko",
	"fseeko64", "fsetpos", "fsetpos64", "fsync", "ftell", "ftello", "ftello64", "ftrylockfile", "funlockfile",
	"fwide", "fwprintf", "fwrite", "fwrite_unlocked", "fwscanf", "gcvt", "getc", "getc_unlocked", "getchar",
	"getchar_unlocked", "getcpu", "getdate", "getdate_err", "getdate_r", "getdelim", "getenv", "getline",
	"getloadavg", "getpt", "getsubopt", "getw", "getwc", "getwc_unlocked", "getwchar", "getwchar_unlocked",
	"gmtime", "gmtime_r", "grantpt", "index", "initstate", "initstate_r", "iovec", "isalnum", "isalnum_l",
	"isalpha", "isalpha_l", "isascii", "isatty", "isblank", "isblank_l", "iscntrl", "iscntrl_l", "isctype",
	"isdigit", "isdigit_l", "isgraph", "isgraph_l", "islower", "islower_l", "isprint", "isprint_l", "ispunct",
	"ispunct_l", "isspace", "isspace_l", "isupper", "isupper_l", "isxdigit", "isxdigit_l", "itimerspec",
	"jrand48", "jrand48_r", "kill", "l64a", "labs", "lcong48", "lcong48_r", "lconv", "ldiv", "lgamma_r", "linger",
	"link", "linux", "listen", "llabs", "lldiv", "localeconv", "localtime", "localtime_r", "lockf", "lrand48",
	"lrand48_r", "lseek", "main", "malloc", "mblen", "mbrlen", "mbrtowc", "mbsinit", "mbsnrtowcs", "mbsrtowcs",
	"mbstowcs", "mbtowc", "memccpy", "memchr", "memcmp", "memcpy", "memmem", "memmove", "mempcpy", "memrchr",
	"memset", "mkdtemp", "mkostemp", "mkostemp64", "mkostemps", "mkostemps64", "mkstemp", "mkstemp64", "mkstemps",
	"mkstemps64", "mktemp", "mktime", "mmap", "mprotect", "mrand48", "mrand48_r", "msync", "munmap", "nanosleep",
	"newlocale", "nice", "nrand48", "nrand48_r", "obstack", "obstack_printf", "obstack_vprintf", "on_exit",
	"open", "open_memstream", "open_wmemstream", "optarg", "pause", "pclose", "perror", "pipe", "popen",
	"posix_memalign", "posix_openpt", "pread", "printf", "profil", "program_invocation_name",
	"program_invocation_short_name", "pselect", "ptsname", "ptsname_r", "putc", "putc_unlocked", "putchar",
	"putchar_unlocked", "putenv", "puts", "putw", "putwc", "putwc_unlocked", "putwchar", "putwchar_unlocked",
	"pwrite", "qecvt", "qecvt_r", "qfcvt", "qfcvt_r", "qgcvt", "qsort", "qsort_r", "quick_exit", "raise", "rand",
	"rand_r", "random", "random_data", "random_r", "read", "readahead", "readlink", "realloc", "reallocarray",
	"realpath", "recv", "remove", "rename", "renameat", "renameat2", "revoke", "rewind", "rindex", "rmdir",
	"rpmatch", "sbrk", "scanf", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
	"sched_getcpu", "sched_getparam", "sched_getscheduler", "sched_param", "sched_rr_get_interval",
	"sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_yield", "secure_getenv", "seed48",
	"seed48_r", "select", "send", "sendto", "setbuf", "setbuffer", "setenv", "setlinebuf", "setlocale", "setns",
	"setstate", "setstate_r", "setvbuf", "shutdown", "sigaction", "sigevent", "signal", "signgam", "sleep",
	"snprintf", "socket", "splice", "sprintf", "srand", "srand48", "srand48_r", "srandom", "srandom_r", "sscanf",
	"stat", "stderr", "stdin", "stdout", "strcasecmp", "strcat", "strchr", "strcmp", "strcoll", "strcpy",
	"strcspn", "strdup", "strerror", "strfromd", "strfromf", "strfroml", "strftime", "strftime_l", "strlen",
	"strncasecmp", "strncat", "strncmp", "strncpy", "strndup", "strnlen", "strpbrk", "strptime", "strptime_l",
	"strrchr", "strsep", "strsignal", "strspn", "strstr", "strtod", "strtod_l", "strtof", "strtof_l", "strtok",
	"strtol", "strtol_l", "strtold", "strtold_l", "strtoll", "strtoll_l", "strtoq", "strtoul", "strtoul_l",
	"strtoull", "strtoull_l", "strtouq", "strxfrm", "swab", "swprintf", "swscanf", "symlink", "sync", "syscall",
	"sysconf", "system", "tee", "tempnam", "time", "timegm", "timelocal", "timer_create", "timer_delete",
	"timer_getoverrun", "timer_gettime", "timer_settime", "timespec", "timespec_get", "timespec_getres",
	"timeval", "timex", "timezone", "tm", "tmpfile", "tmpfile64", "tmpnam", "tmpnam_r", "toascii", "tolower",
	"tolower_l", "toupper", "toupper_l", "truncate", "tzname", "tzset", "u_char", "u_int", "u_long", "u_short",
	"uint", "ulong", "ungetc", "ungetwc", "unix", "unlink", "unlockpt", "unsetenv", "unshare", "uselocale",
	"ushort", "usleep", "va_list", "valloc", "vasprintf", "vdprintf", "vfork", "vfprintf", "vfscanf", "vfwprintf",
	"vfwscanf", "vprintf", "vscanf", "vsnprintf", "vsprintf", "vsscanf", "vswprintf", "vswscanf", "vwprintf",
	"vwscanf", "wait", "waitid", "waitpid", "wcpcpy", "wcpncpy", "wcrtomb", "wcscasecmp", "wcscasecmp_l",
	"wcscat", "wcschr", "wcschrnul", "wcscmp", "wcscoll", "wcscoll_l", "wcscpy", "wcscspn", "wcsdup", "wcsftime",
	"wcsftime_l", "wcslen", "wcsncasecmp", "wcsncasecmp_l", "wcsncat", "wcsncmp", "wcsncpy", "wcsnlen",
	"wcsnrtombs", "wcspbrk", "wcsrchr", "wcsrtombs", "wcsspn", "wcsstr", "wcstod", "wcstod_l", "wcstof",
	"wcstof_l", "wcstok", "wcstol", "wcstol_l", "wcstold", "wcstold_l", "wcstoll", "wcstoll_l", "wcstombs",
	"wcstoq", "wcstoul", "wcstoul_l", "wcstoull", "wcstoull_l", "wcstouq", "wcswcs", "wcswidth", "wcsxfrm",
	"wcsxfrm_l", "wctob", "wctomb", "wcwidth", "wmemchr", "wmemcmp", "wmemcpy", "wmemmove", "wmempcpy", "wmemset",
	"wprintf", "write", "wscanf",
};

/* The same of <math.h>: each of them also ends in f and l. */
static const char *const taken_by_math[] = {
	"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "drem",
	"erf", "erfc", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "finite", "floor", "fma", "fmax", "fmin",
	"fmod", "frexp", "gamma", "hypot", "ilogb", "j0", "j1", "jn", "ldexp", "lgamma", "llrint", "llround", "log",
	"log10", "log1p", "log2", "logb", "lrint", "lround", "modf", "nan", "nearbyint", "nextafter", "nexttoward",
	"pow", "remainder", "remquo", "rint", "round", "scalb", "scalbln", "scalbn", "significand", "sin", "sincos",
	"sinh", "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1", "yn",
};

static bool is_in(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
#define IS_IN(names, name) is_in(names, sizeof(names) / sizeof(names[0]), name)

/* Can it be no namespace, because C, C's library or libadsm has the name? */
static bool is_global(const char *name)
{
	const size_t size = strlen(name);

	if (IS_IN(words, name) || IS_IN(taken_globally, name) || IS_IN(taken_by_math, name))
		return true;
	if (size > 1 && strchr("fl", name[size - 1]) &&
	    IS_IN(taken_by_math, format_string("%.*s", (int)size - 1, name)))
		return true;
	return starts(name, "pthread_") || (starts(name, "adsm") && isupper((unsigned char)name[4])) ||
		(size > 2 && !strcmp(name + size - 2, "_t"));
}

/* Append a name. Names that are taken get a "_". */
static void add_name(struct text *out, const char *name)
{
	text_print(out, "%s%s", name, IS_IN(taken, name) ? "_" : "");
}

/* The namespace: the name of the file, as far as it can be one. */
static void add_namespace(struct text *out, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *own = format_string("%s%.*s", isdigit((unsigned char)*name) ? "_" : "", (int)strcspn(name, "."), name);

	for (char *p = own; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	add_name(out, *own ? own : "kernels");
	if (!IS_IN(taken, own) && is_global(own))
		text_print(out, "_");
}

/* The name of a type that C and C++ have in common, with its size on all machines of the library; else NULL. */
static const char *common_type(const char *type, uint32_t size)
{
	static const struct { const char *c; uint32_t size; const char *cpp; } types[] = {
		{ "char", 1, "char" }, { "signed char", 1, "signed char" }, { "unsigned char", 1, "unsigned char" },
		{ "short", 2, "short" }, { "unsigned short", 2, "unsigned short" }, { "int", 4, "int" },
		{ "unsigned", 4, "unsigned" }, { "unsigned int", 4, "unsigned" }, { "long", 8, "long" },
		{ "unsigned long", 8, "unsigned long" }, { "long long", 8, "long long" },
		{ "unsigned long long", 8, "unsigned long long" }, { "float", 4, "float" }, { "double", 8, "double" },
		{ "f32", 4, "float" }, { "f64", 8, "double" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].c, type) && types[i].size == size)
			return types[i].cpp;
	return NULL;
}

/* Is it a type of PTX that clang uses for an integer, whose sign PTX does not know? */
static bool is_ptx_integer(const char *type)
{
	return strchr("usb", type[0]) && isdigit((unsigned char)type[1]);
}

static void add_type(struct text *out, const struct adsm_param *param)
{
	const char *name = common_type(param->type, param->size);

	if (name)
		text_print(out, "%s", name);
	else
		text_print(out, "adsm::bytes<%u>", param->size);
}

static void add_pointer(struct text *out, const struct adsm_param *param, bool is_cuda)
{
	static const char *const kinds[] = { "any", "in", "out", "inout" };

	text_print(out, "adsm::param::%s<", kinds[param->access & 3]);
	if (is_cuda)
		text_print(out, "void");
	else
		add_type(out, param);
	text_print(out, ">");
}

/* The type of a parameter in adsm::param. */
static void add_param(struct text *out, const struct adsm_param *param, bool is_cuda)
{
	if (param->kind == ADSM_ARG_POINTER) {
		add_pointer(out, param, is_cuda);
		return;
	}
	if (param->kind == ADSM_ARG_LOCAL) {
		text_print(out, "adsm::param::shared");
		return;
	}
	if (is_cuda && is_ptx_integer(param->type)) {
		text_print(out, "adsm::param::integer<%u>", param->size);
		return;
	}
	text_print(out, "adsm::param::%s<", param->kind == ADSM_ARG_ONCE ? "once" :
		   param->kind == ADSM_ARG_CONST ? "constant" : "value");
	add_type(out, param);
	text_print(out, param->kind == ADSM_ARG_ONCE ? ", %u>" : ">", param->access);
}

/* ---- the header -------------------------------------------------------------------------- */

static void add_kernel(struct text *out, const struct adsm_kernel_info *kernel)
{
	const bool is_cuda = kernel->full;
	const char *limit = kernel->task ? "a task" : format_string("blocks of up to %u threads", kernel->max_threads);

	text_print(out, "\n/* %s, %s */\nstruct ", kernel->name, limit);
	add_name(out, kernel->name);
	text_print(out, " {\n\tstatic constexpr const char *kernel_name = \"%s\";\n"
		   "\tstatic constexpr unsigned max_threads = %u;\n\tstatic constexpr bool is_task = %s;\n"
		   "\tusing parameter_list = adsm::param::list<", kernel->name, kernel->max_threads,
		   kernel->task ? "true" : "false");
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		text_print(out, "%s\n\t\t", i ? "," : "");
		add_param(out, &kernel->params[i], is_cuda);
	}
	text_print(out, ">;\n\tstatic constexpr std::array<adsm::parameter, %u> parameters = {%s", kernel->n_params,
		   kernel->n_params ? "{" : "");
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		const struct adsm_param *param = &kernel->params[i];

		text_print(out, "%s\n\t\tadsm::parameter{ \"%s\", \"%s\", %u, %u, %u }", i ? "," : "", param->name,
			   param->type, param->kind, param->access, param->size);
	}
	text_print(out, "%s};\n};\n", kernel->n_params ? "\n\t}" : "");
}

void write_header(const char *module, const char *path)
{
	const struct kernels kernels = read_kernels(module);
	const char *slash = strrchr(module, '/');
	struct text out = { 0 };

	text_print(&out, "/* The kernels of %s. adsmcc --header has written this file. */\n#pragma once\n\n"
		   "#include <array>\n\n#include <adsm.hpp>\n\nnamespace ", slash ? slash + 1 : module);
	add_namespace(&out, path);
	text_print(&out, " {\n");
	for (size_t i = 0; i < kernels.n; i++)
		add_kernel(&out, &kernels.items[i]);
	text_print(&out, "\n}\n");
	write_text(&out, path);
}
