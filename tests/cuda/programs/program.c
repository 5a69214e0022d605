/* SPDX-License-Identifier: MIT */
/*
 * program.c - programs of CUDA's, that know of nothing else. One process for each mode: PROGRAM MODE. It checks its
 * own results and prints a sum of them.
 *
 * Modes whose names begin with touch- load and store through device pointers, as no program of CUDA's can: where the
 * memory is the device's alone they end by SIGSEGV. The others copy, and do the same whoever is there.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../check.h"
#include "api.h"

#define BLOCK 256
#define GRID(n) (((unsigned)(n) + BLOCK - 1) / BLOCK)
#define SPINS 20000000ul
#define N(array) (sizeof(array) / sizeof((array)[0]))

const char *const api_kernel_names[N_KERNELS] = {
	[INCREMENT] = "increment", [INCREMENT_BYTES] = "increment_bytes", [ADD] = "add", [ADDF] = "addf",
	[COPY] = "copy", [LATE_COPY] = "late_copy", [LATE_INCREMENT] = "late_increment",
};

static uint64_t sum = 0xcbf29ce484222325u;

static void add_to_sum(const void *p, size_t size)
{
	const unsigned char *bytes = p;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3u;
}

static unsigned value(size_t i)
{
	return (unsigned)i * 2654435761u + 12345u;
}

static void *host(size_t size)
{
	void *p = calloc(1, size);

	CHECKF(p, "out of memory");
	return p;
}

static unsigned *host_values(size_t n)
{
	unsigned *p = host(n * sizeof(*p));

	for (size_t i = 0; i < n; i++)
		p[i] = value(i);
	return p;
}

static void increment(unsigned *p, unsigned n, stream stream)
{
	api_launch(INCREMENT, PLAIN, GRID(n), BLOCK, stream, (void *[]){ &p, &n });
}

static void late_increment(unsigned *p, unsigned n, stream stream)
{
	unsigned long spins = SPINS;

	api_launch(LATE_INCREMENT, PLAIN, 1, 1, stream, (void *[]){ &spins, &p, &n });
}

/* Each of @n values at @p is what it was made with, and @more. */
static void check_values(const unsigned *p, size_t n, unsigned more, const char *what)
{
	for (size_t i = 0; i < n; i++)
		CHECKF(p[i] == value(i) + more, "%s[%zu] is %u, should be %u", what, i, p[i], value(i) + more);
	add_to_sum(p, n * sizeof(*p));
}

/* ---- whole arrays and pieces of them */

static void do_copies(void)
{
	const unsigned n = 100003;
	const size_t size = n * sizeof(float);
	float *a = host(size), *b = host(size), *c = host(size), *on_a = api_alloc(size), *on_b = api_alloc(size);
	float *on_c = api_alloc(size);
	unsigned char *shadow = host(size), *seen = host(size);

	for (unsigned i = 0; i < n; i++) {
		a[i] = (float)i / 3;
		b[i] = 1 / ((float)i + 1);
	}
	api_copy(on_a, a, size, TO_DEVICE);
	api_copy(on_b, b, size, TO_DEVICE);
	api_launch(ADDF, PLAIN, GRID(n), BLOCK, NULL, (void *[]){ &on_a, &on_b, &on_c, (void *)&n });
	api_copy(c, on_c, size, TO_HOST);
	for (unsigned i = 0; i < n; i++)
		CHECKF(c[i] == a[i] + b[i], "c[%u] is %g", i, (double)c[i]);
	add_to_sum(c, size);

	/* Pieces that begin and end anywhere, held against the same in ordinary memory. */
	memcpy(shadow, a, size);
	for (unsigned round = 0; round < 60; round++) {
		size_t length = value(round) % 20000 + 1, from = value(round + 1) % (size - length);
		size_t to = value(round + 2) % (size - length);

		switch (round % 5) {
		case 0:
			api_copy((char *)on_a + to, (char *)b + from, length, TO_DEVICE);
			memcpy(shadow + to, (char *)b + from, length);
			break;
		case 1:
			api_copy((char *)on_a + to, (char *)on_c + from, length, WITHIN);
			memcpy(shadow + to, (char *)c + from, length);
			break;
		case 2: {
			unsigned char *p = (unsigned char *)on_a + to;
			unsigned count = (unsigned)length;

			api_launch(INCREMENT_BYTES, PLAIN, GRID(count), BLOCK, NULL, (void *[]){ &p, &count });
			for (size_t i = 0; i < length; i++)
				shadow[to + i]++;
			break;
		}
		case 3:
			api_copy((char *)on_a + to, (char *)c + from, length, ANY);
			memcpy(shadow + to, (char *)c + from, length);
			break;
		default:
			api_copy(seen, (char *)on_a + from, length, round & 1 ? TO_HOST : ANY);
			CHECKF(!memcmp(seen, shadow + from, length), "%zu bytes at %zu", length, from);
		}
	}
	api_copy(seen, on_a, size, TO_HOST);
	CHECKF(!memcmp(seen, shadow, size), "the whole");
	add_to_sum(seen, size);
	api_free(on_a);
	api_free(on_b);
	api_free(on_c);
	free(a);
	free(b);
	free(c);
	free(shadow);
	free(seen);
}

