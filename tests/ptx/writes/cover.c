/* SPDX-License-Identifier: MIT */
/*
 * cover.c - adsm_writes_cover() against a model that tries each thread and each turn of loops. Lines and launches are
 * random. What the function calls written must be written. It need not find all, but these it must: see cases.
 */
#include "base/writes.h"

#include <stdlib.h>

#include "../../check.h"

#define MOST 2048			/* bytes on both sides of the address */
#define TURNS 24			/* that the model tries; loops of the lines have fewer, or count as endless */

struct model {
	uint32_t grid[3], block[3];
	int64_t params[4];
	int64_t variables[10];		/* threadIdx, blockIdx, k0 to k3 */
	bool written[2 * MOST];
};

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(state >> 33) % n;
}

static bool value_of(const void *arg, uint32_t param, uint32_t offset, uint32_t size, int64_t *ret_value)
{
	const struct model *model = arg;

	if (param > 3 || offset || size != 4)
		return false;
	*ret_value = model->params[param];
	return true;
}

/* ---- The model ---------------------------------------------------------------------------- */

static int64_t factor_of(const struct model *model, const char *at)
{
	switch (*at) {
	case 't': return model->variables[at[1] - 'x'];
	case 'b': return model->variables[3 + at[1] - 'x'];
	case 's': return model->block[at[1] - 'x'];
	case 'g': return model->grid[at[1] - 'x'];
	case 'k': return model->variables[6 + at[1] - '0'];
	default: return model->params[at[1] - '0'];
	}
}

static int64_t sum_of(const struct model *model, const char *at)
{
	int64_t sum = 0;

	while (*at == '+' || *at == '-') {
		char *rest;
		int64_t product = strtol(at, &rest, 10);

		while (*rest == '*') {
			product *= factor_of(model, rest + 1);
			rest += 1 + strcspn(rest + 1, "*+- \n");
		}
		sum += product;
		at = rest;
	}
	return sum;
}

static bool is_true(const struct model *model, char kind, const char *sum)
{
	const int64_t value = sum_of(model, sum);

	switch (kind) {
	case 'g': return value >= 0;
	case 'e': return value == 0;
	case 'n': return value != 0;
	case 's': return value >= INT32_MIN && value <= INT32_MAX;
	case 'u': return value >= 0 && value <= UINT32_MAX;
	case 'U': return value >= 0;
	default: return true;
	}
}

/* Is it true in this turn of its loop, and in all before? */
static bool is_true_until(struct model *model, char kind, int loop, const char *sum)
{
	const int64_t turn = model->variables[6 + loop];
	bool all = true;

	for (int64_t k = 0; k <= turn && all; k++) {
		model->variables[6 + loop] = k;
		all = is_true(model, kind, sum);
	}
	model->variables[6 + loop] = turn;
	return all;
}

/* Is it in the range in these turns of all loops, and in those before? The first and the last ones tell of a sum. */
static bool is_in_range(struct model *model, char kind, const char *sum)
{
	int64_t turns[4];
	bool all = true;

	memcpy(turns, &model->variables[6], sizeof(turns));
	for (int first = 0; all && first < 16; first++) {
		for (int k = 0; k < 4; k++)
			model->variables[6 + k] = first >> k & 1 ? 0 : turns[k];
		all = is_true(model, kind, sum);
	}
	memcpy(&model->variables[6], turns, sizeof(turns));
	return all;
}

static bool holds(struct model *model, char kind, int loop, const char *sum)
{
	if (strchr("suSU", kind))
		return is_in_range(model, kind, sum);
	return loop < 0 ? is_true(model, kind, sum) : is_true_until(model, kind, loop, sum);
}

/* One thread, in certain turns of its loops. */
static void store(struct model *model, const char *line)
{
	const char *at = line + strlen("k 0 ");
	char *rest;
	const long size = strtol(at, &rest, 10);
	const int64_t distance = sum_of(model, rest + 1);

	for (at = rest + 1 + strcspn(rest + 1, " \n"); *at == ' '; at += strcspn(at, " \n")) {
		const char kind = at[1];
		const bool has_loop = at[2] >= '0' && at[2] <= '9';

		at += 2 + has_loop;
		if (!holds(model, kind, has_loop ? at[-1] - '0' : -1, at))
			return;
	}
	for (int64_t i = distance; i < distance + size; i++) {
		if (i >= -MOST && i < MOST)
			model->written[i + MOST] = true;
	}
}

