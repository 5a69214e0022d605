/* SPDX-License-Identifier: MIT */
/* files.c - system calls on files, pipes and processes: where less than all is moved, fails, or is not needed. */
#include "ends.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- less than was asked for */

static void short_file(void)
{
	start();
	for (enum state state = 0; state < N_STATES; state++)
		for (size_t has = 1; has < 3 * block; has += block / 2 + 1) {
			struct ends ends, model;

			now("%zu bytes are there, %s", has, state_names[state]);
			prepare(state);
			ends = open_ends(PIPE_IN, has - 1);
			model = open_ends(PIPE_IN, has - 1);
			CHECK_EQ(read(model.fd, plain + 100, SIZE - 100), has + 9);
			SAME(read(ends.fd, shared + 100, SIZE - 100), has + 9);
			close_ends(ends);
			close_ends(model);
			same_bytes(has & 1);
		}
}

static void eof(void)
{
	start();
	for (enum state state = 0; state < N_STATES; state++) {
		struct ends ends = open_ends(FILE_IN, 0);
		struct still before;

		now("%s", state_names[state]);
		CHECK_EQ(lseek(ends.fd, 0, SEEK_END), PATTERN_SIZE);
		prepare(state);
		before = still();
		errno = 0;
		SAME(read(ends.fd, shared + 10, block), 0);
		SAME(pread(ends.fd, shared, SIZE, PATTERN_SIZE + 5), 0);
		SAME(readv(ends.fd, three(shared, SIZE), 3), 0);
		SAME(errno, 0);
		nothing_since(before);
		close_ends(ends);
		same_bytes(state & 1);
	}
}

/* ---- calls that fail */

static void on_alarm(int signal)
{
}

static void eintr(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = { 0 };
	int fds[2];

	start();
	CHECK(!pipe(fds));
	CHECK(!sigaction(SIGALRM, &action, NULL));
	for (enum state state = 0; state < N_STATES; state++) {
		struct still before;

		now("%s", state_names[state]);
		prepare(state);
		before = still();
		CHECK(!setitimer(ITIMER_REAL, &often, NULL));
		errno = 0;
		SAME(read(fds[0], shared + 10, SIZE - 20), -1);
		SAME(errno, EINTR);
		errno = 0;
		SAME(readv(fds[0], three(shared, SIZE), 3), -1);
		SAME(errno, EINTR);
		CHECK(!setitimer(ITIMER_REAL, &never, NULL));
		nothing_since(before);
		same_bytes(state & 1);
	}
}

#define GUARD_INSTALL 102	/* MADV_GUARD_INSTALL, which older headers lack */

#define REFUSED(call, error) do { \
	now("%s", #call); \
	errno = 0; \
	SAME(call, -1); \
	SAME(errno, error); \
} while (0)

/* Ways to make a page unreadable that was readable. */
enum way { PROTECTED, MOVED, UNMAPPED, DETACHED, TRUNCATED, REMAPPED, SHRUNK, GUARDED, GUARDED_BY_VECTOR, WAYS };

/* Map a page in a way's place, which is @page if the way does not say another; @file and @segment are of its size. */
static struct iovec *open_page(enum way way, struct iovec *page, int file, int segment)
{
	const bool of_file = way == TRUNCATED || way == REMAPPED;

	if (way == DETACHED) {
		CHECK(shmat(segment, page, SHM_REMAP) == page);
	} else if (way == SHRUNK) {
		CHECK(sbrk((intptr_t)(2 * PAGE - (uintptr_t)sbrk(0) % PAGE)) != (void *)-1);
		page = (struct iovec *)((uintptr_t)sbrk(0) - PAGE);
	} else {
		const int flags = of_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

		CHECK(!ftruncate(file, PAGE));
		CHECK(mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | flags, of_file ? file : -1, 0) == page);
	}
	return page;
}

/* Returns false if the system does not know the way. */
static bool close_page(enum way way, struct iovec *page, int file, void *other_page)
{
	const struct iovec whole = { page, PAGE };
	int pidfd;

	switch (way) {
	case PROTECTED:
		return !mprotect(page, PAGE, PROT_NONE);
	case MOVED:
		return mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other_page) == other_page;
	case UNMAPPED:
		return !munmap(page, PAGE);
	case DETACHED:
		return !shmdt(page);
	case TRUNCATED:
		return !ftruncate(file, 0);
	case REMAPPED:
		return !remap_file_pages(page, PAGE, 0, 9, 0);
	case SHRUNK:
		return sbrk(-(intptr_t)PAGE) != (void *)-1;
	case GUARDED:
		return !madvise(page, PAGE, GUARD_INSTALL);
	default:
		pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
		return process_madvise(pidfd, &whole, 1, GUARD_INSTALL, 0) == PAGE && !close(pidfd);
	}
}

