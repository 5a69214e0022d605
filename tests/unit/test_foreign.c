/* SPDX-License-Identifier: MIT */
/* test_foreign.c - objects where a driver wants them, and commands that the program gives to its driver itself. */
#include <sys/wait.h>

#include "foreign.h"
#include "run/call/dataflow_queue.h"
#include "run/copy/io.h"

static void check_object(void)
{
	volatile unsigned *p = adopt(SIZE - 100);
	adsmObjectProps props = { .struct_size = sizeof(props) };
	struct adsm_driver_place place;
	unsigned on_stack;

	CHECK(adsm_driver_active());
	CHECK(!adsmObjectInfo((void *)p, &props));
	CHECK(props.address == p && props.device_address == (uintptr_t)p && props.size == SIZE - 100);
	CHECK(adsm_driver_find((char *)p + 5, &place));
	CHECK(place.home == home && place.start == (uintptr_t)p && place.offset == 5 && place.size == SIZE - 100 &&
	      !place.device_only);
	CHECK(adsm_driver_find((char *)p + SIZE - 101, &place));
	CHECK(!adsm_driver_find((char *)p + SIZE - 100, &place));
	CHECK(!adsm_driver_find(&on_stack, &place));
	/* Ordinary memory beside it, inside the range and outside, is not taken for shared. */
	CHECK(adsm_may_be_shared((void *)p, 1) && adsm_may_be_shared((char *)p - 1, 2));
	CHECK(!adsm_may_be_shared((char *)p - 1, 1) && !adsm_may_be_shared((char *)p + SIZE, 1));
	CHECK(!adsm_may_be_shared(&on_stack, sizeof(on_stack)));
	CHECK_EQ(adsm_index_next((uintptr_t)p - 3 * PAGE, SIZE), (uintptr_t)p);
	CHECK_EQ(adsm_index_next((uintptr_t)p - 3 * PAGE, 3 * PAGE), (uintptr_t)p);
	CHECK_EQ(adsm_index_next((uintptr_t)p + 5, 1), (uintptr_t)p + 5);
	CHECK_EQ(adsm_index_next((uintptr_t)p + SIZE, 10), (uintptr_t)p + SIZE + 10);

	CHECK_EQ(adsm_driver_adopt(home, (uintptr_t)p, SIZE), -EEXIST);
	CHECK_EQ(adsm_driver_adopt(home, (uintptr_t)p + SIZE - PAGE, SIZE), -EEXIST);
	CHECK_EQ(adsm_driver_adopt(home, (uintptr_t)p + 512, SIZE), -EINVAL);
	CHECK_EQ(adsmFree((void *)p), -EINVAL);
	CHECK_EQ(adsm_driver_forget((char *)p + PAGE, true, NULL), -EINVAL);
	CHECK(!adsmHold((void *)p, 1, ADSM_ACCESS_IN));
	CHECK_EQ(adsm_driver_forget((void *)p, true, NULL), -EBUSY);
	CHECK(!adsmUnhold((void *)p, 1));
	CHECK_EQ(adsmShutdown(), -EBUSY);
	for (unsigned i = 0; i < 5; i++) {
		p[0] = p[SIZE / 4 - 100] = i + 1;
		CHECK_EQ(call(p, ADSM_ACCESS_INOUT, 0, 4, 7), i + 1);
		forget((void *)p);
		check_reserved((void *)p, SIZE);
		CHECK(!adsm_driver_find((void *)p, &place));
		CHECK_EQ(adsm_driver_forget((void *)p, true, NULL), -EINVAL);
		/* The bytes of the file were given back with it. */
		CHECK(!adsm_driver_adopt(home, (uintptr_t)p, SIZE - 100));
		CHECK(p[SIZE / 4 - 100] != i + 1);
	}
	forget((void *)p);
	CHECK_EQ(n_frees, 6);	/* what was refused came not so far */
	CHECK(!adsm_driver_active());
}

