/* SPDX-License-Identifier: MIT */
/* threads.c - see threads.h. */
#include "threads.h"

#include "adsm_kernel.h"
#include "ptx/code/translate.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define FORMS 512
#define STALE 0xddddddddddddddddull	/* what results are before */

static struct thread_form *forms;
static size_t n_forms;
static uint64_t state = 0x9e3779b97f4a7c15;

struct thread_form *add_thread_form(void (*model)(const struct thread_form *, struct thread_values *),
				    const char *registers, const char *format, ...)
{
	struct thread_form *form;
	va_list args;

	if (!forms)
		forms = calloc(FORMS, sizeof(*forms));
	if (!forms || n_forms == FORMS)
		abort();
	form = &forms[n_forms++];
	form->model = model;
	snprintf(form->registers, sizeof(form->registers), "%s", registers);
	va_start(args, format);
	vsnprintf(form->text, sizeof(form->text), format, args);
	va_end(args);
	return form;
}

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

/* The kinds of a form's registers. Returns their number. */
static int kinds_of(const struct thread_form *form, char *kinds, char types[][8])
{
	int n = 0;

	for (const char *at = form->registers; *at; n++) {
		if (n == SLOTS || sscanf(at, " %c:%7[a-z0-9]", &kinds[n], types[n]) != 2)
			abort();
		at = strchr(at + 1, ' ') ? strchr(at + 1, ' ') + 1 : "";
	}
	return n;
}

/* ---- the kernel of a form */

static void print_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text != '%')
			fputc(*text, out);
		else if (*++text >= '0' && *text <= '9')
			fprintf(out, "%%v%d", *text - '0');
		else if (*text >= 'a' && *text <= 'f')
			fprintf(out, "%%v%d", *text - 'a' + 10);
		else
			fprintf(out, "%%%c", *text);
	}
}

static void print_kernel(FILE *out, const struct thread_form *form, size_t index)
{
	char kinds[SLOTS], types[SLOTS][8];
	const int n = kinds_of(form, kinds, types);

	fprintf(out, ".visible .entry k%zu(.param .u64 in, .param .u64 out)\n{\n\t.reg .b64 %%i, %%o, %%x;\n"
		"\t.reg .b32 %%t, %%s, %%y;\n\t.reg .pred %%q;\n", index);
	for (int i = 0; i < n; i++)
		fprintf(out, "\t.reg .%s %%v%d;\n", types[i], i);
	fprintf(out, "\tmov.u32 %%t, %%tid.x;\n\tmov.u32 %%s, sv;\n\tmad.lo.u32 %%s, %%t, 16, %%s;\n"
		"\tld.param.u64 %%i, [in];\n\tld.param.u64 %%o, [out];\n"
		"\tmad.wide.u32 %%i, %%t, %d, %%i;\n\tmad.wide.u32 %%o, %%t, %d, %%o;\n", 8 * SLOTS, 8 * SLOTS);
	for (int i = 0; i < n; i++) {
		if (!strcmp(types[i], "pred"))
			fprintf(out, "\tld.global.u32 %%y, [%%i+%d];\n\tsetp.ne.u32 %%v%d, %%y, 0;\n", 8 * i, i);
		else
			fprintf(out, "\tld.global.%s %%v%d, [%%i+%d];\n", types[i], i, 8 * i);
	}
	fprintf(out, "\t");
	print_text(out, form->text);
	for (int i = 0; i < n; i++) {
		if (kinds[i] != 'o' && kinds[i] != 'O')
			continue;
		if (!strcmp(types[i], "pred"))
			fprintf(out, "\n\tselp.u32 %%y, 1, 0, %%v%d;\n\tst.global.u32 [%%o+%d], %%y;", i, 8 * i);
		else
			fprintf(out, "\n\tst.global.%s [%%o+%d], %%v%d;", types[i], 8 * i, i);
	}
	fprintf(out, "\n\tret;\n}\n");
}

static char *print_module(size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	if (!out)
		return NULL;
	fprintf(out, ".version 7.5\n.target sm_80\n.address_size 64\n.shared .align 128 .b8 sv[%d];\n", 16 * THREADS);
	for (size_t i = 0; i < n_forms; i++)
		print_kernel(out, &forms[i], i);
	fclose(out);
	return text;
}

