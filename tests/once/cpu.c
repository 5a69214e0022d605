/* SPDX-License-Identifier: MIT */
/* cpu.c - write-once objects among the threads of a program: verbs, touches, system calls, and what may go wrong. */
#include "../sanitizers.h"
#include "adsm_lend.h"
#include "once.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

/* ---- verbs */

static void verbs(void)
{
	adsmOnce *once = make(100, 12), copy = *once;
	int device = 7;
	char *p;

	CHECK_EQ(once->count, 100);
	CHECK_EQ(once->size, 12);
	for (size_t i = 0; i < 100; i++)
		CHECK_EQ(once->flags[i], ADSM_ONCE_EMPTY);
	CHECK(!adsmOnceTry(once, 5));
	p = adsmOnceFresh(once, 5);
	CHECK(p && p == adsmOnceFresh(once, 5));
	CHECK_EQ(once->flags[5], ADSM_ONCE_FRESH);
	memcpy(p, "hello, world", 12);
	CHECK(!adsmOnceTry(&copy, 5));
	CHECK_OK(adsmOnceSet(&copy, 5));
	CHECK(adsmOnceTry(once, 5) == adsmOnceGet(&copy, 5));
	CHECK(!memcmp(adsmOnceGet(once, 5), "hello, world", 12));
	CHECK_EQ(once->flags[4], ADSM_ONCE_EMPTY);
	CHECK_OK(adsmOncePlace(once, 99, &device));
	CHECK_EQ(device, ADSM_ONCE_ON_HOST);
	CHECK_OK(adsmOnceFree(once));
	CHECK_OK(adsmOnceFree(NULL));
}

static void told(const char *word)
{
	CHECKF(strstr(adsmLastError(), word), "no '%s'", word);
}

static void misuse(void)
{
	static const adsmOnceDistribution none = { .struct_size = sizeof(none), .kind = 99 };
	adsmOnceDistribution tiles = adsmOnceTiled(3, 4);
	adsmOnce *once = make(10, 4), copy = *once;
	int device;

	put(once, 3, 33);
	CHECK_EQ(adsmOnceSet(once, 3), -EEXIST);
	told("unit 3");
	CHECK(!adsmOnceFresh(once, 3) && errno == EEXIST);
	CHECK_EQ(adsmOnceSet(once, 4), -EINVAL);
	told("adsmOnceFresh()");
	CHECK_EQ(once->flags[4], ADSM_ONCE_EMPTY);
	CHECK(!adsmOnceGet(once, 10) && errno == EINVAL);
	told("has 10 units");
	CHECK(!adsmOnceFresh(once, 10) && errno == EINVAL);
	CHECK(!adsmOnceTry(once, 10));
	CHECK_EQ(adsmOnceSet(once, SIZE_MAX), -EINVAL);
	CHECK_EQ(adsmOncePlace(once, 10, &device), -EINVAL);
	CHECK_EQ(adsmOnceSet(NULL, 0), -EINVAL);
	CHECK(adsmFree(once->address) == -EINVAL);
	CHECK_EQ(adsmShutdown(), -EBUSY);
	CHECK_OK(adsmOnceFree(once));
	CHECK_EQ(adsmOnceFree(&copy), -EINVAL);
	CHECK(!adsmOnceFresh(&copy, 1) && errno == EINVAL);
	CHECK(!adsmOnceAlloc(0, 4, NULL) && errno == EINVAL);
	CHECK(!adsmOnceAlloc(4, 0, NULL) && errno == EINVAL);
	CHECK(!adsmOnceAlloc(SIZE_MAX / 2, 4, NULL) && errno == ENOMEM);
	CHECK(!adsmOnceAlloc(4, 4, &none) && errno == EINVAL);
	CHECK(!adsmOnceAlloc(10, 4, &tiles) && errno == EINVAL);
	told("3 rows times 4 columns");
}

/* ---- waiting */

struct reader {
	adsmOnce *once;
	size_t first, n;
	uint64_t sum, cpu_ns;
};

static void *read_all(void *arg)
{
	struct reader *reader = arg;

	for (size_t i = 0; i < reader->n; i++)
		reader->sum += get(reader->once, reader->first + i);
	reader->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void wakes(void)
{
	enum { N = 500, READERS = 6 };
	struct reader readers[READERS];
	pthread_t threads[READERS];
	adsmOnce *once = make(N, 8);

	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ once, 0, N, 0, 0 };
		threads[i] = start(read_all, &readers[i]);
	}
	until_waiting(1, NULL);
	for (size_t i = 0; i < N; i++)
		put(once, i, (uint32_t)i);
	for (int i = 0; i < READERS; i++) {
		end(threads[i]);
		CHECK_EQ(readers[i].sum, N * (N - 1) / 2);
	}
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
	CHECK_OK(adsmOnceFree(once));
}

