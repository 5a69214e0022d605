/* SPDX-License-Identifier: MIT */
/* trace.c - reads events from the rings, in the order of their ends, and writes lines for them. */
#include "observe/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "observe/writer.h"
#include "observe/line.h"
#include "observe/record.h"
#include "observe/ring.h"
#include "observe/text.h"

#define TRACE_VERSION 3			/* 2: kernels have a lane; 3: displaced, object_move */
#define FLUSH_NS 100000000		/* between two looks at the rings */
#define LATE_NS 1000000			/* time after its end until an event is certainly in its ring */
#define TRACK_NAME_SIZE 256
#define LANE_TID 10000000		/* more than any thread's id */
#define PART_TID 1000			/* and more than the lanes of a device's own tracks need */

enum { PROGRAM = 1, FIRST_DEVICE = 2 };	/* the file's processes */
enum { KERNELS, TO_DEVICE, TO_HOST, N_DEVICE_TRACKS };

/* ---- names of devices, parts and objects */

static struct device {
	bool named;			/* the file has its name */
	struct adsm_lane lanes[N_DEVICE_TRACKS][ADSM_LANES];
} *devices;				/* ADSM_MAX_DEVICES of them */

static struct adsm_mutex names_mutex = ADSM_MUTEX_INIT(ADSM_RANK_NAMES);
static char device_names[ADSM_MAX_DEVICES][96];
static struct part {			/* a part of a device */
	char name[ADSM_PART_NAME];
	struct adsm_lane lane;
} *parts[ADSM_MAX_DEVICES];		/* ADSM_TRACE_PARTS of them; NULL: the device has no parts */
static char (*labels)[ADSM_NAME_SIZE];	/* the names of objects by id, "" for none */

/* Signals are blocked: a handler may call exec, which waits for the tracer, and the tracer needs this mutex. */
static void lock_names(struct adsm_sigset *ret_old)
{
	adsm_os_signals_block(ret_old);
	adsm_mutex_lock(&names_mutex);
}

static void unlock_names(const struct adsm_sigset *old)
{
	adsm_mutex_unlock(&names_mutex);
	adsm_os_signals_restore(old);
}

void adsm_trace_device(int device, const char *backend, const char *name)
{
	struct adsm_sigset old;

	lock_names(&old);
	if (device >= 0 && device < ADSM_MAX_DEVICES)
		adsm_format(device_names[device], sizeof(device_names[device]), ": %s %s", backend, name);
	unlock_names(&old);
}

void adsm_trace_part(int device, unsigned part, const char *name)
{
	struct adsm_sigset old;

	lock_names(&old);
	if (!parts[device])
		parts[device] = adsm_os_table(ADSM_TRACE_PARTS * sizeof(*parts[device]));
	if (parts[device] && part < ADSM_TRACE_PARTS) {
		parts[device][part].lane = (struct adsm_lane){ .named = false };
		adsm_format(parts[device][part].name, sizeof(parts[device][part].name), "%s", name);
	}
	unlock_names(&old);
}

void adsm_trace_name(uint32_t object, const char *name)
{
	struct adsm_sigset old;

	lock_names(&old);
	if (object <= ADSM_RECORDS_MAX)
		adsm_format(labels[object], sizeof(labels[object]), "%s", name);
	unlock_names(&old);
}

static void get_label(uint32_t object, char ret_label[ADSM_NAME_SIZE])
{
	adsm_format(ret_label, ADSM_NAME_SIZE, object ? "object %u" : "an object", object);
	adsm_mutex_lock(&names_mutex);
	if (object && object <= ADSM_RECORDS_MAX && *labels[object])
		memcpy(ret_label, labels[object], ADSM_NAME_SIZE);
	adsm_mutex_unlock(&names_mutex);
}

/* ---- tracks */

/* Give a process or a thread of the trace its name. */
static void name_track(const char *what, uint64_t pid, uint64_t tid, const char *name, const char *more, unsigned lane)
{
	char text[TRACK_NAME_SIZE];

	adsm_line_begin("M", pid, tid);
	adsm_line_name(what, "");
	/* The program's real process id. */
	if (pid == PROGRAM && !tid) {
		adsm_line_value("pid", (uint64_t)getpid());
		adsm_line_value("version", TRACE_VERSION);
	}
	adsm_format(text, sizeof(text), lane ? "%s%s (%u)" : "%s%s", name, more, lane + 1);
	adsm_line_string("name", text);
	adsm_line_end();
}

