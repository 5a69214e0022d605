/* SPDX-License-Identifier: MIT */
/* queues.c - queues: the order of their calls, of calls that share objects, and waits for events. */
#include "conform.h"

#include <adsm_queue.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 1000u

static adsmQueue *queue(void)
{
	adsmQueue *made = adsmQueueCreate();

	if (!made)
		FAIL("adsmQueueCreate()");
	return made;
}

static adsmEvent event_of_last(void)
{
	adsmEvent event;

	CHECK_OK(adsmCallEvent(&event));
	return event;
}

/* Calls of two queues that share an object: the later one sees what the earlier one wrote, and not what comes after. */
static void conflicts(void)
{
	unsigned *a = words(N, 0), *b[20];
	adsmQueue *writer = queue(), *reader = queue();

	for (unsigned i = 0; i < 20; i++) {
		b[i] = alloc(N * 4);
		CHECK_OK(adsmQueueSet(i % 3 ? writer : NULL));
		if (i % 2)
			CALL("late_increment", N, adsmVal(SPIN / 1000), adsmPtr(a), adsmVal(N));
		else
			CALL("increment", N, adsmPtr(a), adsmVal(N));
		CHECK_OK(adsmQueueSet(reader));
		CALL("copy", N, adsmPtr(a), adsmPtr(b[i]), adsmVal(N));
	}
	/* adsmSync() waits for the thread's calls in all queues. */
	SYNC();
	for (unsigned i = 0; i < 20; i++)
		CHECK_AT(b[i][N - 1], i, N + i);
	CHECK_EQ(a[0], 20);
	CHECK_OK(adsmQueueSet(NULL));
	CHECK_OK(adsmQueueDestroy(writer));
	CHECK_OK(adsmQueueDestroy(reader));
}

/* An unnamed call uses all objects: it comes after all calls before it, and before all calls after it. */
static void unnamed(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0), *c = alloc(N * 4);
	adsmQueue *one = queue(), *other = queue();

	CHECK_OK(adsmQueueSet(one));
	CALL("late_increment", N, adsmVal(SPIN / 100), adsmPtr(a), adsmVal(N));
	CHECK_OK(adsmQueueSet(other));
	CALL("increment_any", N, adsmPtr(a), adsmVal(N));
	CHECK_OK(adsmQueueSet(one));
	CALL("copy", N, adsmPtr(a), adsmPtr(c), adsmVal(N));
	CHECK_OK(adsmQueueSet(NULL));
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	SYNC();
	CHECK_EQ(a[7], 9);
	CHECK_EQ(b[7], 8);
	CHECK_EQ(c[7], 9);
}

/* Each call has its own constants while calls of another queue come and go. */
static void constants(void)
{
	unsigned *slow = words(1, 0), *quick = words(1, 0), table[4] = { 0 };
	adsmQueue *one = queue(), *other = queue();

	CHECK_OK(adsmQueueSet(other));
	for (unsigned i = 0; i < 3; i++)
		CALL("late_const", 1, adsmVal(1ul), adsmPtr(quick), adsmConst(table, sizeof(table)));
	SYNC();
	for (unsigned i = 1; i <= 3; i++) {
		CHECK_OK(adsmQueueSet(one));
		table[0] = 100 + i;
		CALL("late_const", 1, adsmVal(SPIN), adsmPtr(slow), adsmConst(table, sizeof(table)));
		CHECK_OK(adsmQueueSet(other));
		table[0] = 200 + i;
		CALL("late_const", 1, adsmVal(1ul), adsmPtr(quick), adsmConst(table, sizeof(table)));
		SYNC();
		CHECK_EQ(*slow, 100 + i);
		CHECK_EQ(*quick, 200 + i);
	}
	CHECK_OK(adsmQueueSet(NULL));
}

#define THREADS 4
#define CALLS 100u
#define LISTS 6u

static unsigned *lists[LISTS];

/* Each call appends its number to a list. */
static void *append(void *arg)
{
	uint64_t state = (uintptr_t)arg;
	adsmQueue *own = queue();

	CHECK_OK(adsmQueueSet(own));
	for (unsigned i = 0; i < CALLS; i++)
		CALL("append", 1, adsmPtr(lists[draw(&state) % LISTS]),
		     adsmVal((unsigned)(uintptr_t)arg * CALLS + i));
	SYNC();
	CHECK_OK(adsmQueueDestroy(own));
	return NULL;
}