static void waiters(void)
{
	adsmOnce *once = make(20, 4);
	struct reader reader = { once, 17, 1, 0, 0 };
	pthread_t thread = start(read_all, &reader);
	adsmOnceWaiter waiter;

	until_waiting(1, &waiter);
	CHECK(waiter.address == once->address);
	CHECK_EQ(waiter.unit, 17);
	CHECK_EQ(waiter.device, ADSM_ONCE_ON_HOST);
	CHECK(waiter.thread && waiter.thread != getpid());
	CHECK(waiter.where && *waiter.place);
	CHECK_EQ(adsmOnceFree(once), -EBUSY);
	told("unit 17");
	put(once, 17, 3);
	end(thread);
	CHECK_EQ(reader.sum, 3);
	CHECK_OK(adsmOnceFree(once));
}

/* Blocked threads use no processor, however long they wait: here while this thread computes. */
static void idle(void)
{
	enum { READERS = 8 };
	struct reader readers[READERS];
	pthread_t threads[READERS];
	adsmOnce *once = make(READERS, 4);
	uint64_t until;

	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ once, (size_t)i, 1, 0, 0 };
		threads[i] = start(read_all, &readers[i]);
	}
	until_waiting(READERS, NULL);
	until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 400000000;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	for (int i = 0; i < READERS; i++)
		put(once, (size_t)i, 1);
	for (int i = 0; i < READERS; i++) {
		end(threads[i]);
		CHECKF(readers[i].cpu_ns < 20000000, "%lu ns", (unsigned long)readers[i].cpu_ns);
	}
	CHECK_OK(adsmOnceFree(once));
}

/* ---- touches of the view */

static void *touch(void *arg)
{
	struct reader *reader = arg;
	const volatile uint32_t *view = reader->once->address;
	size_t words = reader->once->size / sizeof(*view);

	for (size_t i = 0; i < reader->n; i++)
		reader->sum += view[(reader->first + i) * words + words - 1];
	return NULL;
}

static void fill(adsmOnce *once, size_t unit, uint32_t value)
{
	uint32_t *p = adsmOnceFresh(once, unit);

	for (size_t i = 0; i < once->size / sizeof(*p); i++)
		p[i] = value;
	CHECK_OK(adsmOnceSet(once, unit));
}

static void touches(void)
{
	/* Units of whole pages, of parts of one, and of one and a half. */
	static const size_t sizes[] = { PAGE, 3 * PAGE, PAGE / 4, 4, PAGE + PAGE / 2 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		adsmOnce *once = make(300, sizes[s]);
		struct reader reader = { once, 0, 300, 0, 0 };
		pthread_t thread = start(touch, &reader);
		adsmOnceWaiter waiter;

		until_waiting(1, &waiter);
		CHECK(waiter.address == once->address && waiter.where);
		for (uint32_t i = 0; i < 300; i++)
			fill(once, 299 - i, 299 - i);
		end(thread);
		CHECK_EQ(reader.sum, 300 * 299 / 2);
		CHECK_EQ(((const volatile uint32_t *)once->address)[0], 0);
		CHECK_OK(adsmOnceFree(once));
	}
}

/* One byte of a page: read by a touch, or the whole page by a system call. */
struct look {
	const volatile char *page;
	int fd;				/* -1: by a touch */
	size_t at;
	atomic_bool done;
};

static void *look_at_page(void *arg)
{
	struct look *look = arg;

	if (look->fd < 0)
		(void)look->page[look->at];
	else
		CHECK_EQ(write(look->fd, (const char *)look->page, PAGE), PAGE);
	atomic_store(&look->done, true);
	return NULL;
}

