/* SPDX-License-Identifier: MIT */
/*
 * test_atomics.c - which kernels a module says may do atomics on objects: those called may_*, and not those called
 * not_*. Arguments: adsmcc, adsm-info.
 */
#include "adsm.h"
#include "adsm_kernel.h"
#include "base/log.h"
#include "base/module.h"
#include "process/device/code.h"

#include <fcntl.h>
#include <stdlib.h>

#define CHECK_MORE adsm_last_error()
#include "../check.h"

#define HEAD "#include <adsm_kernel.h>\n"
/* A kernel of an object p and an array s of the block, whose threads do @body after @before. */
#define KERNEL_AFTER(name, before, body) "ADSM_KERNEL(" #name ", ADSM_INOUT(int, p), ADSM_VAL(int, n))\n" \
	"{\nADSM_SHARED(int, s, 4);\nADSM_SHARED(struct pair, t, 2);\n" before "\nADSM_THREADS {\n" body "\n}\n}\n"
#define KERNEL(name, ...) KERNEL_AFTER(name, "", #__VA_ARGS__)

static char source[] = "/tmp/adsm-atomics-XXXXXX.c", module[] = "/tmp/adsm-atomics-XXXXXX.adsm";
static const char *adsmcc;

/* ---- one file with many kernels: each stands for itself */

