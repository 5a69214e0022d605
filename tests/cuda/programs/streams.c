/* SPDX-License-Identifier: MIT */
/* streams.c - streams, events and functions in them; launches and graphs. */
#include "program.h"

#define CHUNKS 8

/* In on one stream, computed on a second, out on a third; @touch: the results are read where they are. */
static void pipeline(bool touch)
{
	const unsigned n = 30000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = api_host_alloc(CHUNKS * size), *out = api_host_alloc(CHUNKS * size), *p[CHUNKS];
	stream to = api_stream(), compute = api_stream(), from = api_stream();
	event arrived[CHUNKS], computed[CHUNKS];

	for (unsigned i = 0; i < CHUNKS * n; i++)
		in[i] = value(i);
	for (unsigned k = 0; k < CHUNKS; k++) {
		p[k] = api_alloc(size);
		arrived[k] = api_event();
		computed[k] = api_event();
	}
	for (unsigned k = 0; k < CHUNKS; k++) {
		api_copy_async(p[k], in + k * n, size, k & 1 ? TO_DEVICE : ANY, to);
		api_event_record(arrived[k], to);
		api_stream_after(compute, arrived[k]);
		increment(p[k], n, compute);
		api_event_record(computed[k], compute);
		if (touch)
			continue;
		api_stream_after(from, computed[k]);
		api_copy_async(out + k * n, p[k], size, k & 1 ? TO_HOST : ANY, from);
	}
	for (unsigned k = 0; touch && k < CHUNKS; k++) {
		api_event_wait(computed[k]);
		for (unsigned i = 0; i < n; i++)
			CHECKF(p[k][i] == value(k * n + i) + 1, "chunk %u: [%u] is %u", k, i, p[k][i]);
		p[k][n - 1] += k;
		/* What was stored here is what the next copy takes along. */
		api_copy_async(out + k * n, p[k], size, TO_HOST, from);
	}
	api_stream_wait(from);
	for (unsigned i = 0; i < CHUNKS * n; i++)
		CHECKF(out[i] == value(i) + 1 + (touch && i % n == n - 1 ? i / n : 0), "[%u] is %u", i, out[i]);
	add_to_sum(out, CHUNKS * size);
	for (unsigned k = 0; k < CHUNKS; k++) {
		api_free(p[k]);
		api_event_free(arrived[k]);
		api_event_free(computed[k]);
	}
	api_stream_free(to);
	api_stream_free(compute);
	api_stream_free(from);
	api_host_free(in);
	api_host_free(out);
}

BOTH(pipeline)

void do_touch_events(void)
{
	const unsigned n = 3000;
	unsigned *p = api_alloc(n * sizeof(*p));
	stream stream = api_stream();
	event event = api_event();

	for (unsigned i = 0; i < n; i++)
		p[i] = value(i);
	late_increment(p, n, stream);
	api_event_record(event, stream);
	api_event_wait(event);
	check_values(p, n, 1, "after waiting");
	late_increment(p, n, stream);
	api_event_record(event, stream);
	while (!api_event_done(event))
		continue;
	check_values(p, n, 2, "after asking the event");
	late_increment(p, n, stream);
	while (!api_stream_done(stream))
		continue;
	check_values(p, n, 3, "after asking the stream");
	api_event_free(event);
	api_stream_free(stream);
	api_free(p);
}