/* All units but @missing are set: no thread sees anything of @page, which has some of its bytes. */
static void look_with_missing(adsmOnce *once, size_t missing, size_t page, int fd)
{
	struct look look = { .page = (const volatile char *)once->address + page * PAGE, .fd = fd };
	adsmOnceWaiter waiter;
	pthread_t thread;

	for (size_t i = 0; i < once->count; i++)
		if (i != missing)
			fill(once, i, 1);
	/* Not where the unit itself is, but at the far end of the page. */
	look.at = missing * once->size > page * PAGE ? 0 : PAGE - 1;
	thread = start(look_at_page, &look);
	while (!adsmOnceWaiters(&waiter, 1, sizeof(waiter))) {
		CHECKF(!atomic_load(&look.done), "page %zu was seen, and unit %zu of %zu bytes is not set", page,
		       missing, once->size);
		sched_yield();
	}
	CHECK_EQ(waiter.unit, missing);
	fill(once, missing, 1);
	end(thread);
	CHECK_OK(adsmOnceFree(once));
}

/* The first unit of a page, the last one, and those that lie in two pages or more. */
static void edges(void)
{
	static const size_t sizes[] = { 4, 12, 64, 1000, PAGE / 2, PAGE, PAGE + PAGE / 2, 3 * PAGE };
	int null = open("/dev/null", O_WRONLY);

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		const size_t size = sizes[s], count = (3 * PAGE + size - 1) / size + 1;

		for (size_t page = 0; page <= 3; page++) {
			const size_t at = page * PAGE / size;

			for (size_t unit = at ? at - 1 : 0; unit <= at + 1 && unit < count; unit++)
				for (size_t p = unit * size / PAGE; p <= ((unit + 1) * size - 1) / PAGE; p++) {
					look_with_missing(make(count, size), unit, p, -1);
					look_with_missing(make(count, size), unit, p, null);
				}
		}
	}
	close(null);
}

static sigjmp_buf jump;
static volatile sig_atomic_t caught;

static void catch_signal(int sig)
{
	caught = sig;
	siglongjmp(jump, 1);
}

/* The signal that a store at @p, or a load, ends in; 0: none. */
static int use(volatile uint32_t *p, bool stores)
{
	struct sigaction action = { .sa_handler = catch_signal }, old_segv, old_bus;

	caught = 0;
	sigaction(SIGBUS, &action, &old_bus);
	sigaction(SIGSEGV, &action, &old_segv);
	if (!sigsetjmp(jump, 1)) {
		if (stores)
			*p = 1;
		else
			(void)*p;
	}
	sigaction(SIGBUS, &old_bus, NULL);
	sigaction(SIGSEGV, &old_segv, NULL);
	return caught;
}

static int store(volatile uint32_t *p)
{
	return use(p, true);
}

static int load(volatile uint32_t *p)
{
	return use(p, false);
}

static void stores(void)
{
	adsmOnce *once = make(4, PAGE);
	uint32_t *view = once->address;

	fill(once, 1, 11);
	CHECK_EQ(view[PAGE / 4], 11);
	CHECK_EQ(store(&view[PAGE / 4]), SIGBUS);	/* set, and open */
	CHECK_EQ(store(&view[0]), SIGBUS);		/* empty */
	fill(once, 2, 22);
	CHECK_EQ(store(&view[2 * PAGE / 4]), SIGBUS);	/* set, and closed yet */
	CHECK_EQ(store((uint32_t *)(uintptr_t)adsmOnceGet(once, 1)), SIGBUS);
	CHECK_EQ(get(once, 1), 11);
	CHECK_EQ(view[2 * PAGE / 4], 22);
	CHECK_OK(adsmOnceFree(once));
}

