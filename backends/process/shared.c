/* SPDX-License-Identifier: MIT */
/* shared.c - the queue and the messages between the library and the process of a device. */
#include "shared.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- the queue. A sleeper sets its flag and then checks its condition again. A waker changes the condition and then
 * checks the flag. All accesses are sequentially consistent, so at least one of the two sees the other. Several threads
 * may sleep on `tick`: a waker clears `waited` before it adds to `tick`. So a thread that sets `waited` before that has
 * the old tick and does not fall asleep. In the other order a thread with the new tick would sleep, and the next waker
 * would find `waited` cleared. */

void adsm_process_queue_poke(struct adsm_process_queue *queue, bool shared)
{
	if (atomic_load(&queue->idle) && atomic_exchange(&queue->idle, 0))
		adsm_os_wake(&queue->idle, 1, shared);
}

uint64_t adsm_process_queue_submit(struct adsm_process_queue *queue, bool shared)
{
	uint64_t seq = atomic_fetch_add(&queue->submitted, 1) + 1;

	adsm_process_queue_poke(queue, shared);
	return seq;
}

/* Spin for @spin_ns before sleeping. *@end, the end of spinning, starts as 0. */
static bool stays_awake(uint64_t *end, uint64_t spin_ns)
{
	uint64_t now = spin_ns ? adsm_os_now_ns() : 0;

	if (!*end)
		*end = now + spin_ns;
	if (now >= *end)
		return false;
	adsm_process_pause();
	return true;
}

void adsm_process_queue_sleep(struct adsm_process_queue *queue, uint64_t done, bool (*more)(void), uint64_t most_ns,
			      bool shared)
{
	atomic_store(&queue->idle, 1);
	if (atomic_load(&queue->submitted) == done && !atomic_load(&queue->stop) && !(more && more()))
		adsm_os_wait(&queue->idle, 1, most_ns, shared);
	atomic_store(&queue->idle, 0);
}

bool adsm_process_queue_next(struct adsm_process_queue *queue, uint64_t spin_ns, bool shared)
{
	uint64_t done = atomic_load(&queue->done), end = 0;

	for (;;) {
		if (atomic_load(&queue->stop))
			return false;
		if (atomic_load(&queue->submitted) != done)
			return true;
		if (stays_awake(&end, spin_ns))
			continue;
		adsm_process_queue_sleep(queue, done, NULL, 0, shared);
	}
}

/* Wake all threads that wait; they check their conditions again. */
static void wake_waiting(struct adsm_process_queue *queue, bool shared)
{
	bool waited = atomic_load(&queue->waited) && atomic_exchange(&queue->waited, 0);

	atomic_fetch_add(&queue->tick, 1);
	if (waited)
		adsm_os_wake(&queue->tick, INT_MAX, shared);
}

void adsm_process_queue_done(struct adsm_process_queue *queue, bool shared)
{
	atomic_fetch_add(&queue->done, 1);
	wake_waiting(queue, shared);
}

void adsm_process_queue_stop(struct adsm_process_queue *queue, bool shared)
{
	atomic_store(&queue->stop, 1);
	atomic_store(&queue->idle, 0);
	adsm_os_wake(&queue->idle, 1, shared);
}

void adsm_process_queue_lose(struct adsm_process_queue *queue, _Atomic uint32_t *lost)
{
	adsm_os_raise(lost, false);
	wake_waiting(queue, true);
	/* The process may have cleared `waited`, and ended before it woke the sleepers. */
	adsm_os_wake(&queue->tick, INT_MAX, true);
}

int adsm_process_queue_wait(struct adsm_process_queue *queue, uint64_t seq, const _Atomic uint32_t *lost,
			uint64_t spin_ns, bool shared)
{
	uint64_t end = 0;

	for (;;) {
		uint32_t tick = atomic_load(&queue->tick);

		if (atomic_load(&queue->done) >= seq || atomic_load(lost))
			return 0;
		if (stays_awake(&end, spin_ns))
			continue;
		atomic_store(&queue->waited, 1);
		if (atomic_load(&queue->done) >= seq || atomic_load(lost))
			return 0;
		if (adsm_os_wait(&queue->tick, tick, 0, shared) == -EINTR)
			return -EINTR;
	}
}

void adsm_process_say_end(struct adsm_process_shared *shared, const char *text)
{
	uint32_t nobody = 0;

	if (!atomic_compare_exchange_strong(&shared->end.state, &nobody, 1))
		return;
	strncpy(shared->end.text, text, ADSM_PROCESS_TEXT - 1);
	atomic_store(&shared->end.state, 2);
}

const char *adsm_process_said_end(struct adsm_process_shared *shared)
{
	return atomic_load(&shared->end.state) == 2 ? shared->end.text : "";
}

/* ---- messages */

/* Two errors mean that the other end is closed: EPIPE, and ECONNRESET if it left a message unread. */
static int gone_or(int error)
{
	return error == ECONNRESET ? -EPIPE : -error;
}

int adsm_process_send(int sock, const void *data, size_t size, const int *fds, int n_fds)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(ADSM_PROCESS_MAX_FDS * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (n_fds) {
		struct cmsghdr *header;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
		memcpy(CMSG_DATA(header), fds, (size_t)n_fds * sizeof(int));
	}
	do
		n = sendmsg(sock, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? gone_or(errno) : 0;
}

int adsm_process_receive(int sock, void *data, size_t size, int *fds)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(ADSM_PROCESS_MAX_FDS * sizeof(int))];
	struct iovec iov = { data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *header;
	ssize_t n;

	if (fds) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		for (int i = 0; i < ADSM_PROCESS_MAX_FDS; i++)
			fds[i] = -1;
	}
	do
		n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return gone_or(errno);
	if (n == 0)
		return -EPIPE;
	header = fds ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return (size_t)n == size && !(message.msg_flags & MSG_TRUNC) ? 0 : -EPROTO;
}

/* ---- memory */

uint64_t adsm_process_left(const struct adsm_process_room *room)
{
	const uint64_t used = atomic_load(&room->used), size = atomic_load(&room->size);

	return used < size ? size - used : 0;
}

bool adsm_process_take(struct adsm_process_room *room, uint64_t size)
{
	const uint64_t all = atomic_load(&room->size);
	uint64_t used = atomic_load(&room->used);

	do {
		if (used > all || size > all - used)
			return false;
	} while (!atomic_compare_exchange_weak(&room->used, &used, used + size));
	return true;
}

void adsm_process_give(struct adsm_process_room *room, uint64_t size)
{
	uint64_t used = atomic_load(&room->used);

	while (!atomic_compare_exchange_weak(&room->used, &used, used - (size < used ? size : used)))
		;
}

/* ---- locks that tasks waited for */

void adsm_task_hot_add(struct adsm_task_hot hot[ADSM_TASK_HOT], struct adsm_task_hot more)
{
	unsigned i = 0;

	while (i < ADSM_TASK_HOT && hot[i].n && hot[i].lock != more.lock)
		i++;
	if (i == ADSM_TASK_HOT)
		hot[--i].n = 0;
	more.ns += hot[i].n ? hot[i].ns : 0;
	more.n += hot[i].n;
	for (; i && hot[i - 1].ns < more.ns; i--)
		hot[i] = hot[i - 1];
	hot[i] = more;
}
