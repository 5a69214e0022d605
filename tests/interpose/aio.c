/* SPDX-License-Identifier: MIT */
/* aio.c - asynchronous input and output, each request held against the same one on ordinary memory. */
#include "scratch.h"
#include "traced.h"

#include <aio.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

static int await(const struct aiocb *cb)
{
	while (aio_error(cb) == EINPROGRESS)
		CHECK(!aio_suspend(&cb, 1, NULL) || errno == EINTR);
	return aio_error(cb);
}

/* A request of its own, in ordinary or in shared memory. */
static struct aiocb *request(struct aiocb *cb, int fd, void *p, size_t size, off_t at)
{
	memset(cb, 0, sizeof(*cb));
	cb->aio_fildes = fd;
	cb->aio_buf = p;
	cb->aio_nbytes = size;
	cb->aio_offset = at;
	cb->aio_sigevent.sigev_notify = SIGEV_NONE;
	return cb;
}

static sem_t notified;

static void on_done(union sigval value)
{
	CHECK(value.sival_ptr == &notified);
	sem_post(&notified);
}

/* Tell of completion by a thread that libc starts. */
static void tell(struct sigevent *event, void (*function)(union sigval value))
{
	if (WITH_TSAN)
		skip("ThreadSanitizer dies in threads that libc starts");
	event->sigev_notify = SIGEV_THREAD;
	event->sigev_notify_function = function;
	event->sigev_value.sival_ptr = &notified;
}

static void aio_rows(void)
{
	struct aiocb own, *in_shared, *cb;
	size_t offset = 5;
	unsigned k = 0;
	int fd;

	set_up();
	in_shared = alloc(sizeof(*in_shared));
	make_file(SIZE / 2 + 500);
	fd = fileno(scratch);
	for (int writes = 0; writes < 2; writes++) FOR_STATES(state) FOR_ROWS(row, offset) {
		size_t size = row_size(row, offset);
		off_t at = k % 3 * SIZE / 4;
		int errors[2];
		ssize_t results[2];

		now("aio_%s(%zu) at %ld, %s", writes ? "write" : "read", size, (long)at, state_names[state]);
		bring(state);
		for (int i = 0; i < 2; i++) {
			cb = request(k % 2 ? in_shared : &own, fd, (i ? shared : plain) + offset, size, at);
			CHECK_EQ(writes ? aio_write(cb) : aio_read(cb), 0);
			close_all();
			errors[i] = await(cb);
			results[i] = aio_return(cb);
			CHECK(cb->aio_buf == (i ? shared : plain) + offset);
			CHECK_EQ(cb->aio_nbytes, size);
		}
		SAME(errors[1], errors[0]);
		SAME(results[1], results[0]);
		if (writes) {
			unsigned char *back = malloc(SIZE);

			CHECK(back);
			SAME(pread(fd, back, size, at), size);
			SAME(memcmp(back, plain + offset, size), 0);
			free(back);
		}
		compare(k++ % 4 < 3);
	}
}

/* Requests that are refused, immediately or later. */
static void aio_refused(void)
{
	struct aiocb cb;
	int errors[2], later[2];
	ssize_t results[2];

	set_up();
	make_file(3 * block);
	bring(INVALID);
	for (int way = 0; way < 3; way++) {
		for (int i = 0; i < 2; i++) {
			request(&cb, way ? fileno(scratch) : 1000, i ? shared : plain, 2 * block, way == 1 ? -5 : 0);
			cb.aio_reqprio = way == 2 ? -1 : 0;
			errno = 0;
			results[i] = aio_read(&cb);
			errors[i] = errno;
			later[i] = results[i] ? 0 : await(&cb);
			results[i] = results[i] ? results[i] : aio_return(&cb);
		}
		now("aio_read refused in way %d", way);
		SAME(results[1], results[0]);
		SAME(errors[1], errors[0]);
		SAME(later[1], later[0]);
		CHECK(results[0] < 0);
	}
	compare(true);
}

static void aio_synced(void)
{
	struct aiocb *in_shared;

	set_up();
	make_file(100);
	in_shared = alloc(sizeof(*in_shared));
	now("aio_fsync");
	CHECK(!aio_fsync(O_SYNC, request(in_shared, fileno(scratch), NULL, 0, 0)));
	close_all();
	SAME(await(in_shared), 0);
	SAME(aio_return(in_shared), 0);
	errno = 0;
	CHECK_EQ(aio_fsync(12345, in_shared), -1);
	SAME(errno, EINVAL);
}