/* Memory that a waiting call by ranges uses stays also if its end needs no wait for commands. */
static void check_by_ranges(void)
{
	void *p = adopt(SIZE);
	adsmOnce *once = adsmOnceAlloc(1, PAGE, NULL);
	struct adsm_kernel_info info = { .name = "waiting" };
	struct adsmKernel kernel = { .info = &info };
	struct adsm_dataflow_range range = { .object = adsm_once_of(once), .count = 1 };
	struct adsm_dataflow_pointer pointer = { .p = (uintptr_t)p + SIZE - 1 };
	struct adsm_dataflow_call call = { .kernel = &kernel, .ranges = &range, .n_ranges = 1, .known = true,
					   .pointers = &pointer, .n_pointers = 1 };

	CHECK(range.object);
	adsm_dataflow_queues[0].first = &call;
	CHECK_EQ(adsm_driver_forget(p, true, NULL), -EBUSY);
	CHECK(strstr(adsmLastError(), "'waiting' waits"));
	CHECK_EQ(adsm_driver_forget(p, false, NULL), -EBUSY);
	CHECK_EQ(adsm_driver_forget((char *)p + PAGE, true, NULL), -EINVAL);
	CHECK_EQ(adsmFree(p), -EINVAL);
	adsm_dataflow_queues[0].first = NULL;
	CHECK(!adsm_driver_forget(p, false, NULL));
	CHECK(!adsmOnceFree(once));
}

/* In the child of a fork nothing is there, and nothing else comes there. */
static void check_child(void)
{
	volatile unsigned *p = adopt(SIZE);
	pid_t child;
	int status;

	p[0] = 1;
	for (int touch = 0; touch < 2; touch++) {
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			check_reserved((void *)p, SIZE);
			if (touch)
				p[0] = 2;
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && !status == !touch);
	}
	CHECK_EQ(p[0], 1);
	forget((void *)p);
}

static void check_calls(void)
{
	volatile unsigned *p = adopt(SIZE), *q = adopt(SIZE), *r = adopt(PAGE);
	struct command c = { .p = p, .size = 4 };
	const struct adsm_driver_use both[] = { { (char *)p + 9, ADSM_ACCESS_IN }, { (char *)q, ADSM_ACCESS_OUT },
						 { &c, ADSM_ACCESS_INOUT } };
	int result = 0;

	n_follows = 0;
	/* What the CPU wrote is there before, and what the device writes is waited for. */
	p[0] = 1;
	q[0] = 2;
	CHECK_EQ(call(p, ADSM_ACCESS_INOUT, 0, SIZE, 3), 1);
	if (batch())
		sync_all();
	CHECK_EQ(p[0], word_of(3));
	CHECK_EQ(p[SIZE / 4 - 1], word_of(3));
	CHECK_EQ(device_word(p), word_of(3));
	/* One that is not named was not touched, until an unnamed call comes. */
	CHECK_EQ(q[0], 2);
	CHECK(device_word(q) != 2);
	p[1] = 4;
	CHECK_EQ(call(q, NO_ACCESS, 4, 4, 5), 2);
	CHECK_EQ(device_word(&p[1]), 4);
	if (batch())
		sync_all();
	CHECK_EQ(q[1], word_of(5));
	CHECK_EQ(q[0], 2);
	CHECK_EQ(n_follows, 2);

	/* Named objects by what is done to them; others are passed over. */
	p[0] = 6;
	r[0] = 8;
	c.p = q;
	c.value = 9;
	CHECK(!adsm_driver_call(home, both, 3, NULL, enqueue, &c, &result));
	CHECK_EQ(device_word(p), 6);
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	CHECK_EQ(p[0], 6);
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	if (batch())
		sync_all();
	CHECK_EQ(q[0], word_of(9));
	CHECK_EQ(n_jobs[0], n_done[0]);

	/* The driver refuses: nothing has happened. */
	p[0] = 10;
	c = (struct command){ .p = p, .refuse = 77 };
	CHECK(!adsm_driver_call(home, both, 1, NULL, enqueue, &c, &result));
	CHECK_EQ(result, 77);
	CHECK_EQ(home->last_seq, n_jobs[0]);
	CHECK_EQ(p[0], 10);
	/* It is running, but its end is unknown: the program waits, then the bytes are there. */
	join_fails = true;
	c = (struct command){ .p = p, .size = 4, .value = 11 };
	CHECK_EQ(adsm_driver_call(home, (struct adsm_driver_use[]){ { (void *)p, ADSM_ACCESS_INOUT } }, 1, NULL,
				  enqueue, &c, &result), -EIO);
	join_fails = false;
	CHECK(c.ran && c.first_word == 10);
	n_done[0] = n_jobs[0] - 1;
	sync_all();
	CHECK_EQ(p[0], word_of(11));
	forget((void *)p);
	forget((void *)q);
	forget((void *)r);
}

