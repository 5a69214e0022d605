/* SPDX-License-Identifier: MIT */
/* observe.c - the observer's functions, which pass events of core and run to records, trace and advice; its life. */
#include "observe/observe.h"

#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/source.h"
#include "core/index.h"
#include "observe/costs.h"
#include "observe/writer.h"
#include "observe/options.h"
#include "observe/paged.h"
#include "observe/record.h"
#include "observe/recorder.h"
#include "observe/report.h"
#include "observe/ring.h"
#include "observe/site.h"
#include "observe/trace.h"
#include "observe/use.h"
#include "observe/acts.h"
#include "observe/warnings.h"

/* ---- causes */

static uintptr_t libc_start, libc_end;		/* the range of its code */

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

	/* A wrapper has called libc, and has set the cause. */
	if (in_libc && (adsm_cause.why == ADSM_WHY_COPY || adsm_cause.why == ADSM_WHY_FILL))
		return;
	adsm_cause.why = fault->write ? ADSM_WHY_WRITE : ADSM_WHY_READ;
	adsm_cause.in_libc = in_libc;
	/* The lock is held, so a stack in shared memory cannot be read. */
	adsm_cause.where = !in_libc ? fault->instruction :
		adsm_index_find((uintptr_t)fault->caller) ? 0 : *fault->caller;
	memset(adsm_cause.name, 0, sizeof(adsm_cause.name));
}

/* Read it once: the program may free the object of a fault that was just served. Records exist longer than objects. */
static struct adsm_record *record_of(const struct adsm_object *object)
{
	return *(struct adsm_record *const volatile *)&object->record;
}

static struct adsm_cause_count *counts_here(const struct adsm_object *object)
{
	struct adsm_record *record = adsm_observes(ADSM_OBSERVE_REPORT) ? record_of(object) : NULL;

	return record ? adsm_record_cause(record, &adsm_cause) : NULL;
}

#define ADD(field, n) atomic_fetch_add_explicit(&(field), (n), memory_order_relaxed)

/* ---- the observer's functions */

static uint32_t id_of(const struct adsm_object *object)
{
	const struct adsm_record *record = record_of(object);

	return record ? record->id : 0;
}

/* The fields that all events of an object have. */
#define TO_OBJECT(o) \
	.object = id_of(o), .device = (uint8_t)adsm_object_home(o)->index, .why = (uint8_t)adsm_cause.why

/* Make an event only if there is a trace. */
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
		.b = size, TO_OBJECT(object),
	});
}

static void observe_opened(struct adsm_object *object, uint32_t first, uint32_t n, bool writing)
{
	struct adsm_cause_count *count = counts_here(object);

	if (count)
		ADD(*(writing ? &count->opened_writing : &count->opened), n);
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_OPENED, .detail = writing, .start_ns = adsm_os_now_ns(), .a = first, .b = n,
		TO_OBJECT(object),
	});
}

static void observe_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	if (adsm_is_paged(object))
		adsm_acts_evicted(object, first, n);
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_EVICTED, .start_ns = adsm_os_now_ns(), .a = first, .b = n, TO_OBJECT(object),
	});
}

static void observe_moved(struct adsm_object *object, int from, int to, bool whole, size_t fetched, uint64_t start_ns)
{
	struct adsm_trace_event event = {
		.type = ADSM_TRACE_OBJECT_MOVED, .start_ns = start_ns, .ns = adsm_os_now_ns() - start_ns, .a = whole,
		.b = fetched, TO_OBJECT(object),
	};

	event.device = (uint8_t)from;
	if (to == ADSM_MOVED_TO_HOST)
		event.type = ADSM_TRACE_DISPLACED;
	else
		event.to = (uint64_t)to;
	adsm_trace_put(&event);
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

	adsm_paged_served();
	if (count) {
		ADD(count->faults, n_signals);
		add_place(count, address - object->start + 1);
	}
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_FAULT, .detail = (uint8_t)(write | n_signals << 1), .start_ns = start_ns, .ns = ns,
		.a = address, .b = ahead, TO_OBJECT(object), .span_ns = adsm_os_now_ns() - start_ns,
	});
}

static void observe_wait(int device, uint64_t start_ns, uint64_t ns)
{
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_WAITED, .start_ns = start_ns, .ns = ns, .device = (uint8_t)device,
		.why = (uint8_t)adsm_cause.why,
	});
}