/* Calls of several threads, each with a queue: no number is lost, and those of each thread are in order. */
static void threads(void)
{
	unsigned next[THREADS], total = 0;
	pthread_t all[THREADS];

	kernel("append");
	for (unsigned i = 0; i < LISTS; i++) {
		lists[i] = alloc((THREADS * CALLS + 1) * 4);
		lists[i][0] = 0;
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&all[i], NULL, append, (void *)i));
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_join(all[i], NULL));
	for (unsigned i = 0; i < LISTS; i++) {
		memset(next, 0, sizeof(next));
		for (unsigned k = 1; k <= lists[i][0]; k++) {
			const unsigned thread = lists[i][k] / CALLS, number = lists[i][k] % CALLS;

			CHECK(thread < THREADS && number >= next[thread]);
			next[thread] = number + 1;
		}
		total += lists[i][0];
	}
	CHECK_EQ(total, THREADS * CALLS);
}

/* ---- random calls. Each one adds its number to two lists, with the length of a third one. All calls must have one
 * order: a call comes after the calls that it found in a list, and before the calls that found it there. */

#define LINKERS 16u		/* with few calls each on devices that run one at a time */
#define CHAINS_MAX 64u

static int n_devices = 1;
struct call { unsigned lists[2], seen; };

static unsigned n_links, n_chains, *chains[CHAINS_MAX];
static size_t n_words;			/* of each list */
static struct call *links;		/* n_links of each thread */

static void *make_links(void *arg)
{
	const unsigned me = (unsigned)(uintptr_t)arg;
	adsmQueue *own = me ? queue() : NULL;
	uint64_t state = me;

	CHECK_OK(adsmQueueSet(own));
	for (unsigned i = me * n_links; i < (me + 1) * n_links; i++) {
		struct call *c = &links[i];

		c->lists[0] = (unsigned)(draw(&state) % n_chains);
		c->lists[1] = (c->lists[0] + 1 + (unsigned)(draw(&state) % (n_chains - 2))) % n_chains;
		do
			c->seen = (unsigned)(draw(&state) % n_chains);
		while (c->seen == c->lists[0] || c->seen == c->lists[1]);
		CHECK_OK(adsmDeviceSet((int)(draw(&state) % (unsigned)n_devices)));
		CALL("link", 1, adsmVal((unsigned long)(draw(&state) % 4 * 10000)), adsmPtr(chains[c->lists[0]]),
		     adsmPtr(chains[c->lists[1]]), adsmPtr(chains[c->seen]), adsmVal(i));
	}
	SYNC();
	CHECK_OK(adsmQueueDestroy(own));
	return NULL;
}

static struct edge { unsigned to, next; } *edges;
static unsigned n_edges, *first_edge, *n_before;

/* Call @from comes before call @to. */
static void add_edge(unsigned from, unsigned to)
{
	CHECK(from < LINKERS * n_links && to < LINKERS * n_links);
	edges[++n_edges] = (struct edge){ to, first_edge[from] };
	first_edge[from] = n_edges;
	n_before[to]++;
}

static void add_edges(void)
{
	unsigned n = 0;

	for (unsigned c = 0; c < n_chains; c++) {
		const unsigned *list = chains[c];

		CHECK(2 * (size_t)list[0] < n_words);
		n += list[0];
		for (unsigned k = 1; k < list[0]; k++)
			add_edge(list[2 * k - 1], list[2 * k + 1]);
		for (unsigned k = 0; k < list[0]; k++) {
			const unsigned *seen = chains[links[list[2 * k + 1]].seen], found = list[2 * k + 2];

			CHECK(found <= seen[0]);
			if (found)
				add_edge(seen[2 * found - 1], list[2 * k + 1]);
			if (found < seen[0])
				add_edge(list[2 * k + 1], seen[2 * found + 1]);
		}
	}
	CHECK_EQ(n, 2 * LINKERS * n_links);
	for (unsigned i = 0; i < LINKERS * n_links; i++)
		if (i % n_links)
			add_edge(i - 1, i);
}

/* Take calls that none comes before, until all are taken. */
static void check_order(void)
{
	const unsigned total = LINKERS * n_links;
	unsigned *ready = malloc(total * sizeof(*ready)), n = 0;

	CHECK(ready);
	for (unsigned i = 0; i < total; i++)
		if (!n_before[i])
			ready[n++] = i;
	for (unsigned i = 0; i < n; i++)
		for (unsigned e = first_edge[ready[i]]; e; e = edges[e].next)
			if (!--n_before[edges[e].to])
				ready[n++] = edges[e].to;
	CHECKF(n == total, "%u of %u calls have an order", n, total);
	free(ready);
}