/* If there are too many, the oldest is waited for; here failures concern no other command. */
static void check_many(void)
{
	volatile unsigned *p = adopt(PAGE);
	unsigned max = home->device->caps.max_pending < ADSM_PENDING_MAX ?
		home->device->caps.max_pending : ADSM_PENDING_MAX;
	const struct adsm_driver_use use = { (void *)p, ADSM_ACCESS_IN };

	run_jobs(0, n_jobs[0]);
	for (unsigned i = 0; i < 2 * max; i++) {
		struct command c = { .p = p, .size = 4, .value = (uint8_t)i, .status = i % 2 ? -EIO : 0 };
		int result;

		CHECK(!adsm_driver_call(home, &use, 1, NULL, enqueue, &c, &result));
		CHECK(n_jobs[0] - n_done[0] <= max);
	}
	CHECK_EQ(n_jobs[0] - n_done[0], max);
	sync_all();
	CHECK_EQ(adsmSync(), 0);
	CHECK(adsm_call_ended(home, home->last_seq));
	forget((void *)p);
}

/* One that may use any object. */
static void launch(volatile void *p, void *queue, uint8_t value)
{
	struct command c = { .p = p, .size = 4, .value = value };
	int result = -1;

	CHECK(!adsm_driver_launch(object_of(p)->home, queue, enqueue, &c, &result));
	CHECK(c.ran && !result);
}

/* Launches are one call, and its end is not queried before a thread waits for it; with batch each is a call. */
static void check_coalesced(void)
{
	volatile unsigned *p = adopt(PAGE), *q;
	struct command bad = { .refuse = 7 };
	unsigned joins;
	uint64_t seq;
	int result;

	p[0] = 1;
	sync_all();
	joins = n_joins;
	seq = home->last_seq;
	for (uint8_t i = 1; i <= 200; i++)
		launch(p, i % 3 ? &jobs[i % 3] : NULL, i);
	if (batch()) {
		CHECK_EQ(n_joins - joins, 200);
		sync_all();
		forget((void *)p);
		return;
	}
	CHECK(!adsm_driver_launch(home, &bad, enqueue, &bad, &result) && result == 7);
	CHECK_EQ(home->last_seq, seq + 1);
	CHECK_EQ(n_joins, joins);
	CHECK_EQ(p[0], word_of(200));
	CHECK(n_joins == joins + 1 && n_joined == 3);

	/* What names its objects does not end it, but comes after it. */
	launch(p, NULL, 2);
	call(p, ADSM_ACCESS_INOUT, 1, 1, 3);
	launch(p, NULL, 4);
	CHECK_EQ(n_joins, joins + 2);
	CHECK_EQ(p[0], word_of(4));
	CHECK(n_joins == joins + 3 && n_joined == 1);
	/* An object that is made meanwhile does: launches before cannot use it. */
	launch(p, NULL, 5);
	q = adopt(PAGE);
	q[0] = 1;
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	launch(q, NULL, 6);
	CHECK_EQ(n_joins, joins + 4);
	CHECK_EQ(q[0], word_of(6));
	/* So does a query of it, once. */
	launch(q, &jobs[1], 7);
	launch(q, NULL, 7);
	joins = n_joins;
	adsm_driver_launched_on(&jobs[2]);
	adsm_driver_launched(&adsm_homes[1]);
	CHECK_EQ(n_joins, joins);
	adsm_driver_launched_on(&jobs[1]);
	adsm_driver_launched(NULL);
	CHECK(n_joins == joins + 1 && n_joined == 2);
	CHECK_EQ(n_jobs[0] - n_done[0], 2);
	/* Where that fails, a touch waits until it does not. */
	launch(q, NULL, 8);
	join_fails = true;
	CHECK_EQ(adsm_wait_call(home, home->last_seq), -EIO);
	join_fails = false;
	CHECK_EQ(q[0], word_of(8));
	forget((void *)p);
	forget((void *)q);
}