/* Write the C text of all kernels. Returns the number of kernels that are refused; -1: the text cannot be written. */
static int write_module(const char *path)
{
	struct adsm_ptx_translation translation;
	struct adsm_ptx_module *module;
	struct adsm_ptx_error error;
	size_t size;
	char *text = print_module(&size);
	int n_refused = 0;
	FILE *out;

	if (!text || adsm_ptx_parse(text, size, &module, &error) || adsm_ptx_translate(module, &translation, &error)) {
		printf("line %d: %s\n%s", error.line, error.text, text);
		free(text);
		return -1;
	}
	for (uint32_t i = 0; i < translation.n_kernels; i++) {
		if (!translation.kernels[i].is_refused)
			continue;
		printf("%s\n\tis refused: %s\n", forms[i].text, translation.kernels[i].error.text);
		n_refused++;
	}
	out = fopen(path, "w");
	if (out) {
		fprintf(out, "#include <adsm_kernel.h>\n%s", translation.text);
		fclose(out);
	}
	adsm_ptx_translation_destroy(&translation);
	adsm_ptx_destroy(module);
	free(text);
	return out ? n_refused : -1;
}

static void *build(const struct kernels_place *place, const char *include)
{
	char path[128], source[128], command[1024];
	void *library = NULL;

	snprintf(source, sizeof(source), "%s/threads.c", place->folder);
	snprintf(path, sizeof(path), "%s/threads.so", place->folder);
	if (!write_module(source)) {
		snprintf(command, sizeof(command), "%s -O1 -std=gnu11 -shared -fPIC -w -ffp-contract=off "
			 "-fno-math-errno -fno-trapping-math -fno-strict-aliasing -fwrapv -fvisibility=hidden -I%s "
			 "-o %s %s -lm", place->cc, include, path, source);
		if (!system(command))
			library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			printf("%s: %s\n", command, "failed");
	}
	unlink(source);
	unlink(path);
	return library;
}

/* ---- values */

/* The lanes that take part, by warp: all; some; two groups with masks of their own. */
static void choose_groups(uint32_t *masks, bool *takes_part)
{
	for (int warp = 0; warp < THREADS / 32; warp++) {
		const uint64_t random = next_random();
		const uint32_t some = random & 1 ? (uint32_t)(random >> 32) : UINT32_MAX;

		for (int lane = 0; lane < 32; lane++) {
			const bool inside = some >> lane & 1;

			masks[32 * warp + lane] = inside ? some : ~some;
			takes_part[32 * warp + lane] = inside || random & 2;
		}
	}
}

/* A number with few bits: sums of products of such numbers are exact in any order. */
static double small(uint64_t random)
{
	return (double)(int)(random % 9) - 4;
}

static uint64_t value_of(char kind)
{
	static const uint32_t segments[] = { 31, 0, 0x1f00, 0x181f, 0x1c1f, 0x1e1f, 0x1000, 0x101f, 0x1807,
					     0xffffffff };
	const uint64_t random = next_random();

	switch (kind) {
	case 'n': return random % 40;
	case 'v': return random & 7 ? 5 : random >> 8 & 0x1ffffffff;
	case 'c': return random & 1 ? segments[random / 2 % (sizeof(segments) / sizeof(*segments))] : random >> 32;
	case 'p': return random & 1;
	case 'M': return UINT32_MAX;
	case 'G': return 1;
	case 'h': return half_round('h', small(random), 0, FE_TONEAREST) |
			 half_round('h', small(random >> 8), 0, FE_TONEAREST) << 16;
	case 'b': return half_round('b', small(random), 0, FE_TONEAREST) |
			 half_round('b', small(random >> 8), 0, FE_TONEAREST) << 16;
	case 'f': return f32_bits((float)small(random));
	/* The last bits of a tf32 do not count. */
	case 't': return f32_bits((float)small(random)) | (random >> 16 & 0x1fff);
	default: return random;
	}
}

