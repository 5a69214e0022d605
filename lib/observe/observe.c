/* SPDX-License-Identifier: MIT */
/*
 * observe.c - who observes, what is known of objects and of why their bytes moved, and the helper thread that keeps
 * files as whole as they can be when the program is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/advice.h"
#include "base/descriptors.h"
#include "core/index.h"
#include "base/log.h"
#include "observe/observe.h"
#include "observe/options.h"
#include "base/os.h"
#include "base/output.h"
#include "observe/report.h"
#include "observe/site.h"
#include "observe/trace.h"
#include "observe/warnings.h"

#define FLUSH_NS 100000000	/* between two looks at the rings */
#define SNAPSHOT_NS 1000000000	/* between two reports of the state so far */
#define EXEC_NS 5000000000	/* an exec waits no longer */

uint64_t adsm_counted_ns;

/* ---- causes */

static uintptr_t libc_start, libc_end;		/* its code */

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = strrchr(info->dlpi_name, '/');

	if (!name || strncmp(name, "/libc.so", 8))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			libc_start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			libc_end = libc_start + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static void fault_begins(const struct adsm_fault *fault)
{
	bool in_libc = fault->instruction - libc_start < libc_end - libc_start;

	/* A wrapper lets libc do it, and has said for whom. */
	if (in_libc && (adsm_cause.why == ADSM_WHY_COPY || adsm_cause.why == ADSM_WHY_FILL))
		return;
	adsm_cause.why = fault->write ? ADSM_WHY_WRITE : ADSM_WHY_READ;
	adsm_cause.in_libc = in_libc;
	/* The lock is held: a stack in shared memory could not be read. */
	adsm_cause.where = !in_libc ? fault->instruction :
		adsm_index_find((uintptr_t)fault->caller) ? 0 : *fault->caller;
	memset(adsm_cause.name, 0, sizeof(adsm_cause.name));
}

static uint64_t key_of(const struct adsm_cause *cause)
{
	uint64_t key = (cause->where << 4 | (uint64_t)cause->why) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t words[sizeof(cause->name) / sizeof(uint64_t)];

	/* Kernels are told apart where calls have no address. */
	if (!cause->name[0])
		return key | 1;
	memcpy(words, cause->name, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		key = (key ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		key ^= key >> 32;
	}
	return key | 1;
}

/* The place of a cause in an object's table; the last one is for all that found none. */
static struct adsm_cause_count *count_of(struct adsm_record *record, const struct adsm_cause *cause)
{
	uint64_t key = key_of(cause);

	for (unsigned i = 0; i < ADSM_CAUSES_MAX - 1; i++) {
		struct adsm_cause_count *count = &record->causes[(key + i) % (ADSM_CAUSES_MAX - 1)];
		uint64_t found = atomic_load_explicit(&count->key, memory_order_relaxed);

		if (found == key)
			return count;
		if (!found && atomic_compare_exchange_strong(&count->key, &found, key)) {
			count->cause = *cause;
			atomic_store(&count->complete, true);
			return count;
		}
		if (found == key)
			return count;
	}
	atomic_store(&record->causes[ADSM_CAUSES_MAX - 1].key, 1);
	atomic_store(&record->causes[ADSM_CAUSES_MAX - 1].complete, true);
	return &record->causes[ADSM_CAUSES_MAX - 1];
}

/* Read once: the program may free the object of a fault that has just been served, and records outlive that. */
static struct adsm_record *record_of(const struct adsm_object *object)
{
	return *(struct adsm_record *const volatile *)&object->record;
}

static struct adsm_cause_count *counts_here(const struct adsm_object *object)
{
	struct adsm_record *record = adsm_observes(ADSM_OBSERVE_REPORT) ? record_of(object) : NULL;

	return record ? count_of(record, &adsm_cause) : NULL;
}

#define ADD(field, n) atomic_fetch_add_explicit(&(field), (n), memory_order_relaxed)

/* ---- the points */

static uint32_t id_of(const struct adsm_object *object)
{
	const struct adsm_record *record = record_of(object);

	return record ? record->id : 0;
}

/* An event is made only where it is wanted. */
#define trace(...) do {				\
	if (adsm_observes(ADSM_OBSERVE_TRACE))	\
		adsm_trace_put(__VA_ARGS__);	\
} while (0)