static void run(struct model *model, const char *line, int variable)
{
	const int64_t n = variable < 3 ? model->block[variable] : variable < 6 ? model->grid[variable - 3] : TURNS;
	char name[3] = { 'k', (char)('0' + variable - 6), '\0' };

	if (variable == 8) {
		store(model, line);
		return;
	}
	/* A loop that the line does not name has one turn. */
	for (int64_t i = 0; i < (variable >= 6 && !strstr(line, name) ? 1 : n); i++) {
		model->variables[variable] = i;
		run(model, line, variable + 1);
	}
}

/* ---- Random lines --------------------------------------------------------------------------- */

static const char *const sums[] = {
	"+1*tx", "+1*bx*sx+1*tx", "+1*bx", "+1*ty", "+1*by*sy+1*ty", "+1*k0", "+1*bx*sx+1*tx+1*k0*sx*gx",
	"+1*tx+1*k0*sx", "+4*bx*sx+1*tx", "+8*bx+1*tx",
	"+1*ty*p2.0.4+1*tx", "+1*by*sy*p2.0.4+1*ty*p2.0.4+1*bx*sx+1*tx", "+1*k1*p2.0.4+1*k0", "-1*tx+1*p1.0.4",
	"+2*tx+1*ty",
};
#define N_SUMS (sizeof(sums) / sizeof(*sums))

/* Append a sum times a factor. */
static void add_sum(char *text, size_t size, long factor)
{
	const char *at = sums[below(N_SUMS)];

	while (*at) {
		char *rest;
		const long number = strtol(at, &rest, 10);
		const size_t n = strcspn(rest, "+-");

		snprintf(text + strlen(text), size - strlen(text), "%+ld%.*s", number * factor, (int)n, rest);
		at = rest + n;
	}
	if (!below(3))
		snprintf(text + strlen(text), size - strlen(text), "%+ld", ((long)below(5) - 2) * factor);
}

static void make_line(char *text, size_t size)
{
	static const long sizes[] = { 1, 2, 4, 8 };
	const long bytes = sizes[below(4)];

	snprintf(text, size, "k 0 %ld ", bytes);
	add_sum(text, size, below(4) ? bytes : below(2) ? -bytes : 2 * bytes);
	if (!below(4))
		add_sum(text, size, bytes);
	for (uint32_t n = below(4); n; n--) {
		static const char *const kinds[] = { "g", "g", "g", "e", "n", "s", "u", "g0", "g0", "n0", "g1", "n1" };
		const char *kind = kinds[below(sizeof(kinds) / sizeof(*kinds))];

		snprintf(text + strlen(text), size - strlen(text), " %s", kind);
		if (*kind == 'g' && below(4)) {
			strcat(text, below(2) ? "+1*p1.0.4-1" : "+1*p2.0.4-1");
			add_sum(text, size, -1);
		} else if (*kind == 'n') {
			strcat(text, kind[1] == '1' ? "+1*k1-1*p3.0.4" : "+1*k0-1*p2.0.4");
		} else {
			add_sum(text, size, below(3) ? 1 : 3);
		}
	}
	strcat(text, "\n");
}

/* Compare for all ranges from some starts. Returns whether something is said to be written. */
static bool compare(struct model *model, const char *lines)
{
	const struct adsm_writes_launch launch = {
		.grid = model->grid, .block = model->block, .value = value_of, .arg = model,
	};
	bool found = false;

	CHECKF(adsm_writes_are_valid(lines), "%s", lines);
	memset(model->written, 0, sizeof(model->written));
	for (const char *line = lines; *line; line += strcspn(line, "\n") + 1)
		run(model, line, 0);
	for (int first = -40; first < 40; first += 1 + (int)below(8)) {
		int end = first;

		while (end < MOST && model->written[end + MOST])
			end++;
		CHECKF(!adsm_writes_cover(lines, &launch, first, end + 1), "from %d to %d:\n%sgrid %u %u block %u %u, "
		       "values %ld %ld %ld", first, end + 1, lines, model->grid[0], model->grid[1], model->block[0],
		       model->block[1], (long)model->params[1], (long)model->params[2], (long)model->params[3]);
		found |= end > first && adsm_writes_cover(lines, &launch, first, end);
	}
	return found;
}

static void choose(struct model *model)
{
	*model = (struct model){
		.grid = { 1 + below(3), 1 + below(2), 1 }, .block = { 1 + below(6), 1 + below(4), 1 },
	};
	for (int i = 1; i < 4; i++)
		model->params[i] = below(3) ? (int64_t)below(20) - 1 : model->grid[0] * model->block[0];
}

/* ---- Lines as kernels have them ------------------------------------------------------------- */