/* What the program itself has taken of the view is its own fault; units are set and got all the same. */
static void permissions(void)
{
	int pipes[2];
	adsmOnce *once = make(8, PAGE);
	uint32_t *view = once->address;
	adsmLoan *loan;
	void *lent;

	for (uint32_t i = 0; i < 4; i++)
		fill(once, i, 10 + i);
	CHECK_EQ(view[0], 10);
	CHECK(!mprotect(view, 3 * PAGE, PROT_READ));
	CHECK_EQ(store(&view[0]), SIGSEGV);
	CHECK_EQ(store(&view[6 * PAGE / 4]), SIGBUS);
	CHECK_EQ(view[2 * PAGE / 4], 12);
	CHECK(!mprotect(&view[PAGE / 4], 2 * PAGE, PROT_NONE));
	CHECK_EQ(load(&view[PAGE / 4]), SIGSEGV);
	CHECK_EQ(load(&view[2 * PAGE / 4]), SIGSEGV);
	CHECK_EQ(view[0], 10);
	CHECK_EQ(view[3 * PAGE / 4], 13);
	CHECK_EQ(load(&view[2 * PAGE / 4]), SIGSEGV);
	CHECK_EQ(get(once, 1), 11);
	CHECK(!pipe(pipes));
	CHECK(write(pipes[1], &view[2 * PAGE / 4], 4) == -1 && errno == EFAULT);
	CHECK_EQ(write(pipes[1], &view[PAGE / 4 - 2], 8), 8);
	CHECK_EQ(adsmLend(view, 2 * PAGE, ADSM_ACCESS_IN, &loan, &lent), -EFAULT);
	CHECK_EQ(adsmLend(&view[2 * PAGE / 4], 4, ADSM_ACCESS_IN, &loan, &lent), -EFAULT);
	CHECK_EQ(adsmLend(&view[2 * PAGE / 4], 4, ADSM_ACCESS_INOUT, &loan, &lent), -EFAULT);
	CHECK_OK(adsmLend(view, PAGE, ADSM_ACCESS_IN, &loan, &lent));
	CHECK_EQ(*(uint32_t *)lent, 10);
	close(pipes[0]);
	close(pipes[1]);
	CHECK(!mprotect(view, 8 * PAGE, PROT_READ | PROT_WRITE));
	CHECK_EQ(view[PAGE / 4], 11);
	CHECK_EQ(store(&view[PAGE / 4]), SIGBUS);
	CHECK(munmap(view, PAGE) == -1 && errno == EPERM);
	CHECK(madvise(view, PAGE, MADV_REMOVE) == -1 && errno == EACCES);
	CHECK(!mlock(view, 2 * PAGE) && !munlock(view, 2 * PAGE));
	CHECK(!mprotect(view, 8 * PAGE, PROT_NONE));
	CHECK_OK(adsmOnceFree(once));
}

/* Memory that was an object's is an ordinary object's next, and the other way round. */
static void reuse(void)
{
	for (int i = 0; i < 50; i++) {
		adsmOnce *once = make(64, PAGE);
		volatile uint32_t *p;

		CHECK(!adsmOnceTry(once, 0));
		fill(once, 7, 7);
		CHECK_EQ(((volatile uint32_t *)once->address)[7 * PAGE / 4], 7);
		CHECK_OK(adsmOnceFree(once));
		p = adsmAlloc(64 * PAGE);
		CHECK(p);
		p[7 * PAGE / 4] = (uint32_t)i;
		CHECK_EQ(p[7 * PAGE / 4], i);
		CHECK_OK(adsmFree((void *)p));
	}
}

/* ---- system calls */

struct piped {
	adsmOnce *once;
	int fd;
};

static void *write_unit(void *arg)
{
	struct piped *piped = arg;

	CHECK_EQ(write(piped->fd, (char *)piped->once->address + PAGE, PAGE), PAGE);
	return NULL;
}

static void *open_unit(void *arg)
{
	struct piped *piped = arg;

	piped->fd = open((char *)piped->once->address + piped->once->size, O_RDONLY);
	return NULL;
}

/* Strings in units: the system is given them when they are set, and no later unit is waited for. */
static void names(void)
{
	struct piped piped = { make(3, 16), -1 };
	const char *view = piped.once->address;
	struct stat status;
	pthread_t thread;

	strcpy(adsmOnceFresh(piped.once, 0), "/dev/null");
	CHECK_OK(adsmOnceSet(piped.once, 0));
	CHECK(!stat(view, &status) && S_ISCHR(status.st_mode));
	thread = start(open_unit, &piped);
	until_waiting(1, NULL);
	strcpy(adsmOnceFresh(piped.once, 1), "/dev/zero");
	CHECK_OK(adsmOnceSet(piped.once, 1));
	end(thread);
	CHECK(piped.fd >= 0 && !close(piped.fd));
	CHECK_OK(adsmOnceFree(piped.once));
}

