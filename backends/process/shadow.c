/* SPDX-License-Identifier: MIT */
/* shadow.c - see shadow.h. A kernel may have damaged the shared memory, so all sizes in it are checked here. */
#include "shadow.h"

#include "base/log.h"
#include "print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPIN_NS 10000			/* how long to spin for the next command before sleeping */

enum { IDLE, SERVES, STOPPED };

struct adsm_process_shadow {
	/* Valid except while a function of the program runs, or text of a kernel is written. */
	struct adsm_process_device *device;
	struct adsm_process_handler *handler;
	int (*output)(const char *text, size_t size);
	int (*serve)(const char *name, const void *in, size_t in_size, void *out, size_t out_size);
	struct adsm_thread thread;
	struct adsm_thread left;		/* a thread that a function of the program has ended */
	struct adsm_process_command *asked;	/* the command that is being served, and its sizes */
	size_t in_size, out_size;
	/* Cancelability for functions of the program; the thread itself cannot be cancelled. */
	int cancel;
	int result;			/* of the function */
	_Atomic int state;
	/* Copies of the bytes, for the functions of the program. */
	_Alignas(64) uint8_t in[ADSM_PROCESS_COMMAND_BYTES];
	_Alignas(64) uint8_t out[ADSM_PROCESS_COMMAND_BYTES];
};

static void go_on(struct adsm_process_shadow *shadow);
static bool finish(struct adsm_process_shadow *shadow, enum adsm_process_command_state state);

/* The new thread after a function has ended the previous one. */
static void succeed(void *arg)
{
	struct adsm_process_shadow *shadow = arg;

	adsm_os_signals_raised();
	shadow->cancel = adsm_os_cancel_block();
	/* Destructors of the program may still run in the old thread. */
	adsm_os_thread_join(&shadow->left);
	if (finish(shadow, ADSM_COMMAND_LEFT))
		go_on(shadow);
}

/* Called in a thread that a function has ended, before it exits: start a new thread. */
static void replace(void *arg)
{
	struct adsm_process_shadow *shadow = arg;
	int ret;

	/* This load makes `thread` visible, which the thread's starter wrote before `serving`. */
	atomic_load(&shadow->handler->serving);
	shadow->left = shadow->thread;
	ret = adsm_os_thread_start(&shadow->thread, "adsm-shadow", succeed, shadow);
	if (!ret)
		return;
	adsm_warn("a new thread that serves kernels cannot be started: %s; the thread that a service ended continues",
		  strerror(-ret));
	shadow->thread = shadow->left;
	if (finish(shadow, ADSM_COMMAND_LEFT))
		go_on(shadow);
}

static void call(void *arg)
{
	struct adsm_process_shadow *shadow = arg;
	const struct adsm_process_command *command = shadow->asked;
	char name[ADSM_PROCESS_NAME];

	memcpy(name, command->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	adsm_os_cancel_restore(&shadow->cancel);
	shadow->result = shadow->serve(name, shadow->in, shadow->in_size, shadow->out, shadow->out_size);
	adsm_os_cancel_block();
}

static int serve(struct adsm_process_shadow *shadow, struct adsm_process_command *command, uint8_t *bytes)
{
	const uint64_t in_size = command->in_size, out_size = command->out_size;
	int ret;

	if (in_size > sizeof(shadow->in) || out_size > sizeof(shadow->out))
		return -E2BIG;
	if (!shadow->serve)
		return -ENOENT;
	memcpy(shadow->in, bytes, in_size);
	memset(shadow->out, 0, out_size);
	shadow->asked = command;
	shadow->in_size = in_size;
	shadow->out_size = out_size;
	adsm_os_run(call, replace, shadow);
	ret = shadow->result;
	if (ret > 0 && (uint64_t)ret > out_size)
		return -EOVERFLOW;
	if (ret > 0)
		memcpy(bytes, shadow->out, (size_t)ret);
	return ret;
}

static int print(struct adsm_process_shadow *shadow, const struct adsm_process_command *command, const uint8_t *bytes)
{
	/* Keeps lines of several devices apart. */
	static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_PRINT);
	const uint64_t size = command->in_size, n_args = command->out_size;
	const bool is_output = command->op == ADSM_COMMAND_OUTPUT;
	int length;

	if (size > sizeof(shadow->in))
		return -E2BIG;
	memcpy(shadow->in, bytes, size);
	length = adsm_process_format(shadow->in, size, n_args, !is_output, (char *)shadow->out, sizeof(shadow->out));
	if (length <= 0)
		return length;
	if (is_output)
		return shadow->output ? shadow->output((const char *)shadow->out, (size_t)length) : -ENOTSUP;
	adsm_mutex_lock(&mutex);
	adsm_os_write(2, shadow->out, (size_t)length);
	adsm_mutex_unlock(&mutex);
	return length;
}

