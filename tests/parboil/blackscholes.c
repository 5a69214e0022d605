/* SPDX-License-Identifier: MIT */
/* blackscholes.c - generator, reference and verification of blackscholes against known values. */
#include "golden.h"

#include "../../parboil/blackscholes/blackscholes.h"

enum { N = 100000 };

static void verify(struct pb_run *run, const float *call, const float *put)
{
	run->result = (struct pb_result){ .n_compared = 0 };
	blackscholes_verify(run, call, put, blackscholes_sum(call, N), blackscholes_sum(put, N));
}

int main(void)
{
	struct pb_run run = golden_run(&blackscholes_bench, 0);
	const struct blackscholes_reference *reference = run.data;
	float *price = pb_host_alloc(N * sizeof(float)), *strike = pb_host_alloc(N * sizeof(float));
	float *years = pb_host_alloc(N * sizeof(float));
	float *call = pb_host_alloc(N * sizeof(float)), *put = pb_host_alloc(N * sizeof(float));
	double max_parity = 0;

	CHECK(reference->n_options == N);
	CHECK(near(reference->call_sum, 297657.726));
	CHECK(near(reference->put_sum, 3112735.19));

	/* A call and a put together are the price against the strike, whatever the volatility. */
	blackscholes_fill(price, strike, years, N);
	for (size_t i = 0; i < N; i++) {
		double parity = price[i] - strike[i] * exp(-(double)BLACKSCHOLES_RATE * years[i]);

		CHECK(price[i] >= 5 && price[i] <= 30 && strike[i] >= 1 && strike[i] <= 100);
		CHECK(years[i] >= 0.25f && years[i] <= 10);
		max_parity = fmax(max_parity, fabs(reference->call[i] - reference->put[i] - parity));
		call[i] = reference->call[i];
		put[i] = reference->put[i];
	}
	CHECK(max_parity < 1e-12);

	/* What is right passes; one wrong value, a bad sum or no number at all does not. */
	verify(&run, call, put);
	CHECK(pb_verified(&run.result) && run.result.max_error < 1e-5 && run.result.n_compared == 2 * N + 4);
	put[N - 1] += 0.01f;
	verify(&run, call, put);
	CHECK(run.result.n_wrong == 1 && run.result.max_error > 0.0099);
	put[N - 1] = NAN;
	verify(&run, call, put);
	CHECK(run.result.n_wrong == 3 && isnan(run.result.max_error));
	put[N - 1] = reference->put[N - 1];
	blackscholes_verify(&run, call, put, blackscholes_sum(call, N), 0);
	CHECK(run.result.n_wrong == 4);
	/* So does an error that is small everywhere. */
	for (size_t i = 0; i < N; i++)
		call[i] += i % 2 ? 2e-5f : -2e-5f;
	verify(&run, call, put);
	CHECK(run.result.n_wrong == 1 && run.result.max_error < 3e-5);

	free(price);
	free(strike);
	free(years);
	free(call);
	free(put);
	golden_finish(&run);
	return 0;
}