static void do_touch(void)
{
	const unsigned n = 100003;
	const size_t size = n * sizeof(float);
	float *a = api_alloc(size), *b = api_alloc(size), *c = api_alloc(size);
	unsigned *words = (unsigned *)a;

	for (unsigned i = 0; i < n; i++) {
		a[i] = (float)i / 3;
		b[i] = 1 / ((float)i + 1);
	}
	api_launch(ADDF, PLAIN, GRID(n), BLOCK, NULL, (void *[]){ &a, &b, &c, (void *)&n });
	api_sync();
	for (unsigned i = 0; i < n; i++)
		CHECKF(c[i] == (float)i / 3 + 1 / ((float)i + 1), "c[%u] is %g", i, (double)c[i]);
	add_to_sum(c, size);
	/* Again and again, and here and there. */
	for (unsigned i = 0; i < n; i++)
		words[i] = value(i);
	for (unsigned round = 1; round <= 5; round++) {
		increment(words, n, NULL);
		api_sync();
		for (unsigned i = round; i < n; i += 1999) {
			CHECKF(words[i] == value(i) + round, "round %u: [%u] is %u", round, i, words[i]);
			words[i]++;
			words[i]--;
		}
	}
	check_values(words, n, 5, "words");
	/* What was stored is what a copy reads, and the other way round. */
	b[17] = 42;
	api_copy(&c[3], &b[17], sizeof(*c), WITHIN);
	CHECKF(c[3] == 42, "c[3] is %g", (double)c[3]);
	api_copy(&a[5], &(float){ 7 }, sizeof(*a), TO_DEVICE);
	CHECKF(a[5] == 7, "a[5] is %g", (double)a[5]);
	api_free(a);
	api_free(b);
	api_free(c);
}

/* The same array twice, and no kernel between. */
static void do_redundant(void)
{
	const unsigned n = 1 << 18;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *once = host(size), *twice = host(size), *p = api_alloc(size);

	api_copy(p, in, size, TO_DEVICE);
	increment(p, n, NULL);
	api_copy(once, p, size, TO_HOST);
	api_copy(twice, p, size, TO_HOST);
	check_values(once, n, 1, "the first");
	check_values(twice, n, 1, "the second");
	api_free(p);
	free(in);
	free(once);
	free(twice);
}

/* What the CPU has used it keeps. */
static void do_touch_redundant(void)
{
	const unsigned n = 1 << 18;
	const size_t size = n * sizeof(unsigned);
	unsigned *once = host(size), *twice = host(size), *p = api_alloc(size);

	for (unsigned i = 0; i < n; i++)
		p[i] = value(i);
	increment(p, n, NULL);
	api_copy(once, p, size, TO_HOST);
	api_copy(twice, p, size, TO_HOST);
	check_values(once, n, 1, "the first");
	check_values(twice, n, 1, "the second");
	api_free(p);
	free(once);
	free(twice);
}