/* Freed in the order of the program's commands: no thread waits, and what ends later finds nothing of it. */
static void check_forget(void)
{
	volatile unsigned *p = adopt(SIZE), *q;
	uint64_t done;

	p[0] = 1;
	call(p, ADSM_ACCESS_INOUT, 0, 4, 2);
	done = n_done[0];
	CHECK(!adsm_driver_forget((void *)p, false, NULL));
	CHECK_EQ(n_done[0], done);
	check_reserved((void *)p, SIZE);
	q = adopt(SIZE);
	q[0] = 3;
	sync_all();
	CHECK(adsm_call_ended(home, home->last_seq));
	CHECK_EQ(q[0], 3);
	/* And the other way. */
	call(q, ADSM_ACCESS_INOUT, 0, 4, 2);
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	forget((void *)q);
	CHECK_EQ(n_jobs[0], n_done[0]);
}

/* Bytes moved each way since the last time. */
static void moved(uint64_t to_device, uint64_t to_host, int line)
{
	adsmStats stats;

	CHECK(!adsmStatsGet(&stats, sizeof(stats)));
	CHECK(!adsmStatsReset());
	if (stats.h2d_bytes == to_device && stats.d2h_bytes == to_host)
		return;
	fprintf(stderr, "line %d: %lu bytes sent, %lu fetched; not %lu, %lu\n", line, (unsigned long)stats.h2d_bytes,
		(unsigned long)stats.d2h_bytes, (unsigned long)to_device, (unsigned long)to_host);
	_exit(1);
}

#define MOVED(to_device, to_host) moved(to_device, to_host, __LINE__)

static void check_back(size_t at, size_t size, int value)
{
	for (size_t i = at; i < at + size; i++)
		CHECK_AT(back[i], i, value);
}

