/* SPDX-License-Identifier: MIT */
/*
 * hcrc_node.c - see hcrc_node.h.
 *
 * The protocol runs under one mutex, which no thread holds while it waits or calls MPI. Messages to this node itself
 * are processed by the thread that holds the mutex. The thread of MPI sends all others.
 */
#include "hcrc_node.h"

#include "base/os.h"
#include "hcrc.h"
#include "cluster/node/net/runs.h"
#include "virtual.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POSTS_MAX 64		/* letters of a node that are being sent at the same time */
#define PROBE_NS UINT64_C(100000000)	/* after this time without messages, probe whether any worker can continue */

struct letter {				/* followed by the message's bytes, unless it is ADSM_HCRC_BACK in a queue */
	uint64_t sent;			/* time of virtual.h */
	uint32_t task;
	struct adsm_hcrc_message message;
};

struct queue { uint8_t *at; size_t size, room; };

static struct {
	pthread_mutex_t mutex;
	struct adsm_hcrc *hcrc;
	void *memory;
	size_t size;
	uint32_t task;			/* number of the task */
	bool ended;
	int status;
	struct queue own, others;	/* letters to this node, and to others */
	struct queue taken, sent;	/* letters of these queues that are being processed */
	size_t sent_at;			/* bytes of sent that have been sent */
	struct queue early;		/* of the next task, which has begun on other nodes */
	uint64_t active_ns;		/* when a message last came, or a probe was last sent */
	uint32_t entered;		/* the worker whose thread holds the mutex, + 1 */
	struct {
		_Atomic uint32_t done;	/* futex */
		uint8_t *to;
	} workers[ADSM_HCRC_WORKERS_MAX];
} node = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* The mutex is held: a worker that holds it does not sleep. */
static void wake(uint32_t worker)
{
	if (node.entered == worker + 1)
		atomic_store_explicit(&node.workers[worker].done, 1, memory_order_relaxed);
	else
		adsm_os_raise(&node.workers[worker].done, false);
}

/* ---- functions that the protocol calls; the mutex is held */

static void enqueue(struct queue *queue, const struct letter *letter, const void *bytes, uint32_t size)
{
	if (queue->room - queue->size < sizeof(*letter) + size) {
		queue->room = 2 * queue->room + sizeof(*letter) + size;
		queue->at = adsm_node_memory(queue->at, queue->room);
	}
	memcpy(queue->at + queue->size, letter, sizeof(*letter));
	if (size)
		memcpy(queue->at + queue->size + sizeof(*letter), bytes, size);
	queue->size += sizeof(*letter) + size;
}

/* The bytes of a page that a node gives back stay in the page: the node's workers have ended. */
static uint32_t size_in_queue(const struct adsm_hcrc_message *message)
{
	return message->kind == ADSM_HCRC_BACK ? 0 : message->size;
}

static void on_send(void *arg, const struct adsm_hcrc_message *message, const void *bytes)
{
	const struct letter letter = { adsm_virtual_send(message), node.task, *message };

	enqueue(message->to == node.hcrc->config.self ? &node.own : &node.others, &letter, bytes,
		size_in_queue(message));
}

static void on_page(void *arg, uint32_t worker, uint32_t page, const uint8_t *bytes)
{
	adsm_virtual_wake(worker, bytes ? node.hcrc->config.part_size : 0);
	if (bytes && !node.ended)
		memcpy(node.workers[worker].to, bytes, node.hcrc->config.part_size);
	wake(worker);
}

static void on_go(void *arg, uint32_t worker)
{
	adsm_virtual_wake(worker, 0);
	wake(worker);
}

/* After a failure, on_page() no longer copies: the workers leave, and their buffers may be gone. */
static void on_ended(void *arg, int status)
{
	if (node.ended)
		return;
	node.ended = true;
	node.status = status;
	for (uint32_t i = 0; i < adsm_hcrc_n_workers(node.hcrc); i++)
		wake(i);
}

/* ---- letters; the mutex is held */

static void swap(struct queue *a, struct queue *b)
{
	const struct queue was = *a;

	*a = *b;
	*b = was;
}

