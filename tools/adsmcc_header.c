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

/* Words of C, which no kernel can have as its name, and names of its library in the global namespace. */
static const char *const taken_globally[] = {
	"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
	"extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "return", "short",
	"signed", "sizeof", "static", "struct", "switch", "typedef", "typeof", "union", "unsigned", "void",
	"volatile", "while",

	"abort", "abs", "accept", "access", "acct", "acos", "acosh", "alarm", "asin", "asinh", "atan",
	"atan2", "atanh", "atof", "atoi", "atol", "bind", "brk", "calloc", "cbrt", "ceil", "chdir", "chown",
	"chroot", "clearenv", "clock", "clone", "close", "confstr", "connect", "cos", "cosh", "creat",
	"crypt", "ctime", "daemon", "daylight", "difftime", "div", "drem", "dup", "environ", "erf", "erfc",
	"errno", "execl", "execv", "exit", "exp", "exp10", "exp2", "expm1", "fabs", "fcntl", "fdim", "feof",
	"ferror", "ffs", "finite", "floor", "fma", "fmax", "fmin", "fmod", "fopen", "fork", "fread", "free",
	"frexp", "fsync", "fwrite", "gamma", "getc", "getline", "gmtime", "hypot", "ilogb", "index",
	"iovec", "isalpha", "isatty", "j0", "j1", "jn", "kill", "labs", "ldexp", "ldiv", "lgamma", "linger",
	"link", "linux", "listen", "localtime", "lockf", "log", "log10", "log1p", "log2", "logb", "lrint",
	"lround", "lseek", "main", "malloc", "memchr", "memcmp", "memcpy", "memmove", "memset", "mktime",
	"mmap", "modf", "mprotect", "msync", "munmap", "nan", "nanosleep", "nice", "open", "optarg",
	"pause", "perror", "pipe", "popen", "pow", "pread", "printf", "profil", "putc", "puts", "putw",
	"pwrite", "qsort", "raise", "rand", "random", "read", "readahead", "readlink", "realloc", "recv",
	"remainder", "remove", "remquo", "rename", "revoke", "rewind", "rindex", "rint", "rmdir", "round",
	"sbrk", "scalb", "scanf", "select", "send", "sendto", "setbuf", "setenv", "shutdown", "sigaction",
	"signal", "significand", "sin", "sincos", "sinh", "sleep", "socket", "splice", "sqrt", "srand",
	"sscanf", "stat", "stderr", "stdin", "stdout", "strcat", "strchr", "strcmp", "strcpy", "strdup",
	"strlen", "strtok", "swab", "symlink", "sync", "syscall", "sysconf", "system", "tan", "tanh", "tee",
	"tgamma", "time", "timegm", "timespec", "timeval", "timex", "timezone", "tm", "tmpfile", "tolower",
	"toupper", "trunc", "truncate", "tzset", "uint", "ulong", "unix", "unlink", "unshare", "ushort",
	"usleep", "valloc", "vfork", "wait", "waitid", "waitpid", "write", "y0", "y1", "yn",
};

static bool is_in(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
#define IS_IN(names, name) is_in(names, sizeof(names) / sizeof(names[0]), name)

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
	if (IS_IN(taken_globally, own))
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