static const char each[] = HEAD
	"struct pair { int a, b; int *to; };\n"
	"#define HIT(what) ADSM_ATOMIC_ADD((what), 1)\n"
	"#define WHICH(op) ADSM_ATOMIC_##op\n"
	"#define OTHER(op) ADSM_AT##op\n"
	/* A function that is only declared is not called. */
	"ADSM_FUNCTION void hit(int *what);\n"
	"ADSM_FUNCTION void hit_twice(int *what) { hit(what); hit(what); }\n"
	"ADSM_FUNCTION void hit(int *what) { ADSM_ATOMIC_ADD(what, 1); }\n"
	"static inline int add(int a, int b) { return a + b; }\n"
	"__attribute__((unused)) static int sum(const int *p, int n) { return n ? sum(p, n - 1) + p[n] : 0; }\n"
	"static int counter, counters[4];\ntypedef int *pointer;\n"
	KERNEL(may_parameter, ADSM_ATOMIC_ADD(p, 1);)
	KERNEL(may_min, ADSM_ATOMIC_MIN(p + n, 1);)
	KERNEL(may_max, ADSM_ATOMIC_MAX(&p[n], s[0]);)
	KERNEL(may_cas, ADSM_ATOMIC_CAS(p, s[0], 1);)
	KERNEL(may_exchange, n = ADSM_ATOMIC_EXCHANGE(&s[0] + (p - s), 1);)
	KERNEL(may_both, ADSM_ATOMIC_ADD(s, 1); ADSM_ATOMIC_ADD(p, 1);)
	KERNEL(may_value, ADSM_ATOMIC_ADD(s, ADSM_ATOMIC_ADD(p, 1));)
	KERNEL(may_macro, HIT(p);)
	KERNEL(may_pasted, WHICH(SUB)(p, 1);)
	KERNEL(may_pasted_more, OTHER(OMIC_OR)(p, 1);)
	KERNEL(may_call, hit(p);)
	KERNEL(may_call_shared, hit(s);)
	KERNEL(may_call_deep, hit_twice(p + add(n, 1));)
	KERNEL(may_pointer, void (*function)(int *) = hit; function(p);)
	KERNEL(may_static, ADSM_ATOMIC_ADD(&counter, 1);)
	KERNEL(may_alias, int *q = n ? s : p; ADSM_ATOMIC_ADD(q, 1);)
	KERNEL(may_choice, ADSM_ATOMIC_ADD(n ? s : p, 1);)
	KERNEL(may_choice_behind, ADSM_ATOMIC_ADD(s + 1 ? p : s, 1);)
	KERNEL(may_comma, ADSM_ATOMIC_ADD((s + 1, p), 1);)
	KERNEL(may_distance, ADSM_ATOMIC_ADD(s + 1 - s + p, 1);)
	KERNEL(may_through, ADSM_ATOMIC_ADD(&t[0].to[1], 1);)
	KERNEL(may_through_member, ADSM_ATOMIC_ADD(t[0].to, 1);)
	KERNEL(may_through_arrow, ADSM_ATOMIC_ADD(&t->a + n, 1);)
	KERNEL(may_hidden, int *s = p; ADSM_ATOMIC_ADD(s, 1);)
	KERNEL(may_hidden_later, int *q = p; { int *q2 = q, *s; s = q2; ADSM_ATOMIC_MIN(s, 1); })
	KERNEL(may_hidden_type, __typeof__(p) s = p; ADSM_ATOMIC_ADD(s, 1);)
	KERNEL(may_hidden_loop, for (int *q = p, *s = q; n < 0; n++) ADSM_ATOMIC_ADD(&s[n], 1);)
	KERNEL(may_hidden_bracket, int *(s) = p; ADSM_ATOMIC_ADD(s, 1);)
	KERNEL(may_hidden_plain, pointer s = p; ADSM_ATOMIC_ADD(s, 1);)
	KERNEL(may_hidden_list, pointer q = p, s = q; ADSM_ATOMIC_ADD(s, 1);)
	KERNEL(may_hidden_first, pointer s, q = p; ADSM_ATOMIC_ADD((s = q, s), 1); ADSM_ATOMIC_ADD(s, 1);)
	/* A function inside of one, where the compiler has that. */
	KERNEL_AFTER(may_hidden_inner, "", "#ifdef __clang__\nHIT(p);\n#else\n"
		     "void inner(int s[]) { HIT(s); }\ninner(p);\n#endif")
	KERNEL(may_hidden_named, typedef int *add; add (s); s = p; ADSM_ATOMIC_ADD(s, 1);)
	KERNEL_AFTER(may_outside, "if (n) { ADSM_SHARED(int, p, 4); p[0] = 1; ADSM_ATOMIC_ADD(p, 1); }", "HIT(p);")
	KERNEL_AFTER(may_outside_file, "if (n) { ADSM_SHARED(int, counters, 4); counters[0] = 1; }", "HIT(counters);")
	KERNEL_AFTER(may_before, "{ int *u = p; ADSM_ATOMIC_ADD(u, 1); }\nADSM_SHARED(int, u, 4); u[0] = 0;", "HIT(u);")
	KERNEL(may_builtin, __sync_fetch_and_add(p, 1);)
	KERNEL(may_builtin_bracket, (__atomic_store_n)(p, 1, __ATOMIC_RELAXED);)
	KERNEL(may_fence, __atomic_thread_fence(__ATOMIC_SEQ_CST); p[0] = 1;)
	KERNEL(may_instruction, __asm__ volatile("" : : "r"(p) : "memory");)
	KERNEL(may_type, (*(_Atomic int *)p)++;)
	KERNEL(not_any, p[n] = s[0] + add(n, 1) + sum(p, n);)
	KERNEL_AFTER(not_comment, "", "/* ADSM_ATOMIC_ADD(p, 1); hit(p); */ p[n] = 1;")
	KERNEL_AFTER(not_line_comment, "", "p[n] = 1; // ADSM_ATOMIC_ADD(p, 1)\n")
	KERNEL(not_string, const char *text = "ADSM_ATOMIC_ADD(p, 1) __atomic_fetch_add hit"; p[n] = text[n];)
	KERNEL_AFTER(not_compiled, "#ifdef __OPENCL_VERSION__\nHIT(p);\n#endif\n#define LATER HIT(p)", "p[n] = 1;")
	KERNEL(not_shared, ADSM_ATOMIC_ADD(s, 1);)
	KERNEL(not_shared_sum, ADSM_ATOMIC_SUB(s + n * 2, p[n]); ADSM_ATOMIC_AND((s) + n, 1);)
	KERNEL(not_shared_element, ADSM_ATOMIC_OR(&s[n - 1], 1); ADSM_ATOMIC_XOR(&(s)[p[0]], 1);)
	KERNEL(not_shared_member, ADSM_ATOMIC_ADD(&t[n].b, 1);)
	KERNEL(not_shared_min, ADSM_ATOMIC_MIN(s, 1); ADSM_ATOMIC_MAX(&s[n & 1], ADSM_ATOMIC_MIN(s + 1, 2));)
	KERNEL(not_shared_cas, ADSM_ATOMIC_CAS(s, 0, 1); p[0] = ADSM_ATOMIC_EXCHANGE(&t[0].a, 1);)
	KERNEL(not_shared_macro, HIT(s); HIT(&s[n]); WHICH(SUB)(s, 1);)
	KERNEL(not_shared_used, int *q = s; p[n] = *q * s[1] + sum(s, 3) + (int)sizeof(s); ADSM_ATOMIC_ADD(&s[0], 1);)
	KERNEL_AFTER(not_shared_before, "if (n) s[0] = 0;\nelse s[1] = 0;", "HIT(s); p[n] = n ? s[1] : s[2];");

