/* SPDX-License-Identifier: MIT */
/* arrays.c - whole arrays and pieces of them: by kernels, copies, loads and stores, libc and threads. */
#include <pthread.h>

#include "program.h"

void do_copies(void)
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

void do_touch(void)
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
void do_redundant(void)
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
void do_touch_redundant(void)
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
void do_readback(void)
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

void do_touch_files(void)
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

void do_touch_memory(void)
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

void do_touch_threads(void)
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
