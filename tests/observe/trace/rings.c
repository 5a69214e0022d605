/* SPDX-License-Identifier: MIT */
/* rings.c - rare orders of events, made by hand: rings FILE. Bars that do not nest, more of them at the same time than
 * there are tracks, handlers in the middle of a put. Prints how many events it has made. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "../../check.h"
#include "core/observe.h"
#include "base/os.h"
#include "observe/ring.h"
#include "observe/trace.h"

static atomic_uint n_io, n_kernels, n_wait, n_written, n_handled;

/* Microseconds. */
static void io(uint64_t from, uint64_t to)
{
	adsm_trace_put(&(struct adsm_trace_event){
		.type = ADSM_TRACE_IO, .start_ns = adsm_start_ns + from * 1000, .ns = (to - from) * 1000,
	});
	atomic_fetch_add(&n_io, 1);
}

static void kernel(uint64_t from, uint64_t to)
{
	adsm_trace_put(&(struct adsm_trace_event){
		.type = ADSM_TRACE_KERNEL, .start_ns = adsm_start_ns + from * 1000, .ns = (to - from) * 1000,
		.name = "kernel", .device = 1,
	});
	atomic_fetch_add(&n_kernels, 1);
}

static void now(void)
{
	adsm_trace_put(&(struct adsm_trace_event){ .type = ADSM_TRACE_WAITED, .start_ns = adsm_os_now_ns(), .ns = 0 });
	atomic_fetch_add(&n_wait, 1);
}

/* On a slow machine there is nothing but handlers: the ring is not to run over. */
static void handle(int signal)
{
	if (atomic_load(&n_wait) - atomic_load(&n_written) < ADSM_RING_EVENTS / 2)
		now();
	atomic_fetch_add(&n_handled, 1);
}

/* What an io of another thread may do: it ends inside this one's. */
static void overlap(void)
{
	io(10, 20);
	io(30, 40);
	io(25, 45);		/* has the one before inside */
	io(5, 50);		/* and all of them */
	io(45, 60);		/* half of one */
	io(48, 70);		/* of two */
	io(70, 80);
	for (uint64_t i = 0; i < 12; i++)	/* more than there are tracks */
		io(100 + i, 200 + i);
	for (uint64_t i = 0; i < 1000; i++)	/* more than are remembered */
		io(300 + 3 * i, 302 + 3 * i);
	io(301, 4000);		/* half of the first of them */
	io(4000, 4001);
	kernel(10, 20);
	kernel(20, 30);
	kernel(15, 40);
	kernel(12, 38);
	kernel(5, 9);		/* told late */
}

static void *run(void *arg)
{
	overlap();
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 20 }, { 0, 20 } };
	pthread_t thread;

	CHECK(argc == 2);
	adsm_start_ns = adsm_os_now_ns();
	CHECK(!adsm_trace_open(argv[1]));
	adsm_trace_device(1, "by", "hand");
	overlap();
	adsm_trace_flush();
	CHECK(!pthread_create(&thread, NULL, run, NULL) && !pthread_join(thread, NULL));
	adsm_trace_flush();

	signal(SIGALRM, handle);
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	while (atomic_load(&n_handled) < 5000) {
		unsigned n;

		for (int i = 0; i < 1000; i++)
			now();
		n = atomic_load(&n_wait);
		adsm_trace_flush();
		atomic_store(&n_written, n);
	}
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	adsm_trace_close(NULL);
	printf("{\"io\": %u, \"kernel\": %u, \"wait\": %u}\n", n_io, n_kernels, n_wait);
	return 0;
}