/* One that waits behind another can still be taken back. */
static void aio_cancelled(void)
{
	struct aiocb first, second;
	int writer;
	FILE *file;
	char byte;

	set_up();
	now("aio_cancel");
	bring(INVALID);
	file = open_pipe(&writer, &bufferings[0]);
	CHECK(!aio_read(request(&first, fileno(file), &byte, 1, 0)));
	CHECK(!aio_read(request(&second, fileno(file), shared, 2 * block, 0)));
	SAME(aio_error(&second), EINPROGRESS);
	SAME(aio_cancel(fileno(file), &second), AIO_CANCELED);
	SAME(aio_error(&second), ECANCELED);
	SAME(aio_return(&second), -1);
	CHECK_EQ(write(writer, "x", 1), 1);
	SAME(await(&first), 0);
	SAME(aio_cancel(fileno(file), &second), AIO_ALLDONE);
	compare(true);
	close(writer);
	fclose(file);
}

/* An aiocb that is reused before its result was asked for. */
static void aio_again(void)
{
	struct aiocb cb;

	set_up();
	make_file(3 * block);
	bring(INVALID);
	now("an aiocb used again");
	CHECK(!aio_read(request(&cb, fileno(scratch), shared, block, 0)));
	while (aio_error(&cb) == EINPROGRESS)
		sched_yield();
	CHECK(!sem_init(&notified, 0, 0));
	request(&cb, fileno(scratch), shared + block, block, (off_t)block);
	tell(&cb.aio_sigevent, on_done);
	CHECK(!aio_read(&cb));
	while (sem_wait(&notified))
		;
	CHECK(!aio_read(request(&cb, fileno(scratch), plain, 2 * block, 0)));
	SAME(await(&cb), 0);
	SAME(aio_return(&cb), 2 * block);
	compare(true);
}

static void aio_list(void)
{
	struct aiocb cbs[6], **list;
	struct sigevent *event;
	unsigned char mine[100];
	int fd;

	set_up();
	CHECK(!sem_init(&notified, 0, 0));
	list = alloc(7 * sizeof(*list));
	event = alloc(sizeof(*event));
	for (int waits = 0; waits < 2; waits++) FOR_STATES(state) for (int bad = 0; bad < 2; bad++) {
		int results[2], errors[2];

		now("lio_listio(%s), %s, %s entry", waits ? "LIO_WAIT" : "LIO_NOWAIT", state_names[state],
		    bad ? "one bad" : "no bad");
		make_file(SIZE);
		bring(state);
		fd = fileno(scratch);
		for (int i = 0; i < 2; i++) {
			unsigned char *p = i ? shared : plain;

			memset(event, 0, sizeof(*event));
			tell(event, on_done);
			request(&cbs[0], fd, p, block, 7)->aio_lio_opcode = LIO_READ;
			request(&cbs[1], fd, p + block, 100, (off_t)(2 * SIZE))->aio_lio_opcode = LIO_WRITE;
			request(&cbs[2], fd, mine, sizeof(mine), 0)->aio_lio_opcode = LIO_READ;
			request(&cbs[3], fd, p + 2 * block, 200, 0)->aio_lio_opcode = LIO_NOP;
			request(&cbs[4], fd, p + size_of_one, size_of_one, 9)->aio_lio_opcode = LIO_READ;
			request(&cbs[5], bad ? 1000 : fd, p + 2 * block, 300, 0)->aio_lio_opcode = LIO_READ;
			for (int j = 0; j < 6; j++)
				list[j + (j > 2)] = &cbs[j];
			list[3] = NULL;
			close_all();
			errno = 0;
			results[i] = lio_listio(waits ? LIO_WAIT : LIO_NOWAIT, list, 7, event);
			errors[i] = errno;
			close_all();
			if (!waits) {
				while (sem_wait(&notified))
					;
			}
			SAME(aio_error(&cbs[0]), 0);
			SAME(aio_return(&cbs[0]), block);
			SAME(aio_error(&cbs[1]), 0);
			SAME(aio_return(&cbs[1]), 100);
			SAME(aio_return(&cbs[2]), 100);
			SAME(aio_error(&cbs[4]), 0);
			SAME(aio_return(&cbs[4]), size_of_one);
			SAME(aio_error(&cbs[5]), bad ? EBADF : 0);
			SAME(aio_return(&cbs[5]), bad ? -1 : 300);
		}
		SAME(results[1], results[0]);
		SAME(errors[1], errors[0]);
		SAME(results[1], waits && bad ? -1 : 0);
		compare(state != READ_ONLY);
	}
}

/* Reads from a pipe wait until a thread writes. */

static _Atomic unsigned n_waiting;

static void *wait_in_aio(void *arg)
{
	const struct aiocb *const list[] = { NULL, arg };

	atomic_fetch_add(&n_waiting, 1);
	while (aio_error(arg) == EINPROGRESS)
		CHECK(!aio_suspend(list, 2, NULL) || errno == EINTR);
	CHECK_EQ(aio_error(arg), 0);
	return (void *)(uintptr_t)shared[500];
}