/* Tells how much memory the process had at most. */
static void do_readback(void)
{
	const size_t size = (size_t)256 << 20;
	char *back = host(size), *p = api_alloc(size), line[128];
	FILE *status = fopen("/proc/self/status", "r");

	api_fill(p, 7, size, 1);
	api_copy(back, p, size, TO_HOST);
	CHECKF(back[0] == 7 && !memcmp(back, back + 1, size - 1), "other bytes");
	CHECKF(status, "no /proc/self/status");
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "VmHWM:", 6))
			fputs(line, stderr);
	fclose(status);
	api_free(p);
	free(back);
}

/* ---- libc */

static void do_touch_files(void)
{
	const unsigned n = 50000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = host(size), *p = api_alloc(size), *q = api_alloc(size);
	FILE *file = tmpfile();
	int fd;

	CHECKF(file, "no temporary file");
	CHECKF(fwrite(in, sizeof(*in), n, file) == n && !fflush(file), "could not write");
	rewind(file);
	CHECKF(fread(p, sizeof(*p), n, file) == n, "fread");
	increment(p, n, NULL);
	api_sync();
	rewind(file);
	CHECKF(fwrite(p, sizeof(*p), n, file) == n && !fflush(file), "fwrite");
	fd = fileno(file);
	CHECKF(pread(fd, out, size, 0) == (ssize_t)size, "pread");
	check_values(out, n, 1, "what fwrite wrote");
	CHECKF(lseek(fd, 0, SEEK_SET) == 0 && read(fd, q, size) == (ssize_t)size, "read");
	increment(q, n, NULL);
	api_sync();
	CHECKF(pwrite(fd, q, size, (off_t)size) == (ssize_t)size, "pwrite");
	CHECKF(pread(fd, out, size, (off_t)size) == (ssize_t)size, "pread");
	check_values(out, n, 2, "what pwrite wrote");
	/* A piece, over what the device has. */
	increment(q, n, NULL);
	api_sync();
	CHECKF(pread(fd, q + 100, 400, 400) == 400, "pread");
	api_copy(out, q, size, TO_HOST);
	for (unsigned i = 0; i < n; i++)
		CHECKF(out[i] == value(i) + (i >= 100 && i < 200 ? 1 : 3), "[%u] is %u", i, out[i]);
	fclose(file);
	api_free(p);
	api_free(q);
	free(in);
	free(out);
}

static void do_touch_memory(void)
{
	const unsigned n = 50000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = host(size), *p = api_alloc(size), *q = api_alloc(size);

	memcpy(p, in, size);
	increment(p, n, NULL);
	api_sync();
	memcpy(out, p, size);
	check_values(out, n, 1, "what memcpy read");
	memcpy(q, p, size);
	increment(q, n, NULL);
	api_sync();
	CHECKF(!memcmp(p, out, size), "memcmp");
	memmove(q + 1, q, size - sizeof(*q));
	for (unsigned i = 1; i < n; i++)
		CHECKF(q[i] == value(i - 1) + 2, "[%u] is %u", i, q[i]);
	memset(p, 0x11, size / 2);
	increment(p, n, NULL);
	api_copy(out, p, size, TO_HOST);
	for (unsigned i = 0; i < n; i++)
		CHECKF(out[i] == (i < n / 2 ? 0x11111112 : value(i) + 2), "[%u] is %#x", i, out[i]);
	add_to_sum(out, size);
	api_free(p);
	api_free(q);
	free(in);
	free(out);
}

/* ---- threads */

struct job {
	unsigned index, n;
	unsigned *own, *common;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct job *job = arg;
	stream stream = api_stream();

	for (unsigned i = 0; i < job->n; i++)
		job->own[i] = value(i);
	for (unsigned round = 1; round <= 8; round++) {
		increment(job->own, job->n, stream);
		api_stream_wait(stream);
		for (unsigned i = 0; i < job->n; i++)
			CHECKF(job->own[i] == value(i) + round, "thread %u, round %u: [%u] is %u", job->index, round, i,
			       job->own[i]);
		for (unsigned i = job->index; i < job->n; i += 7)
			CHECKF(job->common[i] == value(i) + 1, "thread %u: [%u] is %u", job->index, i, job->common[i]);
	}
	api_stream_free(stream);
	return NULL;
}

