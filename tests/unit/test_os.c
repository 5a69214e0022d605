/* SPDX-License-Identifier: MIT */
/* test_os.c - the operating system layer: detached processes, reservations, files, locks, formatting. */
#include "../check.h"
#include "base/log.h"
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the daemon: this program once more, telling how it was started */

struct report {
	int pid, session, parent_is_starter, n_fds, null_fds, n_handled, has_preload, has_other;
	uint64_t mask, pending;
};

static int is_null(int fd)
{
	struct stat st, null;

	return !fstat(fd, &st) && !stat("/dev/null", &null) && st.st_rdev == null.st_rdev &&
	       S_ISCHR(st.st_mode);
}

static int daemon_main(int starter)
{
	struct report r = { .pid = getpid(), .session = getsid(0) };
	struct dirent *entry;
	struct sigaction action;
	char c;
	DIR *dir = opendir("/proc/self/fd");

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &r.mask, 8);
	syscall(SYS_rt_sigpending, &r.pending, 8);
	r.parent_is_starter = getppid() == starter;
	while (dir && (entry = readdir(dir)))
		r.n_fds += entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir);
	for (int fd = 0; fd < 3; fd++)
		r.null_fds += is_null(fd);
	/* A sanitizer takes a few signals for itself before main() runs; SIGPIPE and its like it leaves. */
	for (int sig = 1; sig < NSIG; sig++)
		r.n_handled += !sigaction(sig, NULL, &action) && action.sa_handler != SIG_DFL &&
			       sig != SIGSEGV && sig != SIGBUS && sig != SIGFPE && sig != SIGILL &&
			       sig != SIGTRAP && sig != SIGABRT;
	r.has_preload = getenv("LD_PRELOAD") || getenv("LD_AUDIT");
	r.has_other = getenv("ADSM_TEST_OTHER") && !strcmp(getenv("ADSM_TEST_OTHER"), "yes");
	if (write(3, &r, sizeof(r)) != sizeof(r))
		return 1;
	/* Descriptor 4 proves the order of the list: the end of its stream is the end of this process. */
	return read(4, &c, 1) != 0;
}

static atomic_int n_sigchld;

static void on_sigchld(int sig)
{
	n_sigchld += sig == SIGCHLD;
}

/* Start the daemon with @fds, hear its report from @report_fd, end it by closing @life_fd. */
static void check_daemon(const int fds[2], int report_fd, int life_fd)
{
	char starter[16], self[] = "/proc/self/exe", path[PATH_MAX];
	char *argv[] = { self, "daemon", starter, NULL };
	struct pollfd ended = { .events = POLLIN };
	int pid = -1, pidfd = -2, sigchlds = n_sigchld;
	struct report r;
	ssize_t n = readlink(self, path, sizeof(path) - 1);

	CHECK(n > 0);
	path[n] = '\0';
	adsm_format(starter, sizeof(starter), "%d", getpid());
	CHECK(adsm_os_spawn_daemon(path, argv, fds, 2, &pid, &pidfd) == 0);
	CHECK(read(report_fd, &r, sizeof(r)) == sizeof(r));
	CHECK(r.pid == pid && r.session == pid && !r.parent_is_starter);
	CHECK(r.n_fds == 5 && r.null_fds == 3);
	CHECK(r.n_handled == 0 && r.mask == 0 && r.pending == 0);
	CHECK(!r.has_preload && r.has_other);
	/* No child, no zombie, no signal, to any way of asking; alive until told otherwise. */
	errno = 0;
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
	CHECK(pidfd >= 0 && fcntl(pidfd, F_GETFD) == FD_CLOEXEC);
	ended.fd = pidfd;
	CHECK(poll(&ended, 1, 0) == 0);
	close(life_fd);
	CHECK(poll(&ended, 1, -1) == 1);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	CHECK(n_sigchld == sigchlds);
	close(pidfd);
}

static void *check_daemon_thread(void *fds)
{
	int *p = fds;

	check_daemon(p, p[2], p[3]);
	return NULL;
}