static void aio_waits(void)
{
	struct timespec moment = { 0, 1000 };

	set_up();
	for (int i = 0; i < 5; i++) FOR_STATES(state) {
		struct aiocb cb, never;
		const struct aiocb *list[] = { &never, NULL, &cb };
		pthread_t threads[3];
		void *result;
		int writer, silent;
		FILE *file = open_pipe(&writer, bufferings), *quiet = open_pipe(&silent, bufferings);

		now("aio_suspend, %s", state_names[state]);
		bring(state);
		CHECK(!aio_read(request(&never, fileno(quiet), shared + 2 * block, block, 0)));
		CHECK(!aio_read(request(&cb, fileno(file), shared + 500, block, 0)));
		SAME(aio_error(&cb), EINPROGRESS);
		errno = 0;
		SAME(aio_suspend(list, 3, &moment), -1);
		SAME(errno, EAGAIN);
		for (int j = 0; j < 3; j++)
			CHECK(!pthread_create(&threads[j], NULL, wait_in_aio, &cb));
		while (atomic_load(&n_waiting) % 3)
			sched_yield();
		close_all();
		CHECK_EQ(write(writer, "hello", 5), 5);
		SAME(aio_suspend(list, 3, NULL), 0);
		SAME(aio_error(&cb), 0);
		SAME(aio_error(&never), EINPROGRESS);
		SAME(aio_return(&cb), 5);
		for (int j = 0; j < 3; j++) {
			CHECK(!pthread_join(threads[j], &result));
			SAME((uintptr_t)result, 'h');
		}
		close(silent);
		SAME(await(&never), 0);
		SAME(aio_return(&never), 0);
		memcpy(plain + 500, "hello", 5);
		compare(state != READ_ONLY);
		close(writer);
		fclose(file);
		fclose(quiet);
	}
}

static struct aiocb notifying;
static _Atomic long notified_error, notified_result;

static void take_result(union sigval value)
{
	if (value.sival_ptr != &notified)
		_exit(1);
	atomic_store(&notified_error, aio_error(&notifying));
	atomic_store(&notified_result, aio_return(&notifying));
	sem_post(&notified);
}

static void on_signal(int signal, siginfo_t *si, void *context)
{
	take_result(si->si_value);
}

static void aio_notify(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct aiocb *cb = &notifying;

	set_up();
	CHECK(!sem_init(&notified, 0, 0));
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	make_file(SIZE);
	for (int by_signal = 1; by_signal >= 0; by_signal--) FOR_STATES(state) for (int again = 0; again < 5; again++) {
		now("a request that tells by %s, %s", by_signal ? "signal" : "thread", state_names[state]);
		bring(state);
		request(cb, fileno(scratch), shared + 9, 2 * block, 0);
		cb->aio_sigevent.sigev_notify = SIGEV_SIGNAL;
		cb->aio_sigevent.sigev_signo = SIGUSR1;
		cb->aio_sigevent.sigev_value.sival_ptr = &notified;
		if (!by_signal)
			tell(&cb->aio_sigevent, take_result);
		CHECK(!aio_read(cb));
		/* Others may look meanwhile. */
		while (again % 2 && aio_error(cb) == EINPROGRESS)
			;
		while (sem_wait(&notified))
			CHECK_EQ(errno, EINTR);
		SAME(atomic_load(&notified_error), 0);
		SAME(atomic_load(&notified_result), 2 * block);
		for (size_t i = 0; i < 2 * block; i++)
			plain[9 + i] = file_byte(i);
		compare(again);
	}
}

/* The program waits for the notification only: the next kernel gets the bytes, and what it makes of them stays. */
static void aio_told(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct aiocb *in_shared, own;
	sigset_t told;

	set_up();
	in_shared = alloc(sizeof(*in_shared));
	make_file(SIZE);
	CHECK(!sigemptyset(&told) && !sigaddset(&told, SIGRTMIN) && !pthread_sigmask(SIG_BLOCK, &told, NULL));
	for (int list = 0; list < 2; list++) FOR_STATES(state) for (int round = 0; round < 2; round++) {
		struct aiocb *cb = round ? in_shared : &own;
		size_t size = 2 * block + 50;

		now("%s that tells by signal, %s", list ? "lio_listio" : "aio_read", state_names[state]);
		bring(state);
		request(cb, fileno(scratch), shared + 9, size, 0)->aio_lio_opcode = LIO_READ;
		if (!list)
			cb->aio_sigevent = event;
		CHECK(!(list ? lio_listio(LIO_NOWAIT, &cb, 1, &event) : aio_read(cb)));
		while (sigwaitinfo(&told, NULL) != SIGRTMIN)
			CHECK_EQ(errno, EINTR);
		for (size_t i = 0; i < size; i++)
			plain[9 + i] = file_byte(i);
		compare(true);
		SAME(aio_error(cb), 0);
		SAME(aio_return(cb), size);
		for (size_t i = 0; i < SIZE; i++)
			plain[i]++;
		compare(round);
	}
}