static void refused_later(struct iovec *nowhere, int fd)
{
	void *other_page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = memfd_create("page", 0), segment = shmget(IPC_PRIVATE, PAGE, 0600);

	CHECK(other_page != MAP_FAILED && file >= 0 && segment >= 0);
	for (enum way way = PROTECTED; way < WAYS; way++) {
		struct iovec *page = open_page(way, nowhere, file, segment);

		page[0] = (struct iovec){ shared, 0 };
		SAME(readv(fd, page, 1), 0);
		if (close_page(way, page, file, other_page))
			REFUSED(readv(fd, page, 1), EFAULT);
		else
			CHECKF(way >= GUARDED, "way %d", way);	/* before Linux 6.13 */
	}
	CHECK(!shmctl(segment, IPC_RMID, NULL));
}

/* Arguments that libc's function refuses. */
static void refused(void)
{
	struct iovec *vector, *nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ends ends;

	CHECK(nowhere != MAP_FAILED);
	start();
	ends = open_ends(FILE_IN, 0);
	prepare(INVALID);
	vector = three(shared, 10);
	volatile int n = -1, most = IOV_MAX + 1;

	REFUSED(readv(-1, vector, 3), EBADF);
	REFUSED(readv(ends.fd, vector, n), EINVAL);
	REFUSED(readv(ends.fd, vector, most), EINVAL);
	REFUSED(readv(ends.fd, nowhere, 1), EFAULT);
	REFUSED(writev(ends.fd, nowhere, 2), EFAULT);
	REFUSED(preadv(ends.fd, (struct iovec *)((uintptr_t)nowhere + PAGE - 8), 1, 0), EFAULT);
	REFUSED(preadv2(ends.fd, vector, 3, 0, 0x40000000), EOPNOTSUPP);
	REFUSED(recvmsg(sockets(SOCK_DGRAM).fd, (struct msghdr *)nowhere, MSG_DONTWAIT), EFAULT);
	REFUSED(sendmsg(sockets(SOCK_DGRAM).fd, (struct msghdr *)nowhere, 0), EFAULT);
	REFUSED(recvmmsg(sockets(SOCK_DGRAM).fd, (struct mmsghdr *)nowhere, 1, MSG_DONTWAIT, NULL), EFAULT);
	REFUSED(recv(ends.fd, shared, 10, 0), ENOTSOCK);
	REFUSED(getrandom(shared, 10, 0x100), EINVAL);
	vector[0].iov_len = (size_t)SSIZE_MAX + 1;
	REFUSED(readv(ends.fd, vector, 3), EINVAL);
	SAME(readv(ends.fd, vector, 0), 0);
	refused_later(nowhere, ends.fd);
	same_bytes(false);
}

/* ---- kinds of files */

#define RECORDS 40u

/* Two processes append records from memory that only their device has. */
static void append(void)
{
	const char *fd_text = getenv("TEST_APPEND");
	int fd = fd_text ? atoi(fd_text) : memfd_create("append", 0), status;
	unsigned char first = fd_text ? 100 : 0;
	pid_t child = 0;
	char text[16];

	CHECK(fd >= 0);
	if (!fd_text) {
		CHECK(!fcntl(fd, F_SETFL, O_APPEND));
		snprintf(text, sizeof(text), "%d", fd);
		CHECK(!setenv("TEST_APPEND", text, 1));
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			execl("/proc/self/exe", "io", "append", (char *)NULL);
			_exit(1);
		}
	}
	start();
	for (unsigned r = 0; r < RECORDS; r++) {
		for (size_t i = 0; i < block + 100; i++)
			*(volatile unsigned char *)(shared + i) = (unsigned char)(first + r);
		increment(shared);
		SETTLE();
		CHECK_EQ(write(fd, shared, block + 100), block + 100);
	}
	if (fd_text)
		return;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 2 * RECORDS * (block + 100));

	unsigned next[2] = { 1, 101 };
	unsigned char *record = malloc(block + 100);

	for (unsigned r = 0; r < 2 * RECORDS; r++) {
		CHECK_EQ(pread(fd, record, block + 100, (off_t)(r * (block + 100))), block + 100);
		CHECK_EQ(record[0], next[record[0] > 100]++);
		for (size_t i = 0; i < block + 100; i++)
			CHECK_AT(record[i], i, record[0]);
	}
	free(record);
}