static void do_touch_threads(void)
{
	const unsigned n = 20000;
	unsigned *common = api_alloc(n * sizeof(unsigned));
	struct job jobs[4];

	for (unsigned i = 0; i < n; i++)
		common[i] = value(i);
	increment(common, n, NULL);
	api_sync();
	for (unsigned i = 0; i < N(jobs); i++) {
		jobs[i] = (struct job){ .index = i, .n = n, .own = api_alloc(n * sizeof(unsigned)), .common = common };
		CHECKF(!pthread_create(&jobs[i].thread, NULL, work, &jobs[i]), "no thread");
	}
	for (unsigned i = 0; i < N(jobs); i++) {
		pthread_join(jobs[i].thread, NULL);
		check_values(jobs[i].own, n, 8, "own");
		api_free(jobs[i].own);
	}
	api_free(common);
}

/* ---- streams and events */

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

static void do_pipeline(void)
{
	pipeline(false);
}

static void do_touch_pipeline(void)
{
	pipeline(true);
}

static void do_touch_events(void)
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
static void do_touch_at_once(void)
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

static void do_callbacks(void)
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

static void do_touch_callbacks(void)
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

/* ---- allocations */

static void do_pool(void)
{
	const unsigned n = 40000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = host(size);
	stream stream = api_stream();

	for (unsigned round = 0; round < 4; round++) {
		unsigned *p = api_alloc_async(size, stream), *q = api_alloc_async(size, stream);

		api_copy_async(p, in, size, TO_DEVICE, stream);
		increment(p, n, stream);
		api_launch(COPY, PLAIN, GRID(n), BLOCK, stream, (void *[]){ &p, &q, (void *)&n });
		api_free_async(p, stream);
		memset(out, 0, size);
		api_copy_async(out, q, size, TO_HOST, stream);
		api_free_async(q, stream);
		api_stream_wait(stream);
		check_values(out, n, 1, "out");
	}
	api_stream_free(stream);
	free(in);
	free(out);
}

static void do_touch_pool(void)
{
	const unsigned n = 40000;
	const size_t size = n * sizeof(unsigned);
	stream stream = api_stream();

	for (unsigned round = 0; round < 4; round++) {
		unsigned *p = api_alloc_async(size, stream), *q = api_alloc_async(size, stream);

		api_stream_wait(stream);
		for (unsigned i = 0; i < n; i++)
			p[i] = value(i);
		increment(p, n, stream);
		api_launch(COPY, PLAIN, GRID(n), BLOCK, stream, (void *[]){ &p, &q, (void *)&n });
		api_free_async(p, stream);
		api_stream_wait(stream);
		check_values(q, n, 1, "q");
		api_free_async(q, stream);
	}
	api_stream_wait(stream);
	api_stream_free(stream);
}

/* Small ones lie side by side: the device writes one while the CPU writes the next. */
static void do_touch_neighbours(void)
{
	enum { COUNT = 64, WORDS = 64 };
	unsigned *p[COUNT];
	stream stream = api_stream();

	for (unsigned k = 0; k < COUNT; k++) {
		p[k] = api_alloc(WORDS * sizeof(unsigned));
		for (unsigned i = 0; i < WORDS; i++)
			p[k][i] = value(k * WORDS + i);
	}
	for (unsigned k = 1; k < COUNT; k += 16)
		late_increment(p[k], WORDS, stream);
	for (unsigned k = 0; k < COUNT; k += 2)
		for (unsigned i = 0; i < WORDS; i++)
			p[k][i] += 10;
	for (unsigned k = 3; k < COUNT; k += 16)
		increment(p[k], WORDS, stream);
	for (unsigned k = 0; k < COUNT; k += 2)
		for (unsigned i = 0; i < WORDS; i++)
			p[k][i] += 10;
	api_stream_wait(stream);
	for (unsigned k = 0; k < COUNT; k++) {
		unsigned more = k % 2 == 0 ? 20 : k % 16 == 1 || k % 16 == 3 ? 1 : 0;

		for (unsigned i = 0; i < WORDS; i++)
			CHECKF(p[k][i] == value(k * WORDS + i) + more, "allocation %u: [%u] is %u, should be %u", k, i,
			       p[k][i], value(k * WORDS + i) + more);
		add_to_sum(p[k], WORDS * sizeof(unsigned));
	}
	for (unsigned k = 0; k < COUNT; k++)
		api_free(p[k]);
	api_stream_free(stream);
}

