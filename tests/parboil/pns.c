/* SPDX-License-Identifier: MIT */
/* pns.c - reference and verification of pns against known values. */
#include "golden.h"

#include <string.h>

#include "../../parboil/pns/pns.h"

struct golden {
	uint64_t squares;		/* of all marks, of all trajectories */
	double mean_var, mean_max;
	uint64_t fnv;			/* of all final marks, one trajectory after the other */
};

static struct pb_run test_reference(size_t size, const struct golden *golden)
{
	struct pb_run run = golden_run(&pns_bench, size);
	const struct pns_reference *reference = run.data;
	uint64_t total = 0, fnv = PB_FNV_INIT;
	struct pns_net net;
	struct pns pns;

	pns_open(&pns, &run);
	pns_net_init(&net, &pns);
	for (int i = 0; i < pns.n_trajectories; i++) {
		size_t tokens = 0, n_ones = 0;
		uint64_t sum = 0, squares;
		int top = 0, max;

		pns_net_run(&net, &pns, i);
		fnv = pb_fnv(fnv, net.marks, net.n_places);
		for (size_t place = 0; place < net.n_places; place++) {
			int mark = net.marks[place];

			tokens += (size_t)mark;
			sum += (uint64_t)(mark * mark);
			top = mark > top ? mark : top;
		}
		CHECK(tokens == net.n_places);
		pns_net_reset(&net, &squares, &max);
		CHECK(squares == sum && max == top);
		CHECK(squares == reference->squares[i] && max == reference->rewards[i].max);
		CHECK(fabs(reference->rewards[i].var - ((double)sum / (double)net.n_places - 1)) < 1e-7);
		for (size_t place = 0; place < net.n_places; place++)
			n_ones += net.marks[place] == 1;
		CHECK(n_ones == net.n_places);
		total += squares;
	}
	CHECK(total == golden->squares);
	CHECK(fnv == golden->fnv);
	CHECK(near(reference->numbers[PNS_MEAN_VAR], golden->mean_var));
	CHECK(near(reference->numbers[PNS_MEAN_MAX], golden->mean_max));
	pns_net_finish(&net);
	pns_close(&pns);
	return run;
}

/* How many values are wrong. */
static uint64_t verify(struct pb_run *run, const struct pns *pns, const unsigned char *places)
{
	run->result = (struct pb_result){ 0 };
	pns_verify(run, pns, places, adsmMemcpy);
	return run->result.n_wrong;
}

/* What is right passes, and one wrong value or no number at all does not. */
static void test_verify(struct pb_run *run)
{
	const struct pns_reference *reference = run->data;
	unsigned char *places;
	size_t stride;
	struct pns pns;

	pns_open(&pns, run);
	stride = pns.bytes / (size_t)pns.per_launch;
	CHECK(stride == 5 * pns.n_places);
	places = pb_host_alloc(pns.bytes);
	memset(places, 0xff, pns.bytes);
	for (int b = 0; b < pns.per_launch; b++)
		memcpy(places + (size_t)b * stride, reference->marks + (size_t)b * pns.n_places, pns.n_places);
	memcpy(pns.rewards, reference->rewards, (size_t)pns.n_trajectories * sizeof(*pns.rewards));
	memcpy(pns.numbers, reference->numbers, sizeof(pns.numbers));

	CHECK(verify(run, &pns, places) == 0 && pb_verified(&run->result) && run->result.max_error == 0);
	CHECK(run->result.n_compared == 2 * (uint64_t)pns.n_trajectories + PNS_N_NUMBERS +
					(uint64_t)pns.per_launch * pns.n_places);
	pns.rewards[0].var = nextafterf(pns.rewards[0].var, 1);
	CHECK(verify(run, &pns, places) == 1);
	pns.rewards[0].var = NAN;
	CHECK(verify(run, &pns, places) == 1 && !pb_verified(&run->result));
	pns.rewards[pns.n_trajectories - 1].max++;
	CHECK(verify(run, &pns, places) == 2);
	pns.numbers[PNS_VAR_MAX] = NAN;
	CHECK(verify(run, &pns, places) == 3);
	pns.numbers[PNS_MEAN_VAR] += 1e-5;
	CHECK(verify(run, &pns, places) == 4);
	places[(size_t)(pns.per_launch - 1) * stride + pns.n_places - 1]++;
	CHECK(verify(run, &pns, places) == 5);
	/* The smallest number, too. */
	memcpy(pns.numbers, reference->numbers, sizeof(pns.numbers));
	pns.numbers[PNS_VAR_VAR] = 0;
	CHECK(verify(run, &pns, places) == 4);
	free(places);
	pns_close(&pns);
}

/* Launches have a number of trajectories, the last one what is left. */
static void test_launches(void)
{
	struct pb_run run = { .bench = &pns_bench, .size = 2 };
	struct pns pns;

	pns_open(&pns, &run);
	CHECK(pns.n_trajectories == 2000 && pns.per_launch == 18 && pns.bytes == 720000000);
	CHECK(pns_launch(&pns, 0) == 18 && pns_launch(&pns, 1980) == 18 && pns_launch(&pns, 1998) == 2);
	pns_close(&pns);
}

int main(void)
{
	struct pb_run run = test_reference(0, &(struct golden){ .squares = 6054786, .mean_var = 0.182575391,
		.mean_max = 3, .fnv = 0xc384e8c608794b67 });

	CHECK(fabs(((struct pns_reference *)run.data)->numbers[PNS_VAR_VAR] - 6.78135e-07) < 5e-13);
	test_verify(&run);
	golden_finish(&run);
	run = test_reference(3, &(struct golden){ .squares = 444978, .mean_var = 0.69745636, .mean_max = 4.03125,
		.fnv = 0x62c4f103af32725d });
	test_verify(&run);
	test_launches();
	golden_finish(&run);
	return 0;
}