static void observe_transfer(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size,
			   uint64_t start_ns, uint64_t ns)
{
	struct adsm_cause_count *count = counts_here(object);

	if (count) {
		ADD(count->transfers[direction == ADSM_TO_DEVICE], 1);
		ADD(count->bytes[direction == ADSM_TO_DEVICE], size);
	}
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_TRANSFER, .detail = (uint8_t)direction, .start_ns = start_ns, .ns = ns, .a = offset,
		.b = size, .object = id_of(object), .device = (uint8_t)object->home->index,
		.why = (uint8_t)adsm_cause.why,
	});
}

static void observe_opened(struct adsm_object *object, uint32_t first, uint32_t n, bool writing)
{
	struct adsm_cause_count *count = counts_here(object);

	if (count)
		ADD(*(writing ? &count->opened_writing : &count->opened), n);
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_OPENED, .detail = writing, .start_ns = adsm_os_now_ns(), .a = first, .b = n,
		.object = id_of(object), .device = (uint8_t)object->home->index, .why = (uint8_t)adsm_cause.why,
	});
}

static void observe_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	if (adsm_advises(object))
		adsm_use_evicted(object, first, n);
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_EVICTED, .start_ns = adsm_os_now_ns(), .a = first, .b = n, .object = id_of(object),
		.device = (uint8_t)object->home->index, .why = (uint8_t)adsm_cause.why,
	});
}

static void add_place(struct adsm_cause_count *count, uint64_t place)
{
	uint64_t old = atomic_load_explicit(&count->place, memory_order_relaxed);

	if (!old && atomic_compare_exchange_strong(&count->place, &old, place))
		return;
	if (old != place)
		atomic_store_explicit(&count->place, ADSM_MANY_PLACES, memory_order_relaxed);
}

static void observe_fault(struct adsm_object *object, uintptr_t address, bool write, unsigned n_signals, uint32_t ahead,
			uint64_t start_ns, uint64_t ns)
{
	struct adsm_cause_count *count = n_signals ? counts_here(object) : NULL;

	if (count) {
		ADD(count->faults, n_signals);
		add_place(count, address - object->start + 1);
	}
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_FAULT, .detail = (uint8_t)(write | n_signals << 1), .start_ns = start_ns, .ns = ns,
		.a = address, .b = ahead, .object = id_of(object), .device = (uint8_t)object->home->index,
		.why = (uint8_t)adsm_cause.why, .span_ns = adsm_os_now_ns() - start_ns,
	});
}

static void observe_wait(int device, uint64_t start_ns, uint64_t ns)
{
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_WAITED, .start_ns = start_ns, .ns = ns, .device = (uint8_t)device,
		.why = (uint8_t)adsm_cause.why,
	});
}

static void observe_call(int device, const char *kernel, uint64_t seq, uint64_t start_ns, uint64_t ns)
{
	struct adsm_trace_event event = {
		.type = ADSM_TRACE_CALLED, .start_ns = start_ns, .ns = ns, .a = seq, .device = (uint8_t)device,
	};

	adsm_format(event.name, sizeof(event.name), "%s", kernel);
	trace(&event);
}

/*
 * Devices tell how long a kernel ran, not when. It ended just now, if it is the last one; where others follow that may
 * have been long ago: it began when it could.
 */
static void observe_kernel(struct adsm_home *home, const struct adsm_call *call, uint64_t ns)
{
	struct adsm_trace_event event = {
		.type = ADSM_TRACE_KERNEL, .ns = ns, .a = call->seq, .device = (uint8_t)home->index,
	};
	uint64_t first = call->given_ns > home->kernel_end_ns ? call->given_ns : home->kernel_end_ns;
	uint64_t last = adsm_os_now_ns() - ns;

	event.start_ns = call->seq < home->last_seq && first < last ? first : last;
	home->kernel_end_ns = event.start_ns + ns;
	adsm_format(event.name, sizeof(event.name), "%s", call->kernel);
	trace(&event);
}