static const struct {
	const char *lines;
	uint32_t grid[3], block[3];
	int64_t params[3];		/* 1 to 3 */
	int64_t from, to;		/* what is written */
} cases[] = {
	{ "k 0 4 +4*bx*sx+4*tx g+1*p1.0.4-1*bx*sx-1*tx-1 s+1*bx*sx+1*tx\n",
	  { 4, 1, 1 }, { 64, 1, 1 }, { 250 }, 0, 1000 },
	{ "k 0 4 +4*bx*sx+4*tx g+1*p1.0.4-1*bx*sx-1*tx-1\n", { 4, 1, 1 }, { 64, 1, 1 }, { 300 }, 0, 1024 },
	{ "k 0 4 +4*bx*sx+4*tx g+1*p1.0.4-1*bx*sx-1*tx-1\n", { 4, 1, 1 }, { 64, 1, 1 }, { -1 }, 0, 0 },
	/* blockIdx.x * blockDim.x does not fit. */
	{ "k 0 4 +4*bx*sx+4*tx s+1000000*bx*sx+1000000*tx\n", { 40, 1, 1 }, { 64, 1, 1 }, { 0 }, 0, 0 },
	{ "k 0 4 +4*p1.0.4-4*bx*sx-4*tx-4 g+1*p1.0.4-1*bx*sx-1*tx-1\n", { 2, 1, 1 }, { 64, 1, 1 }, { 100 }, 0, 400 },
	{ "k 0 4 +4*bx*sx+4*tx-4 g+1*bx*sx+1*tx-1 g+1*p1.0.4-1*bx*sx-1*tx-1\n",
	  { 2, 1, 1 }, { 64, 1, 1 }, { 100 }, 0, 396 },
	{ "k 0 4 +8*tx\nk 0 4 +8*tx+4\n", { 1, 1, 1 }, { 64, 1, 1 }, { 0 }, 0, 512 },
	{ "k 0 4 +8*tx\n", { 1, 1, 1 }, { 64, 1, 1 }, { 0 }, 0, 4 },
	{ "k 0 4 +4*tx\nk 0 4 +4*tx+4*p1.0.4\n", { 1, 1, 1 }, { 64, 1, 1 }, { 64 }, 0, 512 },
	{ "k 0 4 +4*tx\nk 0 4 +4*tx+4*p1.0.4\n", { 1, 1, 1 }, { 64, 1, 1 }, { 65 }, 0, 256 },
	{ "k 0 4 +4*by*sy*p1.0.4+4*ty*p1.0.4+4*bx*sx+4*tx g+1*p1.0.4-1*bx*sx-1*tx-1 g+1*p2.0.4-1*by*sy-1*ty-1\n",
	  { 3, 3, 1 }, { 8, 8, 1 }, { 20, 18 }, 0, 1440 },
	{ "k 0 4 +4*by*sy*p1.0.4+4*ty*p1.0.4+4*bx*sx+4*tx g+1*p1.0.4-1*bx*sx-1*tx-1 g+1*p2.0.4-1*by*sy-1*ty-1\n",
	  { 2, 3, 1 }, { 8, 8, 1 }, { 20, 18 }, 0, 64 },
	{ "k 0 4 +4*bx e+1*tx\n", { 50, 1, 1 }, { 32, 1, 1 }, { 0 }, 0, 200 },
	{ "k 0 4 +4*tx n+1*tx\n", { 1, 1, 1 }, { 32, 1, 1 }, { 0 }, 0, 0 },
	{ "k 0 4 +4*tx+4*k0*sx g0+1*p1.0.4-1*tx-1*k0*sx-1 g+1*p1.0.4-1*tx-1\n",
	  { 1, 1, 1 }, { 32, 1, 1 }, { 500 }, 0, 2000 },
	{ "k 0 4 +4*tx*p1.0.4+4*k0 n0+1*k0-1*p1.0.4 g+1*p1.0.4-1\n", { 1, 1, 1 }, { 32, 1, 1 }, { 10 }, 0, 1280 },
	/* Two elements of each thread, with threads of the last block that have none. */
	{ "k 0 4 +2048*bx+4*tx g+1*p1.0.4-512*bx-1*tx-1\nk 0 4 +2048*bx+4*tx+1024 g+1*p1.0.4-512*bx-1*tx-257\n",
	  { 3, 1, 1 }, { 256, 1, 1 }, { 1300 }, 0, 5200 },
	/* A step that misses the end. */
	{ "k 0 4 +4*k0 n0+2*k0-5\n", { 1, 1, 1 }, { 1, 1, 1 }, { 0 }, 0, 0 },
	/* A thread that begins below 0 leaves the loop after its first turn: the number is no uint32_t in it. */
	{ "k 0 4 +4*k0+4*p1.0.4 g+1*k0+1*p1.0.4 u+1*k0+1*p1.0.4 u+1*p2.0.4 g0-1*k0-1*p1.0.4+1*p2.0.4-1\n",
	  { 1, 1, 1 }, { 1, 1, 1 }, { -10, 100 }, 0, 0 },
	/* Its condition grows with the turns: it may be false at first. */
	{ "k 0 4 +4*k0 g0+1*k0-3 g+9-1*k0\n", { 1, 1, 1 }, { 1, 1, 1 }, { 0 }, 0, 0 },
	/* Numbers that are too large for anything. */
	{ "k 0 4 +4*tx*p1.0.4*p1.0.4*p1.0.4\n", { 1, 1, 1 }, { 32, 1, 1 }, { 2000000000 }, 0, 0 },
};