static void observe_once(uint64_t address, uint64_t unit, uint64_t start_ns, uint64_t ns)
{
	trace(&(struct adsm_trace_event){
		.type = ADSM_TRACE_ONCE, .start_ns = start_ns, .ns = ns, .a = address, .b = unit,
	});
}

static void observe_place(const void *where, char *ret_text, size_t size)
{
	if (where)
		adsm_site_text((uintptr_t)where, true, ret_text, size);
	else
		adsm_site_end();
}

static void observe_call(int device, const char *kernel, uint64_t seq, uint64_t start_ns, uint64_t ns)
{
	struct adsm_trace_event event = {
		.type = ADSM_TRACE_CALLED, .start_ns = start_ns, .ns = ns, .a = seq, .device = (uint8_t)device,
	};

	adsm_format(event.name, sizeof(event.name), "%s", kernel);
	trace(&event);
}

/* The end of the last kernel that is known to have ended, by device and lane. Guarded by the home's lock. */
static uint64_t kernel_end_ns[ADSM_MAX_DEVICES][ADSM_LANES_MAX];

/* Most devices report how long a kernel ran, but not when. If it is the last call, it ended just now. If others follow,
 * it may have ended long ago: then it began as soon as it could. */
static uint64_t guess_start(const struct adsm_home *home, const struct adsm_kernel_run *run)
{
	uint64_t end = kernel_end_ns[home->index][run->lane], first = run->given_ns > end ? run->given_ns : end;
	uint64_t last = adsm_os_now_ns() - run->ns;

	return run->seq < home->last_seq && first < last ? first : last;
}

static void observe_kernel(struct adsm_home *home, const struct adsm_kernel_run *run)
{
	struct adsm_trace_event event = {
		.type = ADSM_TRACE_KERNEL, .start_ns = adsm_costs_take(home, run), .ns = run->ns, .a = run->seq,
		.b = run->lane, .device = (uint8_t)home->index,
	};

	if (!adsm_observes(ADSM_OBSERVE_TRACE))
		return;
	if (!event.start_ns)
		event.start_ns = guess_start(home, run);
	kernel_end_ns[home->index][run->lane] = event.start_ns + run->ns;
	adsm_format(event.name, sizeof(event.name), "%s", run->kernel);
	trace(&event);
}

