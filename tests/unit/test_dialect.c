/* SPDX-License-Identifier: MIT */
/* test_dialect.c - adsmcc and adsm_kernel.h: what modules compute, what is refused, what other compilers say. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "adsm.h"
#include "adsm_kernel.h"

static const char *adsmcc;
static char dir[] = "/tmp/adsm-dialect.XXXXXX";	/* the working directory */
static char output[65536];			/* what the last program said */

/* Run a program; its exit status, or minus its signal. */
static int run(const char *const *argv)
{
	size_t size = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	CHECK(!pipe(fds));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(fds[1]);
	while (size < sizeof(output) - 1 && (n = read(fds[0], output + size, sizeof(output) - 1 - size)) > 0)
		size += (size_t)n;
	output[size] = '\0';
	close(fds[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static size_t n_files(void)
{
	glob_t found;
	size_t n;

	if (glob("*", 0, NULL, &found))
		return 0;
	n = found.gl_pathc;
	globfree(&found);
	return n;
}

static void remove_files(void)
{
	glob_t found;

	remove("sub/x.h");
	if (glob("*", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		remove(found.gl_pathv[i]);
	globfree(&found);
}

static void clean_up(void)
{
	remove_files();
	rmdir(dir);
}

/* ---- what modules compute */

static adsm_kernel_run *load_kernel(const char *module, const char *symbol)
{
	void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL), *function;

	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(handle);
	function = dlsym(handle, symbol);
	CHECK(function);
	return (adsm_kernel_run *)(uintptr_t)function;
}

static void run_grid(adsm_kernel_run *kernel, const uint32_t *grid, const uint32_t *block, const void *const *args)
{
	struct adsm_kernel_block b = { { grid[0], grid[1], grid[2] }, { block[0], block[1], block[2] }, { 0, 0, 0 } };

	for (b.index[2] = 0; b.index[2] < grid[2]; b.index[2]++)
		for (b.index[1] = 0; b.index[1] < grid[1]; b.index[1]++)
			for (b.index[0] = 0; b.index[0] < grid[0]; b.index[0]++)
				kernel(&b, args);
}

static void test_vecadd(const char *module)
{
	static const unsigned shapes[][3] = {
		/* blocks, threads, values */
		{ 1, 1, 1 }, { 1, 1024, 1000 }, { 4, 256, 1024 }, { 4, 256, 769 }, { 7, 33, 230 }, { 3, 5, 0 },
	};
	adsm_kernel_run *vecadd = load_kernel(module, "adsm_run_vecadd");
	float a[1024], b[1024], c[1024];
	uint64_t pa = (uintptr_t)a, pb = (uintptr_t)b, pc = (uintptr_t)c;

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		const uint32_t grid[3] = { shapes[s][0], 1, 1 }, block[3] = { shapes[s][1], 1, 1 };
		const unsigned n = shapes[s][2];
		const void *args[] = { &pa, &pb, &pc, &n };

		for (int i = 0; i < 1024; i++) {
			a[i] = (float)i;
			b[i] = 0.5f * (float)i;
			c[i] = -1;
		}
		run_grid(vecadd, grid, block, args);
		for (unsigned i = 0; i < 1024; i++)
			CHECK(c[i] == (i < n ? a[i] + b[i] : -1));
		args[2] = &pa;
		run_grid(vecadd, grid, block, args);
		for (unsigned i = 0; i < n; i++)
			CHECK(a[i] == c[i]);
	}
}

static void test_scan(const char *module)
{
	static const uint32_t threads[] = { 256, 128, 37, 1 };
	adsm_kernel_run *scan = load_kernel(module, "adsm_run_scan");
	int in[768], out[768];
	uint64_t pin = (uintptr_t)in, pout = (uintptr_t)out;
	const void *args[] = { &pin, &pout };

	for (int i = 0; i < 768; i++)
		in[i] = i * 7 % 13;
	for (size_t s = 0; s < sizeof(threads) / sizeof(threads[0]); s++) {
		const uint32_t n = threads[s], grid[3] = { 3, 1, 1 }, block[3] = { n, 1, 1 };
		int sum = 0;

		run_grid(scan, grid, block, args);
		for (uint32_t i = 0; i < 3 * n; i++) {
			sum = i % n ? sum + in[i] : in[i];
			CHECK(out[i] == sum);
		}
	}
}

struct scale {
	float factor;
	char add;
};

/* What shapes.c computes, block by block and thread by thread. */
static void shapes_reference(const uint32_t *grid, const uint32_t *block, const int *in, int *out, int *total,
			     struct scale scale, short bias, const int *table)
{
	static const int weights[4] = { 1, 10, 100, 1000 };
	const uint32_t w = grid[0] * block[0], h = grid[1] * block[1], d = grid[2] * block[2];

	for (uint32_t i = 0; i < w * h * d; i++) {
		const uint32_t x = i % w, y = i / w % h, z = i / w / h;
		/* The thread at the opposite corner of the same block. */
		const uint32_t ox = x / block[0] * block[0] + block[0] - 1 - x % block[0];
		const uint32_t oy = y / block[1] * block[1] + block[1] - 1 - y % block[1];
		const uint32_t oz = z / block[2] * block[2] + block[2] - 1 - z % block[2];
		const int other = in[(oz * h + oy) * w + ox] + weights[oz % block[2] & 3] + table[x / block[0]];
		const float value = scale.factor * (float)other + (float)scale.add + 2 * (float)bias;

		total[0] += other;
		total[1] = other > total[1] ? other : total[1];
		total[2] = other < total[2] ? other : total[2];
		out[i] = (int)(value < 0 ? -value : value);
	}
}

static void test_shapes(const char *module)
{
	static const struct {
		uint32_t grid[3], block[3];
		int bits;
	} shapes[] = {
		{ { 1, 1, 1 }, { 1, 1, 1 }, 1 },
		{ { 3, 2, 2 }, { 4, 3, 2 }, 255 },
		{ { 2, 1, 3 }, { 1, 5, 4 }, 255 },
		{ { 1, 4, 1 }, { 1, 1, 3 }, 7 },
		{ { 4, 1, 1 }, { 128, 1, 1 }, 255 },
	};
	static const int table[4] = { 5, -50, 500, -5000 };
	const struct scale scale = { -3, 4 };
	const short bias = 11;
	adsm_kernel_run *kernel = load_kernel(module, "adsm_run_shapes");
	const struct adsm_kernel_block one = { { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } };
	int in[512], out[512], expected[512];
	char unaligned[16];

	for (int i = 0; i < 512; i++)
		in[i] = i * 37 % 101 - 50;
	memcpy(unaligned + 1, &scale, sizeof(scale));
	memcpy(unaligned + 1 + sizeof(scale), &bias, sizeof(bias));
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		const uint32_t *grid = shapes[s].grid, *block = shapes[s].block;
		int total[3] = { 1, 0, 0 }, expected_total[3] = { 1, 0, 0 }, bits[3] = { 0, 0, 0 };
		uint64_t p[4] = { (uintptr_t)in, (uintptr_t)out, (uintptr_t)total, (uintptr_t)bits };
		const void *args[] = { &p[0], &p[1], &p[2], &p[3], unaligned + 1,
				       unaligned + 1 + sizeof(scale), table };

		memset(out, 0, sizeof(out));
		memset(expected, 0, sizeof(expected));
		shapes_reference(grid, block, in, expected, expected_total, scale, bias, table);
		run_grid(kernel, grid, block, args);
		CHECK(!memcmp(out, expected, sizeof(out)));
		CHECK(!memcmp(total, expected_total, sizeof(total)));
		CHECK(bits[0] == shapes[s].bits && bits[1] && bits[2] == 1);
		p[3] = 0;	/* a null pointer arrives as one */
		memset(out, 0, sizeof(out));
		run_grid(kernel, grid, block, args);
		CHECK(!memcmp(out, expected, sizeof(out)) && bits[2] == 1);
	}
	load_kernel(module, "adsm_run_nothing")(&one, NULL);
}

/* ---- what adsmcc accepts and refuses */

#define HEAD "#include <adsm_kernel.h>\nADSM_KERNEL(k, ADSM_INOUT(int, a))\n{\n"	/* lines 1 to 3 */

static const struct {
	const char *source;
	int line;			/* of the error; 0: accepted */
	const char *message;
} cases[] = {
	{ HEAD "ADSM_THREADS {\nreturn;\n}\n}\n", 5, "return inside" },
	{ HEAD "ADSM_THREADS {\nfor (int i = 0; i < 2; i++) {\nif (i)\nreturn;\n}\n}\n}\n", 7, "return inside" },
	{ HEAD "ADSM_THREADS {\na[0] = ({ return; 1; });\n}\n}\n", 5, "return inside" },
	{ HEAD "ADSM_THREADS {\ngoto out;\n}\nout:;\n}\n", 5, "goto inside" },
	{ HEAD "ADSM_THREADS {\nbreak;\n}\n}\n", 5, "break would leave" },
	{ HEAD "ADSM_THREADS {\n/* for ( */ if (a[0]) { a[1] = 1;\nbreak; }\n}\n}\n", 6, "break would" },
	{ HEAD "ADSM_THREADS {\nfor (;;)\nif (a[0])\nbreak;\nelse\nbreak;\nbreak;\n}\n}\n", 10, "break would" },
	{ HEAD "ADSM_THREADS {\ndo a[0]++; while (a[0] < 3);\nbreak;\n}\n}\n", 6, "break would leave" },
	{ HEAD "ADSM_THREADS {\nwhile (a[0]) break;\nif (a[0]) ;\nelse break;\n}\n}\n", 7, "break would leave" },
	{ HEAD "for (;;) {\nADSM_THREADS {\nbreak;\n}\n}\n}\n", 6, "break would leave" },
	{ HEAD "ADSM_THREADS {\nswitch (a[0]) {\ncase 1: break;\ndefault: ;\n}\nx: break;\n}\n}\n", 9,
	  "break would leave" },
	{ HEAD "ADSM_THREADS {\nADSM_THREADS { }\n}\n}\n", 5, "ADSM_THREADS inside" },
	{ HEAD "ADSM_THREADS {\nADSM_BARRIER;\n}\n}\n", 5, "ADSM_BARRIER inside" },
	{ HEAD "ADSM_THREADS {\nADSM_SHARED(int, s, 4);\n}\n}\n", 5, "ADSM_SHARED inside" },
	{ HEAD "ADSM_THREADS\na[0] = 1;\n}\n", 5, "braces" },
	{ "#include <adsm_kernel.h>\nADSM_KERNEL(k);\n", 2, "braces" },
	{ "#include <adsm_kernel.h>\nint x;\n", 1, "no kernel" },
	{ "#include <adsm_kernel.h>\n#  include <stdio.h>\n", 2, "<stdio.h>" },
	{ "#include <adsm_kernel.h>\n\n#include \"none.h\"\n", 3, "none.h" },
	{ "#define X <adsm_kernel.h>\n#include X\n", 2, "#include needs" },
	{ "/* a\n * b */ // c\n#include \"sub/x.h\"\n" HEAD "ADSM_THREADS {\nbreak;\n}\n}\n", 8, "break would leave" },
	{ HEAD "\nADSM_LOCK(1);\nADSM_THREADS { }\n}\n", 5, "ADSM_LOCK in a kernel" },
	{ "#include <adsm_kernel.h>\nADSM_TASK(t)\n{\nADSM_THREADS { }\n}\n", 4, "ADSM_THREADS in a task" },
	{ "#include <adsm_kernel.h>\nADSM_TASK(t)\n{\nADSM_SHARED(int, s, 4);\n}\n", 4, "ADSM_SHARED in a task" },
	{ "#include <adsm_kernel.h>\nADSM_TASK(t);\n", 2, "braces" },
	/* A line behind one knows its number. */
	{ "#include <adsm_kernel.h>\nADSM_TASK(t, ADSM_PTR(int, p)) { for (;;) { return; } }\n"
	  HEAD "ADSM_THREADS {\nreturn;\n}\n}\n", 7, "return inside" },
	{ "#include <adsm_kernel.h>\nADSM_TASK(t, ADSM_PTR(int, p)) {\nADSM_LOCK(0);\nADSM_UNLOCK(0);\n}\n", 0, NULL },
	{ HEAD "ADSM_THREADS {\nfor (;;) { if (a[0]) break; }\ndo { break; } while (0);\nwhile (1) break;\n"
	  "switch (a[0]) { case 1: break; default: a[0] = 1 ? 2 : 3; break; }\n"
	  "for (;;) if (a[1]) { continue; } else break;\n}\nreturn;\n}\n", 0, NULL },
	{ HEAD "/* ADSM_THREADS { return; */ // goto\nconst char *s = \"ADSM_THREADS { return; }\\\"\";\n"
	  "char c = '{';\n(void)s; (void)c;\nADSM_THREADS {\nconst char *t = \"break;\";\n(void)t;\n"
	  "#define RETURN return;\\\n goto\n}\nfor (;;)\nbreak;\n}\n", 0, NULL },
	{ HEAD "ADSM_SHARED(int, s, 2);\nADSM_THREADS {\nADSM_ATOMIC_MIN(s, ADSM_ATOMIC_MAX(a, 1));\n"
	  "ADSM_ATOMIC_CAS(s, 1, 2);\n}\n}\n", 0, NULL },
	{ "/*\n#include <stdio.h>\n*/\n#include \"sub/x.h\"\n#include <adsm_kernel.h>\n"
	  "static int f(int i) { return i; }\nADSM_KERNEL_MAX(k, (1 + 1), // two, and\n "
	  "ADSM_VAL(int, n), /* , */\nADSM_PTR(int, p)) {\n"
	  "ADSM_THREADS { p[0] = f(n) + X; }\n}\n", 0, NULL },
};

static void test_refusals(void)
{
	CHECK(!mkdir("sub", 0777));
	write_file("sub/x.h", "#ifndef X\n#define X 5\n#endif\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char where[32];
		int status;

		write_file("case.c", cases[i].source);
		status = RUN(adsmcc, "--emit-text", "-o", "case.text", "case.c");
		if (!cases[i].line) {
			if (status)
				fprintf(stderr, "%s%s", cases[i].source, output);
			CHECK(!status && !output[0]);
			CHECK(!RUN(adsmcc, "-o", "case.adsm", "-Wall", "-Werror", "case.c"));
			CHECK(!access("case.adsm", R_OK));
			continue;
		}
		snprintf(where, sizeof(where), "case.c:%d: error: ", cases[i].line);
		if (status != 1 || strncmp(output, where, strlen(where)) || !strstr(output, cases[i].message) ||
		    strchr(output, '\n') != output + strlen(output) - 1) {
			fprintf(stderr, "%sexpected %s%s, status %d:\n%s", cases[i].source, where, cases[i].message,
				status, output);
			exit(1);
		}
		CHECK(access("case.text", F_OK));
	}
	remove_files();
	CHECK(!n_files());
}

/* Lines are those of the files, and includes are found from the file that has them. */
static void test_includes(void)
{
	write_file("a.h", "#pragma once\n#include \"b.h\"\nenum { A };\n");
	write_file("b.h", "#ifndef B\n#define B\n#include \"a.h\"\n#endif\n");
	write_file("x.c", "#include \"a.h\"\n#include \"a.h\"\n" HEAD "}\n");
	CHECK(!RUN(adsmcc, "-o", "x.adsm", "x.c") && !output[0] && !remove("x.adsm"));
	write_file("b.h", "/*\n#include <stdio.h>\n*/\nint broken = ;\n");
	CHECK(RUN(adsmcc, "x.c") == 1 && strstr(output, "b.h:4:") && n_files() == 3);
	write_file("b.h", "#include \"a.h\"\n");
	write_file("a.h", "#include \"b.h\"\n");
	CHECK(!RUN(adsmcc, "-MF", "x.d", "x.c") && !output[0]);
	CHECK(!access("x.adsm", R_OK));
	CHECK(!RUN("grep", "-q", "a.h", "x.d") && !RUN("grep", "-q", "adsm_kernel.h", "x.d"));
	write_file("x.c", HEAD "int i = X + (Y);\n(void)i;\nnonsense\n}\n");
	CHECK(RUN(adsmcc, "-DX", "-D", "Y=-2", "-Wall", "x.c") == 1 && strstr(output, "x.c:6:"));
	remove_files();
}

/* Errors point to lines of the kernel, also in macros of adsm_kernel.h, and there is no note for each macro. */
static void test_errors(const char *compiler)
{
	size_t n = 0;

	if (RUN(compiler, "--version"))
		return;
	write_file("errors.c", "#include <adsm_kernel.h>\n\nADSM_KERNEL(k, ADSM_IN(flat, a), ADSM_INOUT(int, b))\n{\n"
		   "\tADSM_THREADS {\n\t\tb[ADSM_THREAD] = a[0];\n\t}\n}\n\nADSM_KERNEL(other, ADSM_INOUT(int, b))\n{\n"
		   "\tADSM_THREADS {\n\t\tADSM_ATOMIC_MAX(b[0], 1);\n\t}\n}\n");
	CHECK(RUN(adsmcc, "--cc", compiler, "errors.c") == 1);
	CHECK(strstr(output, "errors.c:3:") && strstr(output, "errors.c:13:"));
	for (char *rest = output, *line; (line = strsep(&rest, "\n")); n++)
		if (strstr(line, ": error: ") && strncmp(line, "errors.c:", strlen("errors.c:"))) {
			fprintf(stderr, "an error is not at a line of the kernel: %s\n", line);
			exit(1);
		}
	if (n > 80) {
		fprintf(stderr, "%s: %zu lines of messages\n", compiler, n);
		exit(1);
	}
	remove_files();
}

/* The output may be a pipe, or a device such as /dev/null. adsmcc writes the module into it and does not replace it. */
static void test_special_output(void)
{
	char magic[4];
	struct stat info;
	int fd;

	CHECK(!mkfifo("pipe", 0600));
	fd = open("pipe", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	CHECK(fd >= 0 && fcntl(fd, F_SETPIPE_SZ, 1 << 20) > 0);
	CHECK(!RUN(adsmcc, "-o", "pipe", "x.c") && !output[0]);
	CHECK(!lstat("pipe", &info) && S_ISFIFO(info.st_mode));
	CHECK(read(fd, magic, sizeof(magic)) == sizeof(magic) && !memcmp(magic, "\177ELF", sizeof(magic)));
	CHECK(!close(fd) && !remove("pipe") && n_files() == 1);
}

/* A module appears only when all went well, and nothing else stays. */
static void test_failures(void)
{
	write_file("x.c", HEAD "}\n");
	CHECK(RUN(adsmcc, "--cc", "false", "x.c") == 1 && n_files() == 1);
	CHECK(RUN(adsmcc, "--cc", "sh -c exit\\ 42", "x.c") != 0 && n_files() == 1);
	CHECK(RUN(adsmcc, "--cc=./no-compiler", "x.c") == 1);
	CHECK(strstr(output, "no-compiler") && n_files() == 1);
	CHECK(RUN(adsmcc, "-o", "no/x.adsm", "x.c") == 1 && strstr(output, "no/x.adsm"));
	test_special_output();
	CHECK(RUN(adsmcc, "none.c") == 1 && strstr(output, "none.c"));
	CHECK(RUN(adsmcc) == 1 && RUN(adsmcc, "--nonsense", "x.c") == 1 && strstr(output, "--nonsense"));
	CHECK(!RUN(adsmcc, "--help") && strstr(output, "--emit-text"));
	CHECK(!RUN(adsmcc, "--version") && !strncmp(output, "adsmcc ", 7));
	CHECK(n_files() == 1);
	/* The compiler has written its output when adsmcc is interrupted. */
	write_file("cc.sh", "while [ \"$1\" != -o ]; do shift; done\n: > \"$2\" || exit 3\nkill -INT $PPID\n");
	CHECK(RUN(adsmcc, "--cc", "sh cc.sh", "x.c") == -SIGINT && n_files() == 2);
	write_file("cc.sh", "exit 42\n");
	CHECK(RUN(adsmcc, "--cc", "sh cc.sh", "x.c") == 42 && n_files() == 2);
	remove_files();
}

/* ---- what other compilers say of the text: 77 without them */

static int test_others(const char *which, const char *const *sources)
{
	const bool opencl = !strcmp(which, "opencl");

	if (RUN(opencl ? "clang" : "nvcc", "--version")) {
		printf("skipped: no %s\n", opencl ? "clang" : "nvcc");
		return 77;
	}
	for (; *sources; sources++) {
		int status;

		CHECK(!RUN(adsmcc, "--emit-text", "-o", "kernel.text", *sources));
		status = opencl ? RUN("clang", "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",
				      "-fsyntax-only", "-Werror", "kernel.text") :
			RUN("nvcc", "-x", "cu", "-ptx", "-o", "kernel.ptx", "kernel.text");
		if (status)
			fprintf(stderr, "%s as %s:\n%s", *sources, which, output);
		CHECK(!status);
	}
	return 0;
}

int main(int argc, char **argv)
{
	CHECK(argc >= 4);
	for (int i = 2; i < argc; i++)
		CHECK((argv[i] = realpath(argv[i], NULL)));
	adsmcc = argv[2];
	CHECK(mkdtemp(dir));
	atexit(clean_up);
	CHECK(!chdir(dir));
	if (strcmp(argv[1], "native"))
		return test_others(argv[1], (const char *const *)argv + 3);
	CHECK(argc == 6);
	test_vecadd(argv[3]);
	test_scan(argv[4]);
	test_shapes(argv[5]);
	test_refusals();
	test_includes();
	test_errors("cc");
	test_errors("clang");
	test_failures();
	return 0;
}