static void test_spawn(void)
{
	char missing[] = "/nonexistent/program", *argv[] = { missing, NULL };
	struct sigaction chld = { .sa_handler = on_sigchld }, pipe_ignore = { .sa_handler = SIG_IGN };
	int report[2], life[2], pid = 7, pidfd = 7, status;
	uint64_t mask = 1u << (SIGUSR1 - 1), now;
	pthread_t thread;

	CHECK(adsm_os_spawn_daemon(missing, argv, NULL, 0, &pid, &pidfd) == -ENOENT);
	CHECK(pid == 7 && pidfd == 7);
	CHECK(adsm_os_spawn_daemon("/dev/null", argv, NULL, 0, &pid, &pidfd) == -EACCES);
	errno = 0;
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);

	sigaction(SIGCHLD, &chld, NULL);
	sigaction(SIGPIPE, &pipe_ignore, NULL);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, 8);
	setenv("LD_AUDIT", "", 1);
	setenv("LD_PRELOAD", "", 1);
	setenv("ADSM_TEST_OTHER", "yes", 1);

	/* Sources that overlap the targets, in the wrong order, and a descriptor that would leak. */
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, report) == 0);
	CHECK(life[0] == 3 && report[0] == 5);
	CHECK(dup2(report[0], 24) == 24 && dup2(life[1], 25) == 25);
	CHECK(dup2(24, 4) == 4);		/* 3: life, 4: report, the daemon has them the other way round */
	close(report[0]);
	close(24);
	check_daemon((const int[]){ 4, 3 }, report[1], 25);
	close(3);
	close(4);
	close(report[1]);

	/* With the standard descriptors closed, on a thread. */
	CHECK(pipe(report) == 0 && pipe(life) == 0);
	int kept[4] = { fcntl(report[1], F_DUPFD, 40), fcntl(life[0], F_DUPFD, 40),
			fcntl(report[0], F_DUPFD_CLOEXEC, 40), fcntl(life[1], F_DUPFD_CLOEXEC, 40) };
	int standard[3];
	for (int fd = 0; fd < 3; fd++)
		standard[fd] = fcntl(fd, F_DUPFD, 60);
	for (int fd = 0; fd < 40; fd++)
		close(fd);
	CHECK(pthread_create(&thread, NULL, check_daemon_thread, kept) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	for (int fd = 0; fd < 3; fd++) {
		dup2(standard[fd], fd);
		close(standard[fd]);
	}
	for (int i = 0; i < 3; i++)
		close(kept[i]);

	/* The application's own children are still its own, and the mask is as it was. */
	pid = fork();
	if (pid == 0)
		_exit(3);
	while (waitpid(-1, &status, 0) != pid)
		;
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3 && n_sigchld == 1);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now, 8);
	CHECK(now == mask);
	unsetenv("LD_AUDIT");
	unsetenv("LD_PRELOAD");
}

/* ---- memory */

/* Where the system gives none, nothing else may change. */
static void test_huge_pages(void)
{
	const size_t size = 4 * ADSM_HUGE_PAGE_SIZE;
	void *alias, *view = NULL;
	struct stat st;
	int fd = -1;

	CHECK(adsm_os_memfd("test", size, &fd) == 0);
	CHECK(adsm_os_map(NULL, size, fd, 0, ADSM_PROT_RW, &alias) == 0);
	CHECK((uintptr_t)alias % ADSM_HUGE_PAGE_SIZE == 0);
	CHECK(adsm_os_map(NULL, size, fd, 0, ADSM_PROT_READ, &view) == 0);
	memset(alias, 'a', 3 * ADSM_PAGE_SIZE);
	CHECK(((char *)view)[ADSM_PAGE_SIZE] == 'a');
	if (adsm_os_huge(alias, 2 * ADSM_HUGE_PAGE_SIZE))
		CHECK(fstat(fd, &st) == 0 && st.st_blocks * 512 == 2 * (blkcnt_t)ADSM_HUGE_PAGE_SIZE);
	CHECK(!memcmp(view, alias, size));
	CHECK(((char *)view)[3 * ADSM_PAGE_SIZE - 1] == 'a' && ((char *)view)[3 * ADSM_PAGE_SIZE] == 0);
	((char *)alias)[ADSM_HUGE_PAGE_SIZE] = 'b';
	CHECK(((char *)view)[ADSM_HUGE_PAGE_SIZE] == 'b');
	adsm_os_unmap(alias, size);
	adsm_os_unmap(view, size);
	close(fd);
}

