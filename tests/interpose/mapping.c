// SPDX-License-Identifier: MIT
/*
 * mapping.c - the program's own calls about the mappings of shared memory: mprotect() says what it may be used for at
 * most, and what would take the mapping away is refused.
 */
#include "scratch.h"

#include <adsm_lend.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define RW (PROT_READ | PROT_WRITE)
#define GUARD_INSTALL 102	/* MADV_GUARD_INSTALL, which older headers lack */

/* ---- faults of the program's own */

static sigjmp_buf out;
static volatile int n_faults, fault_code;
static char *volatile fault_address;
static volatile bool opens;	/* the handler restores the page's permissions, and the access continues */

static void on_fault(int sig, siginfo_t *info, void *context)
{
	n_faults++;
	fault_code = info->si_code;
	fault_address = info->si_addr;
	if (!opens)
		siglongjmp(out, 1);
	CHECK(!mprotect((void *)((uintptr_t)info->si_addr & ~(PAGE - 1)), PAGE, RW));
}

static void handle(bool reopen)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	opens = reopen;
	n_faults = 0;
	CHECK(!sigaction(SIGSEGV, &action, NULL));
}

static void load(unsigned char *p)
{
	(void)*(volatile unsigned char *)p;
}

static void store(unsigned char *p)
{
	*(volatile unsigned char *)p = *p;
}

static void store_blindly(unsigned char *p)
{
	*(volatile unsigned char *)p = 77;
}

static void set_all(unsigned char *p)
{
	memset(p, 77, PAGE + 100);
}

static void copy_from(unsigned char *p)
{
	static unsigned char private[2 * PAGE];

	memcpy(private, p, PAGE + 100);
	/* Without a reader of the copy, the compiler could leave it out. */
	__asm__ volatile("" : : "r"(private) : "memory");
}

/* The access is the program's fault, at the address where it would be in ordinary memory. */
static void faults(void (*touch)(unsigned char *), unsigned char *p)
{
	n_faults = 0;
	if (!sigsetjmp(out, 1)) {
		touch(p);
		FAIL("%s: an access to %p goes on", doing, (void *)p);
	}
	SAME(n_faults, 1);
	SAME(fault_code, SEGV_ACCERR);
	if (fault_address < (char *)p || fault_address >= (char *)p + PAGE + 100)
		FAIL("%s: the fault is told of %p, not of %p", doing, (void *)fault_address, (void *)p);
}

/* What the object is, and that it stays so. */
static adsmObjectProps before;

static void note_states(void)
{
	before = info(shared);
}

static void same_states(void)
{
	adsmObjectProps now_ = info(shared);

	SAME(now_.n_invalid, before.n_invalid);
	SAME(now_.n_read_only, before.n_read_only);
	SAME(now_.n_dirty, before.n_dirty);
}

/* ---- permissions */

static void test_read_only(void)
{
	set_up();
	handle(false);
	FOR_STATES(state) {
		now("%s, PROT_READ", state_names[state]);
		bring(state);
		/* A page and some bytes: two pages, the second of a block and the third. */
		CHECK(!mprotect(shared + PAGE, PAGE + 1, PROT_READ));
		note_states();
		faults(store_blindly, shared + PAGE);
		faults(store_blindly, shared + 2 * PAGE - 1);
		faults(store_blindly, shared + 3 * PAGE - 1);
		same_states();
		for (size_t i = 0; i < SIZE; i++)
			SAME(shared[i], plain[i]);
		faults(store_blindly, shared + PAGE + 5);
		faults(set_all, shared + PAGE);
		store(shared + PAGE - 1);
		store(shared + 3 * PAGE);
		/* Kept through a call, which writes them. */
		run_kernel();
		for (size_t i = 0; i < SIZE; i++)
			SAME(shared[i], (unsigned char)(plain[i] + 1));
		faults(store_blindly, shared + PAGE);
		close_all();
		faults(store_blindly, shared + 2 * PAGE);
		CHECK_ERROR(adsmMemcpy(shared + PAGE - 8, plain, 16), EFAULT);
		CHECK_ERROR(adsmMemset(shared + PAGE, 1, 16), EFAULT);
		CHECK_OK(adsmMemcpy(plain, shared + PAGE, 16));
		/* Given back. */
		CHECK(!mprotect(shared, SIZE, RW));
		bring(DIRTY);
		compare(false);
		compare(true);
	}
}