/* The same, without touching. */
static void do_neighbours(void)
{
	enum { COUNT = 64, WORDS = 64 };
	unsigned *p[COUNT], words[WORDS];
	stream stream = api_stream();

	for (unsigned k = 0; k < COUNT; k++) {
		for (unsigned i = 0; i < WORDS; i++)
			words[i] = value(k * WORDS + i);
		p[k] = api_alloc(sizeof(words));
		api_copy(p[k], words, sizeof(words), TO_DEVICE);
	}
	api_sync();
	for (unsigned k = 1; k < COUNT; k += 16)
		late_increment(p[k], WORDS, stream);
	for (unsigned k = 0; k < COUNT; k += 2) {
		for (unsigned i = 0; i < WORDS; i++)
			words[i] = value(k * WORDS + i) + 10;
		api_copy(p[k], words, sizeof(words), TO_DEVICE);
	}
	api_stream_wait(stream);
	for (unsigned k = 0; k < COUNT; k++) {
		unsigned more = k % 2 == 0 ? 10 : k % 16 == 1 ? 1 : 0;

		api_copy(words, p[k], sizeof(words), TO_HOST);
		for (unsigned i = 0; i < WORDS; i++)
			CHECKF(words[i] == value(k * WORDS + i) + more, "allocation %u: [%u] is %u", k, i, words[i]);
		add_to_sum(words, sizeof(words));
		api_free(p[k]);
	}
	api_stream_free(stream);
}

/* An address comes back, and what lay there does not. */
static void do_touch_reuse(void)
{
	const size_t sizes[] = { 256, 4096, 65536, 3 << 20 };

	for (unsigned round = 0; round < 24; round++) {
		const unsigned n = (unsigned)(sizes[round % N(sizes)] / sizeof(unsigned));
		unsigned *p = api_alloc(n * sizeof(unsigned)), *q;

		for (unsigned i = 0; i < n; i++)
			p[i] = value(i);
		if (round % 3)
			increment(p, n, NULL);
		if (round % 3 == 1)
			api_sync();
		if (round % 3 == 1)
			CHECKF(p[n - 1] == value(n - 1) + 1, "round %u: %u", round, p[n - 1]);
		api_free(p);
		q = api_alloc(n * sizeof(unsigned));
		if (round & 4) {
			api_fill(q, 0x5a, n * sizeof(unsigned), 1);
			increment(q, n, NULL);
			api_sync();
			for (unsigned i = 0; i < n; i++)
				CHECKF(q[i] == 0x5a5a5a5b, "round %u: [%u] is %#x", round, i, q[i]);
		} else {
			q[0] = round;
			increment(q, 1, NULL);
			api_sync();
			CHECKF(q[0] == round + 1, "round %u: %u", round, q[0]);
		}
		api_free(q);
	}
}

/* ---- copies of other shapes */

enum { WIDTH = 300, HEIGHT = 40, OTHER_PITCH = 304 };