static void check_copies(void)
{
	volatile unsigned char *p = (unsigned char *)adopt(SIZE), *q = (unsigned char *)adopt(SIZE);
	bool rolling = !strcmp(adsm_protocol_options.protocol, "rolling");

	/* To the device immediately, and no more than that. */
	memset(bytes, 1, SIZE);
	CHECK(!adsmStatsReset());
	copy(p, bytes, SIZE);
	MOVED(SIZE, 0);
	copy(p + 5, bytes, 10);
	CHECK(!fill_found((void *)(p + BLOCK), 2, 100));
	MOVED(10, 0);
	call(p, ADSM_ACCESS_INOUT, 3, 4, 3);
	MOVED(0, 0);
	/* A few bytes cost a few bytes, after the call that writes them, each time. */
	for (int i = 0; i < 2; i++) {
		copy(back, p + 4, 8);
		CHECK_EQ(n_jobs[0], n_done[0]);
		check_back(0, 3, 3);
		check_back(3, 5, 1);
		MOVED(0, 8);
	}
	/* So does all of it, past the CPU's side, which has no pages yet. */
	for (int i = 0; i < 2; i++) {
		memset(back, 0, SIZE);
		copy(back, p, SIZE);
		MOVED(0, SIZE);
		check_back(0, 3, 1);
		check_back(3, 4, 3);
		check_back(BLOCK, 100, 2);
		check_back(BLOCK + 100, BLOCK - 100, 1);
		CHECK_EQ(object_of(p)->blocks.n_in[ADSM_INVALID], object_of(p)->blocks.n);
	}
	/* What the CPU has used is fetched once. */
	call(p, ADSM_ACCESS_INOUT, 3, 4, 3);
	CHECK_EQ(p[SIZE - 1], 1);
	MOVED(0, rolling ? BLOCK : SIZE);
	copy(back, p + SIZE - BLOCK, BLOCK);
	MOVED(0, 0);
	/* Blocks, and parts of blocks beside them. */
	call(p, ADSM_ACCESS_INOUT, SIZE - 1, 1, 4);
	MOVED(0, 0);
	copy(back, p + BLOCK - 10, SIZE - BLOCK + 10);
	CHECK_EQ(back[SIZE - BLOCK + 9], 4);
	MOVED(0, SIZE - BLOCK + 10);
	copy(back, p + BLOCK - 10, SIZE - BLOCK + 10);
	MOVED(0, rolling ? 2 * BLOCK + 10 : SIZE - BLOCK + 10);

	/* What the CPU wrote stays with it until a call, and is copied from there. */
	call(p, ADSM_ACCESS_INOUT, 0, 1, 5);
	p[1] = 6;
	MOVED(0, rolling ? BLOCK : SIZE);
	copy(p + 2, bytes, 3);
	copy(back, p, 6);
	MOVED(0, 0);
	CHECK_EQ(back[0], 5);
	CHECK_EQ(back[1], 6);
	check_back(2, 3, 1);
	CHECK_EQ(back[5], 3);
	/* But blocks that are overwritten go to the device. */
	copy(p, bytes, SIZE);
	MOVED(SIZE, 0);
	copy(back, p, 6);
	check_back(0, 6, 1);
	MOVED(0, 6);

	/* From one to the other on the device; not where the CPU has the bytes. */
	copy(q, p, SIZE);
	copy(q + 7, p + 1, 3);
	CHECK(!fill_found((void *)(q + 9), 8, 2));
	MOVED(0, 0);
	copy(back, q + 6, 8);
	check_back(0, 3, 1);
	check_back(3, 2, 8);
	check_back(5, 3, 1);
	MOVED(0, 8);
	p[0] = 9;
	MOVED(0, rolling ? BLOCK : SIZE);
	copy(q + SIZE - 1, p, 1);
	CHECK_EQ(q[SIZE - 1], 9);
	forget((void *)p);
	forget((void *)q);
}

/* Where accesses are not seen, copies are the CPU's, and the program's waits fetch all. */
static void check_batch_copies(void)
{
	volatile unsigned char *p = (unsigned char *)adopt(SIZE);

	memset(bytes, 1, SIZE);
	CHECK(!adsmStatsReset());
	copy(p, bytes, SIZE);
	copy(back, p, SIZE);
	check_back(0, SIZE, 1);
	MOVED(0, 0);
	call(p, ADSM_ACCESS_INOUT, 0, 4, 2);
	MOVED(SIZE, 0);
	copy(back, p + 2, 4);
	check_back(0, 2, 2);
	check_back(2, 2, 1);
	MOVED(0, 4);
	sync_all();
	MOVED(0, SIZE);
	CHECK_EQ(p[3], 2);
	forget((void *)p);
}

