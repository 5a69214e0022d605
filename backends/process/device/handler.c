/* SPDX-License-Identifier: MIT */
/* device/handler.c - see handler.h. All of this runs on the stack of a core, which may be small: nothing here has large
 * variables, or calls functions that need much stack. */
#include "process/device/handler.h"

#include "base/log.h"
#include "base/os.h"
#include "crash.h"
#include "guard.h"
#include "pool.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

/* How long to spin for an answer before sleeping: about the time of a wake-up. */
#define SPIN_NS 10000

struct adsm_lent adsm_handler_lent;
static struct adsm_lent heap;		/* of malloc() in CUDA C, which outlives launches */

static struct adsm_process_shared *served;
static uint64_t spin_ns;
static pthread_mutex_t giving = PTHREAD_MUTEX_INITIALIZER;	/* the order of commands */
static pthread_mutex_t buffers[ADSM_PROCESS_COMMANDS];

/* Of the current launch. */
static const char *kernel;
static _Atomic long counters[ADSM_NEXT_COUNTERS];
static struct {
	_Atomic int error;
	char text[ADSM_PROCESS_TEXT];
} failure;

/* Of this thread. */
static _Thread_local struct {
	uint32_t buffer;		/* index + 1; 0: none yet */
	uint64_t n;
} mine;

/* The first reason counts. The launch fails when its kernel has ended. adsm_format() needs little stack. */
#define FAIL(code, ...) do { \
	int none_ = 0; \
\
	if (atomic_compare_exchange_strong(&failure.error, &none_, code)) \
		adsm_format(failure.text, sizeof(failure.text), __VA_ARGS__); \
} while (0)

/* ---- commands */

static uint32_t buffer_of_thread(void)
{
	static _Atomic uint32_t n_threads;

	if (!mine.buffer)
		mine.buffer = atomic_fetch_add(&n_threads, 1) % ADSM_PROCESS_COMMANDS + 1;
	return mine.buffer - 1;
}

static bool has_application(void)
{
	return served && atomic_load(&served->handler.serving);
}

/* Lock the buffer of this thread, until end_command(). */
static struct adsm_process_command *begin_command(uint8_t **ret_bytes)
{
	const uint32_t i = buffer_of_thread();

	pthread_mutex_lock(&buffers[i]);
	*ret_bytes = served->handler.bytes[i];
	return &served->handler.commands[i];
}

static void end_command(struct adsm_process_command *command)
{
	pthread_mutex_unlock(&buffers[command - served->handler.commands]);
}

static int run_command(struct adsm_process_command *command, enum adsm_process_command_op op, uint64_t in_size,
		       uint64_t out_size)
{
	struct adsm_process_handler *handler = &served->handler;
	uint64_t until = 0;
	uint32_t state;

	command->op = op;
	command->in_size = in_size;
	command->out_size = out_size;
	atomic_store(&command->state, ADSM_COMMAND_ASKED);
	/* The queue has room: each thread whose command is in the queue waits for its answer. */
	pthread_mutex_lock(&giving);
	atomic_store(&handler->order[atomic_load(&handler->queue.submitted) % ADSM_PROCESS_COMMANDS],
		     (uint32_t)(command - handler->commands));
	adsm_process_queue_submit(&handler->queue, true);
	pthread_mutex_unlock(&giving);
	while ((state = atomic_load(&command->state)) == ADSM_COMMAND_ASKED) {
		if (!until)
			until = adsm_os_now_ns() + spin_ns;
		if (adsm_os_now_ns() < until)
			adsm_process_pause();
		else
			adsm_os_wait(&command->state, state, 0, true);
	}
	atomic_store(&command->state, ADSM_COMMAND_FREE);
	if (state == ADSM_COMMAND_LEFT) {
		FAIL(-ECANCELED, "kernel '%s': service '%s' did not return: it ended its thread (pthread_exit, or a "
		     "cancellation)", kernel, command->name);
		return -ECANCELED;
	}
	return (int)command->result;
}

static int service(const char *name, const void *in, size_t in_size, void *out, size_t out_size)
{
	struct adsm_process_command *command;
	uint8_t *bytes;
	int ret;

	mine.n++;
	if (!has_application())
		return -ENOTSUP;
	if (!name || strnlen(name, ADSM_PROCESS_NAME) == ADSM_PROCESS_NAME)
		return -ENOENT;
	if (in_size > ADSM_PROCESS_COMMAND_BYTES || out_size > ADSM_PROCESS_COMMAND_BYTES)
		return -E2BIG;
	if ((in_size && !in) || (out_size && !out))
		return -EINVAL;
	command = begin_command(&bytes);
	strcpy(command->name, name);
	if (in_size)
		memcpy(bytes, in, in_size);
	ret = run_command(command, ADSM_COMMAND_SERVICE, in_size, out_size);
	if (ret > 0 && (size_t)ret <= out_size)
		memcpy(out, bytes, (size_t)ret);
	end_command(command);
	return ret;
}

