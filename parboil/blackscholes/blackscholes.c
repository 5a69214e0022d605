/* SPDX-License-Identifier: MIT */
/*
 * blackscholes.c - prices of European options by the Black-Scholes formula: input, reference, verification.
 *
 * With price S, strike X, T years, rate R and volatility V, and N the standard normal distribution:
 * call = S N(d1) - X e^(-RT) N(d2), put = X e^(-RT) N(-d2) - S N(-d1),
 * d1 = (ln(S / X) + (R + V^2 / 2) T) / (V sqrt(T)), d2 = d1 - V sqrt(T).
 */
#include "blackscholes.h"

#include "../common/rng.h"

static const char *const size_names[] = { "small", "medium", "sdk", "paper", "cfc", "cfc-stride", "cfc-paper", NULL };
const struct blackscholes_size blackscholes_sizes[] = {
	{ 100000, 20, false },
	{ 1000000, 20, false },
	{ 4000000, 512, false },
	{ 50000000, 20, false },
	{ 5000000, 2, true },
	{ 5000000, 2, false },
	{ 50000000, 20, true },
};

static void draw(struct pb_rng *rng, float *ret_price, float *ret_strike, float *ret_years)
{
	*ret_price = 5.0f + 25.0f * pb_rng_float(rng);
	*ret_strike = 1.0f + 99.0f * pb_rng_float(rng);
	*ret_years = 0.25f + 9.75f * pb_rng_float(rng);
}

void blackscholes_fill(float *price, float *strike, float *years, size_t n_options)
{
	struct pb_rng rng = { 8 };

	for (size_t i = 0; i < n_options; i++)
		draw(&rng, &price[i], &strike[i], &years[i]);
}

static double normal(double d)
{
	return 0.5 * erfc(-d * M_SQRT1_2);
}

static void prepare(struct pb_run *run)
{
	const size_t n_options = blackscholes_sizes[run->size].n_options;
	struct blackscholes_reference *reference;
	const double R = BLACKSCHOLES_RATE, V = BLACKSCHOLES_VOLATILITY;
	struct pb_rng rng = { 8 };

	reference = pb_host_alloc(sizeof(*reference) + 2 * n_options * sizeof(double));
	reference->n_options = n_options;
	reference->call_sum = reference->put_sum = 0;
	reference->call = (double *)(reference + 1);
	reference->put = reference->call + n_options;
	for (size_t i = 0; i < n_options; i++) {
		float S, X, T;
		double d1, d2, discounted;

		draw(&rng, &S, &X, &T);
		d1 = (log((double)S / X) + (R + V * V / 2) * T) / (V * sqrt(T));
		d2 = d1 - V * sqrt(T);
		discounted = X * exp(-R * T);
		reference->call[i] = S * normal(d1) - discounted * normal(d2);
		reference->put[i] = discounted * normal(-d2) - S * normal(-d1);
		reference->call_sum += fabs(reference->call[i]);
		reference->put_sum += fabs(reference->put[i]);
	}
	run->data = reference;
}

float blackscholes_rate(const struct blackscholes_size *size, int i)
{
	return BLACKSCHOLES_RATE * (1 + 0.05f * (float)(size->n_calls - 1 - i));
}

int blackscholes_share(const struct blackscholes_size *size)
{
	return size->contiguous ? (int)((size->n_options + BLACKSCHOLES_BLOCKS - 1) / BLACKSCHOLES_BLOCKS) : 0;
}

double blackscholes_sum(const float *prices, size_t n_options)
{
	double sum = 0;

	for (size_t i = 0; i < n_options; i++)
		sum += prices[i];
	return sum;
}

/* Each price, their sum, and the original's rule: all errors together against the sum of all prices. */
static void verify(struct pb_run *run, const float *got, double got_sum, const double *expected, double sum)
{
	const struct blackscholes_reference *reference = run->data;
	double error = 0;

	for (size_t i = 0; i < reference->n_options; i++) {
		pb_compare(run, got[i], expected[i], 1e-4);
		error += fabs(got[i] - expected[i]);
	}
	/* The original allows 1e-6, of which the polynomial takes 0.7e-6. */
	pb_compare(run, error / sum, 0, 2e-6);
	pb_compare(run, got_sum / sum, 1, 2e-6);
}

void blackscholes_verify(struct pb_run *run, const float *call, const float *put, double call_sum,
			 double put_sum)
{
	const struct blackscholes_reference *reference = run->data;

	verify(run, call, call_sum, reference->call, reference->call_sum);
	verify(run, put, put_sum, reference->put, reference->put_sum);
}

const struct pb_bench blackscholes_bench = {
	.name = "blackscholes",
	.about = "prices of options",
	.sizes = size_names,
	.prepare = prepare,
	.variants = { [PB_ADSM] = blackscholes_adsm, [PB_EXPLICIT] = blackscholes_explicit,
		      PB_IN_CUDA_C(blackscholes_adsm) },
};