static void do_pitch(void)
{
	unsigned char *in = host(OTHER_PITCH * HEIGHT), *out = host(WIDTH * HEIGHT), *p, *q;
	size_t pitch, other;
	unsigned n;

	for (unsigned i = 0; i < OTHER_PITCH * HEIGHT; i++)
		in[i] = (unsigned char)value(i);
	p = api_alloc_pitch(WIDTH, HEIGHT, &pitch);
	q = api_alloc_pitch(WIDTH, HEIGHT, &other);
	CHECKF(pitch >= WIDTH && other >= WIDTH, "a pitch of %zu", pitch);
	n = (unsigned)(pitch * (HEIGHT - 1) + WIDTH);
	api_copy_2d(p, pitch, in, OTHER_PITCH, WIDTH, HEIGHT, TO_DEVICE);
	api_launch(INCREMENT_BYTES, PLAIN, GRID(n), BLOCK, NULL, (void *[]){ &p, &n });
	api_copy_2d(q, other, p, pitch, WIDTH, HEIGHT, WITHIN);
	api_copy_2d(out, WIDTH, q, other, WIDTH, HEIGHT, TO_HOST);
	for (unsigned y = 0; y < HEIGHT; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			CHECKF(out[y * WIDTH + x] == (unsigned char)(in[y * OTHER_PITCH + x] + 1), "%u, %u", x, y);
	add_to_sum(out, WIDTH * HEIGHT);
	api_fill_2d(q + other * 3 + 5, other, 0x77, 100, 7);
	api_copy_2d(out, WIDTH, q, other, WIDTH, HEIGHT, ANY);
	for (unsigned y = 0; y < HEIGHT; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			CHECKF(out[y * WIDTH + x] == (x >= 5 && x < 105 && y >= 3 && y < 10 ? 0x77 :
				(unsigned char)(in[y * OTHER_PITCH + x] + 1)), "%u, %u after filling", x, y);
	add_to_sum(out, WIDTH * HEIGHT);
	api_free(p);
	api_free(q);
	free(in);
	free(out);
}

static void do_touch_pitch(void)
{
	unsigned char *out = host(WIDTH * HEIGHT), *p;
	size_t pitch;
	unsigned n;

	p = api_alloc_pitch(WIDTH, HEIGHT, &pitch);
	n = (unsigned)(pitch * (HEIGHT - 1) + WIDTH);
	for (unsigned y = 0; y < HEIGHT; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			p[y * pitch + x] = (unsigned char)(x * y);
	api_launch(INCREMENT_BYTES, PLAIN, GRID(n), BLOCK, NULL, (void *[]){ &p, &n });
	api_sync();
	for (unsigned y = 0; y < HEIGHT; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			CHECKF(p[y * pitch + x] == (unsigned char)(x * y + 1), "%u, %u", x, y);
	p[7 * pitch + 9] = 200;
	api_copy_2d(out, WIDTH, p, pitch, WIDTH, HEIGHT, TO_HOST);
	CHECKF(out[7 * WIDTH + 9] == 200 && out[7 * WIDTH + 10] == 71, "%u, %u", out[7 * WIDTH + 9],
	       out[7 * WIDTH + 10]);
	memset(out, 3, WIDTH * HEIGHT);
	api_copy_2d(p + pitch, pitch, out, WIDTH, WIDTH / 2, HEIGHT - 2, TO_DEVICE);
	api_fill_2d(p, pitch, 9, 10, 2);
	api_sync();
	for (unsigned y = 0; y < HEIGHT; y++)
		for (unsigned x = 0; x < WIDTH; x++) {
			const bool filled = x < 10 && y < 2, copied = x < WIDTH / 2 && y >= 1 && y < HEIGHT - 1;

			CHECKF(p[y * pitch + x] == (filled ? 9 : copied ? 3 : (unsigned char)(x * y + 1)),
			       "%u, %u at last", x, y);
		}
	for (unsigned y = 0; y < HEIGHT; y++)
		add_to_sum(p + y * pitch, WIDTH);
	api_free(p);
	free(out);
}

static void fill_shadow(unsigned char *p, unsigned fill, size_t n, int width)
{
	for (size_t i = 0; i < n; i++)
		memcpy(p + i * (size_t)width, &fill, (size_t)width);
}

/* @touch: the CPU has written before, and reads afterwards. */
static void memsets(bool touch)
{
	const size_t size = 100000;
	unsigned char *shadow = host(size), *out = host(size), *p = api_alloc(size);
	stream stream = api_stream();

	if (touch)
		memset(p, 1, size);
	else
		api_fill(p, 1, size, 1);
	memset(shadow, 1, size);
	for (unsigned round = 0; round < 24; round++) {
		int width = api_has_widths ? 1 << round % 3 : 1;
		size_t n = value(round) % 5000 + 1, at = value(round + 7) % (size - 20000) / 4 * 4;

		if (touch) {
			p[at + 3] ^= 0xff;
			shadow[at + 3] ^= 0xff;
			p[size - 1 - round]++;
			shadow[size - 1 - round]++;
		}
		if (round & 1) {
			api_fill_async(p + at, value(round), n, width, stream);
			api_stream_wait(stream);
		} else {
			api_fill(p + at, value(round), n, width);
		}
		fill_shadow(shadow + at, value(round), n, width);
		api_sync();
		if (touch)
			CHECKF(!memcmp(p, shadow, size), "round %u", round);
		api_copy(out, p, size, TO_HOST);
		CHECKF(!memcmp(out, shadow, size), "round %u: what a copy reads", round);
	}
	add_to_sum(out, size);
	api_stream_free(stream);
	api_free(p);
	free(shadow);
	free(out);
}

static void do_memsets(void)
{
	memsets(false);
}

static void do_touch_memsets(void)
{
	memsets(true);
}

/* Copies whose side on the host is a device pointer, which has become one of both. */
static void do_touch_sides(void)
{
	const unsigned n = 20000;
	const size_t size = n * sizeof(unsigned);
	unsigned *p = api_alloc(size), *q = api_alloc(size);
	stream stream = api_stream();
	unsigned more = 0;

	for (unsigned i = 0; i < n; i++)
		p[i] = value(i);
	for (enum kind kind = TO_DEVICE; kind <= ANY; kind++) {
		increment(p, n, NULL);
		api_sync();
		more++;
		memset(q, 0, size);
		api_copy(q, p, size, kind);
		check_values(q, n, more, "copied");
		memset(q, 0, size);
		q[100]++;
		api_sync();
		api_copy_async(q, p, size, kind, stream);
		api_stream_wait(stream);
		check_values(q, n, more, "copied asynchronously");
		api_copy_2d(q, 400, p, 800, 300, 50, kind);
		api_sync();
		for (unsigned i = 0; i < n; i++)
			CHECKF(q[i] == (i < 5000 && i % 100 < 75 ? value(i / 100 * 200 + i % 100) : value(i)) + more,
			       "kind %d: [%u] is %u", (int)kind, i, q[i]);
	}
	api_stream_free(stream);
	api_free(p);
	api_free(q);
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

static void do_launches(void)
{
	launches(false);
}

static void do_touch_launches(void)
{
	launches(true);
}

/* The values of parameters, and the lists of them, where kernels write. */
static void do_touch_parameters(void)
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

static void do_graphs(void)
{
	graphs(false);
}

static void do_touch_graphs(void)
{
	graphs(true);
}

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

static void do_graph_copies(void)
{
	graph_copies(false);
}

static void do_touch_graph_copies(void)
{
	graph_copies(true);
}

/* ---- ends */

/* After the device was reset everything is as in the beginning. */
static void do_reset(void)
{
	const unsigned n = 30000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = host(size);

	for (unsigned round = 1; round <= 3; round++) {
		unsigned *p = api_alloc(size), *left = api_alloc(size);

		api_copy(p, in, size, TO_DEVICE);
		api_copy(left, in, size, TO_DEVICE);
		for (unsigned i = 0; i < round; i++)
			increment(p, n, NULL);
		api_copy(out, p, size, TO_HOST);
		check_values(out, n, round, "out");
		api_free(p);
		api_reset();
	}
	free(in);
	free(out);
}

/* It ends with memory that is not freed, and a kernel that runs. */
static void do_leave(void)
{
	const unsigned n = 3000;
	unsigned *in = host_values(n), *p = api_alloc(n * sizeof(*p));

	api_copy(p, in, n * sizeof(*p), TO_DEVICE);
	late_increment(p, n, NULL);
	free(in);
	printf("leave: at once\n");
	exit(0);
}

static void do_touch_leave(void)
{
	const unsigned n = 3000;
	unsigned *p = api_alloc(n * sizeof(*p)), *q = api_alloc(n * sizeof(*p));

	for (unsigned i = 0; i < n; i++)
		p[i] = q[i] = value(i);
	late_increment(p, n, NULL);
	printf("touch-leave: at once\n");
	exit(0);
}

/* Many, that come and go. */
static void do_touch_many(void)
{
	enum { COUNT = 24 };
	unsigned *p[COUNT] = { NULL };

	for (unsigned round = 0; round < 6 * COUNT; round++) {
		unsigned k = value(round) % COUNT, n = value(round + 1) % 3000 + 1;

		if (p[k]) {
			unsigned had = p[k][0];

			api_sync();
			CHECKF(p[k][had - 1] == had + 1, "allocation %u: %u", k, p[k][had - 1]);
			api_free(p[k]);
		}
		p[k] = api_alloc((n + 1) * sizeof(unsigned));
		p[k][0] = n + 1;
		p[k][n] = n + 1;
		increment(p[k] + n, 1, NULL);
		api_sync();
	}
	for (unsigned k = 0; k < COUNT; k++)
		if (p[k]) {
			CHECKF(p[k][p[k][0] - 1] == p[k][0] + 1, "allocation %u: %u at last", k, p[k][0]);
			api_free(p[k]);
		}
}

/* Given to other processes, memory is the device's; what is done by copies goes on as before. */
static void do_ipc(void)
{
	const unsigned n = 30000;
	const size_t size = n * sizeof(unsigned);
	unsigned *in = host_values(n), *out = host(size), *p = api_alloc(size);
	char handle[64] = { 0 };
	int error;

	api_copy(p, in, size, TO_DEVICE);
	error = api_ipc_handle(p, handle);
	CHECKF(!error || error == 801, "error %d", error);
	increment(p, n, NULL);
	api_copy(out, p, size, TO_HOST);
	check_values(out, n, 1, "out");
	api_copy(p, out, size, TO_DEVICE);
	increment(p, n, NULL);
	api_copy(out, p, size, TO_HOST);
	check_values(out, n, 2, "out");
	api_free(p);
	free(in);
	free(out);
}

static const struct {
	const char *name;
	void (*function)(void);
} modes[] = {
	{ "copies", do_copies },
	{ "redundant", do_redundant },
	{ "readback", do_readback },
	{ "pipeline", do_pipeline },
	{ "callbacks", do_callbacks },
	{ "pool", do_pool },
	{ "neighbours", do_neighbours },
	{ "pitch", do_pitch },
	{ "memsets", do_memsets },
	{ "launches", do_launches },
	{ "graphs", do_graphs },
	{ "ipc", do_ipc },
	{ "graph-copies", do_graph_copies },
	{ "reset", do_reset },
	{ "leave", do_leave },
	{ "touch", do_touch },
	{ "touch-redundant", do_touch_redundant },
	{ "touch-files", do_touch_files },
	{ "touch-memory", do_touch_memory },
	{ "touch-threads", do_touch_threads },
	{ "touch-pipeline", do_touch_pipeline },
	{ "touch-events", do_touch_events },
	{ "touch-at-once", do_touch_at_once },
	{ "touch-callbacks", do_touch_callbacks },
	{ "touch-pool", do_touch_pool },
	{ "touch-neighbours", do_touch_neighbours },
	{ "touch-reuse", do_touch_reuse },
	{ "touch-pitch", do_touch_pitch },
	{ "touch-memsets", do_touch_memsets },
	{ "touch-sides", do_touch_sides },
	{ "touch-launches", do_touch_launches },
	{ "touch-parameters", do_touch_parameters },
	{ "touch-graphs", do_touch_graphs },
	{ "touch-graph-copies", do_touch_graph_copies },
	{ "touch-leave", do_touch_leave },
	{ "touch-many", do_touch_many },
};

/* Are all modes tested? */
static int check(int n, char **names)
{
	int missing = 0;

	for (size_t i = 0; i < N(modes); i++) {
		bool found = false;

		for (int k = 0; k < n; k++)
			found = found || !strcmp(names[k], modes[i].name);
		if (!found)
			printf("not tested: %s\n", modes[i].name);
		missing += !found;
	}
	return missing || n != (int)N(modes);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "check"))
		return check(argc - 2, argv + 2);
	for (size_t i = 0; argc == 2 && i < N(modes); i++)
		if (!strcmp(modes[i].name, argv[1])) {
			api_start();
			modes[i].function();
			api_end();
			printf("%s: %016llx\n", argv[1], (unsigned long long)sum);
			return 0;
		}
	fprintf(stderr, "no such mode: %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