/* Write arguments, format and strings to the buffer. Returns the bytes used; 0 if the buffer is too small. */
static size_t pack(uint8_t *bytes, const char *format, const struct adsm_kernel_print *args, size_t n)
{
	size_t at = n * sizeof(*args), length;

	if (n > ADSM_PROCESS_COMMAND_BYTES / sizeof(*args))
		return 0;
	for (size_t i = 0; i <= n; i++) {
		struct adsm_process_print_arg arg = { 0, (uintptr_t)format };
		const char *string;

		if (i)
			arg = (struct adsm_process_print_arg){ args[i - 1].kind, args[i - 1].value };
		if (!i || arg.kind == ADSM_PRINT_STRING) {
			string = arg.value ? (const char *)(uintptr_t)arg.value : "(null)";
			length = strnlen(string, ADSM_PROCESS_COMMAND_BYTES - at);
			if (length == ADSM_PROCESS_COMMAND_BYTES - at)
				return 0;
			memcpy(bytes + at, string, length + 1);
			arg.value = at;
			at += length + 1;
		}
		if (i)
			memcpy(bytes + (i - 1) * sizeof(arg), &arg, sizeof(arg));
	}
	return at;
}

static int give_text(enum adsm_process_command_op op, const char *format, const struct adsm_kernel_print *args)
{
	struct adsm_process_command *command;
	size_t n = 0, size;
	uint8_t *bytes;
	int ret = -E2BIG;

	mine.n++;
	if (!has_application())
		return -ENOTSUP;
	while (args[n].kind)
		n++;
	command = begin_command(&bytes);
	size = pack(bytes, format, args, n);
	if (size)
		ret = run_command(command, op, size, n);
	end_command(command);
	return ret;
}

static int print(const char *format, const struct adsm_kernel_print *args)
{
	return give_text(ADSM_COMMAND_PRINT, format, args);
}

static int output(const char *format, const struct adsm_kernel_print *args)
{
	return give_text(ADSM_COMMAND_OUTPUT, format, args);
}

/* ---- requests that the device serves itself */

static long next(unsigned counter, long chunk)
{
	long first;

	mine.n++;
	if (counter >= ADSM_NEXT_COUNTERS || chunk <= 0) {
		FAIL(-EINVAL, "kernel '%s': ADSM_NEXT with counter %u and chunk %ld: the counter must be from 0 to %d, "
		     "the chunk at least 1", kernel, counter, chunk, ADSM_NEXT_COUNTERS - 1);
		return ADSM_NEXT_NONE;
	}
	first = atomic_load(&counters[counter]);
	do {
		if (first > LONG_MAX - chunk)
			return ADSM_NEXT_NONE;
	} while (!atomic_compare_exchange_weak(&counters[counter], &first, first + chunk));
	return first;
}

static int account(enum adsm_process_command_op op, uint64_t size)
{
	struct adsm_process_command *command;
	uint8_t *bytes;
	int ret;

	if (!has_application())
		return -ENOTSUP;
	command = begin_command(&bytes);
	ret = run_command(command, op, size, 0);
	end_command(command);
	return ret;
}

static uint64_t alloc_in(struct adsm_lent *lent, size_t size)
{
	const uint64_t cost = adsm_lent_cost(size);
	uint64_t address;

	mine.n++;
	if (!cost || account(ADSM_COMMAND_TAKE, cost))
		return 0;
	address = adsm_lent_alloc(lent, cost);
	if (!address)
		account(ADSM_COMMAND_GIVE, cost);
	return address;
}

/* @by: the function that allocates such memory. */
static void free_in(struct adsm_lent *lent, uint64_t address, const char *by)
{
	const uint64_t cost = address ? adsm_lent_free(lent, address) : 0;

	mine.n++;
	if (cost)
		account(ADSM_COMMAND_GIVE, cost);
	else if (address)
		FAIL(-EINVAL, "kernel '%s' frees %p, which is not memory allocated by %s", kernel,
		     (void *)(uintptr_t)address, by);
}

static uint64_t alloc(size_t size)
{
	return alloc_in(&adsm_handler_lent, size);
}

static void give_back(uint64_t address)
{
	free_in(&adsm_handler_lent, address, "ADSM_ALLOC");
}

static uint64_t heap_alloc(size_t size)
{
	return alloc_in(&heap, size);
}

static void heap_free(uint64_t address)
{
	free_in(&heap, address, "malloc()");
}

static void fail(const char *text)
{
	adsm_crash_say(text);
}

const struct adsm_kernel_services adsm_services_here = {
	.size = sizeof(adsm_services_here),
	.service = service,
	.print = print,
	.next = next,
	.alloc = alloc,
	.free = give_back,
	.output = output,
	.heap_alloc = heap_alloc,
	.heap_free = heap_free,
	.fail = fail,
	.inside = adsm_guard_inside,
};

/* ---- launches */

void adsm_handler_start(struct adsm_process_shared *shared)
{
	served = shared;
	spin_ns = adsm_pool_spin_ns() ? SPIN_NS : 0;
	for (int i = 0; i < ADSM_PROCESS_COMMANDS; i++)
		pthread_mutex_init(&buffers[i], NULL);
	adsm_lent_start(&adsm_handler_lent);
	adsm_lent_start(&heap);
}

void adsm_handler_forget(void)
{
	const uint64_t taken = adsm_lent_reset(&heap);

	if (taken)
		adsm_process_give(&served->room, taken);
}

void adsm_handler_begin(const char *its_kernel)
{
	kernel = its_kernel;
	atomic_store(&failure.error, 0);
	for (int i = 0; i < ADSM_NEXT_COUNTERS; i++)
		atomic_store(&counters[i], 0);
}

int adsm_handler_end(char ret_text[ADSM_PROCESS_TEXT])
{
	const uint64_t taken = served ? adsm_lent_reset(&adsm_handler_lent) : 0;
	const int error = atomic_load(&failure.error);

	if (taken)
		account(ADSM_COMMAND_GIVE, taken);
	if (error)
		strcpy(ret_text, failure.text);
	return error;
}

uint64_t adsm_handler_commands(void)
{
	return mine.n;
}
