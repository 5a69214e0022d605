/* SPDX-License-Identifier: MIT */
/* memory.c - allocations that come and go, copies and fills of other shapes, and ends. */
#include "program.h"

/* ---- allocations */

void do_pool(void)
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

void do_touch_pool(void)
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
void do_touch_neighbours(void)
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
void do_neighbours(void)
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
void do_touch_reuse(void)
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

void do_pitch(void)
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

void do_touch_pitch(void)
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

BOTH(memsets)

/* Copies whose side on the host is a device pointer, which has become one of both. */
void do_touch_sides(void)
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

/* ---- ends */

/* After the device was reset everything is as in the beginning. */
void do_reset(void)
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
void do_leave(void)
{
	const unsigned n = 3000;
	unsigned *in = host_values(n), *p = api_alloc(n * sizeof(*p));

	api_copy(p, in, n * sizeof(*p), TO_DEVICE);
	late_increment(p, n, NULL);
	free(in);
	printf("leave: at once\n");
	exit(0);
}

void do_touch_leave(void)
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
void do_touch_many(void)
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

/* Memory that is given to other processes belongs to the device only; copies work as before. */
void do_ipc(void)
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