/* ---- files where one thing is about all kernels */

#define TWO(in_first, in_second) KERNEL_AFTER(first, "", #in_first) KERNEL_AFTER(second, "", #in_second)
#define PAIR "struct pair { int a; };\n"

static const struct {
	const char *text;
	bool first, second;
} files[] = {
	{ HEAD PAIR TWO(p[0] = 1;, p[n] = 2;), false, false },
	{ HEAD PAIR TWO(ADSM_ATOMIC_ADD(p, 1);, p[n] = 2;), true, false },
	{ HEAD PAIR TWO(ADSM_ATOMIC_ADD(s, 1);, ADSM_ATOMIC_ADD(p, 1);), false, true },
	/* Calls through tables are not followed. */
	{ HEAD PAIR "static void hit(int *p) { ADSM_ATOMIC_ADD(p, 1); }\n"
	  "static void (*const hits[])(int *) = { hit };\n" TWO(hits[0](p);, p[n] = 2;), true, true },
	{ HEAD PAIR "static void none(int *p) { p[0]++; }\nstatic void (*const nones[])(int *) = { none };\n"
	  TWO(nones[0](p);, p[n] = 2;), false, false },
	{ HEAD PAIR "typedef _Atomic int atom;\n" TWO((*(atom *)p)++;, p[n] = 2;), true, true },
	/* Functions whose name is not where it is looked for. */
	{ HEAD PAIR "static int (*hit(int *p))[4] { static int a[4]; ADSM_ATOMIC_ADD(p, 1); return &a; }\n"
	  TWO(p[0] = (*hit(p))[0];, p[n] = 2;), true, true },
	{ HEAD PAIR "static void hit(p) int *p; { ADSM_ATOMIC_ADD(p, 1); }\n" TWO(hit(p);, p[n] = 2;), true, true },
	{ HEAD PAIR "__attribute__((used)) static void hit(int *p) { ADSM_ATOMIC_ADD(p, 1); }\n"
	  "static void other(int *p) __attribute__((alias(\"hit\")));\n" TWO(other(p);, p[n] = 2;), true, true },
	{ HEAD PAIR "struct __attribute((packed)) { _Atomic int a; } *one;\n"
	  TWO(((__typeof__(one))p)->a++;, p[n] = 2;), true, true },
	/* Attributes, types and data are no functions. */
	{ HEAD "struct __attribute__((packed)) pair { int a; };\n"
	  "static const struct pair one = { 1 }, more[] = { { 1 }, { 2 } };\n"
	  "union { int a; float b; } both = { .a = 1 };\nenum kind { KIND = 3 };\n__extension__ typedef int number;\n"
	  "static int hit(number *p) { return ADSM_ATOMIC_ADD(p, 1) + one.a + more[0].a + KIND; }\n"
	  TWO(p[0] = one.a + more[1].a;, p[0] = hit(p) + both.a;), false, true },
	/* The macros that stand behind the name of a kernel, and kernels made by macros. */
	{ HEAD "#define P ADSM_INOUT(int, p)\n"
	  "#define MAKE(name, what) ADSM_KERNEL(name, P) { ADSM_THREADS { what; } }\n"
	  "MAKE(first, ADSM_ATOMIC_ADD(p, 1))\nADSM_KERNEL_MAX(second, 64, P) { ADSM_THREADS { p[0] = 1; } }\n",
	  true, false },
	{ HEAD PAIR "#define NAME first\n#define BINS p\nADSM_KERNEL(NAME) { }\n"
	  "ADSM_KERNEL(second, ADSM_PTR(int, p)) { ADSM_ATOMIC_ADD(BINS, 1); }\n", false, true },
};

static void compile(const char *text)
{
	FILE *file = fopen(source, "w");
	char command[4096];

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
	snprintf(command, sizeof(command), "'%s' -O0 -Wno-unused-value -o '%s' '%s'", adsmcc, module, source);
	CHECKF(!system(command), "%s", text);
}

/* What the module says of its kernels; its bytes in *@ret_image. */
static struct adsm_module_info *read_module(void **ret_image, size_t *ret_size)
{
	struct adsm_module_info *info;
	FILE *file = fopen(module, "rb");

	CHECK(file && !fseek(file, 0, SEEK_END));
	*ret_size = (size_t)ftell(file);
	rewind(file);
	/* Sections lie at multiples of what they are aligned to. */
	*ret_image = aligned_alloc(64, (*ret_size + 63) / 64 * 64);
	CHECK(*ret_image && fread(*ret_image, 1, *ret_size, file) == *ret_size && !fclose(file));
	CHECK(!adsm_module_info_create(*ret_image, *ret_size, &info));
	return info;
}