static void test_closed(void)
{
	set_up();
	handle(false);
	FOR_STATES(state) {
		now("%s, PROT_NONE", state_names[state]);
		bring(state);
		CHECK(!mprotect(shared + PAGE, 2 * PAGE, PROT_NONE));
		note_states();
		faults(load, shared + PAGE);
		faults(store, shared + 2 * PAGE + 8);
		faults(store_blindly, shared + PAGE);
		faults(copy_from, shared + PAGE);
		same_states();
		SAME(shared[PAGE - 1], plain[PAGE - 1]);
		SAME(shared[3 * PAGE], plain[3 * PAGE]);
		run_kernel();
		faults(load, shared + 3 * PAGE - 1);
		SAME(shared[0], (unsigned char)(plain[0] + 1));
		CHECK_ERROR(adsmMemcpy(plain, shared + PAGE, 16), EFAULT);
		/* From nothing to reading only, from there to all. */
		CHECK(!mprotect(shared + PAGE, PAGE, PROT_READ));
		SAME(shared[PAGE], (unsigned char)(plain[PAGE] + 1));
		faults(store, shared + PAGE);
		faults(load, shared + 2 * PAGE);
		CHECK(!mprotect(shared + PAGE, 2 * PAGE, PROT_WRITE));
		for (size_t i = 0; i < SIZE; i++)
			SAME(shared[i], (unsigned char)(plain[i] + 1));
		bring(state);
		compare(false);
		compare(true);
	}
}

/* The library's own functions fail, whichever page of the range is closed, and change nothing. */
static void test_functions(void)
{
	static const int prots[] = { PROT_NONE, PROT_READ };
	void *device, *address;
	adsmLoan *loan;

	set_up();
	device = adsmDeviceAlloc(size_of_one);
	CHECK(device);
	CHECK_OK(adsmDeviceFill(device, 9, size_of_one));
	FOR_STATES(state) {
		for (size_t i = 0; i < 6; i++) {
			unsigned char *closed = shared + (i / 2 ? i / 2 < 2 ? PAGE : size_of_one - PAGE : 0);
			const int prot = prots[i % 2], error = prot == PROT_NONE ? -EFAULT : 0;

			now("%s, functions, page %zu, %d", state_names[state], (size_t)(closed - shared) / PAGE, prot);
			bring(state);
			CHECK(!mprotect(closed, PAGE, prot));
			CHECK_ERROR(adsmCopyToHost(shared, device, size_of_one), EFAULT);
			CHECK_EQ(adsmCopyToDevice(device, shared, size_of_one), error);
			CHECK_ERROR(adsmHold(shared, size_of_one, ADSM_ACCESS_INOUT), EFAULT);
			CHECK_EQ(adsmHold(shared, size_of_one, ADSM_ACCESS_IN), error);
			if (!error)
				CHECK_OK(adsmUnhold(shared, size_of_one));
			CHECK_ERROR(adsmLend(shared, size_of_one, ADSM_ACCESS_OUT, &loan, &address), EFAULT);
			CHECK_EQ(adsmLend(shared, size_of_one, ADSM_ACCESS_IN, &loan, &address), error);
			if (!error)
				CHECK_OK(adsmLoanEnd(loan, 0));
			CHECK(!mprotect(closed, PAGE, RW));
			compare(false);
			compare(true);
		}
	}
	CHECK_OK(adsmDeviceFree(device));
}