static void deliver(int from, const struct letter *letter, const void *bytes)
{
	const struct adsm_hcrc_message *message = &letter->message;
	int ret;

	/* Other nodes may not know yet that the task has failed. */
	if (node.ended && node.status)
		return;
	adsm_virtual_receive(message, letter->sent);
	ret = message->from == from ? adsm_hcrc_receive(node.hcrc, message, bytes) : -EPROTO;
	if (ret)
		adsm_comm_fail("node %d sent a message of kind %u that is invalid in this state (%s)", from,
			       message->kind, strerror(-ret));
}

static void take_all(struct queue *queue)
{
	struct letter letter;

	for (size_t at = 0; at < queue->size; at += sizeof(letter) + letter.message.size) {
		memcpy(&letter, queue->at + at, sizeof(letter));
		deliver(letter.message.from, &letter, queue->at + at + sizeof(letter));
	}
	queue->size = 0;
}

/* Process messages to this node itself until there are no more. */
static void take_own(void)
{
	while (node.own.size) {
		swap(&node.own, &node.taken);
		take_all(&node.taken);
	}
}

/* ---- the thread of MPI */

void adsm_hcrc_node_letter(const struct adsm_letter *letter)
{
	const uint8_t *bytes = (const uint8_t *)letter->data + sizeof(struct letter);
	struct letter head;

	if (letter->size >= sizeof(head))
		memcpy(&head, letter->data, sizeof(head));
	if (letter->size < sizeof(head) || letter->size != sizeof(head) + head.message.size)
		adsm_comm_fail("node %d sent an invalid message of %zu bytes", letter->from, letter->size);
	/* A letter of a task that has failed may come late: ignore it. */
	if (head.task == node.task + 1) {
		enqueue(&node.early, &head, bytes, head.message.size);
	} else if (head.task == node.task && node.hcrc) {
		pthread_mutex_lock(&node.mutex);
		deliver(letter->from, &head, bytes);
		take_own();
		pthread_mutex_unlock(&node.mutex);
	}
}

static bool receive(void)
{
	struct adsm_letter letter;
	bool any = false;

	while (adsm_comm_receive_only(ADSM_TAG_TASK, &letter)) {
		any = true;
		adsm_hcrc_node_letter(&letter);
		adsm_comm_drop(&letter);
	}
	return any;
}

/* Process letters that came before the task began on this node. */
static void take_early(void)
{
	pthread_mutex_lock(&node.mutex);
	take_all(&node.early);
	take_own();
	pthread_mutex_unlock(&node.mutex);
}

/* Send the first letter of node.sent that has not been sent. */
static void send_next(void)
{
	static struct adsm_pack out;
	const uint8_t *at = node.sent.at + node.sent_at;
	struct letter letter;
	uint32_t size;

	memcpy(&letter, at, sizeof(letter));
	size = size_in_queue(&letter.message);
	out.n = 0;
	adsm_pack_put(&out, at, sizeof(letter) + size, 1);
	if (!size && letter.message.size)
		adsm_pack_put(&out, adsm_hcrc_bytes(node.hcrc, letter.message.page), letter.message.size, 1);
	adsm_comm_send(letter.message.to, ADSM_TAG_TASK, out.data, out.n);
	node.sent_at += sizeof(letter) + size;
}

/* Send letters in their order. The rest must wait while many are being sent: each has memory of its own. */
static bool send_some(void)
{
	size_t n = adsm_comm_is_busy();
	bool any = false;

	if (node.sent_at == node.sent.size) {
		node.sent_at = node.sent.size = 0;
		pthread_mutex_lock(&node.mutex);
		swap(&node.others, &node.sent);
		pthread_mutex_unlock(&node.mutex);
	}
	for (; node.sent_at < node.sent.size && n < POSTS_MAX; n++) {
		send_next();
		any = true;
	}
	return any;
}

static void probe(void)
{
	const uint64_t now = adsm_os_now_ns();

	if (now - node.active_ns < PROBE_NS)
		return;
	node.active_ns = now;
	pthread_mutex_lock(&node.mutex);
	if (!node.ended)
		adsm_hcrc_probe(node.hcrc);
	take_own();
	pthread_mutex_unlock(&node.mutex);
}

bool adsm_hcrc_node_poll(void)
{
	bool any = receive();

	if (any)
		node.active_ns = adsm_os_now_ns();
	else if (adsm_comm.rank == ADSM_HCRC_MANAGER)
		probe();
	return send_some() || any;
}