static void observe_called(struct adsm_object *object)
{
	struct adsm_record *record = record_of(object);

	if (record)
		ADD(record->calls, 1);
}

static const void *find_caller(const void *caller)
{
	uintptr_t where = (uintptr_t)caller;

	if (adsm_observes(ADSM_OBSERVE_REPORT) && (!where || adsm_site_is_own(where)))
		adsm_site_take(&where, 1);
	return (const void *)where;
}

static void observe_io(uint64_t start_ns, uint64_t ns, size_t size)
{
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_IO, .start_ns = start_ns, .ns = ns, .b = size, .why = (uint8_t)adsm_cause.why,
	});
}

/* ---- records. Taken inside objects.c's mutex; inside this one only homes' locks, by advice. */

static struct adsm_mutex mutex = ADSM_MUTEX_INIT;
static struct adsm_record *records;
static uint32_t n_records;
static uint64_t n_more;

struct adsm_record *adsm_records_lock(uint64_t *ret_n_more)
{
	adsm_mutex_lock(&mutex);
	*ret_n_more = n_more;
	return records;
}

void adsm_records_unlock(void)
{
	adsm_mutex_unlock(&mutex);
}

void adsm_record_stats(const struct adsm_record *record, adsmStats *ret_stats)
{
	if (record->object)
		adsm_counters_read(&record->object->counters, ret_stats);
	else
		*ret_stats = record->stats;
}

static struct adsm_record *observe_made(struct adsm_object *object)
{
	struct adsm_record *record;

	record = n_records < ADSM_RECORDS_MAX ? calloc(1, sizeof(*record)) : NULL;
	adsm_mutex_lock(&mutex);
	if (!record) {
		n_more++;
		adsm_mutex_unlock(&mutex);
		return NULL;
	}
	record->id = ++n_records;
	record->device = object->home->index;
	record->device_only = object->device_only;
	record->adopted = object->adopted;
	record->start = object->start;
	record->size = object->size;
	record->protocol = object->device_only ? "" : object->blocks.protocol->name;
	record->n_blocks = object->blocks.n;
	record->block_size = object->device_only ? 0 : object->blocks.protocol->whole_object ? object->span :
		adsm_block_size(object);
	record->n_site = adsm_site_take(record->site, ADSM_SITE_DEPTH);
	record->made_ns = adsm_os_now_ns();
	record->object = object;
	if (adsm_observes(ADSM_OBSERVE_ADVICE) && !object->device_only)
		record->advice = adsm_advice_make(object);
	object->record = record;
	object->paged = record->advice;
	record->next = records;
	records = record;
	adsm_mutex_unlock(&mutex);
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_MADE, .start_ns = record->made_ns, .b = record->size, .object = record->id,
		.device = (uint8_t)record->device,
	});
	return record;
}

static void observe_freed(struct adsm_record *record)
{
	adsm_mutex_lock(&mutex);
	adsm_counters_read(&record->object->counters, &record->stats);
	if (record->advice)
		adsm_advice_freed(record->advice);
	record->object = NULL;
	record->freed_ns = adsm_os_now_ns();
	adsm_mutex_unlock(&mutex);
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_FREED, .start_ns = record->freed_ns, .b = record->size, .object = record->id,
		.device = (uint8_t)record->device,
	});
}

static void observe_named(struct adsm_record *record, const char *name)
{
	adsm_mutex_lock(&mutex);
	adsm_format(record->name, sizeof(record->name), "%s", name);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_trace_name(record->id, record->name);
	adsm_mutex_unlock(&mutex);
}