static void fill(const struct thread_form *form, struct thread_values *values)
{
	char kinds[SLOTS], types[SLOTS][8];
	const int n = kinds_of(form, kinds, types);
	const uint64_t common = next_random();
	uint32_t masks[THREADS];
	bool takes_part[THREADS];

	memset(values, 0, sizeof(*values));
	choose_groups(masks, takes_part);
	for (int t = 0; t < THREADS; t++) {
		for (int i = 0; i < n; i++) {
			uint64_t value = kinds[i] == 'm' ? masks[t] : kinds[i] == 'g' ? takes_part[t] :
					 value_of(kinds[i]);

			/* Once in a while all threads have the same. */
			if (strchr("pv", kinds[i]) && common % 4 == 0)
				value = kinds[i] == 'p' ? common >> 8 & 1 : common >> 8;
			if (kinds[i] == 'o' || kinds[i] == 'O')
				value = STALE;
			if (!strcmp(types[i], "pred"))
				value &= 1;
			else if (strstr(types[i], "32"))
				value &= UINT32_MAX;
			values->in[t][i] = values->out[t][i] = value;
		}
	}
}

static bool are_same(char kind, uint64_t a, uint64_t b)
{
	return a == b || (kind == 'O' && isnan(bits_f32(a)) && isnan(bits_f32(b)));
}

static int run_form(const struct thread_form *form, adsm_kernel_run *kernel, unsigned rounds)
{
	static struct thread_values values, expected;
	const struct adsm_kernel_block block = { { 1, 1, 1 }, { THREADS, 1, 1 }, { 0, 0, 0 } };
	char kinds[SLOTS], types[SLOTS][8];
	const int n = kinds_of(form, kinds, types);

	for (unsigned round = 0; round < rounds; round++) {
		const uint64_t in = (uint64_t)(uintptr_t)values.in, out = (uint64_t)(uintptr_t)values.out;
		const void *const args[] = { &in, &out };

		fill(form, &values);
		expected = values;
		form->model(form, &expected);
		kernel(&block, args);
		for (int t = 0; t < THREADS; t++) {
			for (int i = 0; i < n; i++) {
				if ((kinds[i] != 'o' && kinds[i] != 'O') || expected.undefined[t][i] ||
				    are_same(kinds[i], values.out[t][i], expected.out[t][i]))
					continue;
				printf("%s\n\tthread %d: %%%x is 0x%llx, expected 0x%llx\n", form->text, t, (unsigned)i,
				       (unsigned long long)values.out[t][i], (unsigned long long)expected.out[t][i]);
				return 1;
			}
		}
	}
	return 0;
}

/* ---- models: the registers of forms are in the order that each of these says */

enum { UP, DOWN, BFLY, IDX };

/* o:b32 o:pred a b c m g */
static void shuffle(const struct thread_form *form, struct thread_values *values)
{
	for (int t = 0; t < THREADS; t++) {
		const uint64_t *in = values->in[t];
		const int lane = t % 32, bval = in[3] & 31, cval = in[4] & 31, segment = in[4] >> 8 & 31;
		const int most = (lane & segment) | (cval & ~segment & 31), least = lane & segment;
		int from = form->operation == UP ? lane - bval : form->operation == DOWN ? lane + bval :
			   form->operation == BFLY ? lane ^ bval : least | (bval & ~segment & 31);
		const bool inside = form->operation == UP ? from >= most : from <= most;

		if (!in[6])
			continue;
		if (!inside)
			from = lane;
		values->out[t][1] = inside;
		/* A lane of another group, or one that does not take part, gives any value. */
		if (from < 0 || from > 31 || values->in[t - lane + from][5] != in[5] || !values->in[t - lane + from][6])
			values->undefined[t][0] = 1;
		else
			values->out[t][0] = (uint32_t)values->in[t - lane + from][2];
	}
}

/* Does another thread take part together with this one? */
static bool together(const struct thread_values *values, int mask, int a, int b)
{
	return a / 32 == b / 32 && values->in[b][mask + 1] && values->in[a][mask] == values->in[b][mask];
}