bool adsm_hcrc_node_has_ended(int *ret_status)
{
	bool ended;

	pthread_mutex_lock(&node.mutex);
	ended = node.ended && !node.others.size && node.sent_at == node.sent.size;
	if (ended)
		*ret_status = node.status;
	pthread_mutex_unlock(&node.mutex);
	return ended;
}

/* ---- begin and end */

int adsm_hcrc_node_begin(const struct adsm_hcrc_config *config)
{
	struct adsm_hcrc_config own = *config;
	void *memory;
	size_t size;

	own.self = (uint32_t)adsm_comm.rank;
	own.n_nodes = (uint32_t)adsm_comm.n;
	own.send = on_send;
	own.page = on_page;
	own.go = on_go;
	own.ended = on_ended;
	size = adsm_hcrc_size(&own);
	if (!size)
		return -EINVAL;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	node.memory = memory;
	node.size = size;
	node.hcrc = adsm_hcrc_init(memory, &own);
	adsm_virtual_begin(config->n_locks, adsm_hcrc_flag_release(&own, own.n_nodes, 0), config->n_flags);
	node.task++;
	node.ended = false;
	node.status = 0;
	node.active_ns = adsm_os_now_ns();
	take_early();
	return 0;
}

struct adsm_hcrc_counts adsm_hcrc_node_counts(void)
{
	return node.hcrc->counts;
}

bool adsm_hcrc_node_wrote(uint32_t page)
{
	return node.hcrc->entries[page].home;
}

void adsm_hcrc_node_finish(void)
{
	struct queue *const queues[] = { &node.own, &node.others, &node.taken, &node.sent };

	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		free(queues[i]->at);
		*queues[i] = (struct queue){ NULL, 0, 0 };
	}
	node.sent_at = 0;
	munmap(node.memory, node.size);
	adsm_virtual_end();
	node.hcrc = NULL;
}

/* ---- workers */

/* Lock the mutex, unless the task has failed. @size: bytes that the worker sends. */
static int enter(uint32_t worker, uint8_t *to, size_t size)
{
	int status;

	pthread_mutex_lock(&node.mutex);
	status = node.status;
	if (status) {
		pthread_mutex_unlock(&node.mutex);
		return status;
	}
	adsm_virtual_request(worker, size);
	atomic_store_explicit(&node.workers[worker].done, 0, memory_order_relaxed);
	node.workers[worker].to = to;
	node.entered = worker + 1;
	return 0;
}

/* How a request has ended. */
struct outcome {
	int status;
	bool done;
	bool slept;			/* it was not done immediately */
	bool has_notices;		/* pages of the worker are old */
};

/* Unlock the mutex. If the request is done, the worker need not wait, nor lock the mutex again. */
static struct outcome leave(uint32_t worker)
{
	struct outcome outcome = { .slept = false };
	bool any;

	take_own();
	any = node.others.size;
	outcome.status = node.status;
	outcome.done = atomic_load_explicit(&node.workers[worker].done, memory_order_relaxed);
	outcome.has_notices = node.hcrc->notices[worker].n;
	node.entered = 0;
	adsm_virtual_resume(worker);
	pthread_mutex_unlock(&node.mutex);
	if (any)
		adsm_comm_wake();
	return outcome;
}

static struct outcome wait_for(uint32_t worker)
{
	struct outcome outcome = leave(worker);

	if (outcome.done)
		return outcome;
	outcome.slept = adsm_os_await(&node.workers[worker].done, false);
	pthread_mutex_lock(&node.mutex);
	outcome.status = node.status;
	outcome.has_notices = node.hcrc->notices[worker].n;
	adsm_virtual_resume(worker);
	pthread_mutex_unlock(&node.mutex);
	return outcome;
}

/* The request was invalid, which fails the task: wait until this node knows that. */
static int fail(uint32_t worker, int error)
{
	adsm_hcrc_fail(node.hcrc, (uint32_t)-error);
	return wait_for(worker).status;
}

int adsm_hcrc_node_read(uint32_t worker, uint32_t page, uint8_t *to)
{
	int ret = enter(worker, to, 0);

	if (ret)
		return ret;
	adsm_hcrc_read(node.hcrc, worker, page);
	return wait_for(worker).status;
}