/* As collectors of garbage do it: a handler notes the page, and opens it. */
static void test_barrier(void)
{
	set_up();
	FOR_STATES(state) {
		now("%s, opened by a handler", state_names[state]);
		bring(state);
		handle(true);
		CHECK(!mprotect(shared, SIZE, PROT_READ));
		for (size_t i = 0; i < SIZE; i += 100)
			shared[i] = plain[i] = (unsigned char)(i / 100);
		SAME(n_faults, SIZE / PAGE);
		compare(false);
		compare(true);
		SAME(n_faults, SIZE / PAGE);
	}
}

/* All pages, other permissions on each, in an order that a seed says; objects with none pay nothing, and end well. */
static void test_patterns(void)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW };
	uint64_t seed = 38;
	unsigned char *kept;

	set_up();
	handle(false);
	for (int round = 0; round < 30; round++) {
		int prot[64];
		size_t n = SIZE / PAGE < COUNT(prot) ? SIZE / PAGE : COUNT(prot);

		now("round %d", round);
		bring(draw(&seed) % 3);
		for (size_t i = 0; i < n; i++) {
			prot[i] = prots[draw(&seed) % 3];
			CHECK(!mprotect(shared + i * PAGE, PAGE, prot[i]));
		}
		for (int kernels = 0; kernels < 2; kernels++) {
			for (size_t i = 0; i < n; i++) {
				unsigned char *p = shared + i * PAGE + draw(&seed) % PAGE;

				if (prot[i] == PROT_NONE)
					faults(load, p);
				else
					SAME(*p, (unsigned char)(plain[p - shared] + kernels));
				if (prot[i] == RW)
					store(p);
				else
					faults(store_blindly, p);
			}
			if (!kernels)
				run_kernel();
		}
		CHECK(!mprotect(shared, SIZE, RW));
		for (size_t i = 0; i < SIZE; i++)
			SAME(shared[i], (unsigned char)(plain[i] + 1));
	}
	/* An object that ends with pages closed leaves nothing to the next one there. */
	kept = alloc(16 * PAGE);
	CHECK(!mprotect(kept, 16 * PAGE, PROT_NONE));
	CHECK_OK(adsmFree(kept));
	for (int i = 0; i < 4; i++) {
		kept = alloc(16 * PAGE);
		memset(kept, i, 16 * PAGE);
		CHECK_OK(adsmFree(kept));
	}
}

/* ---- system calls on what is closed: as on ordinary memory that is */