/* o a m g. The operation: y: any, l: all, u: uni, b: ballot. extra: a is negated. */
static void vote(const struct thread_form *form, struct thread_values *values)
{
	for (int t = 0; t < THREADS; t++) {
		uint32_t ballot = 0, group = 0;

		for (int j = 0; j < THREADS; j++) {
			if (!together(values, 2, t, j))
				continue;
			group |= 1u << j % 32;
			ballot |= (uint32_t)(values->in[j][1] != (uint64_t)form->extra) << j % 32;
		}
		if (!values->in[t][3])
			continue;
		values->out[t][0] = form->operation == 'b' ? ballot : form->operation == 'y' ? ballot != 0 :
				    form->operation == 'l' ? ballot == group : ballot == group || !ballot;
	}
}

/* o o:pred a m g. The operation: y: any, l: all. */
static void match(const struct thread_form *form, struct thread_values *values)
{
	for (int t = 0; t < THREADS; t++) {
		uint32_t equal = 0, group = 0;

		for (int j = 0; j < THREADS; j++) {
			if (!together(values, 3, t, j))
				continue;
			group |= 1u << j % 32;
			if (values->in[t][2] == values->in[j][2])
				equal |= 1u << j % 32;
		}
		if (!values->in[t][4])
			continue;
		values->out[t][0] = form->operation == 'y' || equal == group ? equal : 0;
		if (form->operation == 'l')
			values->out[t][1] = equal == group;
	}
}

/* o a m g. The operation: a character; extra: signed. */
static void reduce(const struct thread_form *form, struct thread_values *values)
{
	for (int t = 0; t < THREADS; t++) {
		int64_t all = 0;
		bool first = true;

		for (int j = 0; j < THREADS && values->in[t][3]; j++) {
			const int64_t x = form->extra ? (int64_t)(int32_t)values->in[j][1] : (int64_t)values->in[j][1];

			if (!together(values, 2, t, j))
				continue;
			if (first)
				all = x;
			else
				all = form->operation == '+' ? all + x : form->operation == '&' ? all & x :
				      form->operation == '|' ? all | x : form->operation == '^' ? all ^ x :
				      form->operation == '<' ? (x < all ? x : all) : x > all ? x : all;
			first = false;
		}
		if (values->in[t][3])
			values->out[t][0] = (uint32_t)all;
	}
}

/* o g: the lanes that are there. */
static void active(const struct thread_form *form, struct thread_values *values)
{
	(void)form;
	for (int t = 0; t < THREADS; t++) {
		uint32_t lanes = 0;

		for (int j = t - t % 32; j < t - t % 32 + 32; j++)
			lanes |= (uint32_t)values->in[j][1] << j % 32;
		if (values->in[t][1])
			values->out[t][0] = lanes;
	}
}

/* o p. extra: the threads that take part; the operation: p: their number, &, |; upper case P, A, O: p is negated. */
static void reduce_block(const struct thread_form *form, struct thread_values *values)
{
	const bool negated = strchr("PAO", form->operation) != NULL;
	int n = 0;

	for (int t = 0; t < form->extra; t++)
		n += values->in[t][1] != negated;
	for (int t = 0; t < form->extra; t++)
		values->out[t][0] = strchr("pP", form->operation) ? (uint64_t)n :
				    strchr("&A", form->operation) ? n == form->extra : n > 0;
}

/* o a: what a thread at a distance has stored; extra: the distance, over all threads. */
static void exchange(const struct thread_form *form, struct thread_values *values)
{
	for (int t = 0; t < THREADS; t++)
		values->out[t][0] = values->in[(t + form->extra) % THREADS][1];
}

/* o a m g: what the next lane of the group has stored. */
static void exchange_in_warp(const struct thread_form *form, struct thread_values *values)
{
	(void)form;
	for (int t = 0; t < THREADS; t++) {
		int from = t;

		if (!values->in[t][3])
			continue;
		do
			from = from % 32 == 31 ? from - 31 : from + 1;
		while (!together(values, 2, t, from));
		values->out[t][0] = values->in[from][1];
	}
}

/* o p n: where control goes. The operation: b: bra, x: brx.idx, e: the thread ends and writes nothing. */
static void flow(const struct thread_form *form, struct thread_values *values)
{
	for (int t = 0; t < THREADS; t++) {
		const uint64_t *in = values->in[t];

		if (form->operation == 'b')
			values->out[t][0] = in[1] ? 2 : 1;
		else if (form->operation == 'x')
			values->out[t][0] = 10 + in[2] % 3;
		else if (!in[1])
			values->out[t][0] = 1;
	}
}