static void direct(void)
{
	char path[] = "direct-XXXXXX";
	int made, fd;

	start();
	made = mkstemp(path);
	CHECK(made >= 0);
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	CHECK(!unlink(path));
	if (fd < 0) {
		CHECK_EQ(errno, EINVAL);
		skip("this file system has no O_DIRECT");
	}
	for (enum state state = 0; state < N_STATES; state++) {
		now("%s", state_names[state]);
		prepare(state);
		SAME(pwrite(fd, shared, SIZE, 0), SIZE);
		unsigned char *copy = malloc(SIZE);

		CHECK_EQ(pread(made, copy, SIZE, 0), SIZE);
		SAME(memcmp(copy, plain, SIZE), 0);
		same_bytes(false);
		prepare(state);
		SAME(pread(fd, shared + PAGE, size_of_one, PAGE), size_of_one);
		memcpy(plain + PAGE, copy + PAGE, size_of_one);
		same_bytes(true);
		free(copy);
	}
}

static void full_pipe(void)
{
	start();
	for (enum state state = 0; state < N_STATES; state++) {
		struct ends ends = open_ends(PIPE_OUT, 0), model = open_ends(PIPE_OUT, 0);
		int fds[] = { ends.fd, model.fd };

		now("%s", state_names[state]);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(fcntl(fds[i], F_SETPIPE_SZ, PAGE), PAGE);
			CHECK(!fcntl(fds[i], F_SETFL, O_NONBLOCK));
		}
		prepare(state);
		CHECK_EQ(write(model.fd, plain + 50, block + 100), PAGE);
		SAME(write(ends.fd, shared + 50, block + 100), PAGE);
		errno = 0;
		SAME(write(ends.fd, shared + 50, block), -1);
		SAME(errno, EAGAIN);
		same_ends(PIPE_OUT, ends, model);
		errno = 0;
		SAME(write(ends.fd, shared + size_of_one - PAGE / 2, PAGE), PAGE);
		CHECK_EQ(write(model.fd, plain + size_of_one - PAGE / 2, PAGE), PAGE);
		same_ends(PIPE_OUT, ends, model);
		SAME(errno, EAGAIN);
		close_ends(ends);
		close_ends(model);
		same_bytes(state & 1);
	}
}

/* ---- what is moved */

static void counters(void)
{
	adsmStats before, after;
	struct ends ends;
	size_t one;

	start();
	one = info(shared).block_size < size_of_one ? info(shared).block_size : size_of_one;
	ends = open_ends(FILE_IN, 0);

	now("whole blocks");
	prepare(INVALID);
	before = stats();
	SAME(pread(ends.fd, shared, one, 0), one);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes);
	SAME(after.signals, before.signals);
	SAME(after.write_faults, before.write_faults + 1);

	now("a part");
	prepare(INVALID);
	before = stats();
	SAME(pread(ends.fd, shared + 10, 100, 0), 100);
	SAME(pread(ends.fd, shared + 200, 100, 0), 100);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes + one - 100);
	SAME(after.signals, before.signals);
	SAME(after.write_faults, before.write_faults + 1);

	now("what is there");
	prepare(READ_ONLY);
	before = stats();
	SAME(pwrite(ends.fd, shared, SIZE, 0), SIZE);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes);
	SAME(after.h2d_bytes, before.h2d_bytes);
	SAME(after.signals, before.signals);
	SAME(info(shared).n_dirty, 0);

	now("what is not there");
	prepare(INVALID);
	before = stats();
	SAME(pwrite(ends.fd, shared, SIZE, 0), SIZE);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes + SIZE);
	SAME(after.signals, before.signals);
}

/* The first fetch fails: no call is made, and the next one works. */
static void failed_fetch(void)
{
	struct ends ends;

	set("wrap", "fail=1,once,ops=to_host");
	start();
	prepare(INVALID);
	ends = open_ends(FILE_OUT, 0);
	CHECK_ERROR(adsmFree(plain), EINVAL);
	errno = 0;
	SAME(write(ends.fd, shared, 100), -1);
	SAME(errno, EIO);
	CHECK_SAYS("block 0");
	SAME(lseek(ends.fd, 0, SEEK_CUR), 5);
	SAME(write(ends.fd, shared, 100), 100);
	CHECK_EQ(pread(ends.fd, got[0], 100, 5), 100);
	SAME(memcmp(got[0], plain, 100), 0);
	same_bytes(false);
}

/* ---- memory of processes */

static ssize_t vm(bool out, pid_t pid, void *here, void *there, size_t size)
{
	struct iovec local[] = { { here, size / 2 }, { (char *)here + size / 2, size - size / 2 } };
	struct iovec remote = { there, size };

	return (out ? process_vm_writev : process_vm_readv)(pid, local, 2, &remote, 1, 0);
}