static void test_memory(void)
{
	const size_t size = 16 * ADSM_PAGE_SIZE, big = (size_t)1 << 38;
	void *reserved, *again = &reserved, *alias, *view;
	unsigned char resident[16];
	struct stat st;
	int fd = -1, pid, status;

	errno = 77;
	/* Pages are counted below. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	CHECK(adsm_os_reserve(0, big, &reserved) == 0);
	CHECK(adsm_os_reserve((uintptr_t)reserved + size, size, &again) == -EEXIST);
	CHECK(again == &reserved);
	adsm_os_unmap(reserved, big);
	CHECK(adsm_os_reserve((uintptr_t)reserved, big, &again) == 0 && again == reserved);

	CHECK(adsm_os_memfd("test", big, &fd) == 0);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(adsm_os_map(NULL, big, fd, 0, ADSM_PROT_RW, &alias) == 0);
	CHECK(adsm_os_map((char *)reserved + size, size, fd, size, ADSM_PROT_NONE, &view) == 0);
	CHECK(view == (char *)reserved + size);
	strcpy((char *)alias + size, "same bytes");
	CHECK(adsm_os_protect(view, size, ADSM_PROT_READ) == 0);
	CHECK(!strcmp(view, "same bytes"));
	CHECK(adsm_os_protect(view, size, ADSM_PROT_RW) == 0);
	strcpy(view, "other");
	CHECK(!strcmp((char *)alias + size, "other"));
	adsm_os_populate(view, size, true);
	CHECK(fstat(fd, &st) == 0 && st.st_blocks * 512 == (blkcnt_t)size);
	CHECK(adsm_os_discard((char *)alias + size, size) == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_blocks == 0 && (size_t)st.st_size == big);
	CHECK(((char *)view)[0] == '\0');
	CHECK(adsm_os_unmap_to_reserve(view, size) == 0);
	CHECK(adsm_os_reserve((uintptr_t)view, size, &again) == -EEXIST);
	/* The child of a fork has none of it. */
	pid = fork();
	if (pid == 0)
		_exit(mincore(alias, size, resident) == -1 && mincore(view, size, resident) == -1);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 1);
	adsm_os_unmap(alias, big);
	adsm_os_unmap(reserved, big);
	close(fd);

	char *table = adsm_os_table(big);

	CHECK(table && table[big / 2] == 0);
	table[big / 2] = 1;
	adsm_os_unmap(table, big);
	CHECK(adsm_os_table((size_t)1 << 60) == NULL);
	CHECK(adsm_os_protect((void *)(ADSM_PAGE_SIZE * 16), size, ADSM_PROT_RW) == -ENOMEM);
	CHECK(errno == 77 || errno == ENOMEM);
	CHECK(adsm_os_memory_available() > 1 << 20);
	CHECK(adsm_os_oom_kills() < 1 << 30);
	CHECK(adsm_os_n_cpus() >= 1);
}