/* Returns false if the library has stopped meanwhile without waiting: then device and shadow no longer exist. */
static bool finish(struct adsm_process_shadow *shadow, enum adsm_process_command_state state)
{
	struct adsm_process_command *command = shadow->asked;
	int serving = SERVES;

	if (!atomic_compare_exchange_strong(&shadow->state, &serving, IDLE)) {
		adsm_os_thread_leave(&shadow->thread);
		free(shadow);
		return false;
	}
	/* The device process orders this, too, but a checker that sees only this process needs the counter. */
	atomic_fetch_add(&shadow->device->served, 1);
	atomic_store(&command->state, state);
	adsm_os_wake(&command->state, 1, true);
	atomic_fetch_add(&shadow->handler->queue.done, 1);
	return true;
}

/* Returns false if the shadow no longer exists. */
static bool answer(struct adsm_process_shadow *shadow, struct adsm_process_command *command, uint8_t *bytes)
{
	int idle = IDLE;

	if (atomic_load(&command->state) != ADSM_COMMAND_ASKED ||
	    !atomic_compare_exchange_strong(&shadow->state, &idle, SERVES)) {
		atomic_fetch_add(&shadow->handler->queue.done, 1);
		return true;
	}
	shadow->asked = command;
	switch (command->op) {
	case ADSM_COMMAND_SERVICE:
		command->result = serve(shadow, command, bytes);
		break;
	case ADSM_COMMAND_PRINT:
	case ADSM_COMMAND_OUTPUT:
		command->result = print(shadow, command, bytes);
		break;
	default:
		command->result = -EPROTO;
	}
	return finish(shadow, ADSM_COMMAND_ANSWERED);
}

/* Serve requests for device memory, which take no time, in any state. */
static bool answer_at_once(struct adsm_process_shadow *shadow, struct adsm_process_command *command)
{
	const uint32_t op = command->op;

	if ((op != ADSM_COMMAND_TAKE && op != ADSM_COMMAND_GIVE) ||
	    atomic_load(&command->state) != ADSM_COMMAND_ASKED)
		return false;
	command->result = 0;
	if (op == ADSM_COMMAND_GIVE)
		adsm_process_give(&shadow->device->shared->room, command->in_size);
	else if (!adsm_process_take(&shadow->device->shared->room, command->in_size))
		command->result = -ENOMEM;
	atomic_store(&command->state, ADSM_COMMAND_ANSWERED);
	adsm_os_wake(&command->state, 1, true);
	atomic_fetch_add(&shadow->handler->queue.done, 1);
	return true;
}

static void go_on(struct adsm_process_shadow *shadow)
{
	struct adsm_process_handler *handler = shadow->handler;

	while (adsm_process_queue_next(&handler->queue, SPIN_NS, true)) {
		const uint64_t done = atomic_load(&handler->queue.done);
		const uint32_t i = atomic_load(&handler->order[done % ADSM_PROCESS_COMMANDS]) % ADSM_PROCESS_COMMANDS;

		if (!answer_at_once(shadow, &handler->commands[i]) &&
		    !answer(shadow, &handler->commands[i], handler->bytes[i]))
			return;
	}
}

static void run(void *arg)
{
	struct adsm_process_shadow *shadow = arg;

	adsm_os_signals_raised();
	shadow->cancel = adsm_os_cancel_block();
	go_on(shadow);
}

int adsm_process_shadow_start(struct adsm_process_device *device)
{
	struct adsm_process_shadow *shadow;
	int ret;

	if (device->shadow)
		return 0;
	shadow = aligned_alloc(_Alignof(struct adsm_process_shadow), sizeof(*shadow));
	if (!shadow)
		return -ENOMEM;
	memset(shadow, 0, sizeof(*shadow));
	shadow->device = device;
	shadow->handler = &device->shared->handler;
	shadow->output = device->output;
	shadow->serve = device->serve;
	ret = adsm_os_thread_start(&shadow->thread, "adsm-shadow", run, shadow);
	if (ret) {
		free(shadow);
		return ret;
	}
	device->shadow = shadow;
	atomic_store(&shadow->handler->serving, 1);
	return 0;
}

bool adsm_process_shadow_stop(struct adsm_process_device *device)
{
	struct adsm_process_shadow *shadow = device->shadow;

	if (!shadow)
		return true;
	adsm_process_queue_stop(&shadow->handler->queue, true);
	/* From here on a shadow that serves a function frees itself. */
	if (atomic_exchange(&shadow->state, STOPPED) == SERVES)
		return false;
	adsm_os_thread_join(&shadow->thread);
	free(shadow);
	return true;
}