int adsm_hcrc_node_write(uint32_t worker, uint32_t page, uint8_t *to, bool has)
{
	int ret = enter(worker, to, 0);

	if (ret)
		return ret;
	adsm_hcrc_write(node.hcrc, worker, page, has);
	return wait_for(worker).status;
}

int adsm_hcrc_node_put(uint32_t worker, uint32_t page, const uint8_t *bytes, bool keep)
{
	int ret = enter(worker, NULL, node.hcrc->config.part_size);

	if (ret)
		return ret;
	adsm_hcrc_put(node.hcrc, worker, page, bytes, keep);
	leave(worker);
	return 0;
}

void adsm_hcrc_node_drop(uint32_t worker, uint32_t page)
{
	if (enter(worker, NULL, 0))
		return;
	adsm_hcrc_drop(node.hcrc, worker, page);
	leave(worker);
}

uint32_t adsm_hcrc_node_notice(uint32_t worker)
{
	uint32_t page;

	if (enter(worker, NULL, 0))
		return ADSM_HCRC_NONE;
	page = adsm_hcrc_notice(node.hcrc, worker);
	leave(worker);
	return page;
}

int adsm_hcrc_node_acquire(uint32_t worker, uint32_t lock, enum adsm_hcrc_acquired *ret_acquired,
			   bool *ret_has_notices)
{
	int ret = enter(worker, NULL, 0);
	struct outcome outcome;

	if (ret)
		return ret;
	ret = adsm_hcrc_acquire(node.hcrc, worker, lock);
	if (ret)
		return fail(worker, ret);
	if (atomic_load_explicit(&node.workers[worker].done, memory_order_relaxed))
		adsm_virtual_lock(worker, lock);
	outcome = wait_for(worker);
	/* n_grants counts the grants since the lock came to this node; it does not change while the worker holds the
	 * lock. */
	if (outcome.status || !outcome.slept)
		*ret_acquired = ADSM_HCRC_WITHOUT_SLEEP;
	else
		*ret_acquired = node.hcrc->locks[lock].n_grants > 1 ? ADSM_HCRC_FROM_WORKER : ADSM_HCRC_FROM_NODE;
	*ret_has_notices = outcome.has_notices;
	return outcome.status;
}

int adsm_hcrc_node_release(uint32_t worker, uint32_t lock)
{
	int ret = enter(worker, NULL, 0);

	if (ret)
		return ret;
	adsm_virtual_unlock(lock);
	ret = adsm_hcrc_release(node.hcrc, worker, lock);
	return ret ? fail(worker, ret) : wait_for(worker).status;
}

int adsm_hcrc_node_flag(uint32_t worker, uint8_t kind, uint32_t flag, bool *ret_slept)
{
	int ret = enter(worker, NULL, 0);
	struct outcome outcome;

	if (ret)
		return ret;
	ret = adsm_hcrc_flag(node.hcrc, worker, kind, flag);
	if (ret)
		return fail(worker, ret);
	outcome = wait_for(worker);
	*ret_slept = outcome.slept;
	return outcome.status;
}

int adsm_hcrc_node_barrier(uint32_t worker)
{
	int ret = enter(worker, NULL, 0);

	if (ret)
		return ret;
	adsm_virtual_arrive(worker);
	adsm_hcrc_barrier(node.hcrc, worker);
	return wait_for(worker).status;
}

int adsm_hcrc_node_end(uint32_t worker)
{
	int ret = enter(worker, NULL, 0);

	if (ret)
		return ret;
	adsm_virtual_arrive(worker);
	ret = adsm_hcrc_end(node.hcrc, worker);
	if (ret)
		return fail(worker, ret);
	leave(worker);
	return 0;
}

void adsm_hcrc_node_fail(uint32_t worker, int error)
{
	if (!enter(worker, NULL, 0))
		fail(worker, error);
}

void adsm_hcrc_node_cannot_begin(int error)
{
	pthread_mutex_lock(&node.mutex);
	if (!node.status)
		adsm_hcrc_fail(node.hcrc, (uint32_t)-error);
	take_own();
	pthread_mutex_unlock(&node.mutex);
}
