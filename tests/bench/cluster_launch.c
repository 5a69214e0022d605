/* SPDX-License-Identifier: MIT */
/*
 * cluster_launch.c - an empty call and its sync on a cluster, by the number of nodes on this machine. The kernel is
 * that of call.c. Its grid has one block, or one for each node.
 *
 * Floor: the same messages, sent to all nodes and back by the same threads of the same job, and an empty call and its
 * sync on cpu. The three are measured in turns, in processes of their own, which sleep meanwhile. All terms are
 * medians. One node sends no messages: then cpu's call is the whole floor.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "cluster/shared.h"
#include "core/home.h"
#include "process/process.h"

#define N_CALLS 50			/* the median is that of one of these answers */
#define MAX_NODES 8u

enum what { ONE_BLOCK, ALL_BLOCKS, ECHO };

/* A process that has a device and measures when it is asked. */
struct measurer {
	pid_t pid;
	int asked, answers;		/* descriptors */
};

static double call_us(adsmKernel *kernel, unsigned n_blocks)
{
	const adsmDim grid = { n_blocks, 1, 1 };
	const double start = bench_now_us();

	bench_check(adsmCall(kernel, grid, bench_one, adsmPtr(NULL)));
	bench_check(adsmSync());
	return bench_now_us() - start;
}

static double echo_us(void)
{
	struct adsm_process_device *device = (struct adsm_process_device *)adsm_homes[0].device;
	struct adsm_process_queue *queue = &device->shared->queue;
	const double start = bench_now_us();
	uint64_t seq;

	adsm_mutex_lock(&device->launch_lock);
	device->shared->slots[atomic_load(&queue->submitted) % ADSM_PROCESS_SLOTS].kernel = ADSM_CLUSTER_ECHO;
	seq = adsm_process_queue_submit(queue, true);
	adsm_mutex_unlock(&device->launch_lock);
	while (adsm_process_queue_wait(queue, seq, &device->lost, 10000, true) == -EINTR)
		;
	if (atomic_load(&device->lost))
		bench_die("%s", device->lost_text);
	return bench_now_us() - start;
}

static _Noreturn void serve(unsigned n_nodes, int asked, int answers)
{
	const int n_calls = bench_smoke ? 3 : N_CALLS;
	double times[N_CALLS], us;
	adsmModule *module;
	adsmKernel *kernel;
	char what, number[16];

	snprintf(number, sizeof(number), "%u", n_nodes);
	setenv("ADSM_BACKEND", n_nodes ? "cluster" : "cpu", 1);
	if (n_nodes)
		setenv("ADSM_CLUSTER_NODES", number, 1);
	module = bench_load("../kernels/bench.adsm", "nothing", &kernel);
	while (read(asked, &what, 1) == 1) {
		for (int i = 0; i < n_calls; i++)
			times[i] = what == ECHO ? echo_us() : call_us(kernel, what == ALL_BLOCKS ? n_nodes : 1);
		us = bench_median(times, (size_t)n_calls);
		if (write(answers, &us, sizeof(us)) != sizeof(us))
			bench_die("nobody reads what was measured");
	}
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
	exit(0);
}

static struct measurer start(unsigned n_nodes)
{
	struct measurer m;
	int ask[2], answer[2];

	if (pipe(ask) || pipe(answer))
		bench_die("pipe: %s", strerror(errno));
	fflush(NULL);
	m.pid = fork();
	if (!m.pid) {
		close(ask[1]);
		close(answer[0]);
		serve(n_nodes, ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	m.asked = ask[1];
	m.answers = answer[0];
	return m;
}

static double measure(const struct measurer *m, enum what what)
{
	const char byte = (char)what;
	double us;

	if (write(m->asked, &byte, 1) != 1 || read(m->answers, &us, sizeof(us)) != sizeof(us))
		bench_die("a process that measures has ended");
	return us;
}

static void stop(const struct measurer *m)
{
	int status;

	close(m->asked);
	if (waitpid(m->pid, &status, 0) != m->pid || status)
		bench_die("a process that measures did not end well");
	close(m->answers);
}

/* All of one number of nodes, in turns. */
static void compare(unsigned n_nodes, const struct measurer *cpu)
{
	const size_t rounds = (size_t)bench_repeat;
	const struct measurer cluster = start(n_nodes);
	double *times[4];			/* by enum what, then cpu's */

	for (int i = 0; i < 4; i++)
		times[i] = bench_host_alloc((rounds + 1) * sizeof(double));
	for (size_t round = 0; round <= rounds; round++) {
		/* The first one is not counted. */
		for (int i = 0; i < 4; i++) {
			const size_t k = (round + (size_t)i) % 4;
			const bool no_message = k == ECHO && n_nodes == 1;

			times[k][round ? round - 1 : 0] = no_message ? 0 :
				measure(k == 3 ? cpu : &cluster, k == 3 ? ONE_BLOCK : (enum what)k);
		}
	}
	stop(&cluster);
	for (int k = ECHO; k <= 3; k++)
		times[k][rounds] = bench_median(times[k], rounds);
	for (int k = ONE_BLOCK; k <= (n_nodes > 1 ? ALL_BLOCKS : ONE_BLOCK); k++) {
		struct bench_row row = { .unit = "us", .target = "<= 1.5" };

		snprintf(row.name, sizeof(row.name), "%u node%s, %u block%s", n_nodes, n_nodes > 1 ? "s" : "",
			 k == ALL_BLOCKS ? n_nodes : 1, k == ALL_BLOCKS ? "s" : "");
		row.ours = bench_median(times[k], rounds);
		row.floor = times[ECHO][rounds] + times[3][rounds];
		snprintf(row.note, sizeof(row.note), "messages %.1f, cpu %.1f", times[ECHO][rounds], times[3][rounds]);
		bench_emit(&row);
	}
	for (int i = 0; i < 4; i++)
		free(times[i]);
}

void bench_cluster_launch(void)
{
	const struct measurer cpu = start(0);

	for (unsigned n = 1; n <= (bench_smoke ? 2 : MAX_NODES); n *= 2)
		compare(n, &cpu);
	stop(&cpu);
}