static void calls(void)
{
	adsmOnce *once = make(8, PAGE);
	struct piped piped = { once, -1 };
	char buffer[PAGE], *view = once->address;
	struct iovec vector[2];
	pthread_t thread;
	int fds[2];

	CHECK(!pipe(fds));
	piped.fd = fds[1];
	thread = start(write_unit, &piped);
	until_waiting(1, NULL);
	fill(once, 1, 0x01010101);
	end(thread);
	CHECK_EQ(read(fds[0], buffer, PAGE), PAGE);
	for (size_t i = 0; i < PAGE; i++)
		CHECK_AT(buffer[i], i, 1);

	/* Into what is fresh: by the address of the verb, and by the object's. */
	CHECK_EQ(write(fds[1], buffer, PAGE), PAGE);
	CHECK_EQ(read(fds[0], adsmOnceFresh(once, 2), PAGE), PAGE);
	CHECK_OK(adsmOnceSet(once, 2));
	CHECK(!memcmp(adsmOnceGet(once, 2), buffer, PAGE));
	CHECK(adsmOnceFresh(once, 3));
	CHECK_EQ(write(fds[1], buffer, PAGE), PAGE);
	CHECK_EQ(read(fds[0], view + 3 * PAGE, PAGE), PAGE);
	CHECK_OK(adsmOnceSet(once, 3));
	CHECK(!memcmp(view + 3 * PAGE, buffer, PAGE));

	/* Into what is not, nothing comes, and nothing is taken. */
	CHECK_EQ(write(fds[1], buffer, PAGE), PAGE);
	CHECK(read(fds[0], view + 3 * PAGE, PAGE) == -1 && errno == EIO);
	CHECK(read(fds[0], view + 4 * PAGE, PAGE) == -1 && errno == EIO);
	vector[0] = (struct iovec){ buffer, 1 };
	vector[1] = (struct iovec){ view + 5 * PAGE, PAGE - 1 };
	CHECK(readv(fds[0], vector, 2) == -1 && errno == EIO);
	CHECK(adsmOnceFresh(once, 5));
	CHECK_EQ(readv(fds[0], vector, 2), PAGE);
	CHECK_OK(adsmOnceSet(once, 5));
	CHECK_EQ(view[6 * PAGE - 2], 1);
	memcpy(buffer, view + 5 * PAGE, PAGE - 1);
	CHECK_EQ(buffer[0], 1);
	close(fds[0]);
	close(fds[1]);
	CHECK_OK(adsmOnceFree(once));
}

/* ---- signals, cancellation, fork */

static adsmOnce *shared;
static atomic_int n_handled;

static void set_in_handler(int sig)
{
	/* What is waited for in the midst of a wait. */
	CHECK_EQ(get(shared, 1), 5);
	atomic_fetch_add(&n_handled, 1);
}

static void *(*wait_below)(void *);

/* With a stack for handlers above the frames of the waiting threads. */
static void *with_stack(void *arg)
{
	char above[64 << 10];
	stack_t stack = { .ss_sp = above, .ss_size = sizeof(above) }, old;
	void *ret;

	CHECK(!sigaltstack(&stack, &old));
	ret = wait_below(arg);
	CHECK(!sigaltstack(&old, NULL));
	return ret;
}

static void handle(int flags)
{
	struct sigaction action = { .sa_handler = set_in_handler, .sa_flags = flags };
	void *(*const waits[])(void *) = { read_all, touch };

	/* ThreadSanitizer keeps a signal until the thread calls what it knows, which one that sleeps does not. */
	if (WITH_TSAN)
		return;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	for (int i = 0; i < 2; i++) {
		struct reader reader = { make(2, PAGE), 0, 1, 0, 0 };
		pthread_t thread;

		shared = reader.once;
		atomic_store(&n_handled, 0);
		wait_below = waits[i];
		thread = start(flags ? with_stack : waits[i], &reader);
		until_waiting(1, NULL);
		CHECK(!pthread_kill(thread, SIGUSR1));
		until_waiting(2, NULL);
		fill(shared, 1, 5);
		for (int n = 1; n < 20; n++) {
			while (atomic_load(&n_handled) < n)
				sched_yield();
			CHECK(!pthread_kill(thread, SIGUSR1));
		}
		until_waiting(1, NULL);
		fill(shared, 0, 9);
		end(thread);
		CHECK_EQ(reader.sum, 9);
		CHECK_OK(adsmOnceFree(shared));
	}
}

static void signals(void)
{
	handle(0);
}

/* On the thread's stack for handlers. */
static void signals_above(void)
{
	handle(SA_ONSTACK);
}

static _Thread_local sigjmp_buf leave;

static void leave_wait(int sig)
{
	siglongjmp(leave, 1);
}

static void *left_waits(void *arg)
{
	struct reader *reader = arg;

	for (volatile size_t i = 0; i < 10; i++)
		if (!sigsetjmp(leave, 1)) {
			if (i % 2)
				get(reader->once, i);
			else
				touch(&(struct reader){ reader->once, i, 1, 0, 0 });
			FAIL("unit %zu was not set", (size_t)i);
		}
	reader->sum = get(reader->once, 10);
	return NULL;
}

