/* SPDX-License-Identifier: MIT */
/* chain.c - what a pipeline's last block cannot beat: threads that wake each other. */
#include "pipelines.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct link {
	_Atomic uint32_t word;
	_Atomic int thread;		/* who waits for it, as the system counts threads */
} links[CHAIN_HOPS];

static void wait_for(struct link *link)
{
	while (!atomic_load(&link->word))
		syscall(SYS_futex, &link->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wake(struct link *link)
{
	atomic_store(&link->word, 1);
	syscall(SYS_futex, &link->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Of the chain: wait for one link, wake the next. */
static void *hop(void *arg)
{
	struct link *link = arg;

	atomic_store(&link->thread, (int)syscall(SYS_gettid));
	wait_for(link);
	wake(link + 1);
	return NULL;
}

static bool sleeps(int thread)
{
	char path[64], text[512] = "";
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && strrchr(text, ')') && !strncmp(strrchr(text, ')'), ") S", 3);
}

double wake_chain_ms(void)
{
	pthread_t threads[CHAIN_HOPS - 1];
	double time;

	for (int i = 0; i < CHAIN_HOPS; i++) {
		atomic_store(&links[i].word, 0);
		atomic_store(&links[i].thread, 0);
	}
	for (int i = 0; i < CHAIN_HOPS - 1; i++)
		threads[i] = start(hop, &links[i]);
	for (int i = 0; i < CHAIN_HOPS - 1; i++)
		while (!atomic_load(&links[i].thread) || !sleeps(atomic_load(&links[i].thread)))
			sched_yield();
	time = now_ms();
	wake(&links[0]);
	wait_for(&links[CHAIN_HOPS - 1]);
	time = now_ms() - time;
	for (int i = 0; i < CHAIN_HOPS - 1; i++)
		end(threads[i]);
	return time;
}