static void add_shuffles(void)
{
	static const char *const modes[] = { "up", "down", "bfly", "idx" };

	for (int i = 0; i < 4; i++) {
		add_thread_form(shuffle, "o:b32 o:pred i:b32 n:b32 c:b32 m:b32 g:pred",
				"@%%6 shfl.sync.%s.b32 %%0|%%1, %%2, %%3, %%4, %%5;", modes[i])->operation = i;
		/* Without a mask, lanes that are there go together. */
		add_thread_form(shuffle, "o:b32 o:pred i:b32 n:b32 c:b32 M:b32 G:pred",
				"shfl.%s.b32 %%0|%%1, %%2, %%3, %%4;", modes[i])->operation = i;
	}
}

static void add_votes(void)
{
	static const struct { const char *name, *type; int operation; } list[] = {
		{ "any", "pred", 'y' }, { "all", "pred", 'l' }, { "uni", "pred", 'u' }, { "ballot", "b32", 'b' },
	};

	for (int i = 0; i < 4 * 4; i++) {
		const int j = i % 4;
		const bool negated = i & 4, sync = i & 8;
		char registers[64];
		struct thread_form *form;

		snprintf(registers, sizeof(registers), "o:%s p:pred %s:b32 %s:pred", list[j].type, sync ? "m" : "M",
			 sync ? "g" : "G");
		form = add_thread_form(vote, registers, "%svote%s.%s.%s %%0, %s%%1%s;", sync ? "@%3 " : "",
				       sync ? ".sync" : "", list[j].name, list[j].type, negated ? "!" : "",
				       sync ? ", %2" : "");
		form->operation = list[j].operation;
		form->extra = negated;
	}
}

static void add_matches(void)
{
	for (int i = 0; i < 6; i++) {
		const bool all = i & 1, two = i & 2;
		char registers[64];

		if (i >= 4 && !all)
			continue;
		snprintf(registers, sizeof(registers), "o:b32 o:pred v:%s m:b32 g:pred", two ? "b64" : "b32");
		/* L: without the second result. */
		add_thread_form(match, registers, "@%%4 match.%s.sync.%s %%0%s, %%2, %%3;", all ? "all" : "any",
				two ? "b64" : "b32", all && i < 4 ? "|%1" : "")->operation =
			!all ? 'y' : i < 4 ? 'l' : 'L';
	}
}

static void add_reductions(void)
{
	static const struct { const char *name; int operation, is_signed; } list[] = {
		{ "add.u32", '+', 0 }, { "add.s32", '+', 1 }, { "and.b32", '&', 0 }, { "or.b32", '|', 0 },
		{ "xor.b32", '^', 0 }, { "min.u32", '<', 0 }, { "min.s32", '<', 1 }, { "max.u32", '>', 0 },
		{ "max.s32", '>', 1 },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct thread_form *form = add_thread_form(reduce, "o:b32 i:b32 m:b32 g:pred",
							   "@%%3 redux.sync.%s %%0, %%1, %%2;", list[i].name);

		form->operation = list[i].operation;
		form->extra = list[i].is_signed;
	}
}