static void random_calls(void)
{
	pthread_t all[LINKERS];
	unsigned total;

	n_links = strcmp(device_props().backend, "cpu") ? 10 : getenv("TEST_FULL") ? 10000 : 50;
	n_chains = getenv("TEST_FULL") ? CHAINS_MAX : 16;
	total = LINKERS * n_links;
	links = calloc(total, sizeof(*links));
	edges = calloc(7 * total + 1, sizeof(*edges));
	first_edge = calloc(total, sizeof(*first_edge));
	n_before = calloc(total, sizeof(*n_before));
	CHECK(links && edges && first_edge && n_before);
	kernel("link");
	/* Twice the words of an average list, and more where lists are short: moves copy whole lists. */
	n_words = 8 * (size_t)total / n_chains + 1024;
	for (unsigned c = 0; c < n_chains; c++) {
		CHECK_OK(adsmDeviceSet((int)c % n_devices));
		chains[c] = alloc(n_words * sizeof(*chains[c]));
		chains[c][0] = 0;
	}
	for (uintptr_t i = 0; i < LINKERS; i++)
		CHECK(!pthread_create(&all[i], NULL, make_links, (void *)i));
	for (unsigned i = 0; i < LINKERS; i++)
		CHECK(!pthread_join(all[i], NULL));
	/* With batch, objects of several queues are complete after a sync of the whole device. */
	for (unsigned c = 0; c < n_chains; c++)
		CALL("increment_any", 0, adsmPtr(chains[c]), adsmVal(0u));
	SYNC();
	add_edges();
	check_order();
}

/* The same on several devices: the lists of a call move to the device of its thread. */
static void random_moves(void)
{
	set("cpu_devices", "3");
	n_devices = adsmDeviceCount();
	if (n_devices < 2 || unified())
		skip("one device, or its memory is the CPU's");
	random_calls();
	CHECK(stats().moved > 0);
}

/* A call waits for a call and a copy of another device. */
static void waits(void)
{
	static unsigned from[1 << 20];
	adsmEvent of_call, of_copy;
	adsmQueue *own;
	unsigned *a, *b, *d;

	set("cpu_devices", "2");
	set("cpu_link", "100MB/s,10us");
	if (adsmDeviceCount() < 2)
		skip("one device");
	a = words(N, 0);
	d = adsmDeviceAlloc(sizeof(from));
	CHECK_OK(adsmDeviceSet(1));
	b = words(N, 0);
	own = queue();
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < 2; i++) {
		adsmQueue *set = i ? own : NULL;

		CALL("late_increment", N, adsmVal(SPIN), adsmPtr(a), adsmVal(N));
		of_call = event_of_last();
		CHECK_OK(adsmQueueWait(set, of_call));
		CHECK_OK(adsmQueueSet(set));
		CALL("increment", N, adsmPtr(b), adsmVal(N));
		CHECK_OK(adsmEventQuery(of_call));
		SYNC();
		CHECK_OK(adsmCopyToDeviceAsync(d, from, sizeof(from), &of_copy));
		CHECK_OK(adsmQueueWait(set, of_copy));
		CALL("increment", N, adsmPtr(b), adsmVal(N));
		CHECK_OK(adsmEventQuery(of_copy));
	}
	SYNC();
	CHECK_EQ(b[1], 6);
	CHECK_EQ(a[1], 3);
	CHECK_OK(adsmDeviceFree(d));
}

static pid_t process;

/* The device's process, and two queues of it that overlap. */
static void two_queues(adsmQueue **ret_one, adsmQueue **ret_other)
{
	process = strcmp(device_props().backend, "cpu") ? 0 : device_process();
	if (!process)
		skip("the device runs one call at a time");
	*ret_one = queue();
	*ret_other = queue();
}

