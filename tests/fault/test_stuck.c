/* SPDX-License-Identifier: MIT */
/*
 * test_stuck.c - a fault's transfer needs a lock that the thread that faults has, or in turn another thread needs one
 * that it has: told, and the end. One that another thread has and gives back is waited for.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "fault.h"
#include "base/log.h"
#include "core/copier.h"
#include "run/wait/helpers.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* malloc()'s, or a driver's */
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;	/* what a driver takes within it */
static _Atomic uint32_t has_lock;
static struct adsm_home home = { .lock = ADSM_LOCK_INIT(ADSM_RANK_HOME) };

static int take_lock(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 7;
}

/* Longer than all looks take, in sleep on a word of its own. */
static int sleep_long(void *unused)
{
	static _Atomic uint32_t word;

	(void)unused;
	for (int i = 0; i < 4 * ADSM_LOOKS; i++)
		adsm_os_wait(&word, 0, adsm_look_ns, false);
	return 8;
}

/* A driver that is long about something else, or needs what another thread has. */
static void *keep_lock(void *needs_inner)
{
	CHECK(!pthread_mutex_lock(&lock));
	atomic_store(&has_lock, 1);
	adsm_os_wake(&has_lock, 1, false);
	if (needs_inner)
		pthread_mutex_lock(&inner);
	else
		sleep_long(NULL);
	CHECK(!pthread_mutex_unlock(&lock));
	return NULL;
}

static pthread_t start_keeper(void *needs_inner)
{
	pthread_t thread;

	atomic_store(&has_lock, 0);
	CHECK(!pthread_create(&thread, NULL, keep_lock, needs_inner));
	while (!atomic_load(&has_lock))
		adsm_os_wait(&has_lock, 0, 0, false);
	return thread;
}

/* As a fault handler would, with the library's signals blocked. */
static int run_in_fault(int (*run)(void *))
{
	struct adsm_sigset old;
	int result;

	adsm_os_signals_block(&old);
	adsm_in_fault++;
	result = adsm_backend_run(&home, run, NULL);
	adsm_in_fault--;
	adsm_os_signals_restore(&old);
	return result;
}

static void on_sigbus(int sig)
{
	(void)sig;
	_exit(3);
}

/* A driver's helper threads are not inherited: each child starts its own. */
static void child(bool in_turn)
{
	static struct adsm_device device;
	pthread_t keeper;

	home.device = &device;
	CHECK(!adsm_service_start(&home));
	CHECK(run_in_fault(sleep_long) == 8 && run_in_fault(take_lock) == 7);
	keeper = start_keeper(NULL);
	CHECK(run_in_fault(take_lock) == 7 && !pthread_join(keeper, NULL));
	/* The copier does not wait for its end: it dies with it. */
	CHECK(signal(SIGBUS, on_sigbus) != SIG_ERR);
	CHECK(!pthread_mutex_lock(in_turn ? &inner : &lock));
	if (in_turn)
		start_keeper(&inner);
	fprintf(stderr, "%s\n", "so far");
	run_in_fault(take_lock);
	_exit(4);
}

static void check(bool in_turn)
{
	char text[1024] = "";
	size_t at = 0;
	int status, said[2];
	ssize_t n;
	pid_t pid;

	CHECK(!pipe(said));
	pid = fork();
	if (!pid) {
		dup2(said[1], 2);
		child(in_turn);
	}
	CHECK(pid > 0 && !close(said[1]));
	while (at < sizeof(text) - 1 && (n = read(said[0], text + at, sizeof(text) - 1 - at)) > 0)
		at += (size_t)n;
	CHECK(waitpid(pid, &status, 0) == pid && !close(said[0]));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGBUS || !strstr(text, "so far\n") ||
	    !strstr(text, "its holder does not continue, or is this thread, in a signal handler that has interrupted "
			  "malloc()")) {
		fprintf(stderr, "%s: status %x: %s\n", in_turn ? "in turn" : "itself", status, text);
		_exit(1);
	}
}

int main(void)
{
	adsm_look_ns = 20000000;
	check(false);
	check(true);
	return 0;
}