/* A thread has the name from the time when its ring is first read; or, if it has ended, from its first event. */
static void name_thread(struct adsm_ring *ring)
{
	char path[48];
	ssize_t n = 0;
	int fd;

	if (ring->named)
		return;
	adsm_format(path, sizeof(path), "/proc/self/task/%d/comm", ring->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		char name[sizeof(ring->name)] = "";

		n = read(fd, name, sizeof(name));
		close(fd);
		/* The name ends with a newline. */
		if (n > 1) {
			name[n - 1] = '\0';
			memcpy(ring->name, name, sizeof(name));
		}
	}
	name_track("thread_name", PROGRAM, (uint64_t)ring->tid, *ring->name ? ring->name : "thread", "", 0);
	ring->named = true;
}

static void name_device(unsigned index)
{
	char name[16], rest[sizeof(device_names[0])];

	if (devices[index].named)
		return;
	adsm_format(name, sizeof(name), "device %u", index);
	adsm_mutex_lock(&names_mutex);
	memcpy(rest, device_names[index], sizeof(rest));
	adsm_mutex_unlock(&names_mutex);
	name_track("process_name", FIRST_DEVICE + index, 0, name, rest, 0);
	devices[index].named = true;
}

struct span { uint64_t start, end; };

/* Choose the lane of a bar. If no lane is free, the bar is cut. Bars come in the order of their ends. */
static unsigned choose_lane(struct adsm_lane *lanes, unsigned n, struct span *bar)
{
	unsigned i = 0;

	while (i < n - 1 && lanes[i].end > bar->start)
		i++;
	if (bar->start < lanes[i].end)
		bar->start = lanes[i].end;
	if (bar->end < bar->start)
		bar->end = bar->start;
	lanes[i].end = bar->end;
	return i;
}

/* ---- events to lines */

enum place {
	THREAD,				/* a bar on its thread's track; these nest */
	MARK,				/* a mark on its thread's track */
	PART,				/* a bar on the track of a part of the device */
	BESIDE,				/* a bar on the thread's tracks for I/O, which
					   does not nest with other bars of the thread */
	DEVICE,				/* a bar on the device's track 0; the others follow */
};

/* How an event is written: its kind, and its arguments in this order. Arguments without a name are left out. */
struct form {
	unsigned place;			/* enum place, or DEVICE plus the track */
	const char *category;
	const char *verb;		/* text before the object's or kernel's name */
	bool of_kernel, of_object, why, device, thread;
	const char *a, *signals, *b, *to, *one, *ns, *count, *bytes;	/* one: an argument whose value is 1 */
};