/* No waiting at all: what is touched is what the commands before have made of it. */
void do_touch_at_once(void)
{
	const unsigned n = 3000;
	const size_t size = n * sizeof(unsigned);
	unsigned *p = api_alloc(size), *q = api_alloc(size), *in = api_host_alloc(size), *out = api_host_alloc(size);
	stream stream = api_stream();

	for (unsigned i = 0; i < n; i++)
		in[i] = p[i] = value(i);
	late_increment(p, n, stream);
	check_values(p, n, 1, "at once");
	late_increment(p, n, stream);
	memcpy(out, p, size);
	check_values(out, n, 2, "what memcpy read");
	late_increment(p, n, stream);
	for (unsigned i = 0; i < n; i++)
		p[i]++;
	late_increment(p, n, stream);
	api_copy_async(q, p, size, WITHIN, stream);
	check_values(q, n, 5, "copied within");
	check_values(p, n, 5, "its source");
	late_increment(p, n, stream);
	api_copy_async(p, in, size, TO_DEVICE, stream);
	check_values(p, n, 0, "copied from the host");
	late_increment(p, n, stream);
	api_copy_async(out, p, size, TO_HOST, stream);
	memset(p, 0, size);
	api_stream_wait(stream);
	check_values(out, n, 1, "copied to the host");
	late_increment(q, n, stream);
	api_fill_async(q, 0x33, size, 1, stream);
	for (unsigned i = 0; i < n; i++)
		CHECKF(q[i] == 0x33333333, "[%u] is %#x", i, q[i]);
	CHECKF(!p[0] && !p[n - 1], "what was stored is %u, %u", p[0], p[n - 1]);
	api_stream_free(stream);
	api_free(p);
	api_free(q);
	api_host_free(in);
	api_host_free(out);
}

static int calls;

struct reader {
	const unsigned *p;
	size_t n;
	unsigned more;
	const char *what;
};

static void read_it(void *data)
{
	struct reader *reader = data;

	check_values(reader->p, reader->n, reader->more, reader->what);
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELEASE);
}

void do_callbacks(void)
{
	const unsigned n = 3000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = api_host_alloc(2 * size), *p = api_alloc(size);
	stream stream = api_stream();
	struct reader first = { out, n, 1, "host function" }, second = { out + n, n, 2, "callback" };

	api_copy(p, in, size, TO_DEVICE);
	api_sync();
	late_increment(p, n, stream);
	api_copy_async(out, p, size, TO_HOST, stream);
	api_host_func(stream, read_it, &first);
	late_increment(p, n, stream);
	api_copy_async(out + n, p, size, TO_HOST, stream);
	api_callback(stream, read_it, &second);
	api_stream_wait(stream);
	CHECKF(__atomic_load_n(&calls, __ATOMIC_ACQUIRE) == 2, "%d calls", calls);
	api_stream_free(stream);
	api_free(p);
	api_host_free(out);
	free(in);
}

void do_touch_callbacks(void)
{
	const unsigned n = 3000;
	unsigned *p = api_alloc(n * sizeof(*p));
	stream stream = api_stream();
	struct reader first = { p, n, 1, "host function" }, second = { p, n, 2, "callback" };

	for (unsigned i = 0; i < n; i++)
		p[i] = value(i);
	late_increment(p, n, stream);
	api_host_func(stream, read_it, &first);
	api_stream_wait(stream);
	late_increment(p, n, stream);
	api_callback(stream, read_it, &second);
	api_stream_wait(stream);
	CHECKF(__atomic_load_n(&calls, __ATOMIC_ACQUIRE) == 2, "%d calls", calls);
	check_values(p, n, 2, "at the end");
	api_stream_free(stream);
	api_free(p);
}

/* ---- kernels */

static void launches(bool touch)
{
	const unsigned n = 30000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = host(size), *p = api_alloc(size);
	stream stream = api_stream();

	if (touch)
		memcpy(p, in, size);
	else
		api_copy(p, in, size, TO_DEVICE);
	for (enum how how = PLAIN; how <= EX; how++) {
		api_launch(INCREMENT, how, GRID(n), BLOCK, how & 1 ? stream : NULL, (void *[]){ &p, (void *)&n });
		api_sync();
		if (touch)
			p[how]++;
	}
	api_copy(out, p, size, TO_HOST);
	for (unsigned i = 0; i < n; i++)
		CHECKF(out[i] == value(i) + 3 + (touch && i < 3), "[%u] is %u", i, out[i]);
	add_to_sum(out, size);
	api_stream_free(stream);
	api_free(p);
	free(in);
	free(out);
}

BOTH(launches)