/* Calls of another queue run and end while a call runs that never ends. */
static void overlap(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0), *c = words(N, 0), *in = words(N, 5);
	adsmQueue *one, *other;
	adsmEvent endless;

	two_queues(&one, &other);
	CHECK_OK(adsmQueueSet(one));
	CALL("late_copy", N, adsmVal(1ul << 40), adsmPtr(in), adsmPtr(a), adsmVal(N));
	endless = event_of_last();
	CHECK_OK(adsmQueueSet(other));
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	CHECK_OK(adsmEventWait(event_of_last()));
	CHECK_EQ(b[7], 9);
	/* Two calls read an object. The CPU reads it, too. */
	CALL("copy", N, adsmPtr(in), adsmPtr(c), adsmVal(N));
	CHECK_OK(adsmEventWait(event_of_last()));
	CHECK_EQ(c[7], 12);
	CHECK_EQ(in[7], 12);
	b[7] = 20;
	CHECK_OK(adsmQueueSet(NULL));
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	CHECK_OK(adsmEventWait(event_of_last()));
	CHECK_EQ(b[7], 21);
	CHECK_OK(adsmFree(b));
	CHECK_ERROR(adsmEventQuery(endless), EBUSY);
	CHECK(!kill(process, SIGKILL));
	CHECK_ERROR(adsmEventWait(endless), ENODEV);
	CHECK_ERROR(adsmSync(), ENODEV);
	/* What had ended was not lost. */
	CHECK_EQ(c[8], 13);
}

/* A call of another queue ends, and the CPU reads what it wrote, while a longer one runs. */
static void earlier(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0), tries = 0;
	const adsmDeviceProps device = device_props();
	adsmQueue *other = queue();
	bool overlapped = false;
	adsmEvent longer;

	if (!strcmp(device.backend, "scratchpad") || !strcmp(device.backend, "cluster") || device.compute_units < 2 ||
	    (strcmp(device.backend, "cpu") != 0 && device.unified))
		skip("the device runs one call at a time");
	/* If the machine was too slow, try again with a longer kernel. */
	for (unsigned long spins = SPIN; !overlapped && tries < 5; spins *= 4, tries++) {
		CHECK_OK(adsmQueueSet(NULL));
		CALL("late_increment", 1, adsmVal(spins), adsmPtr(a), adsmVal(N));
		longer = event_of_last();
		CHECK_OK(adsmQueueSet(other));
		CALL("increment", N, adsmPtr(b), adsmVal(N));
		if (batch())
			CHECK_OK(adsmEventWait(event_of_last()));
		CHECK_EQ(b[7], 8 + tries);
		overlapped = adsmEventQuery(longer) == -EBUSY;
		SYNC();
		CHECK_EQ(a[7], 8 + tries);
	}
	CHECK(overlapped);
}

/* A thread that makes one call, of a kernel copy or increment. */
struct maker {
	pthread_t thread;
	adsmQueue *queue;
	unsigned *from, *to;		/* from NULL: increment @to */
	_Atomic pid_t id;		/* 0: it has not come to its call */
	int result;
};

static void *make_call(void *arg)
{
	struct maker *maker = arg;

	CHECK_OK(adsmQueueSet(maker->queue));
	maker->id = gettid();
	maker->result = maker->from ?
		adsmCall(kernel("copy"), blocks(N), lanes(), adsmPtr(maker->from), adsmPtr(maker->to), adsmVal(N)) :
		adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(maker->to), adsmVal(N));
	return NULL;
}

static void start_maker(struct maker *maker)
{
	CHECK(!pthread_create(&maker->thread, NULL, make_call, maker));
	while (!maker->id || !asleep(maker->id))
		;
}

/*
 * A call that waits for a conflict does not stop calls that conflict with nothing. A call that conflicts with it comes
 * after it, although no call that runs conflicts.
 */
static void waiting(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0), *c = words(N, 0), *in = words(N, 5);
	struct maker writer = { .to = in }, reader = { .from = in, .to = c };
	adsmQueue *other;

	two_queues(&writer.queue, &other);
	kernel("copy");
	CHECK_OK(adsmQueueSet(other));
	CALL("late_copy", N, adsmVal(1ul << 40), adsmPtr(in), adsmPtr(a), adsmVal(N));
	start_maker(&writer);
	reader.queue = queue();
	start_maker(&reader);
	CHECK_OK(adsmQueueSet(reader.queue));
	for (unsigned i = 0; i < 20; i++) {
		CALL("increment", N, adsmPtr(b), adsmVal(N));
		CHECK_OK(adsmEventWait(event_of_last()));
	}
	CHECK_EQ(b[7], 27);
	CHECK(!kill(process, SIGKILL));
	CHECK(!pthread_join(writer.thread, NULL));
	CHECK(!pthread_join(reader.thread, NULL));
	CHECK_EQ(writer.result, -ENODEV);
	CHECK_EQ(reader.result, -ENODEV);
}