static void test_system_calls(void)
{
	int prots[] = { PROT_READ, PROT_NONE }, fd, in[2];
	unsigned char *ordinary;
	struct stat st;

	set_up();
	ordinary = mmap(NULL, SIZE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(ordinary != MAP_FAILED);
	make_file(SIZE);
	fd = fileno(scratch);
	for (int p = 0; p < 2; p++) {
		FOR_STATES(state) {
			unsigned char *memory[] = { shared, ordinary };
			struct { long n; int error; } got[2][18];

			now("%s, PROT %d", state_names[state], prots[p]);
			bring(state);
			memcpy(ordinary, plain, SIZE);
			for (int m = 0; m < 2; m++) {
				unsigned char *at = memory[m];
				struct iovec vector[] = { { at, 100 }, { at + PAGE + 8, 100 }, { at + 200, 100 } };
				int k = 0;

				strcpy((char *)at + 2 * PAGE + 16, "/dev/null");
				CHECK(!mprotect(at + PAGE, 2 * PAGE, prots[p]));
#define GET(call) do { errno = 0; got[m][k].n = (call); got[m][k].error = got[m][k].n < 0 ? errno : 0; k++; } while (0)
				GET(pread(fd, at + PAGE, 100, 0));
				GET(pread(fd, at + PAGE - 100, 300, 0));
				GET(pread(fd, at + 3 * PAGE, 100, 0));
				GET(pwrite(fd, at + PAGE, 100, 0));
				GET(pwrite(fd, at + PAGE - 100, 300, 0));
				GET(preadv(fd, vector, 3, 0));
				GET(pwritev(fd, vector, 3, 0));
				GET(pipe(in) ? -1 : 0);
				GET(write(in[1], at + 2 * PAGE, 10));
				GET(write(in[1], "0123456789", 10));
				GET(read(in[0], at + PAGE, 10));
				close(in[0]);
				close(in[1]);
				GET(fstat(fd, (struct stat *)(at + PAGE)));
				GET(access((char *)at + 2 * PAGE + 16, F_OK));
				GET(stat("/", prots[p] == PROT_READ ? &st : (struct stat *)(at + PAGE)));
				/* Offered more than can be used, they need less; or they do not. */
				GET(ioctl(fd, FIONREAD, at + 16));
				GET(ioctl(fd, FIONREAD, at + PAGE - 2));
				GET(readlink("/proc/self/exe", (char *)at + PAGE - 300, 4096));
				GET(readlink("/proc/self/exe", (char *)at + PAGE - 300, 8192));
				CHECK(!mprotect(at + PAGE, 2 * PAGE, RW));
			}
			for (size_t k = 0; k < COUNT(got[0]); k++)
				if (got[0][k].n != got[1][k].n || got[0][k].error != got[1][k].error)
					FAIL("%s, call %zu: %ld, errno %d, in ordinary memory %ld with %d", doing, k,
					     got[0][k].n, got[0][k].error, got[1][k].n, got[1][k].error);
			for (size_t i = 0; i < SIZE; i++)
				SAME(shared[i], ordinary[i]);
		}
	}
}

/* ---- what mprotect() says */

static void test_errors(void)
{
	unsigned char *ordinary = mmap(NULL, 4 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *freed;

	CHECK(ordinary != MAP_FAILED);
	set_up();
	now("errors of mprotect()");
	for (int m = 0; m < 2; m++) {
		unsigned char *p = m ? ordinary : shared;

		CHECK(mprotect(p + 1, PAGE, PROT_READ) == -1 && errno == EINVAL);
		CHECK(mprotect(p, PAGE, 0x40) == -1 && errno == EINVAL);
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_GROWSDOWN) == -1 && errno == EINVAL);
		CHECK(mprotect(p, SIZE_MAX - PAGE, PROT_READ) == -1 && errno == ENOMEM);
		CHECK(!mprotect(p, 0, PROT_NONE));
		store(p);
		CHECK(!mprotect(p, 1, PROT_READ | 8 /* PROT_SEM */));
		CHECK(!mprotect(p, PAGE, RW));
		store(p);
		CHECK(!pkey_mprotect(p, PAGE, RW, -1));
	}
	CHECK(mprotect(shared, PAGE, PROT_READ | PROT_EXEC) == -1 && errno == EACCES);
	store(shared);
	freed = alloc(PAGE);
	CHECK_OK(adsmFree(freed));
	CHECK(mprotect(freed, PAGE, RW) == -1 && errno == ENOMEM);
}

/* ---- what would take the mapping away */

/* Each message of a refused call names the object, its size and where the call's range begins in it. */
static void test_messages(void)
{
	char *object, text[4096], expected[256];
	const int log = memfd_create("log", MFD_CLOEXEC), own = dup(STDERR_FILENO);
	ssize_t n;

	CHECK(log >= 0 && own >= 0);
	object = alloc(3 * PAGE - 1);
	CHECK_OK(adsmSetName(object, "weights"));
	CHECK_EQ(dup2(log, STDERR_FILENO), STDERR_FILENO);
	CHECK(munmap(object + PAGE, PAGE) == -1);
	CHECK(mprotect(object, PAGE, PROT_READ | PROT_EXEC) == -1);
	CHECK(pkey_mprotect(object + 2 * PAGE, PAGE, RW, 3) == -1);
	CHECK_EQ(dup2(own, STDERR_FILENO), STDERR_FILENO);
	n = pread(log, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	text[n] = '\0';
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = { "munmap", "mprotect", "pkey_mprotect" };
		static const size_t offsets[] = { PAGE, 0, 2 * PAGE };

		snprintf(expected, sizeof(expected), "%s() is refused at offset %zu of the object 'weights' at %p (%zu "
			 "bytes): ", names[i], offsets[i], (void *)object, (size_t)3 * PAGE - 1);
		CHECKF(strstr(text, expected), "not \"%s\" in:\n%s", expected, text);
	}
	close(log);
	close(own);
	CHECK_OK(adsmFree(object));
}