/* Two forms for each type. The second is for a write, for a transfer to the device, for an exchange, and for code. */
static const struct form forms[ADSM_TRACE_N_TYPES][2] = {
	[ADSM_TRACE_FAULT] = {
		{ THREAD, "fault", "read fault, ", .of_object = true, .device = true, .a = "address",
		  .signals = "signals", .b = "ahead_blocks", .ns = "fault_ns" },
		{ THREAD, "fault", "write fault, ", .of_object = true, .device = true, .a = "address",
		  .signals = "signals", .b = "ahead_blocks", .ns = "fault_ns" } },
	[ADSM_TRACE_OPENED] = {
		{ MARK, "opened", "opened to read, ", .of_object = true, .why = true, .device = true,
		  .a = "first_block", .b = "read_faults" },
		{ MARK, "opened", "opened to write, ", .of_object = true, .why = true, .device = true,
		  .a = "first_block", .b = "write_faults" } },
	[ADSM_TRACE_TRANSFER] = {
		{ DEVICE + TO_HOST, "transfer", "", .of_object = true, .why = true, .thread = true, .a = "offset",
		  .b = "d2h_bytes", .one = "d2h_transfers", .ns = "d2h_ns" },
		{ DEVICE + TO_DEVICE, "transfer", "", .of_object = true, .why = true, .thread = true, .a = "offset",
		  .b = "h2d_bytes", .one = "h2d_transfers", .ns = "h2d_ns" } },
	[ADSM_TRACE_EVICTED] = {
		{ MARK, "evicted", "evicted, ", .of_object = true, .device = true, .a = "first_block",
		  .b = "evictions" } },
	[ADSM_TRACE_DISPLACED] = {
		{ THREAD, "displaced", "displaced, ", .of_object = true, .device = true, .a = "displaced",
		  .b = "displaced_bytes" } },
	[ADSM_TRACE_OBJECT_MOVED] = {
		{ THREAD, "object_move", "moved to another device, ", .of_object = true, .device = true, .a = "moved",
		  .b = "moved_bytes", .to = "to" } },
	[ADSM_TRACE_CALLED] = {
		{ THREAD, "call", "call ", .of_kernel = true, .device = true, .a = "seq", .one = "calls",
		  .ns = "ns" } },
	[ADSM_TRACE_KERNEL] = {
		{ DEVICE + KERNELS, "kernel", "", .of_kernel = true, .a = "seq", .b = "lane", .ns = "kernel_ns" } },
	[ADSM_TRACE_PART] = {
		{ PART, "part", "", .of_kernel = true, .a = "seq", .b = "part", .ns = "work_ns" },
		{ PART, "part", "exchange, ", .of_kernel = true, .a = "seq", .b = "part", .ns = "exchange_ns" } },
	[ADSM_TRACE_PART_WAIT] = {
		{ PART, "part_wait", "", .of_kernel = true, .a = "seq", .b = "part", .ns = "part_wait_ns" } },
	[ADSM_TRACE_MOVED] = {
		{ PART, "moved", "misses", .a = "seq", .b = "part", .count = "misses", .bytes = "bytes_in" },
		{ PART, "moved", "code", .a = "seq", .b = "part", .count = "code_loads", .bytes = "bytes_code" } },
	[ADSM_TRACE_WAITED] = { { THREAD, "wait", "wait", .why = true, .device = true, .ns = "wait_ns" } },
	[ADSM_TRACE_ONCE] = { { THREAD, "once", "wait for a unit", .a = "address", .b = "unit", .one = "once_waits",
				.ns = "once_ns" } },
	[ADSM_TRACE_IO] = { { BESIDE, "io", "I/O", .b = "bytes", .ns = "io_ns" } },
	[ADSM_TRACE_MADE] = { { MARK, "object", "made, ", .of_object = true, .device = true, .b = "size" } },
	[ADSM_TRACE_FREED] = { { MARK, "object", "freed, ", .of_object = true, .device = true, .b = "size" } },
	[ADSM_TRACE_RESET] = { { .place = MARK, .category = "reset", .verb = "counters begin anew" } },
};

static const struct form *form_of(const struct adsm_trace_event *event)
{
	bool second = event->type == ADSM_TRACE_TRANSFER ? event->detail == ADSM_TO_DEVICE :
		(event->type == ADSM_TRACE_FAULT || event->type == ADSM_TRACE_OPENED ||
		 event->type == ADSM_TRACE_PART || event->type == ADSM_TRACE_MOVED) && event->detail & 1;

	return &forms[event->type][second];
}

static uint64_t since_start(uint64_t ns)
{
	return ns < adsm_start_ns ? 0 : ns - adsm_start_ns;
}

static uint64_t end_of(const struct adsm_trace_event *event)
{
	return event->start_ns + (event->type == ADSM_TRACE_FAULT ? event->span_ns : event->ns);
}

static void begin_bar(struct adsm_ring *ring, const struct adsm_trace_event *event, unsigned place)
{
	static const char *const names[N_DEVICE_TRACKS] = { "kernels", "to device", "to host" };
	struct span bar = { since_start(event->start_ns), since_start(end_of(event)) };
	unsigned index = event->device < ADSM_MAX_DEVICES ? event->device : 0, lane, track = place - DEVICE;
	/* Calls of a device's lane are on its track, or behind it. */
	const unsigned first = event->type == ADSM_TRACE_KERNEL && event->b < ADSM_LANES ? (unsigned)event->b : 0;
	struct adsm_lane *lanes = place == BESIDE ? ring->lanes : place < DEVICE ? NULL : devices[index].lanes[track];
	uint64_t pid = place < DEVICE ? PROGRAM : FIRST_DEVICE + index, tid = (uint64_t)ring->tid;

	if (lanes) {
		lane = first + choose_lane(lanes + first, ADSM_LANES - first, &bar);
		tid = place == BESIDE ? tid + (uint64_t)(lane + 1) * LANE_TID : track + lane * 10;
		if (place >= DEVICE)
			name_device(index);
		if (!lanes[lane].named)
			name_track("thread_name", pid, tid, place == BESIDE ? ring->name : names[track],
				   place == BESIDE ? ": I/O" : "", lane);
		lanes[lane].named = true;
	}
	adsm_line_begin("X", pid, tid);
	adsm_line_time("ts", bar.start);
	adsm_line_time("dur", bar.end - bar.start);
}