/* Waits that a handler leaves are forgotten by the thread's next one. */
static void jumps(void)
{
	struct sigaction action = { .sa_handler = leave_wait };
	struct reader reader = { make(11, PAGE), 0, 0, 0, 0 };
	pthread_t thread;
	adsmOnceWaiter waiter;

	if (WITH_TSAN) {		/* as above */
		CHECK_OK(adsmOnceFree(reader.once));
		return;
	}
	CHECK(!sigaction(SIGUSR2, &action, NULL));
	thread = start(left_waits, &reader);
	for (size_t i = 0; i < 11; i++) {
		do
			until_waiting(1, &waiter);
		while (waiter.unit < i);
		CHECK_EQ(waiter.unit, i);
		if (i < 10)
			CHECK(!pthread_kill(thread, SIGUSR2));
	}
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 1);
	fill(reader.once, 10, 4);
	end(thread);
	CHECK_EQ(reader.sum, 4);
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
	CHECK_OK(adsmOnceFree(reader.once));
}

/*
 * A thread with stacks of its own making: a handler leaves a wait for another context, and goes back to it later. So
 * the thread is in several waits, on several stacks, and has left none of them.
 */
#define N_CONTEXTS 3
#define CONTEXT_STACK ((size_t)256 << 10)

static struct {
	ucontext_t scheduler, context[N_CONTEXTS];
	adsmOnce *once;
	uint32_t got[N_CONTEXTS];
	volatile size_t current;
} turns;

static void switch_away(int sig)
{
	CHECK(!swapcontext(&turns.context[turns.current], &turns.scheduler));
}

static void wait_in_context(void)
{
	const size_t i = turns.current;

	turns.got[i] = get(turns.once, i);
	turns.got[i] += get(turns.once, i + N_CONTEXTS);
}

/* Until that number of threads wait, one of them for @unit. */
static void until_waiting_for(int n, size_t unit)
{
	adsmOnceWaiter waiters[N_CONTEXTS];
	bool found = false;

	while (!found) {
		sched_yield();
		found = false;
		for (int i = 0, all = adsmOnceWaiters(waiters, N_CONTEXTS, sizeof(*waiters)); all == n && i < n; i++)
			found |= waiters[i].unit == unit;
	}
}

/* Each context in turn until it is switched away from, twice; then each until it ends. */
static void *take_turns(void *arg)
{
	char *stacks = arg;

	for (volatile size_t i = 0; i < N_CONTEXTS; i++) {
		CHECK(!getcontext(&turns.context[i]));
		turns.context[i].uc_stack.ss_sp = stacks + i * CONTEXT_STACK;
		turns.context[i].uc_stack.ss_size = CONTEXT_STACK;
		turns.context[i].uc_link = &turns.scheduler;
		makecontext(&turns.context[i], wait_in_context, 0);
	}
	for (volatile size_t n = 0; n < 3 * N_CONTEXTS; n++) {
		turns.current = n % N_CONTEXTS;
		CHECK(!swapcontext(&turns.scheduler, &turns.context[turns.current]));
	}
	return NULL;
}

static void contexts(void)
{
	struct sigaction action = { .sa_handler = switch_away, .sa_flags = SA_RESTART };
	char *stacks = malloc(N_CONTEXTS * CONTEXT_STACK);
	pthread_t thread;

	turns.once = make(2 * N_CONTEXTS, PAGE);
	if (WITH_TSAN || WITH_ASAN) {	/* they would have to be told of stacks */
		CHECK_OK(adsmOnceFree(turns.once));
		free(stacks);
		return;
	}
	CHECK(stacks && !sigaction(SIGUSR2, &action, NULL));
	thread = start(take_turns, stacks);
	for (int n = 0; n < N_CONTEXTS; n++) {
		until_waiting(n + 1, NULL);
		CHECK(!pthread_kill(thread, SIGUSR2));
	}
	/* Each continues, sees its first unit, and is switched away from in the wait for its second. */
	for (size_t i = 0; i < N_CONTEXTS; i++) {
		put(turns.once, i, 10 * (uint32_t)i);
		until_waiting_for(N_CONTEXTS, i + N_CONTEXTS);
		CHECK(!pthread_kill(thread, SIGUSR2));
	}
	for (size_t i = 0; i < N_CONTEXTS; i++)
		put(turns.once, i + N_CONTEXTS, (uint32_t)i);
	end(thread);
	for (uint32_t i = 0; i < N_CONTEXTS; i++)
		CHECK_EQ(turns.got[i], 11 * i);
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
	CHECK_OK(adsmOnceFree(turns.once));
	free(stacks);
}

