/* SPDX-License-Identifier: MIT */
/* blackscholes.c - prices of options that no worker tells another one: their sums are compared. */
#include "../program.h"

#define RATE 0.02
#define VOLATILITY 0.30
/* Relative, of a sum of prices, whose errors in single precision cancel out. */
#define TOLERANCE 1e-6

struct options { float *spot, *strike, *years; char *is_put; };

/* The normal distribution by the error function; the task has a polynomial of single precision. */
static double normal(double x)
{
	return erfc(-x * M_SQRT1_2) / 2;
}

/* In double precision; a put by a formula of its own, where the task has parity. */
static double price(const struct options *o, long i)
{
	const double s = o->spot[i], x = o->strike[i], t = o->years[i];
	const double root = VOLATILITY * sqrt(t), later = x * exp(-RATE * t);
	const double d = (log(s / x) + RATE * t) / root + root / 2;

	return o->is_put[i] ? later * normal(root - d) - s * normal(-d) : s * normal(d) - later * normal(d - root);
}

static void verify(struct pt_run *run, const struct options *o, const double *sums)
{
	const long n = run->v[0], n_workers = run->workers;
	const uint64_t start = ps_now_ns();

	for (long w = 0; w < n_workers; w++) {
		double sum = 0;

		for (long i = n * w / n_workers; i < n * (w + 1) / n_workers; i++)
			sum += price(o, i);
		ps_check(run->wrong, "the sum", (size_t)w, sums[w], sum * (double)run->v[1], TOLERANCE);
	}
	run->reference_ns = (ps_now_ns() - start) * (uint64_t)run->v[1];
	run->extrapolated = run->v[1];
}

static int run_blackscholes(struct pt_run *run)
{
	const long n = run->v[0];
	const int n_iterations = (int)run->v[1];
	const size_t size = (size_t)n * sizeof(float);
	struct options o = { ps_shared(size), ps_shared(size), ps_shared(size), ps_shared((size_t)n) };
	double *sums = ps_shared(run->workers * sizeof(*sums));
	struct pb_rng rng = { PT_SEED };
	int error;

	for (long i = 0; i < n; i++) {
		o.spot[i] = 5 + 25 * pb_rng_float(&rng);
		o.strike[i] = 1 + 99 * pb_rng_float(&rng);
		o.years[i] = 0.25f + 9.75f * pb_rng_float(&rng);
		o.is_put[i] = (char)pb_rng_below(&rng, 2);
	}
	error = PT_CALL(run, "blackscholes", adsmPtr(o.spot), adsmPtr(o.strike), adsmPtr(o.years), adsmPtr(o.is_put),
			adsmPtr(sums), adsmVal(n), adsmVal(n_iterations));
	run->least = run->most = (struct pt_counts){ 0, 1 };
	if (!error && run->verify)
		verify(run, &o, sums);
	adsmFree(o.spot);
	adsmFree(o.strike);
	adsmFree(o.years);
	adsmFree(o.is_put);
	adsmFree(sums);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 20000, 5 } }, { "medium", { 200000, 20 } }, { "paper", { 22000000, 3000 } }, { 0 }
};

const struct pt_program pt_blackscholes = {
	"blackscholes", "European options: inputs are shared, prices are not", "options, iterations", sizes,
	run_blackscholes,
};