static void test_each(void)
{
	struct adsm_module_info *info;
	size_t size, n = 0;
	void *image;

	compile(each);
	info = read_module(&image, &size);
	for (size_t i = 0; i < info->n_kernels; i++) {
		const struct adsm_kernel_info *kernel = &info->kernels[i];

		CHECKF(kernel->global_atomics == !strncmp(kernel->name, "may_", 4), "%s", kernel->name);
		CHECK(adsm_module_atomics(image, size, kernel->name) == kernel->global_atomics);
		n += kernel->global_atomics;
	}
	CHECK(n > 30 && info->n_kernels > n + 10);
	CHECK(adsm_module_atomics(image, size, "no such kernel") && adsm_module_atomics("", 0, "not_any"));
	adsm_module_info_destroy(info);
	free(image);
}

static void test_files(void)
{
	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		size_t size;
		void *image;

		compile(files[f].text);
		adsm_module_info_destroy(read_module(&image, &size));
		CHECKF(adsm_module_atomics(image, size, "first") == files[f].first, "%s", files[f].text);
		CHECKF(adsm_module_atomics(image, size, "second") == files[f].second, "%s", files[f].text);
		free(image);
	}
}

/* The two, as a device process that has loaded the module knows them. */
static void check_code(bool first, bool second)
{
	char text[ADSM_PROCESS_TEXT];
	uint32_t index, kernels[2];

	CHECK_OK(adsm_code_load(open(module, O_RDONLY | O_CLOEXEC), &index, text));
	CHECK_OK(adsm_code_kernel(index, "first", &kernels[0]));
	CHECK_OK(adsm_code_kernel(index, "second", &kernels[1]));
	CHECK_EQ(adsm_code_atomics(kernels[0]), first);
	CHECK_EQ(adsm_code_atomics(kernels[1]), second);
	CHECK_OK(adsm_code_unload(index));
}

/* A module of before, which has nothing where the flags are. */
static void test_old(void)
{
	struct adsm_module_info *info;
	struct adsm_kernel_desc *desc;
	size_t size;
	void *image;
	FILE *file;

	compile(files[2].text);
	check_code(false, true);
	info = read_module(&image, &size);
	for (char *p = image; (p = memmem(p, size - (size_t)(p - (char *)image), ADSM_KERNEL_MAGIC, 8)); p++) {
		desc = (struct adsm_kernel_desc *)(void *)p;
		memset(&desc->flags, 0, sizeof(desc->flags));
	}
	adsm_module_info_destroy(info);
	CHECK(!adsm_module_info_create(image, size, &info));
	CHECK_EQ(info->n_kernels, 2);
	CHECK(info->kernels[0].global_atomics && info->kernels[1].global_atomics);
	adsm_module_info_destroy(info);
	file = fopen(module, "w");
	CHECK(file && fwrite(image, 1, size, file) == size && !fclose(file));
	free(image);
	check_code(true, true);
}

/* What adsm-info says of a module, and of what is none. */
static void test_shown(const char *adsm_info)
{
	char command[4096], output[4096] = "", *line;
	FILE *pipe;

	compile(files[2].text);
	snprintf(command, sizeof(command), "'%s' '%s'", adsm_info, module);
	pipe = popen(command, "r");
	CHECK(pipe);
	output[fread(output, 1, sizeof(output) - 1, pipe)] = '\0';
	CHECK(!pclose(pipe));
	line = strstr(output, "first ");
	CHECKF(line && strstr(line, "2 parameters, blocks of up to 1024 threads\n"), "%s", output);
	line = strstr(output, "second ");
	CHECKF(line && strstr(line, "threads, may do atomics on objects\n"), "%s", output);
	snprintf(command, sizeof(command), "'%s' '%s' 2>&1 | grep -q 'not a kernel module'", adsm_info, source);
	CHECK(!system(command));
}

static void clean_up(void)
{
	remove(source);
	remove(module);
}

int main(int argc, char **argv)
{
	int fds[2];

	CHECK(argc == 3);
	adsmcc = argv[1];
	fds[0] = mkstemps(source, 2);
	fds[1] = mkstemps(module, 5);
	CHECK(fds[0] >= 0 && fds[1] >= 0 && !close(fds[0]) && !close(fds[1]));
	atexit(clean_up);
	test_each();
	test_files();
	test_old();
	test_shown(argv[2]);
	return 0;
}