static void test_taken(void)
{
	int segment = shmget(IPC_PRIVATE, PAGE, 0600);
	void *elsewhere, *freed;

	set_up();
	elsewhere = mmap(NULL, SIZE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(elsewhere != MAP_FAILED && segment >= 0);
	FOR_STATES(state) {
		now("%s, taken away", state_names[state]);
		bring(state);
#define REFUSED(call, failed) do { errno = 0; if ((call) != (failed) || errno != EPERM) \
	FAIL("%s: %s is not refused (errno %d)", doing, #call, errno); } while (0)
		REFUSED(munmap(shared, size_of_one), -1);
		REFUSED(munmap(shared + PAGE, PAGE), -1);
		REFUSED(mmap(shared + PAGE, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
		REFUSED(mmap64(shared, SIZE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
		REFUSED(mremap(shared, size_of_one, 2 * SIZE, MREMAP_MAYMOVE), MAP_FAILED);
		REFUSED(mremap(shared, size_of_one, PAGE, 0), MAP_FAILED);
		REFUSED(mremap(shared, 0, size_of_one, MREMAP_MAYMOVE), MAP_FAILED);
		REFUSED(mremap(elsewhere, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, shared + PAGE), MAP_FAILED);
		REFUSED(remap_file_pages(shared, PAGE, 0, 1, 0), -1);
#if __GLIBC_PREREQ(2, 43)
		REFUSED(mseal(shared, PAGE, 0), -1);
#endif
		REFUSED(shmat(segment, shared + PAGE, SHM_REMAP), (void *)-1);
		CHECK(mremap(shared, size_of_one, size_of_one, MREMAP_MAYMOVE) == shared);
		CHECK(mmap(shared, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
		CHECK(mmap(shared, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != shared);
		compare(false);
		compare(true);
	}
	/* Where nothing is mapped for the program there is nothing to end. */
	freed = alloc(PAGE);
	CHECK_OK(adsmFree(freed));
	CHECK(!munmap(freed, PAGE));
	REFUSED(mmap(freed, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
	CHECK(!munmap(elsewhere, SIZE));
	CHECK(!shmctl(segment, IPC_RMID, NULL));
}

/* ---- advice and locks */

static ssize_t advise_vector(const struct iovec *vector, size_t n, int advice)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), saved_errno;
	ssize_t done = process_madvise(pidfd, vector, n, advice, 0);

	saved_errno = errno;
	CHECK(!close(pidfd));
	errno = saved_errno;
	return done;
}

static int advise_range(void *p, size_t size, int advice)
{
	return advise_vector(&(struct iovec){ p, size }, 1, advice) == (ssize_t)size ? 0 : -1;
}

static void advice(int (*advise)(void *, size_t, int), const char *name)
{
	static const int harmless[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED,
		MADV_COLD, MADV_PAGEOUT, MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP, MADV_DODUMP, MADV_MERGEABLE,
		MADV_UNMERGEABLE };
	unsigned char *ordinary = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(ordinary != MAP_FAILED);
	FOR_STATES(state) {
		for (size_t i = 0; i < COUNT(harmless); i++) {
			int error;

			now("%s, %s, advice %d", name, state_names[state], harmless[i]);
			bring(state);
			errno = 0;
			error = madvise(ordinary, PAGE, harmless[i]) ? errno : 0;
			errno = 0;
			SAME(advise(shared, size_of_one, harmless[i]) ? errno : 0, error);
			compare(false);
			compare(true);
		}
		now("%s, %s, MADV_FREE", name, state_names[state]);
		CHECK(advise(shared, PAGE, MADV_FREE) == -1 && errno == EINVAL);
		now("%s, %s, guards", name, state_names[state]);
		CHECK(advise(shared, PAGE, GUARD_INSTALL) == -1 && errno == EINVAL);
		now("%s, %s, MADV_REMOVE", name, state_names[state]);
		bring(state);
		CHECK(!advise(shared + PAGE, PAGE + 1, MADV_REMOVE));
		memset(plain + PAGE, 0, 2 * PAGE);
		compare(false);
		compare(true);
		CHECK(!mprotect(shared, PAGE, PROT_READ));
		CHECK(advise(shared, PAGE, MADV_REMOVE) == -1 && errno == EACCES);
		for (int write = 0; write < 2; write++) {
			now("%s, %s, MADV_POPULATE_%s", name, state_names[state], write ? "WRITE" : "READ");
			CHECK(!mprotect(shared, PAGE, RW));
			bring(state);
			if (madvise(ordinary, PAGE, 22 + write))
				continue;	/* before Linux 5.14 */
			CHECK(!advise(shared, size_of_one, 22 + write));
			SAME(info(shared).n_invalid, 0);
			compare(false);
			compare(true);
			CHECK(!mprotect(shared, PAGE, PROT_NONE));
			CHECK(advise(shared, PAGE, 22 + write) == -1 && errno == EINVAL);
			CHECK(!mprotect(shared, PAGE, RW));
		}
	}
}

static void test_advice(void)
{
	unsigned char *ordinary = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec ranges[] = { { ordinary, PAGE }, { NULL, PAGE }, { ordinary, PAGE } };

	CHECK(ordinary != MAP_FAILED);
	set_up();
	advice(madvise, "madvise()");
	if (advise_range(ordinary, PAGE, MADV_DONTNEED))
		return;		/* before Linux 6.13 */
	advice(advise_range, "process_madvise()");
	now("the first ranges of several");
	bring(DIRTY);
	ranges[1].iov_base = shared;
	errno = 0;
	SAME(advise_vector(ranges, 3, GUARD_INSTALL), PAGE);
	SAME(advise_vector(ranges + 1, 2, MADV_REMOVE), PAGE);
	SAME(errno, 0);
	memset(plain, 0, PAGE);
	compare(false);
	compare(true);
}

/* Of this process, in KiB. */
static long locked_memory(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long size = -1;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmLck: %ld", &size) == 1)
			break;
	fclose(file);
	return size;
}

static void test_locks(void)
{
	struct rlimit limit;
	void *p;

	set_up();
	FOR_STATES(state) {
		now("%s, locked", state_names[state]);
		bring(state);
		CHECK(!mlock(shared + PAGE, PAGE + 1));
		if (!locked_memory())
			skip("mlock() locks nothing, as under sanitizers");
		compare(false);
		compare(true);
		CHECK(!munlock(shared + 1, SIZE - 1));
		if (mlock2(shared, PAGE, MLOCK_ONFAULT))
			CHECK_EQ(errno, ENOSYS);
		CHECK(!munlock(shared, PAGE));
	}
	/* The system's limit counts, and what ends gives it back. */
	CHECK(!getrlimit(RLIMIT_MEMLOCK, &limit));
	for (int i = 0; i < 3; i++) {
		p = alloc(16 * PAGE);
		CHECK(!mlock(p, 16 * PAGE));
		CHECK_OK(adsmFree(p));
	}
	CHECK_EQ(locked_memory(), 0);
}

static const struct conform_case cases[] = {
	CASE("read-only", test_read_only),
	CASE("closed", test_closed),
	CASE("functions", test_functions),
	CASE("barrier", test_barrier),
	CASE("patterns", test_patterns),
	CASE("refused-calls", test_system_calls),
	CASE("protect-errors", test_errors),
	CASE("taken", test_taken),
	CASE("messages", test_messages),
	CASE("advice", test_advice),
	CASE("locks", test_locks),
};
CONFORM_MAIN(cases)