static void *switch_once(void *stack)
{
	CHECK(!getcontext(&turns.context[0]));
	turns.context[0].uc_stack.ss_sp = stack;
	turns.context[0].uc_stack.ss_size = CONTEXT_STACK;
	makecontext(&turns.context[0], wait_in_context, 0);
	CHECK(!swapcontext(&turns.scheduler, &turns.context[0]));
	for (turns.current = 1; turns.current == 1;)
		sched_yield();
	return NULL;
}

/* A thread does not go back to a context that waits. The wait is not one for the next object at the address. */
static void abandoned(void)
{
	struct sigaction action = { .sa_handler = switch_away };
	char *stack = malloc(CONTEXT_STACK);
	const void *address;
	pthread_t thread;

	turns.once = make(1, PAGE);
	address = turns.once->address;
	turns.current = 0;
	if (WITH_TSAN || WITH_ASAN) {	/* as above */
		CHECK_OK(adsmOnceFree(turns.once));
		free(stack);
		return;
	}
	CHECK(stack && !sigaction(SIGUSR2, &action, NULL));
	thread = start(switch_once, stack);
	until_waiting(1, NULL);
	CHECK(!pthread_kill(thread, SIGUSR2));
	while (!turns.current)
		sched_yield();
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 1);
	put(turns.once, 0, 1);
	CHECK_OK(adsmOnceFree(turns.once));
	turns.once = make(1, PAGE);
	CHECK(turns.once->address == address);
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
	CHECK_OK(adsmOnceFree(turns.once));
	turns.current = 2;
	end(thread);
	free(stack);
}

static void cancels(void)
{
	for (int i = 0; i < 20; i++) {
		struct reader reader = { make(1, 4), 0, 1, 0, 0 };
		pthread_t thread = start(read_all, &reader);

		if (i % 2)
			until_waiting(1, NULL);
		CHECK(!pthread_cancel(thread));
		CHECK(end(thread) == PTHREAD_CANCELED);
		CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
		CHECK_OK(adsmOnceFree(reader.once));
	}
}

static void in_child(adsmOnce *once)
{
	CHECK(!adsmOnceTry(once, 0));
	CHECK(!adsmOnceGet(once, 0) && errno == ENOTSUP);
	CHECK(!adsmOnceFresh(once, 1) && errno == ENOTSUP);
	CHECK_EQ(adsmOnceSet(once, 1), -ENOTSUP);
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), -ENOTSUP);
	/* Nothing of the parent's can be reached. */
	CHECK_EQ(store(once->room), SIGSEGV);
	CHECK_EQ(store(once->address), SIGSEGV);
}

static volatile pid_t forked;

static void fork_in_handler(int sig)
{
	forked = fork();
}

/* A handler forks while this thread waits. The wait of the child fails. */
static void *read_and_fork(void *arg)
{
	struct reader *reader = arg;
	const uint32_t *p = adsmOnceGet(reader->once, reader->first);

	if (!forked)
		_exit(p || errno != ENOTSUP);
	CHECK(p);
	reader->sum = *p;
	return NULL;
}

