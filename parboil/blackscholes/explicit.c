/* SPDX-License-Identifier: MIT */
/* explicit.c - blackscholes with explicit copies: two pointers for each array. Read beside adsm.c. */
#include "blackscholes.h"

void blackscholes_explicit(struct pb_run *run)
{
	const struct blackscholes_size *size = &blackscholes_sizes[run->size];
	adsmKernel *black_scholes = pb_kernel(run, "BlackScholes");
	adsmDim grid = { .x = BLACKSCHOLES_BLOCKS }, block = { .x = BLACKSCHOLES_THREADS };
	size_t bytes = size->n_options * sizeof(float);
	float *price, *strike, *years, *call, *put;
	float *d_price, *d_strike, *d_years, *d_call, *d_put;
	double call_sum, put_sum;

	price = pb_host_alloc(bytes);
	strike = pb_host_alloc(bytes);
	years = pb_host_alloc(bytes);
	call = pb_host_alloc(bytes);
	put = pb_host_alloc(bytes);
	d_price = pb_device_alloc(bytes);
	d_strike = pb_device_alloc(bytes);
	d_years = pb_device_alloc(bytes);
	d_call = pb_device_alloc(bytes);
	d_put = pb_device_alloc(bytes);

	blackscholes_fill(price, strike, years, size->n_options);
	pb_check(adsmCopyToDevice(d_price, price, bytes));
	pb_check(adsmCopyToDevice(d_strike, strike, bytes));
	pb_check(adsmCopyToDevice(d_years, years, bytes));
	for (int i = 0; i < size->n_calls; i++) {
		pb_check(adsmCall(black_scholes, grid, block, adsmPtr(d_price), adsmPtr(d_strike),
				  adsmPtr(d_years), adsmPtr(d_call), adsmPtr(d_put),
				  adsmVal((int)size->n_options), adsmVal(blackscholes_share(size)),
				  adsmVal(blackscholes_rate(size, i)), adsmVal(BLACKSCHOLES_VOLATILITY)));
		pb_check(adsmSync());
	}
	pb_check(adsmCopyToHost(call, d_call, bytes));
	pb_check(adsmCopyToHost(put, d_put, bytes));

	call_sum = blackscholes_sum(call, size->n_options);
	put_sum = blackscholes_sum(put, size->n_options);
	pb_stop(run);
	blackscholes_verify(run, call, put, call_sum, put_sum);

	pb_free(d_price);
	pb_free(d_strike);
	pb_free(d_years);
	pb_free(d_call);
	pb_free(d_put);
	pb_host_free(price);
	pb_host_free(strike);
	pb_host_free(years);
	pb_host_free(call);
	pb_host_free(put);
}