/* A limit on the size of files neither ends the process nor changes permanently. */
static void test_file_limit(void)
{
	struct rlimit limit, now;
	uint64_t pending;
	int fd = -1, ret, pid, status;

	pid = fork();
	if (pid == 0) {
		getrlimit(RLIMIT_FSIZE, &limit);
		/* First one we may lift, then one that only the privileged may. */
		for (int hard = 0; hard < 2; hard++) {
			limit.rlim_cur = ADSM_PAGE_SIZE;
			if (hard)
				limit.rlim_max = ADSM_PAGE_SIZE;
			CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
			ret = adsm_os_memfd("test", 1 << 20, &fd);
			CHECK(ret == 0 || (limit.rlim_max < 1 << 20 && ret == -EFBIG));
			CHECK(getrlimit(RLIMIT_FSIZE, &now) == 0);
			CHECK(now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max);
		}
		syscall(SYS_rt_sigpending, &pending, 8);
		CHECK(pending == 0);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- threads, locks, waiting */

static struct adsm_lock lock = ADSM_LOCK_INIT(ADSM_RANK_HOME);
static unsigned long counter;
static _Atomic uint32_t word;
static atomic_int n_masked;

static void count(void *arg)
{
	uint64_t mask = 0, libc_own = 3ull << 31;	/* 32 and 33 */
	struct adsm_sigset old;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
	/* All but what cannot be blocked and what the C library keeps open. */
	mask |= 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
	n_masked += (mask | libc_own) == UINT64_MAX && !(mask & libc_own);
	for (int i = 0; i < 20000; i++) {
		adsm_os_signals_block(&old);
		adsm_lock(&lock);
		(*(unsigned long *)arg)++;
		adsm_unlock(&lock);
		adsm_os_signals_restore(&old);
	}
	atomic_store(&word, 1);
	adsm_os_wake(&word, 1, false);
}

static void test_threads(void)
{
	struct adsm_thread threads[4];
	uint64_t start, before, after;
	char name[16] = "";

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &before, 8);
	for (int i = 0; i < 4; i++)
		CHECK(adsm_os_thread_start(&threads[i], "adsm-a-long-name", count, &counter) == 0);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &after, 8);
	CHECK(before == after);
	while (!atomic_load(&word))
		adsm_os_wait(&word, 0, 0, false);
	for (int i = 0; i < 4; i++)
		adsm_os_thread_join(&threads[i]);
	CHECK(counter == 4 * 20000 && lock.word == 0);
	CHECK(n_masked == 4);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	CHECK(strncmp(name, "adsm-a", 6));

	CHECK(adsm_os_wait(&word, 0, 0, false) == -EAGAIN);
	start = adsm_os_now_ns();
	CHECK(adsm_os_wait(&word, 1, 2000000, true) == -ETIMEDOUT);
	CHECK(adsm_os_now_ns() - start >= 2000000);
	start = adsm_os_now_ns();
	adsm_os_sleep_until_ns(start + 1000000);
	CHECK(adsm_os_now_ns() >= start + 1000000);
	CHECK(adsm_os_thread_id() == getpid());
}

/* ---- text */

static void test_text(void)
{
	char buffer[256], dir[PATH_MAX], self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int pipe_fds[2], saved;

	CHECK(adsm_format(buffer, sizeof(buffer), "%s %d %u %x %ld %lu %lx %zu %zx %p %c %%", "s", -5, 7u,
			  255u, (long)INT64_MIN, UINT64_MAX, 0xabcdul, (size_t)9, (size_t)16,
			  (void *)0x1234, 'c') == (int)strlen(buffer));
	CHECK(!strcmp(buffer, "s -5 7 ff -9223372036854775808 18446744073709551615 abcd 9 10 0x1234 c %"));
	CHECK(adsm_format(buffer, sizeof(buffer), "%.*s|%.*s|%s", 2, "abcdef", 9, "abc", "d") == 8 &&
	      !strcmp(buffer, "ab|abc|d"));
	CHECK(adsm_format(buffer, 4, "%s", "abcdef") == 6 && !strcmp(buffer, "abc"));
	CHECK(adsm_format(NULL, 0, "%d", 123) == 3);

	CHECK(adsm_last_error()[0] == '\0');
	CHECK(adsm_fail(-EIO, "object %d", 5) == -EIO && !strcmp(adsm_last_error(), "object 5"));
	adsm_fail(-EIO, "again: %s", adsm_last_error());
	CHECK(!strcmp(adsm_last_error(), "again: object 5"));

	/* One line, cut to fit, errno kept. */
	memset(buffer, 'x', sizeof(buffer) - 1);
	buffer[sizeof(buffer) - 1] = '\0';
	CHECK(pipe(pipe_fds) == 0);
	saved = dup(2);
	dup2(pipe_fds[1], 2);
	errno = 55;
	adsm_warn("%d of %s", 3, "5");
	adsm_info("not at this level");
	adsm_error("%s%s%s", buffer, buffer, buffer);
	n = errno == 55 ? n : -1;
	dup2(saved, 2);
	CHECK(n > 0);
	char line[1024];
	ssize_t got = read(pipe_fds[0], line, sizeof(line));

	CHECK(got == (ssize_t)strlen("adsm: warning: 3 of 5\n") + 512);
	CHECK(!memcmp(line, "adsm: warning: 3 of 5\nadsm: error: xxx", 38) && line[got - 1] == '\n');

	CHECK(adsm_os_library_dir(dir, sizeof(dir)) == 0);
	self[n] = '\0';
	CHECK(!access(dir, X_OK) && dir[0] == '/' && dir[strlen(dir) - 1] != '/');
	CHECK(!strncmp(dir, self, strlen(dir)) && !strchr(self + strlen(dir) + 1, '/'));
	CHECK(adsm_os_library_dir(dir, 3) == -ENAMETOOLONG);
}