static void check_two_homes(void)
{
	volatile unsigned char *p = (unsigned char *)adopt(SIZE), *q = adopt_on(&adsm_homes[1], SIZE);
	const struct adsm_driver_use uses[] = { { (void *)p, ADSM_ACCESS_INOUT }, { (void *)q, ADSM_ACCESS_INOUT } };
	struct command c = { .p = p, .size = 4, .value = 1 };
	struct adsm_driver_place place;
	struct adsm_home *found;
	int result;

	CHECK(adsm_driver_find((void *)q, &place) && place.home == &adsm_homes[1]);
	for (int i = 0; i < 2; i++) {
		CHECK(adsm_driver_home_of(&jobs[i]) == &adsm_homes[i]);
		CHECK(!adsm_driver_home("cpu", &jobs[i], NULL, &found) && found == &adsm_homes[i]);
	}
	CHECK(!adsm_driver_home_of(&c));
	/* A context without a device here: the backend has none, and says so. */
	CHECK(adsm_driver_home("cpu", &c, NULL, &found) < 0);
	CHECK(adsm_driver_home("none", &c, NULL, &found) == -ENOTSUP);
	/* The other home's objects are not part of the call. */
	p[0] = 1;
	q[0] = 2;
	CHECK(!adsm_driver_call(home, uses, 2, NULL, enqueue, &c, &result));
	CHECK_EQ(adsm_homes[1].last_seq, 0);
	CHECK_EQ(q[0], 2);
	memset(bytes, 3, SIZE);
	copy(p, bytes, SIZE);
	call(q, ADSM_ACCESS_INOUT, 0, SIZE, 4);
	/* Fourteen bytes from one device to another: these are fetched, and go there at the next call. */
	copy(p + 10, q + 4, 14);
	copy(back, p + 9, 16);
	CHECK_EQ(back[0], 3);
	check_back(1, 14, 4);
	CHECK_EQ(back[15], 3);
	copy(p, q, SIZE);
	copy(back, p, SIZE);
	check_back(0, SIZE, 4);
	call(p, ADSM_ACCESS_INOUT, 1, 1, 5);
	run_jobs(0, n_jobs[0]);
	CHECK_EQ(device_word((unsigned *)p), 0x04040504);
	forget((void *)p);
	forget((void *)q);
}

/* The same for what the library allocates. */
static void check_dictated(void)
{
	volatile unsigned *p, *d[2];
	struct adsm_driver_place place;

	for (int i = 0; i < 2; i++)
		adsm_homes[i].device->caps.dictates_address = true;
	dictated = reserve(SIZE);
	p = adsmAlloc(SIZE);
	CHECK(p == dictated);
	CHECK(adsmAlloc(SIZE) == NULL && errno == EEXIST);
	p[0] = 1;
	CHECK_EQ(call(p, ADSM_ACCESS_INOUT, 0, 4, 2), 1);
	if (batch())
		sync_all();
	CHECK_EQ(p[0], word_of(2));
	CHECK_EQ(adsm_driver_forget((void *)p, true, NULL), -EINVAL);
	for (int i = 0; i < 2; i++) {
		CHECK(!adsmDeviceSet(i));
		dictated = reserve(SIZE);
		d[i] = adsmDeviceAlloc(SIZE);
		CHECK(d[i] == dictated);
		CHECK(adsm_driver_find((void *)d[i], &place) && place.device_only);
		check_reserved((void *)d[i], SIZE);
	}
	CHECK(!adsmDeviceSet(0));
	/* Its parts are copied like any other. */
	p[1] = 3;
	copy(d[0], p, SIZE);
	copy(d[0] + 2, d[0], 8);
	CHECK(!fill_found((void *)(d[0] + 4), 5, 4));
	copy(d[1], d[0], SIZE);
	copy(back, d[1], 20);
	CHECK(!memcmp(back, (unsigned[]){ word_of(2), 3, word_of(2), 3, word_of(5) }, 20));
	copy(p, d[1] + 1, 12);
	CHECK_EQ(p[2], 3);
	CHECK_EQ(p[1], word_of(2));
	CHECK(copy_found((void *)d[0], back, SIZE + 1) == -EINVAL);
	CHECK(!adsmDeviceFree((void *)d[0]));
	CHECK(!adsmDeviceFree((void *)d[1]));
	CHECK(!adsmFree((void *)p));
	check_reserved((void *)p, SIZE);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	start(argv[1]);
	check_object();
	check_by_ranges();
	check_child();
	check_calls();
	check_many();
	check_coalesced();
	check_forget();
	if (batch())
		check_batch_copies();
	else
		check_copies();
	check_two_homes();
	check_dictated();
	CHECK(!adsmShutdown());
	return 0;
}