/* A crash ends the calls of all queues. Each of them returns whose crash it was. */
static void crash(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0);
	adsmQueue *one, *other;
	adsmEvent endless;

	two_queues(&one, &other);
	kernel("crash");
	CHECK_OK(adsmQueueSet(one));
	CALL("late_increment", 1, adsmVal(1ul << 40), adsmPtr(a), adsmVal(1u));
	endless = event_of_last();
	CHECK_OK(adsmQueueSet(other));
	CHECK_OK(adsmCall(kernel("crash"), blocks(1), lanes(), adsmPtr(b)));
	CHECK_ERROR(adsmEventWait(endless), ENODEV);
	CHECK_SAYS("kernel 'crash' crashed with SIGSEGV");
	CHECK_ERROR(adsmSync(), ENODEV);
	CHECK_SAYS("kernel 'crash' crashed with SIGSEGV");
}

static void refused(void)
{
	unsigned *a = words(N, 0);
	adsmQueue *made[1024], *gone = queue();
	int status;
	pid_t child;

	CHECK_ERROR(adsmQueueSet((adsmQueue *)a), EINVAL);
	CHECK_ERROR(adsmQueueSet((adsmQueue *)((char *)gone + 1)), EINVAL);
	CHECK_ERROR(adsmQueueDestroy((adsmQueue *)a), EINVAL);
	CHECK_ERROR(adsmQueueWait(gone, (adsmEvent){ 0, 0, 0 }), EINVAL);
	CHECK_OK(adsmQueueDestroy(NULL));
	CHECK_OK(adsmQueueSet(gone));
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	CHECK_ERROR(adsmQueueWait((adsmQueue *)a, event_of_last()), EINVAL);
	CHECK_OK(adsmQueueDestroy(gone));
	CHECK_ERROR(adsmQueueDestroy(gone), EINVAL);
	CHECK_ERROR(adsmQueueSet(gone), EINVAL);
	CHECK_ERROR(adsmQueueWait(gone, event_of_last()), EINVAL);
	CHECK_ERROR(adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(a), adsmVal(N)), EINVAL);
	CHECK_SAYS("was destroyed");
	for (unsigned i = 0; i < 1024; i++)
		made[i] = queue();
	CHECK_NULL(adsmQueueCreate(), ENOMEM);
	/* A new queue in the place of an old one is not the thread's. */
	CHECK_ERROR(adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(a), adsmVal(N)), EINVAL);
	CHECK_OK(adsmQueueSet(NULL));
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	for (unsigned i = 0; i < 1024; i++)
		CHECK_OK(adsmQueueDestroy(made[i]));
	SYNC();
	CHECK_EQ(a[0], 2);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK_NULL(adsmQueueCreate(), ENOTSUP);
		CHECK_ERROR(adsmQueueSet(NULL), ENOTSUP);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* What a queue waits for ends with the library. The queue stays. */
static void restarted(void)
{
	adsmQueue *own = queue();
	unsigned *a = words(N, 0);

	for (unsigned i = 0; i < 10; i++)
		CALL("increment", N, adsmPtr(a), adsmVal(N));
	CHECK_OK(adsmQueueWait(own, event_of_last()));
	CHECK_OK(adsmQueueWait(NULL, event_of_last()));
	SYNC();
	CHECK_OK(adsmFree(a));
	unload();
	CHECK_OK(adsmShutdown());
	a = words(N, 0);
	CHECK_OK(adsmQueueSet(own));
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	CHECK_OK(adsmQueueWait(own, event_of_last()));
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
	CHECK_EQ(a[0], 2);
}

static const struct conform_case cases[] = {
	CASE("queue-conflicts", conflicts),
	CASE("queue-unnamed", unnamed),
	CASE("queue-constants", constants),
	CASE("queue-threads", threads),
	CASE("queue-random", random_calls),
	CASE("queue-moves", random_moves),
	CASE("queue-waits", waits),
	CASE("queue-overlap", overlap),
	CASE("queue-earlier", earlier),
	CASE("queue-waiting", waiting),
	CASE("queue-crash", crash),
	CASE("queue-refused", refused),
	CASE("queue-restarted", restarted),
};

CONFORM_MAIN(cases)