static void process_vm(void)
{
	unsigned char *mine;
	struct iovec whole;
	struct still before;
	int fds[2], status;
	pid_t child;
	char byte;

	start();
	mine = malloc(SIZE);
	CHECK(mine);
	for (enum state state = 0; state < N_STATES; state++)
		for (int case_ = 0; case_ < 6; case_++) {
			size_t at = block - 30, size = 2 * block + 2 * PAGE;

			now("case %d, %s", case_, state_names[state]);
			prepare(state);
			for (size_t i = 0; i < SIZE; i++)
				mine[i] = (unsigned char)draw(&seed);
			switch (case_) {
			case 0:		/* from here to ordinary memory, and the other way round */
				SAME(vm(false, getpid(), mine, shared + at, size), size);
				SAME(memcmp(mine, plain + at, size), 0);
				break;
			case 1:
				SAME(vm(true, getpid(), shared + at, mine, size), size);
				SAME(memcmp(mine, plain + at, size), 0);
				break;
			case 2:
				SAME(vm(true, getpid(), mine, shared + at, size), size);
				memcpy(plain + at, mine, size);
				break;
			case 3:
				SAME(vm(false, getpid(), shared + at, mine, size), size);
				memcpy(plain + at, mine, size);
				break;
			case 4:		/* both shared, even in one block */
				SAME(vm(false, getpid(), shared + size_of_one + 50, shared + 9, 900), 900);
				memcpy(plain + size_of_one + 50, plain + 9, 900);
				break;
			case 5:
				SAME(vm(true, getpid(), shared + 9, shared + 1000, 900), 900);
				memcpy(plain + 1000, plain + 9, 900);
				break;
			}
			same_bytes(case_ & 1);
		}

	/* Nothing moves between an empty vector and memory that the device has. */
	now("empty vector");
	prepare(INVALID);
	whole = (struct iovec){ shared, 1000 };
	SAME(process_vm_writev(getpid(), NULL, 0, &whole, 1, 0), 0);
	SAME(process_vm_readv(getpid(), NULL, 0, &whole, 1, 0), 0);
	same_bytes(false);

	/* Another process's memory is not ours, even where the addresses are. */
	now("another process");
	CHECK(!pipe(fds));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) != 0);
	}
	prepare(INVALID);
	for (size_t i = 0; i < 1000; i++)
		plain[10 + i] = mine[i];
	SAME(vm(false, child, shared + 10, mine, 1000), 1000);
	same_bytes(false);
	prepare(INVALID);
	before = still();
	errno = 0;
	SAME(vm(false, child, mine, shared, 1000), -1);
	SAME(errno, EFAULT);
	nothing_since(before);
	free(mine);
	close(fds[1]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* A pipe keeps the bytes that were lent to it, also if the memory is reused. */
static void lent(void)
{
	static const size_t sizes[] = { PAGE, 60000, (size_t)4 << 20 };
	unsigned char *object, *next, *read_back = malloc(60000);
	int fds[2];

	CHECK(read_back && !pipe(fds));
	for (size_t i = 0; i < 3 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		const size_t size = sizes[i / 3], given = size < 60000 ? size : 60000;
		struct iovec vector = { .iov_len = given };

		vector.iov_base = object = alloc(size);
		memset(object, 1, size);
		if (i % 3)
			CALL("increment_bytes", size, adsmInOut(object), adsmVal((unsigned)size));
		SYNC();
		/* Some pages of an object that the CPU has used, some of one that only the device has. */
		if (i % 3 == 2)
			CHECK_EQ(object[given - 1], 2);
		CHECK_EQ(vmsplice(fds[1], &vector, 1, 0), given);
		CHECK_OK(adsmFree(object));
		next = alloc(size);
		memset(next, 7, size);
		CHECK_EQ(read(fds[0], read_back, given), given);
		for (size_t k = 0; k < given; k++)
			CHECK_AT(read_back[k], k, i % 3 ? 2 : 1);
		for (size_t k = 0; k < size; k++)
			CHECK_AT(next[k], k, 7);
		CHECK_OK(adsmFree(next));
	}
	free(read_back);
}

static const struct conform_case cases[] = {
	CASE("short-file", short_file),
	CASE("eof", eof),
	CASE("eintr", eintr),
	CASE("refused", refused),
	CASE("append", append),
	CASE("direct", direct),
	CASE("full-pipe", full_pipe),
	FAULT_CASE("counters", counters),
	FAULT_CASE("failed-fetch", failed_fetch),
	CASE("process-vm", process_vm),
	CASE("lent", lent),
};
CONFORM_MAIN(cases)