static void observe_reset(void)
{
	trace(&(struct adsm_trace_event){ .type = ADSM_TRACE_RESET, .start_ns = adsm_os_now_ns() });
	adsm_mutex_lock(&mutex);
	adsm_counted_ns = adsm_os_now_ns();
	for (struct adsm_record *record = records; record; record = record->next) {
		memset(&record->stats, 0, sizeof(record->stats));
		atomic_store(&record->calls, 0);
		if (record->advice)
			adsm_advice_reset(record->advice);
		for (int i = 0; i < ADSM_CAUSES_MAX; i++) {
			struct adsm_cause_count *count = &record->causes[i];

			atomic_store(&count->opened, 0);
			atomic_store(&count->opened_writing, 0);
			atomic_store(&count->faults, 0);
			atomic_store(&count->place, 0);
			for (int d = 0; d < 2; d++) {
				atomic_store(&count->transfers[d], 0);
				atomic_store(&count->bytes[d], 0);
			}
		}
	}
	adsm_mutex_unlock(&mutex);
}

static void forget_records(void)
{
	struct adsm_record *record = records, *next;

	for (; record; record = next) {
		next = record->next;
		if (record->advice)
			adsm_advice_end(record->advice);
		free(record);
	}
	records = NULL;
	n_records = 0;
	n_more = 0;
}

/* ---- the report's file */

enum form { NO_REPORT, TEXT, JSON };

static struct {
	enum form form;
	bool to_file;			/* else to standard error, at the end */
	bool is_new;			/* made by us, again and again; else what was there is written to at the end */
	char path[PATH_MAX];
} report;

static void write_to(FILE *out, bool final)
{
	if (report.form == JSON)
		adsm_report_json(out, final);
	else
		adsm_report_text(out, final);
}