/* Without memory there are no names of parts. */
static bool has_part(const struct adsm_trace_event *event)
{
	return event->device < ADSM_MAX_DEVICES && parts[event->device] && event->b < ADSM_TRACE_PARTS;
}

static void begin_part(const struct adsm_trace_event *event)
{
	struct span bar = { since_start(event->start_ns), since_start(end_of(event)) };
	uint64_t pid = FIRST_DEVICE + event->device, tid = PART_TID + event->b;
	struct part *part = &parts[event->device][event->b];

	/* A wait lies within another bar. */
	if (event->type != ADSM_TRACE_PART_WAIT)
		choose_lane(&part->lane, 1, &bar);
	name_device(event->device);
	if (!part->lane.named)
		name_track("thread_name", pid, tid, part->name, "", 0);
	part->lane.named = true;
	adsm_line_begin("X", pid, tid);
	adsm_line_time("ts", bar.start);
	adsm_line_time("dur", bar.end - bar.start);
}

static void begin_mark(const struct adsm_ring *ring, const struct adsm_trace_event *event)
{
	adsm_line_begin("i", PROGRAM, (uint64_t)ring->tid);
	adsm_line_string("s", "t");
	adsm_line_time("ts", since_start(event->start_ns));
}

static void add_value(const char *key, uint64_t value)
{
	if (key)
		adsm_line_value(key, value);
}

static void add_event(struct adsm_ring *ring, const struct adsm_trace_event *event)
{
	const struct form *form = form_of(event);
	char label[ADSM_NAME_SIZE] = "";

	if (form->place == PART && !has_part(event))
		return;
	if (form->of_object)
		get_label(event->object, label);
	else if (form->of_kernel)
		adsm_format(label, sizeof(label), "%s", *event->name ? event->name : "commands");
	if (form->place == MARK)
		begin_mark(ring, event);
	else if (form->place == PART)
		begin_part(event);
	else
		begin_bar(ring, event, form->place);
	adsm_line_string("cat", form->category);
	adsm_line_name(form->verb, label);
	if (form->of_object) {
		adsm_line_value("object", event->object);
		adsm_line_string("label", label);
	}
	if (form->why)
		adsm_line_string("why", adsm_why_words[event->why < ADSM_N_WHYS ? event->why : ADSM_WHY_OTHER]);
	add_value(form->device ? "device" : NULL, event->device);
	add_value(form->thread ? "thread" : NULL, (uint64_t)ring->tid);
	add_value(form->a, event->a);
	add_value(form->signals, event->detail >> 1);
	add_value(form->b, event->b);
	add_value(form->to, event->to);
	add_value(form->one, 1);
	add_value(form->ns, event->ns);
	add_value(form->count, event->moved.count);
	add_value(form->bytes, event->moved.bytes);
	adsm_line_end();
}

/* ---- rings to the file */

/* Write the events that ended until @limit, in the order of their ends. @all: no more events come. */
static void drain(uint64_t limit, bool all)
{
	for (;;) {
		const struct adsm_trace_event *event;
		struct adsm_ring *best = NULL;
		uint64_t first = limit, next = limit;

		for (struct adsm_ring *ring = adsm_rings(); ring; ring = ring->next) {
			event = adsm_ring_next(ring, all);
			if (!event || end_of(event) > next)
				continue;
			if (!best || end_of(event) < first) {
				next = best ? first : limit;
				first = end_of(event);
				best = ring;
			} else {
				next = end_of(event);
			}
		}
		if (!best)
			return;
		name_thread(best);
		for (event = adsm_ring_next(best, all); event && end_of(event) <= next;
		     event = adsm_ring_next(best, all)) {
			add_event(best, event);
			adsm_ring_advance(best);
		}
	}
}

static void flush(bool all)
{
	drain(adsm_os_now_ns() - (all ? 0 : LATE_NS), all);
	adsm_lines_write();
	if (adsm_rings_settle())
		adsm_writer_poke(&adsm_tracer);
}

/* ---- life */