/* Barriers of the block: with all threads, and with two of three warps. */
static void add_barriers(void)
{
	static const char *const names[] = { "bar", "bar.cta", "barrier", "barrier.cta", "barrier", "barrier.cta" };
	static const struct { const char *name, *type; const char *operations; } list[] = {
		{ "popc", "u32", "pP" }, { "and", "pred", "&A" }, { "or", "pred", "|O" },
	};

	for (int i = 0; i < 6; i++) {
		const char *aligned = i >= 4 ? ".aligned" : "";

		for (int j = 0; j < 3 * 2; j++) {
			const int k = j / 2, part = (i + j) % 2;
			struct thread_form *form;

			form = add_thread_form(reduce_block, k ? "o:pred p:pred" : "o:b32 p:pred",
					       "%s%s.red.%s%s.%s %%0, %d%s, %s%%1;%s",
					       part ? "setp.lt.u32 %q, %t, 64; @!%q bra END; " : "", names[i],
					       list[k].name, aligned, list[k].type, j + i, part ? ", 64" : "",
					       j % 2 ? "!" : "", part ? " END:" : "");
			form->operation = list[k].operations[j % 2];
			form->extra = part ? 64 : THREADS;
		}
		add_thread_form(exchange, "o:b32 i:b32",
				"st.shared.u32 [%%s], %%1; %s.sync%s %s; add.u32 %%y, %%t, 33; "
				"rem.u32 %%y, %%y, 96; mad.lo.u32 %%y, %%y, 16, 0; ld.shared.u32 %%0, [%%y];", names[i],
				aligned, i % 2 ? "3, 96" : "0")->extra = 33;
		/* Each thread arrives, and then waits: the barrier counts it twice. */
		add_thread_form(exchange, "o:b32 i:b32",
				"st.shared.u32 [%%s], %%1; %s.arrive%s 4, 192; %s.sync%s 4, 192; add.u32 %%y, %%t, 33; "
				"rem.u32 %%y, %%y, 96; mad.lo.u32 %%y, %%y, 16, 0; ld.shared.u32 %%0, [%%y];", names[i],
				aligned, names[i], aligned)->extra = 33;
	}
	add_thread_form(exchange_in_warp, "o:b32 i:b32 m:b32 g:pred n:b32",
			"@!%%3 bra END; st.shared.u32 [%%s], %%1; bar.warp.sync %%2; and.b32 %%4, %%t, 31; "
			"NEXT: add.u32 %%4, %%4, 1; and.b32 %%4, %%4, 31; shr.u32 %%y, %%2, %%4; and.b32 %%y, %%y, 1; "
			"setp.eq.u32 %%q, %%y, 0; @%%q bra NEXT; and.b32 %%y, %%t, 0xffffffe0; add.u32 %%y, %%y, %%4; "
			"mad.lo.u32 %%y, %%y, 16, 0; ld.shared.u32 %%0, [%%y]; bar.warp.sync %%2; END:");
}

static void add_flow(void)
{
	static const struct { const char *text; int operation; } list[] = {
		{ "@%1 bra A; mov.u32 %0, 1; bra.uni B; A: mov.u32 %0, 2; B:", 'b' },
		{ "rem.u32 %y, %2, 3; T: .branchtargets A, B, C; brx.idx %y, T; A: mov.u32 %0, 10; bra D; "
		  "B: mov.u32 %0, 11; bra.uni D; C: mov.u32 %0, 12; D:", 'x' },
		{ "mov.u32 %y, %2; bar.sync 0; and.b32 %y, %y, 1; rem.u32 %y, %2, 3; T: .branchtargets A, B, C; "
		  "brx.idx.uni %y, T; A: mov.u32 %0, 10; bra D; B: mov.u32 %0, 11; bra D; C: mov.u32 %0, 12; D:", 'x' },
		{ "mov.u32 %0, 1; @%1 exit;", 'e' }, { "mov.u32 %0, 1; @%1 ret;", 'e' },
		{ "mov.u32 %0, 1; @!%1 bra A; ret.uni; A: bar.sync 0;", 'e' },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		add_thread_form(flow, "o:b32 p:pred i:b32", "%s", list[i].text)->operation = list[i].operation;
	add_thread_form(active, "o:b32 g:pred", "@%%1 activemask.b32 %%0;");
}

static void add_all(void)
{
	if (n_forms)
		return;
	add_shuffles();
	add_votes();
	add_matches();
	add_reductions();
	add_barriers();
	add_flow();
	add_matrices();
}

const char *threads_text(size_t i)
{
	add_all();
	return i < n_forms ? forms[i].text : NULL;
}

size_t threads_run(const struct kernels_place *place, const char *kernel_include, unsigned rounds, size_t *ret_n)
{
	size_t n_failed = 0;
	void *library;

	add_all();
	library = build(place, kernel_include);
	*ret_n = n_forms;
	if (!library)
		return n_forms;
	for (size_t i = 0; i < n_forms; i++) {
		char name[32];
		adsm_kernel_run *kernel;

		snprintf(name, sizeof(name), "adsm_run_k%zu", i);
		kernel = (__typeof__(kernel))dlsym(library, name);
		n_failed += !kernel || run_form(&forms[i], kernel, rounds);
	}
	dlclose(library);
	return n_failed;
}