/* What is there, and stays what it is. */
static int open_as_is(void)
{
	int fd = open(report.path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : adsm_fd_lift(fd);
}

/* Whoever reads the file finds a whole report. */
static void write_report(bool final)
{
	char temporary[ADSM_OUTPUT_PATH_SIZE];
	FILE *out = NULL;
	bool failed;
	int fd;

	if (report.form == NO_REPORT)
		return;
	if (!report.to_file) {
		if (final)
			write_to(stderr, true);
		return;
	}
	/* Nor while the library is still looking for its devices: it would be no report. */
	if (!final && (!report.is_new || !atomic_load(&adsm_n_homes)))
		return;
	fd = report.is_new ? adsm_output_make(report.path, temporary) : open_as_is();
	if (fd >= 0)
		out = fdopen(fd, "w");
	if (!out) {
		adsm_error("ADSM_STATS: cannot write to %s: %s", report.path, strerror(fd < 0 ? -fd : errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	write_to(out, final);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	if (!failed && report.is_new)
		failed = rename(temporary, report.path) != 0;
	if (!failed)
		return;
	adsm_error("ADSM_STATS: cannot write to %s: %s", report.path, strerror(errno));
	if (report.is_new)
		unlink(temporary);
}

/* What an option names, or, where that has been taken by another process and may not be replaced, a file beside it. */
static void choose_path(const char *wanted, char ret_path[PATH_MAX])
{
	adsm_format(ret_path, PATH_MAX, "%s", wanted);
	for (int i = 0; adsm_observe_options.files_new && i < 1000 && !access(ret_path, F_OK); i++)
		adsm_format(ret_path, PATH_MAX, i ? "%s.%d.%d" : "%s.%d", wanted, getpid(), i);
}

static int open_report(void)
{
	const char *where = adsm_observe_options.stats;
	struct stat status;
	int fd;

	memset(&report, 0, sizeof(report));
	if (!*where && !adsm_observe_options.advise)
		return 0;
	report.form = TEXT;
	if (!*where || !strcmp(where, "text"))
		return 0;
	report.to_file = true;
	report.form = strncmp(where, "text:", 5) ? JSON : TEXT;
	choose_path(where + 5, report.path);
	report.is_new = adsm_output_is_new(report.path);
	/* Whoever reads a pipe reads until it is closed once. */
	if (!report.is_new && !stat(report.path, &status) && S_ISFIFO(status.st_mode) && !access(report.path, W_OK))
		return 0;
	fd = report.is_new ? adsm_output_replace(report.path) : open_as_is();
	if (fd < 0)
		return adsm_fail(fd, "ADSM_STATS: cannot write to %s: %s", report.path, strerror(-fd));
	close(fd);
	return 0;
}

/* ---- life */

/* Two, as a report may take longer than rings have room. */
static struct helper {
	struct adsm_thread thread;
	_Atomic bool runs;
	_Atomic uint32_t word;		/* not 0: look now */
	_Atomic uint32_t left;		/* not 0: its file is as an exec shall find it */
} tracer, reporter, *const helpers[] = { &tracer, &reporter };
static _Atomic bool helper_stop;
static _Atomic unsigned n_execs;	/* on their way */
static struct adsm_mutex life_mutex = ADSM_MUTEX_INIT;	/* start and end; outside the records' mutex */
static bool ended = true;
static int owner;			/* the process that observes */

#define N_HELPERS (sizeof(helpers) / sizeof(helpers[0]))

/* Until there is something to do. An exec to make ready for? Once for each. */
static bool exec_comes(struct helper *helper, uint64_t timeout_ns)
{
	adsm_os_wait(&helper->word, 0, timeout_ns, false);
	atomic_store(&helper->word, 0);
	return atomic_load(&n_execs) && !atomic_load(&helper->left);
}

static void leave(struct helper *helper)
{
	atomic_store(&helper->left, 1);
	adsm_os_wake(&helper->left, INT_MAX, false);
}

static void run_tracer(void *arg)
{
	bool closed = false;

	while (!atomic_load(&helper_stop)) {
		bool exec = exec_comes(&tracer, FLUSH_NS);

		if (!exec && atomic_load(&n_execs))
			continue;
		if (closed)
			adsm_trace_reopen();
		closed = exec;
		if (exec) {
			adsm_trace_close("the process became another program");
			leave(&tracer);
		} else {
			adsm_trace_flush();
		}
	}
	if (closed)
		adsm_trace_reopen();
	adsm_trace_close(NULL);
	leave(&tracer);
}

static void run_reporter(void *arg)
{
	uint64_t wait = report.is_new ? FLUSH_NS : 0;	/* soon there is one */

	for (;; wait = report.is_new ? SNAPSHOT_NS : 0) {
		bool exec = exec_comes(&reporter, wait);

		if (atomic_load(&helper_stop))
			break;
		if (exec || !atomic_load(&n_execs))
			write_report(exec);
		if (exec)
			leave(&reporter);
	}
	leave(&reporter);
}

static void poke(struct helper *helper)
{
	atomic_store(&helper->word, 1);
	adsm_os_wake(&helper->word, 1, false);
}

void adsm_observe_poke(void)
{
	poke(&tracer);
}

static int start_helper(struct helper *helper, const char *name, void (*run)(void *))
{
	int error;

	atomic_store(&helper->word, 0);
	error = adsm_os_thread_start(&helper->thread, name, run, NULL);
	helper->runs = !error;
	return error ? adsm_fail(error, "cannot start a thread for reports and traces") : 0;
}

static void stop_helper(struct helper *helper)
{
	if (!helper->runs)
		return;
	poke(helper);
	adsm_os_thread_join(&helper->thread);
	helper->runs = false;
}

static void stop_helpers(void)
{
	atomic_store(&helper_stop, true);
	stop_helper(&tracer);
	stop_helper(&reporter);
	atomic_store(&helper_stop, false);
}

/*
 * In a signal handler too, whatever the interrupted code was about to do: so the helpers write, and where they cannot,
 * as that code has a lock they need, the exec goes on without.
 */
static void observe_exec(bool failed)
{
	uint64_t limit = adsm_os_now_ns() + EXEC_NS, now;

	if (getpid() != owner)
		return;
	if (failed)
		atomic_fetch_sub(&n_execs, 1);
	else
		atomic_fetch_add(&n_execs, 1);
	for (size_t i = 0; i < N_HELPERS; i++) {
		atomic_store(&helpers[i]->left, 0);
		poke(helpers[i]);
	}
	for (size_t i = 0; i < N_HELPERS && !failed; i++)
		while (helpers[i]->runs && !atomic_load(&helpers[i]->left) && (now = adsm_os_now_ns()) < limit)
			adsm_os_wait(&helpers[i]->left, 0, limit - now, false);
}

static const struct adsm_observer observer = {
	.made = observe_made,
	.freed = observe_freed,
	.named = observe_named,
	.reset = observe_reset,
	.exec = observe_exec,
	.transfer = observe_transfer,
	.opened = observe_opened,
	.evicted = observe_evicted,
	.fault_begins = fault_begins,
	.fault = observe_fault,
	.wait = observe_wait,
	.call = observe_call,
	.kernel = observe_kernel,
	.called = observe_called,
	.io = observe_io,
	.caller = find_caller,
	.advice_view = adsm_paged_view,
	.advice_touch = adsm_paged_touch,
	.advice_hold = adsm_paged_hold,
	.advice_unhold = adsm_paged_unhold,
	.advice_touched = adsm_paged_touched,
	.advice_access = adsm_use_access,
	.advice_range = adsm_use_range,
	.advice_bulk = adsm_use_bulk,
	.advice_bulk_end = adsm_use_bulk_end,
	.advice_device_wrote = adsm_use_device_wrote,
	.advice_inexact = adsm_use_inexact,
	.advice_called = adsm_use_called,
	.advice_before_fetch = adsm_use_before_fetch,
	.advice_after_fetch = adsm_use_after_fetch,
	.sent_again = adsm_judge_again,
	.fetched_often = adsm_judge_fetches,
};

/* What a launcher asks for has been tried: where this process cannot do it, it runs all the same. */
static int may_go_on(int error)
{
	if (!error || !adsm_observe_options.files_new)
		return error;
	adsm_warn("%s; the program goes on without", adsm_last_error());
	return 0;
}

static int start(void)
{
	char path[PATH_MAX];
	bool traced = false;
	int error;

	adsm_observing = 0;
	adsm_observer = &observer;
	adsm_start_ns = adsm_os_now_ns();
	atomic_store(&adsm_most_spent_ns, 0);
	adsm_counted_ns = 0;
	owner = getpid();
	forget_records();
	error = open_report();
	if (error) {
		memset(&report, 0, sizeof(report));
		error = may_go_on(error);
	}
	if (!error && *adsm_observe_options.trace) {
		choose_path(adsm_observe_options.trace, path);
		error = adsm_trace_open(path);
		traced = !error;
		error = may_go_on(error);
	}
	if (error)
		return error;
	dl_iterate_phdr(find_libc, NULL);
	if (traced || report.form)
		adsm_site_start();
	if (traced)
		error = start_helper(&tracer, "adsm-tracer", run_tracer);
	if (!error && report.form)
		error = start_helper(&reporter, "adsm-reporter", run_reporter);
	if (error) {
		stop_helpers();
		return error;
	}
	adsm_observing = (report.form ? ADSM_OBSERVE_REPORT : 0) | (traced ? ADSM_OBSERVE_TRACE : 0) |
		(report.form && adsm_observe_options.advise ? ADSM_OBSERVE_ADVICE : 0);
	ended = false;
	return 0;
}

int adsm_observe_start(void)
{
	int error;

	adsm_mutex_lock(&life_mutex);
	error = start();
	adsm_mutex_unlock(&life_mutex);
	return error;
}

void adsm_observe_end(void)
{
	if (getpid() != owner)
		return;
	adsm_mutex_lock(&life_mutex);
	if (!ended) {
		adsm_warn_at_end();
		stop_helpers();
		write_report(true);
		ended = true;
	}
	adsm_mutex_unlock(&life_mutex);
}