/* ---- the order of locks */

static struct adsm_mutex outer = ADSM_MUTEX_INIT(ADSM_RANK_CALL);
static struct adsm_lock other = ADSM_LOCK_INIT(ADSM_RANK_HOME), inner = ADSM_LOCK_INIT(ADSM_RANK_QUEUE), unranked;

static void take_in_order(void)
{
	adsm_mutex_lock(&outer);
	adsm_lock(&lock);
	/* A thread that does not wait may try any lock. */
	CHECK(adsm_trylock(&other));
	adsm_unlock(&other);
	adsm_lock(&inner);
	/* Nor are they given back in the other order. */
	adsm_unlock(&lock);
	adsm_unlock(&inner);
	adsm_lock(&lock);
	adsm_unlock(&lock);
	adsm_mutex_unlock(&outer);
}

static void take_outer_last(void)
{
	adsm_lock(&lock);
	adsm_mutex_lock(&outer);
}

static void take_lock_last(void)
{
	adsm_lock(&inner);
	adsm_lock(&lock);
}

static void take_equals(void)
{
	adsm_lock(&lock);
	adsm_lock(&other);
}

static void take_unranked(void)
{
	adsm_lock(&unranked);
}

/* The signal that ends a child that does it; 0: no signal. */
static int signal_of(void (*take)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		close(STDERR_FILENO);
		take();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_ranks(void)
{
#ifdef NDEBUG
	const int caught = 0;
#else
	const int caught = SIGABRT;
#endif

	CHECK(signal_of(take_in_order) == 0);
	CHECK(signal_of(take_outer_last) == caught);
	CHECK(signal_of(take_lock_last) == caught);
	CHECK(signal_of(take_equals) == caught);
	CHECK(signal_of(take_unranked) == caught);
}

/* ---- last errors: of many threads at the same time, and without malloc(), whose locks others may hold */

#define FAILING 100

static pthread_barrier_t all_failed;

static void *fail_alone(void *arg)
{
	const size_t before = mallinfo2().uordblks;
	size_t after;

	(void)arg;
	adsm_say("%s", "nothing was wrong");
	after = mallinfo2().uordblks;
	CHECK(!strcmp(adsm_last_error(), "nothing was wrong"));
	CHECK(after == before);
	return NULL;
}

static void *fail_together(void *arg)
{
	const int own = (int)(intptr_t)arg;
	char wanted[1000], longer[1000];

	adsm_format(wanted, sizeof(wanted), "thread %d", own);
	memset(longer, 'a' + own % 26, sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	adsm_say("thread %d", own);
	pthread_barrier_wait(&all_failed);
	CHECK(!strcmp(adsm_last_error(), wanted));
	pthread_barrier_wait(&all_failed);
	if (own % 3)
		adsm_say_long("", longer);
	pthread_barrier_wait(&all_failed);
	CHECK(!strcmp(adsm_last_error(), own % 3 ? longer : wanted));
	adsm_say("thread %d", own);
	CHECK(!strcmp(adsm_last_error(), wanted));
	return NULL;
}

static void test_last_errors(void)
{
	pthread_t threads[FAILING];

	CHECK(!pthread_create(threads, NULL, fail_alone, NULL));
	CHECK(!pthread_join(threads[0], NULL));
	CHECK(!pthread_barrier_init(&all_failed, NULL, FAILING));
	/* The second time where the first ones were. */
	for (int round = 0; round < 2; round++) {
		for (intptr_t i = 0; i < FAILING; i++)
			CHECK(!pthread_create(&threads[i], NULL, fail_together, (void *)i));
		for (int i = 0; i < FAILING; i++)
			CHECK(!pthread_join(threads[i], NULL));
	}
	CHECK(!pthread_barrier_destroy(&all_failed));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "daemon"))
		return daemon_main(atoi(argv[2]));
	/* What a test runner left open or blocked is not under test. */
	for (int fd = 3; fd < 100; fd++)
		close(fd);
	test_text();
	for (int fd = 3; fd < 100; fd++)
		close(fd);
	test_spawn();
	test_huge_pages();
	test_memory();
	test_file_limit();
	test_threads();
	test_ranks();
	test_last_errors();
	return 0;
}