static void observe_called(struct adsm_object *object)
{
	struct adsm_record *record = record_of(object);

	if (record) {
		ADD(record->calls, 1);
		record->device = object->home->index;	/* it may have moved */
	}
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

/* ---- objects */

static void trace_life(const struct adsm_record *record, enum adsm_trace_type type, uint64_t ns)
{
	trace(&(struct adsm_trace_event){
		.type = type, .start_ns = ns, .b = record->size, .object = record->id,
		.device = (uint8_t)record->device,
	});
}

static struct adsm_record *observe_made(struct adsm_object *object)
{
	struct adsm_record *record;

	adsm_records_lock(NULL);
	record = adsm_record_new(object);
	if (record && adsm_observes(ADSM_OBSERVE_PAGES) && object->blocks.detects)
		record->pages = adsm_paged_make(object);
	if (record && record->pages && adsm_observes(ADSM_OBSERVE_ADVICE))
		record->use = adsm_use_make(object);
	if (record) {
		object->record = record;
		object->paged = record->pages;
		adsm_recorder_made(record);
	} else {
		adsm_recorder_missed();
	}
	adsm_records_unlock();
	if (record)
		trace_life(record, ADSM_TRACE_MADE, record->made_ns);
	return record;
}

static void observe_freed(struct adsm_record *record)
{
	adsm_records_lock(NULL);
	adsm_counters_read(&record->object->counters, &record->stats);
	adsm_recorder_counted(record, &record->stats, true);
	if (record->use)
		adsm_use_freed(record->use);
	if (record->pages)
		adsm_paged_forget(record->pages);
	record->object = NULL;
	record->freed_ns = adsm_os_now_ns();
	adsm_records_unlock();
	trace_life(record, ADSM_TRACE_FREED, record->freed_ns);
}

static void observe_named(struct adsm_record *record, const char *name)
{
	adsm_records_lock(NULL);
	adsm_format(record->name, sizeof(record->name), "%s", name);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_trace_name(record->id, record->name);
	adsm_recorder_named(record);
	adsm_records_unlock();
}

static void observe_reset(void)
{
	struct adsm_record *record;

	trace(&(struct adsm_trace_event){ .type = ADSM_TRACE_RESET, .start_ns = adsm_os_now_ns() });
	record = adsm_records_lock(NULL);
	adsm_recorder_reset();
	adsm_counted_ns = adsm_os_now_ns();
	adsm_costs_reset();
	for (; record; record = record->next) {
		adsm_record_reset(record);
		if (record->use)
			adsm_use_reset(record->use);
	}
	adsm_records_unlock();
}

static void forget_records(void)
{
	for (struct adsm_record *record = adsm_records_lock(NULL); record; record = record->next) {
		adsm_use_end(record->use);
		adsm_paged_end(record->pages);
	}
	adsm_records_unlock();
	adsm_records_forget();
}

/* ---- life */

static struct adsm_mutex life_mutex = ADSM_MUTEX_INIT(ADSM_RANK_OBSERVING);	/* for the observer's start and end */
static bool ended = true;
static int owner;			/* the process whose events it gets */

static void observe_exec(bool failed)
{
	if (getpid() == owner)
		adsm_writers_exec(failed);
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
	.moved = observe_moved,
	.fault_begins = fault_begins,
	.fault = observe_fault,
	.wait = observe_wait,
	.once = observe_once,
	.place = observe_place,
	.call = observe_call,
	.kernel = observe_kernel,
	.called = observe_called,
	.io = observe_io,
	.caller = find_caller,
	.advice_view = adsm_paged_view,
	.advice_touch = adsm_acts_touch,
	.advice_hold = adsm_paged_hold,
	.advice_act = adsm_acts_note,
	.advice_fetch = adsm_use_fetch,
	.habit = adsm_judge,
};

/* Add the counters of the objects that still exist. */
static void end_recording(void)
{
	for (struct adsm_record *record = adsm_records_lock(NULL); record; record = record->next)
		if (record->object) {
			adsmStats stats;

			adsm_record_stats(record, &stats);
			adsm_recorder_counted(record, &stats, false);
		}
	adsm_recorder_close();
	adsm_records_unlock();
}

/* With ADSM_FILES=new (adsmrun) the program runs even if the file cannot be made. */
static int may_go_on(int error)
{
	if (!error || !adsm_observe_options.files_new)
		return error;
	adsm_warn("%s; the program continues without it", adsm_last_error());
	return 0;
}

static int start(void)
{
	char path[PATH_MAX];
	bool traced = false, reports;
	int n_taken = 0, error;

	adsm_observing = 0;
	adsm_observer = &observer;
	adsm_start_ns = adsm_os_now_ns();
	atomic_store(&adsm_most_spent_ns, 0);
	adsm_counted_ns = 0;
	owner = getpid();
	forget_records();
	adsm_costs_forget();
	error = may_go_on(adsm_report_open(&n_taken));
	reports = adsm_report_wanted();
	if (!error && *adsm_observe_options.trace) {
		adsm_observe_choose(adsm_observe_options.trace, &n_taken, path);
		error = adsm_trace_open(path);
		traced = !error;
		error = may_go_on(error);
	}
	if (!error && *adsm_observe_options.record) {
		adsm_observe_choose(adsm_observe_options.record, &n_taken, path);
		error = may_go_on(adsm_recorder_open(path));
	}
	if (error)
		return error;
	dl_iterate_phdr(find_libc, NULL);
	if (traced || reports)
		adsm_site_start();
	/* Not later: the thread that stops the reporter may hold the loader's lock. */
	if (reports)
		adsm_source_open();
	if (traced)
		error = adsm_writer_start(&adsm_tracer, "adsm-tracer", adsm_trace_run);
	if (!error && reports)
		error = adsm_writer_start(&adsm_reporter, "adsm-reporter", adsm_report_run);
	if (error) {
		adsm_writers_stop();
		return error;
	}
	adsm_observing = (reports ? ADSM_OBSERVE_REPORT : 0) | (traced ? ADSM_OBSERVE_TRACE : 0) |
		(reports && adsm_observe_options.advice ? ADSM_OBSERVE_ADVICE : 0) |
		(adsm_recorder_runs() ? ADSM_OBSERVE_RECORD : 0);
	ended = false;
	return 0;
}

void adsm_observe_device(int index, struct adsm_device *device)
{
	adsm_trace_device(index, device->backend->name, device->name);
	if (adsm_observes(ADSM_OBSERVE_REPORT | ADSM_OBSERVE_TRACE))
		adsm_costs_device(index, device);
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
		adsm_writers_stop();
		adsm_report_write(true);
		end_recording();
		ended = true;
	}
	adsm_mutex_unlock(&life_mutex);
}