int adsm_trace_open(const char *path)
{
	int error;

	if (!labels)
		labels = adsm_os_table((ADSM_RECORDS_MAX + 1) * sizeof(*labels));
	if (!devices)
		devices = adsm_os_table(ADSM_MAX_DEVICES * sizeof(*devices));
	if (!labels || !devices)
		return adsm_fail(-ENOMEM, "ADSM_TRACE: no memory for the trace%s", adsm_os_limit(-ENOMEM));
	adsm_mutex_lock(&names_mutex);
	memset(labels, 0, (ADSM_RECORDS_MAX + 1) * sizeof(*labels));
	adsm_mutex_unlock(&names_mutex);
	memset(devices, 0, ADSM_MAX_DEVICES * sizeof(*devices));
	/* Forget events that came after the end of the previous trace. */
	adsm_rings_clear();
	error = adsm_lines_open(path);
	if (!error) {
		name_track("process_name", PROGRAM, 0, "program ", program_invocation_short_name, 0);
		error = adsm_lines_try();
	}
	return error ? adsm_fail(error, "ADSM_TRACE: cannot write to %s: %s", path, strerror(-error)) : 0;
}

void adsm_trace_flush(void)
{
	flush(false);
}

void adsm_trace_close(const char *why)
{
	static const char *const names[] = {
		[ADSM_TRACE_FAULT] = "fault", [ADSM_TRACE_OPENED] = "opened", [ADSM_TRACE_TRANSFER] = "transfer",
		[ADSM_TRACE_EVICTED] = "evicted", [ADSM_TRACE_DISPLACED] = "displaced",
		[ADSM_TRACE_OBJECT_MOVED] = "object_move", [ADSM_TRACE_CALLED] = "call", [ADSM_TRACE_KERNEL] = "kernel",
		[ADSM_TRACE_PART] = "part", [ADSM_TRACE_PART_WAIT] = "part_wait", [ADSM_TRACE_MOVED] = "moved",
		[ADSM_TRACE_WAITED] = "wait", [ADSM_TRACE_ONCE] = "once", [ADSM_TRACE_IO] = "io",
		[ADSM_TRACE_MADE] = "made", [ADSM_TRACE_FREED] = "freed", [ADSM_TRACE_RESET] = "reset",
		[ADSM_TRACE_N_TYPES] = "abandoned",
	};
	uint64_t dropped[ADSM_TRACE_N_TYPES + 1], n = 0;

	flush(true);
	/* The process may continue after a failed exec. If the end
	 * could then not be removed from the file, it is not written. */
	if (!adsm_lines_end(why))
		return;
	for (unsigned i = 0; i <= ADSM_TRACE_N_TYPES; i++)
		n += dropped[i] = adsm_rings_dropped(i);
	adsm_line_begin("M", PROGRAM, 0);
	adsm_line_name("trace_end", "");
	adsm_line_value("dropped", n);
	adsm_line_add(n || why ? ",\"complete\":false" : ",\"complete\":true");
	adsm_line_string("why", why ? why : n ? "events came faster than they could be written" : "");
	/* By category, so that sums can still be checked. */
	adsm_line_add(",\"dropped_by\":{");
	for (unsigned i = 0; i <= ADSM_TRACE_N_TYPES; i++)
		add_value(dropped[i] ? names[i] : NULL, dropped[i]);
	adsm_line_add("}}}\n]\n");
	adsm_lines_write();
	if (n && !why)
		adsm_warn("ADSM_TRACE: %lu events were dropped, because they came faster than the library could write "
			  "them; larger blocks (ADSM_BLOCK_SIZE) cause fewer events, and a faster disk helps, too", n);
}

void adsm_trace_run(void *arg)
{
	enum adsm_writer_task task;
	bool ended = false;

	while ((task = adsm_writer_wait(&adsm_tracer, FLUSH_NS)) != ADSM_WRITER_END) {
		if (task == ADSM_WRITER_REST)
			continue;
		if (ended)
			adsm_lines_go_on();
		ended = task == ADSM_WRITER_LEAVE;
		if (ended) {
			adsm_trace_close("the process became another program");
			adsm_writer_left(&adsm_tracer);
		} else {
			adsm_trace_flush();
		}
	}
	if (ended)
		adsm_lines_go_on();
	adsm_trace_close(NULL);
	adsm_writer_left(&adsm_tracer);
}

void adsm_trace_forget(void)
{
	adsm_lines_close();
}