/* The values of parameters, and the lists of them, where kernels write. */
void do_touch_parameters(void)
{
	struct arguments {
		unsigned words[1000];
		struct { unsigned *p; unsigned n; } values;
		size_t size;
		void *list[2], *extra[5];
	} *shared = api_alloc(sizeof(*shared));
	const unsigned n = N(shared->words);
	size_t size = sizeof(shared->values);
	stream stream = api_stream();
	unsigned more = 0;

	for (unsigned i = 0; i < n; i++)
		shared->words[i] = value(i);
	shared->values.p = shared->words;
	shared->values.n = n;
	shared->size = size;
	shared->list[0] = &shared->values.p;
	shared->list[1] = &shared->values.n;
	shared->extra[0] = (void *)1;
	shared->extra[1] = &shared->values;
	shared->extra[2] = (void *)2;
	shared->extra[3] = &shared->size;
	shared->extra[4] = NULL;
	for (enum how how = PLAIN; how <= EX; how++) {
		unsigned *p = shared->words;
		unsigned long spins = SPINS / 10;

		api_launch(INCREMENT, how, GRID(n), BLOCK, stream, (void *[]){ &p, &shared->values.n });
		api_launch(LATE_INCREMENT, how, 1, 1, stream,
			   (void *[]){ &spins, &shared->values.p, &shared->values.n });
		api_launch(INCREMENT, how, GRID(n), BLOCK, stream, shared->list);
		more += 3;
		api_stream_wait(stream);
		check_values(shared->words, n, more, "words");
	}
	/* The values alone, then the lists too. */
	if (api_launch_packed(INCREMENT, GRID(n), BLOCK, stream,
			      (void *[]){ (void *)1, &shared->values, (void *)2, &size, NULL }) &&
	    api_launch_packed(INCREMENT, GRID(n), BLOCK, stream, shared->extra))
		more += 2;
	api_stream_wait(stream);
	check_values(shared->words, n, more, "words at last");
	CHECKF(shared->list[1] == &shared->values.n && shared->extra[1] == &shared->values, "the lists were written");
	api_stream_free(stream);
	api_free(shared);
}

static void graphs(bool touch)
{
	const unsigned n = 30000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = host(size), *p = api_alloc(size);
	stream stream = api_stream();
	graph graph;

	if (touch)
		memcpy(p, in, size);
	else
		api_copy(p, in, size, TO_DEVICE);
	api_sync();
	api_begin_capture(stream);
	increment(p, n, stream);
	graph = api_end_capture(stream);
	for (unsigned round = 1; round <= 3; round++) {
		api_graph_launch(graph, stream);
		api_stream_wait(stream);
		if (touch) {
			check_values(p, n, 2 * round - 1, "after a launch");
			for (unsigned i = 0; i < n; i++)
				p[i]++;
		}
	}
	api_copy(out, p, size, TO_HOST);
	check_values(out, n, touch ? 6 : 3, "at the end");
	api_graph_free(graph);
	api_stream_free(stream);
	api_free(p);
	free(in);
	free(out);
}

BOTH(graphs)

/* Copies in a graph: what they read is what is there when the graph runs. */
static void graph_copies(bool touch)
{
	const unsigned n = 30000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = api_host_alloc(size), *out = api_host_alloc(size), *p = api_alloc(size), *q = api_alloc(size);
	stream stream = api_stream();
	graph graph;

	api_begin_capture(stream);
	if (!touch)
		api_copy_async(p, in, size, TO_DEVICE, stream);
	increment(p, n, stream);
	api_copy_async(q, p, size, WITHIN, stream);
	api_fill_async(p, 0x11, size, 1, stream);
	increment(q, n, stream);
	if (!touch)
		api_copy_async(out, q, size, TO_HOST, stream);
	graph = api_end_capture(stream);
	for (unsigned round = 0; round < 3; round++) {
		unsigned *from = touch ? p : in, *to = touch ? q : out;

		for (unsigned i = 0; i < n; i++)
			from[i] = value(i) + round;
		api_graph_launch(graph, stream);
		api_stream_wait(stream);
		check_values(to, n, round + 2, "what came out");
		for (unsigned i = 0; touch && i < n; i++)
			CHECKF(p[i] == 0x11111111, "[%u] is %#x", i, p[i]);
	}
	api_graph_free(graph);
	api_stream_free(stream);
	api_free(p);
	api_free(q);
	api_host_free(in);
	api_host_free(out);
}

BOTH(graph_copies)