/* Kernels run, and the CPU touches what is around, while a request is in progress. */
/* A jump within a thread ends what the thread's own calls left unfinished. A request is none of them. */
static void jump(void)
{
	jmp_buf place;

	if (!setjmp(place))
		longjmp(place, 1);
}

static void aio_kernels(void)
{
	set_up();
	for (int way = 0; way < 3; way++) FOR_STATES(state) {
		size_t size = way ? 2 * block + 50 : 100, delivered = way == 2 ? 0 : 100;
		struct aiocb *cb = alloc(sizeof(*cb));
		int writer;
		FILE *file = open_pipe(&writer, bufferings);
		unsigned char bytes[100];

		now("kernels during an aio_read of %zu, %s", size, state_names[state]);
		bring(state);
		CHECK(!aio_read(request(cb, fileno(file), shared + 500, size, 0)));
		jump();
		for (int i = 0; i < 4; i++) {
			close_all();
			SAME(aio_error(cb), EINPROGRESS);
			SAME(shared[499], plain[499]);
			SAME(shared[500 + size], plain[500 + size]);
			shared[i] = plain[i] = (unsigned char)i;
			shared[500 + size + i] = plain[500 + size + i] = (unsigned char)i;
		}
		close_all();
		for (int i = 0; i < 100; i++)
			bytes[i] = (unsigned char)(i * 3);
		if (delivered)
			CHECK_EQ(write(writer, bytes, delivered), delivered);
		close(writer);
		SAME(await(cb), 0);
		SAME(aio_return(cb), delivered);
		memcpy(plain + 500, bytes, delivered);
		compare(state != READ_ONLY);
		fclose(file);
		CHECK_OK(adsmFree(cb));
	}
}

static sigjmp_buf out;

static void leave(int sig)
{
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	siglongjmp(out, 1);
}

static void *compare_here(void *arg)
{
	compare(true);
	return NULL;
}

/* One round; the kernel spins for @spins turns. Returns whether the thread has left aio_error() by a jump. */
static bool leave_at_end(unsigned long spins)
{
	volatile bool left = true;
	struct aiocb cb;
	pthread_t thread;
	sigset_t told;
	int ends[2];

	bring(INVALID);
	CHECK(!sigemptyset(&told) && !sigaddset(&told, SIGRTMIN) && !pthread_sigmask(SIG_BLOCK, &told, NULL));
	CHECK(!pipe(ends));
	request(&cb, ends[0], shared + 500, 2 * block + 50, 0);
	cb.aio_sigevent = (struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	CHECK(!aio_read(&cb));
	CALL("late_increment", 1, adsmVal(spins), adsmInOut((unsigned *)shared), adsmVal(0u));
	CHECK_EQ(write(ends[1], "hello", 5), 5);
	while (sigwaitinfo(&told, NULL) != SIGRTMIN)
		CHECK_EQ(errno, EINTR);
	if (!sigsetjmp(out, 1)) {
		CHECK(signal(SIGPIPE, leave) != SIG_ERR);
		SAME(aio_error(&cb), 0);
		CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
		left = false;
	}
	memcpy(plain + 500, "hello", 5);
	CHECK(!pthread_create(&thread, NULL, compare_here, NULL) && !pthread_join(thread, NULL));
	SAME(aio_error(&cb), 0);
	SAME(aio_return(&cb), 5);
	close(ends[0]);
	close(ends[1]);
	return left;
}

/* A thread leaves aio_error() while the end of the input waits for a kernel. Then another thread ends the input. */
static void aio_left(void)
{
	unsigned long spins = SPIN;

	trace();
	set_up();
	now("aio_error() left by a jump");
	/* If the kernel has ended before, there was no wait to leave. */
	while (!leave_at_end(spins))
		spins *= 2;
}

static const struct conform_case cases[] = {
	CASE("aio", aio_rows),
	CASE("aio-refused", aio_refused),
	CASE("aio-fsync", aio_synced),
	CASE("aio-cancel", aio_cancelled),
	CASE("aio-again", aio_again),
	CASE("aio-list", aio_list),
	CASE("aio-suspend", aio_waits),
	CASE("aio-notify", aio_notify),
	CASE("aio-told", aio_told),
	CASE("aio-kernels", aio_kernels),
	CASE("aio-left", aio_left),
};
CONFORM_MAIN(cases)
