/* SPDX-License-Identifier: MIT */
/* adsm.c - blackscholes with shared memory: one pointer for each array. Read beside explicit.c. */
#include "blackscholes.h"

void blackscholes_adsm(struct pb_run *run)
{
	const struct blackscholes_size *size = &blackscholes_sizes[run->size];
	adsmKernel *black_scholes = pb_kernel(run, "BlackScholes");
	adsmDim grid = { .x = BLACKSCHOLES_BLOCKS }, block = { .x = BLACKSCHOLES_THREADS };
	size_t bytes = size->n_options * sizeof(float);
	float *price, *strike, *years, *call, *put;
	double call_sum, put_sum;

	price = pb_shared_alloc(bytes);
	strike = pb_shared_alloc(bytes);
	years = pb_shared_alloc(bytes);
	call = pb_shared_alloc(bytes);
	put = pb_shared_alloc(bytes);

	blackscholes_fill(price, strike, years, size->n_options);
	for (int i = 0; i < size->n_calls; i++) {
		pb_check(adsmCall(black_scholes, grid, block, adsmPtr(price), adsmPtr(strike),
				  adsmPtr(years), adsmPtr(call), adsmPtr(put),
				  adsmVal((int)size->n_options), adsmVal(blackscholes_share(size)),
				  adsmVal(blackscholes_rate(size, i)), adsmVal(BLACKSCHOLES_VOLATILITY)));
		pb_check(adsmSync());
	}

	call_sum = blackscholes_sum(call, size->n_options);
	put_sum = blackscholes_sum(put, size->n_options);
	pb_stop(run);
	blackscholes_verify(run, call, put, call_sum, put_sum);

	pb_free(price);
	pb_free(strike);
	pb_free(years);
	pb_free(call);
	pb_free(put);
}
