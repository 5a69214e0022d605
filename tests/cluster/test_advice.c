/* SPDX-License-Identifier: MIT */
/* test_advice.c - what is said of a kernel, by what it has cost a cluster. */
#include "base/os.h"
#include "cluster/costs.h"
#include "cluster/shared.h"
#include "process/process.h"

#include "../check.h"

#define MS 1000000ull

static struct adsm_process_device *device;

static struct adsm_cluster_shared *shared(void)
{
	return (struct adsm_cluster_shared *)device->shared->extra;
}

/* The time of its calls in each part, in milliseconds. */
static struct adsm_kernel_costs costs(uint64_t calls, uint64_t kernel, uint64_t work, uint64_t exchange)
{
	struct adsm_kernel_costs costs = { .calls = calls, .kernel_ns = kernel * MS };

	costs.values[ADSM_CLUSTER_WORK_NS] = work * MS;
	costs.values[ADSM_CLUSTER_EXCHANGE_NS] = exchange * MS;
	return costs;
}

static void check(const struct adsm_kernel_costs *costs, const char *want)
{
	char text[768];

	adsm_cluster_costs.advise(&device->base, "kernel", costs, text, sizeof(text));
	CHECKF(!strcmp(text, want), "'%s', not '%s'", text, want);
	/* Whatever room there is. */
	for (size_t size = 1; size < sizeof(text); size++) {
		char cut[sizeof(text) + 1];

		memset(cut, '#', sizeof(cut));
		adsm_cluster_costs.advise(&device->base, "kernel", costs, cut, size);
		CHECK(strlen(cut) == (strlen(want) < size ? strlen(want) : size - 1));
		CHECK(!strncmp(cut, want, strlen(cut)) && cut[size] == '#');
	}
}

int main(void)
{
#define BEGIN "its exchange took 90.0 ms, its work took 30.0 ms, added up over 3 nodes"
	struct adsm_kernel_costs c = costs(3, 27, 30, 90);

	device = adsm_os_table(sizeof(*device));
	CHECK(device);
	device->shared = adsm_os_table(sizeof(*device->shared) + sizeof(struct adsm_cluster_shared));
	CHECK(device->shared);
	shared()->n_nodes = 3;

	check(&c, BEGIN);
	c.values[ADSM_CLUSTER_PAGES_MODIFIED] = 1000;
	c.values[ADSM_CLUSTER_PAGES_MULTI] = 99;
	c.values[ADSM_CLUSTER_PAGES_HOST] = 99;
	check(&c, BEGIN);
	c.values[ADSM_CLUSTER_PAGES_MULTI] = 100;
	check(&c, BEGIN "; several nodes wrote 100 of 1000 pages: let consecutive blocks write one contiguous range, "
	      "and each block more of it");
	c.values[ADSM_CLUSTER_PAGES_MULTI] = 0;
	c.values[ADSM_CLUSTER_PAGES_HOST] = 100;
	check(&c, BEGIN "; the host wrote 100 pages before calls: if it changes only a part of each block, smaller "
	      "blocks (ADSM_BLOCK_SIZE) send less");
	c.values[ADSM_CLUSTER_PAGES_HOST] = 0;
	c.values[ADSM_CLUSTER_PAGES_UNWRITTEN] = 7;
	check(&c, BEGIN "; it wrote nothing to objects of 7 pages: declare parameters that it only reads as ADSM_IN, "
	      "or pass adsmIn(p)");
	c.values[ADSM_CLUSTER_PAGES_UNWRITTEN] = 0;
	c.values[ADSM_CLUSTER_IDLE] = 4;
	check(&c, BEGIN "; 4 times in 3 calls a node had no block: use larger grids of smaller blocks");
	c.values[ADSM_CLUSTER_ALONE] = 2;
	check(&c, BEGIN "; node 0 ran 2 of 3 calls alone, because of atomics on objects or services: all nodes run "
	      "it if it does atomics on an ADSM_SHARED array, and calls no services");
	c = costs(30, 33, 30, 90);
	c.values[ADSM_CLUSTER_ALONE] = 30;
	check(&c, BEGIN "; node 0 ran 30 of 30 calls alone, because of atomics on objects or services: all nodes run "
	      "it if it does atomics on an ADSM_SHARED array, and calls no services; a call takes 1.1 ms, but one node "
	      "would work only 1.0 ms: use fewer nodes");

	/* Waits for pages are no work. */
	c = costs(3, 27, 50, 70);
	c.values[ADSM_CLUSTER_FETCH_NS] = 20 * MS;
	check(&c, "its exchange took 70.0 ms, waits for pages took 20.0 ms, its work took 30.0 ms, added up over 3 "
	      "nodes");
	c = costs(3, 27, 101, 0);
	c.values[ADSM_CLUSTER_FETCH_NS] = 71 * MS;
	c.values[ADSM_CLUSTER_PAGES_FETCHED] = 5;
	check(&c, "its exchange took 0.0 us, waits for pages took 71.0 ms, its work took 30.0 ms, added up over 3 "
	      "nodes; nodes fetched 5 pages while it ran: use the same order of blocks in all kernels, so that nodes "
	      "read what they wrote");
	c = costs(3, 127, 160, 70);
	c.values[ADSM_CLUSTER_FETCH_NS] = 45 * MS;
	check(&c, "");

	/* As one node would take longer; or not. */
	c = costs(3, 33, 30, 90);
	check(&c, BEGIN "; a call takes 11.0 ms, but one node would work only 10.0 ms: use fewer nodes");
	c = costs(20, 29, 30, 90);
	check(&c, BEGIN "; each node works 500.0 us in a call: use larger grids and fewer calls");

	/* The work is more; the exchange is nothing; there is none. */
	c = costs(3, 300, 90, 90);
	check(&c, "");
	c = costs(3, 300, 0, 0);
	c.values[ADSM_CLUSTER_EXCHANGE_NS] = MS - 1;
	check(&c, "");
	shared()->n_nodes = 1;
	c = costs(3, 27, 30, 90);
	check(&c, "");
	return 0;
}