static void forks(void)
{
	const struct sigaction action = { .sa_handler = fork_in_handler, .sa_flags = SA_RESTART };
	struct reader reader = { make(2, 4), 1, 1, 0, 0 };
	pthread_t thread = start(WITH_TSAN ? read_all : read_and_fork, &reader);
	adsmOnceWaiter waiter;
	int status;
	pid_t child;

	put(reader.once, 0, 1);
	until_waiting(1, &waiter);
	child = fork();
	if (!child) {
		in_child(reader.once);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	/* As in handle(), not with ThreadSanitizer. */
	if (!WITH_TSAN) {
		CHECK(!sigaction(SIGUSR1, &action, NULL));
		while (!sleeps(waiter.thread))
			sched_yield();
		CHECK(!pthread_kill(thread, SIGUSR1));
		while (!forked)
			sched_yield();
		CHECK(forked > 0 && waitpid(forked, &status, 0) == forked);
		CHECK_EQ(status, 0);
		signal(SIGUSR1, SIG_DFL);
	}
	put(reader.once, 1, 6);
	end(thread);
	CHECK_EQ(reader.sum, 6);
	CHECK_OK(adsmOnceFree(reader.once));
}

/* ---- many at the same time */

enum { SETTERS = 4 };

static struct {
	adsmOnce *once;
	pthread_barrier_t barrier;
	atomic_uint *wins;
} race;

static void *set_all(void *arg)
{
	pthread_barrier_wait(&race.barrier);
	for (size_t i = 0; i < race.once->count; i++) {
		int error = adsmOnceSet(race.once, i);

		CHECK(!error || error == -EEXIST);
		if (!error)
			atomic_fetch_add(&race.wins[i], 1);
		/* Beside the others, not behind them. */
		if (i % 64 == 63)
			sched_yield();
	}
	return NULL;
}

/* Of several threads that set a unit, one gets the answer that it did. */
static void races(void)
{
	const size_t n = 100000;
	pthread_t threads[SETTERS];

	race.once = make(n, 1);
	race.wins = calloc(n, sizeof(*race.wins));
	CHECK(!pthread_barrier_init(&race.barrier, NULL, SETTERS));
	for (size_t i = 0; i < n; i++)
		CHECK(adsmOnceFresh(race.once, i));
	for (int i = 0; i < SETTERS; i++)
		threads[i] = start(set_all, NULL);
	for (int i = 0; i < SETTERS; i++)
		end(threads[i]);
	for (size_t i = 0; i < n; i++)
		CHECK_AT(race.wins[i], i, 1);
	free(race.wins);
	CHECK_OK(adsmOnceFree(race.once));
}

enum { WORKERS = 8 };

struct work {
	adsmOnce *once;
	size_t first;
	uint64_t n_gets;
};

/* A unit's value depends on earlier units: so no thread waits forever, whatever the order. */
static uint32_t value_of(size_t unit, uint64_t *state, const adsmOnce *once, const uint32_t *oracle)
{
	uint32_t value = (uint32_t)unit * 2654435761u + 1;

	for (unsigned i = 0; i < 3 && unit; i++) {
		size_t other = splitmix(state) % unit;

		value = value * 31 + (oracle ? oracle[other] : get(once, other));
	}
	return value;
}

static uint64_t seed_of(size_t unit)
{
	return unit * UINT64_C(0x5851f42d4c957f2d) + 42;
}

static void *compute(void *arg)
{
	struct work *work = arg;

	for (size_t unit = work->first; unit < work->once->count; unit += WORKERS) {
		uint64_t state = seed_of(unit);

		put(work->once, unit, value_of(unit, &state, work->once, NULL));
	}
	return NULL;
}

static void random_units(void)
{
	/* Three gets and a set for each unit. */
	const size_t n = test_full() ? 1000000 : 250000, sizes[] = { 4, 68 };

	for (int s = 0; s < 2; s++) {
		uint32_t *oracle = malloc(n * sizeof(*oracle));
		adsmOnce *once = make(n, sizes[s]);
		struct work work[WORKERS];
		pthread_t threads[WORKERS];

		for (size_t i = 0; i < WORKERS; i++) {
			work[i] = (struct work){ once, i, 0 };
			threads[i] = start(compute, &work[i]);
		}
		for (size_t i = 0; i < n; i++) {
			uint64_t state = seed_of(i);

			oracle[i] = value_of(i, &state, NULL, oracle);
		}
		for (size_t i = 0; i < WORKERS; i++)
			end(threads[i]);
		for (size_t i = 0; i < n; i++)
			CHECK_AT(get(once, i), i, oracle[i]);
		free(oracle);
		CHECK_OK(adsmOnceFree(once));
	}
}

/* For a check from outside: a wait without an end, which a signal handler could bring. */
static void stuck(void)
{
	struct sigaction action = { .sa_handler = set_in_handler };
	adsmOnce *once = make(20, 4);

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	get(once, 17);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "verbs", verbs }, { "misuse", misuse }, { "wakes", wakes }, { "waiters", waiters }, { "idle", idle },
		{ "touches", touches }, { "edges", edges }, { "stores", stores }, { "permissions", permissions },
		{ "reuse", reuse }, { "calls", calls }, { "names", names },
		{ "signals", signals }, { "signals-above", signals_above }, { "jumps", jumps },
		{ "contexts", contexts }, { "abandoned", abandoned }, { "cancels", cancels },
		{ "forks", forks }, { "races", races }, { "random", random_units },
	};

	if (argc > 1 && !strcmp(argv[1], "stuck"))
		stuck();
	return test_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