static void check_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct model model = { .params = { 0, cases[i].params[0], cases[i].params[1], cases[i].params[2] } };
		const struct adsm_writes_launch launch = {
			.grid = cases[i].grid, .block = cases[i].block, .value = value_of, .arg = &model,
		};
		const int64_t to = cases[i].to;

		CHECKF(adsm_writes_are_valid(cases[i].lines), "%s", cases[i].lines);
		CHECKF(to == cases[i].from || adsm_writes_cover(cases[i].lines, &launch, cases[i].from, to), "%s",
		       cases[i].lines);
		CHECKF(!adsm_writes_cover(cases[i].lines, &launch, cases[i].from, to + 1), "%s", cases[i].lines);
		CHECKF(!adsm_writes_cover(cases[i].lines, &launch, cases[i].from - 1, to + (to == cases[i].from)), "%s",
		       cases[i].lines);
	}
}

static void check_text(void)
{
	static const char *const damaged[] = {
		"k", "k 0", "k 0 4", "k 0 4 ", "k 0 4 +4*tx", "k 0 4 4*tx\n", "k 0 4 +\n", "k 0 4 +4*\n",
		"k 0 4 +4*tw\n", "k 0 4 +4*q\n", "k 0 4 +4*k4\n", "k 0 4 +4*p1.0\n", "k 0 4 +4*p1.0.3\n",
		"k 0 4 +4*tx*ty\n", "k 0 4 +4 x+1\n", "k 0 4 +4 g\n", "k 0 4 +4 g+1 \n", "k 0 0 +4\n",
		"k 0 4 +4 s0+1\n", " 0 4 +4\n", "k 0 4 +99999999999999999999\n", "\n", "k 0 4 +4\n\n",
	};
	static const char lines[] = "ab 0 4 +0\na 1 4 +0\na 1 8 +8\nb 0 4 +0\n";

	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		CHECKF(!adsm_writes_are_valid(damaged[i]), "'%s'", damaged[i]);
	CHECK(adsm_writes_are_valid("") && adsm_writes_are_valid(lines));
	CHECK(adsm_writes_find(lines, "a", 1) == strstr(lines, "a 1 4"));
	CHECK(!adsm_writes_find(lines, "a", 0) && !adsm_writes_find(lines, "b", 1));
}

/* What is damaged is refused, or is another line. */
static void check_damaged(struct model *model, char *lines)
{
	static const char some[] = "+-*0123456789gensuSUktbspxyz. \n";
	const struct adsm_writes_launch launch = {
		.grid = model->grid, .block = model->block, .value = value_of, .arg = model,
	};

	for (uint32_t n = 1 + below(3); n; n--)
		lines[below((uint32_t)strlen(lines))] = some[below(sizeof(some) - 1)];
	if (adsm_writes_are_valid(lines))
		adsm_writes_cover(lines, &launch, 0, 1 + below(100));
}

int main(void)
{
	static struct model model;
	const uint32_t n = getenv("TEST_FULL") ? 50000 : 500;
	uint32_t n_found = 0;

	check_text();
	check_cases();
	for (uint32_t i = 0; i < n; i++) {
		char lines[2048];

		choose(&model);
		make_line(lines, sizeof(lines));
		if (!below(4))
			make_line(lines + strlen(lines), sizeof(lines) - strlen(lines));
		n_found += compare(&model, lines);
		for (int j = 0; j < 20; j++)
			check_damaged(&model, lines);
	}
	printf("%u lines, %u of which write something for certain\n", n, n_found);
	CHECK(n_found > n / 10);
	return 0;
}
