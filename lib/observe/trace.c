/* SPDX-License-Identifier: MIT */
/* trace.c - rings of events, and the file they go to. */
#include "observe/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "observe/observe.h"
#include "base/os.h"
#include "base/output.h"

#define RING_EVENTS 16384		/* a megabyte, where all are in use */
#define RINGS_MAX 1024			/* events of further threads are dropped */
#define MANY_RINGS 64
#define NAME_SIZE 16			/* of a thread, with its NUL */
#define LANES 8				/* of a track */
#define ABANDONED_NS 1000000000		/* after that nobody will finish a place in a ring any more */
#define LATE_NS 1000000			/* from an event's end until it is surely in its ring */
#define LINE_SIZE 2048			/* more than any */
#define TEXT_SIZE 65536			/* of a write */
#define LANE_TID 10000000		/* more than any thread's id */

enum { PROGRAM = 1, FIRST_DEVICE = 2 };	/* the file's processes */
enum { KERNELS, N_DEVICE_TRACKS = 3 };	/* then one for each enum adsm_direction */

/* ---- what keeps bars on one track apart */

struct span { uint64_t start, end; };

struct lane {
	uint64_t end;			/* of its last bar */
	bool named;
};

/* The lane for a bar; where the last one has no place either, the bar is cut. They come in the order of their ends. */
static unsigned choose_lane(struct lane lanes[LANES], struct span *bar)
{
	unsigned i = 0;

	while (i < LANES - 1 && lanes[i].end > bar->start)
		i++;
	if (bar->start < lanes[i].end)
		bar->start = lanes[i].end;
	if (bar->end < bar->start)
		bar->end = bar->start;
	lanes[i].end = bar->end;
	return i;
}

/* ---- rings */

enum { FREE, TAKEN, USED };

struct ring {
	struct ring *next;
	_Atomic uint32_t state;
	/* The thread's, where it is USED. */
	int tid;
	char name[NAME_SIZE];
	/* A place is reserved by moving the head, and complete when its stamp is its position and one. */
	_Atomic uint64_t head;
	_Atomic uint64_t dropped[ADSM_TRACE_N_TYPES + 1];	/* by type; the last: abandoned */
	_Atomic uint64_t tail;
	/* From here on the reader's. */
	uint64_t stuck, stuck_ns;	/* an incomplete place, and since when */
	bool named;			/* in the file */
	struct lane lanes[LANES];	/* of its I/O */
	_Atomic uint32_t stamps[RING_EVENTS];
	struct adsm_trace_event events[RING_EVENTS];
};

static struct ring *_Atomic rings;
static _Atomic unsigned n_rings;
static _Atomic uint64_t ringless[ADSM_TRACE_N_TYPES];	/* dropped without a ring */
static _Thread_local struct ring *_Atomic ring_here;

static struct ring *take_free(void)
{
	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next) {
		uint32_t free = FREE;

		if (atomic_compare_exchange_strong(&ring->state, &free, TAKEN))
			return ring;
	}
	return NULL;
}

static struct ring *make(void)
{
	struct ring *ring;
	unsigned n_made;

	n_made = atomic_fetch_add(&n_rings, 1) + 1;
	if (n_made > RINGS_MAX) {
		atomic_fetch_sub(&n_rings, 1);
		return NULL;
	}
	ring = adsm_os_table(sizeof(*ring));
	if (!ring) {
		atomic_fetch_sub(&n_rings, 1);
		return NULL;
	}
	if (n_made % MANY_RINGS == 0)
		adsm_observe_poke();	/* perhaps some threads have ended */
	atomic_store(&ring->state, TAKEN);
	ring->next = atomic_load(&rings);
	while (!atomic_compare_exchange_weak(&rings, &ring->next, ring))
		;
	return ring;
}

/* This thread's, from its first event on. */
static struct ring *take_ring(void)
{
	struct ring *ring = take_free(), *none = NULL;
	int saved_errno = errno;

	if (!ring)
		ring = make();
	if (!ring)
		return NULL;
	ring->tid = adsm_os_thread_id();
	prctl(PR_GET_NAME, ring->name);
	errno = saved_errno;
	/* A signal handler may have been here meanwhile. */
	if (!atomic_compare_exchange_strong(&ring_here, &none, ring)) {
		atomic_store(&ring->state, FREE);
		return none;
	}
	atomic_store(&ring->state, USED);
	return ring;
}

void adsm_trace_put(const struct adsm_trace_event *event)
{
	struct ring *ring = atomic_load_explicit(&ring_here, memory_order_relaxed);
	uint64_t at, n;

	if (!ring)
		ring = take_ring();
	if (!ring) {
		atomic_fetch_add(&ringless[event->type], 1);
		return;
	}
	/* A handler that comes between has the next place. */
	at = atomic_load_explicit(&ring->head, memory_order_relaxed);
	do {
		n = at - atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (n >= RING_EVENTS) {
			atomic_fetch_add_explicit(&ring->dropped[event->type], 1, memory_order_relaxed);
			return;
		}
	} while (!atomic_compare_exchange_weak_explicit(&ring->head, &at, at + 1, memory_order_relaxed,
							memory_order_relaxed));
	ring->events[at % RING_EVENTS] = *event;
	atomic_store_explicit(&ring->stamps[at % RING_EVENTS], (uint32_t)(at + 1), memory_order_release);
	if (n == RING_EVENTS / 2)
		adsm_observe_poke();
}

/* ---- the file */

static struct {
	struct adsm_fd *own;		/* NULL: none, or no more */
	bool is_regular;
	off_t size;			/* whole lines */
	off_t end;			/* before the lines that close it */
	size_t n;
	char text[TEXT_SIZE];		/* what comes next */
} file;

/* 0 or a negative errno. */
static int write_all(void)
{
	int fd = adsm_fd_number(file.own);
	size_t done = 0;

	if (fd < 0)
		return fd;
	while (done < file.n) {
		ssize_t n = write(fd, file.text + done, file.n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int error = n ? -errno : -EIO;

			if (file.is_regular && ftruncate(fd, file.size))
				adsm_debug("the trace ends in the middle of a line");
			return error;
		}
		done += (size_t)n;
	}
	return 0;
}

static void write_out(void)
{
	int error = !file.own || !file.n ? 0 : write_all();

	if (error) {
		adsm_error("ADSM_TRACE: cannot write any more: %s", strerror(-error));
		adsm_trace_forget();
	}
	file.size += (off_t)file.n;
	file.n = 0;
}

/* ---- its text */

static void add(const char *text)
{
	size_t n = strlen(text);

	memcpy(file.text + file.n, text, n);
	file.n += n;
}

static void add_number(uint64_t value)
{
	char digits[20];
	unsigned n = sizeof(digits);

	do
		digits[--n] = (char)('0' + value % 10);
	while (value /= 10);
	memcpy(file.text + file.n, digits + n, sizeof(digits) - n);
	file.n += sizeof(digits) - n;
}

/* Nanoseconds as microseconds. */
static void add_time(uint64_t ns)
{
	char rest[] = { '.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10), '\0' };

	add_number(ns / 1000);
	add(rest);
}

/* Between quotes; a NUL ends it. */
static void add_escaped(const char *text)
{
	static const char hex[] = "0123456789abcdef";

	while (*text) {
		unsigned char c = (unsigned char)*text;
		unsigned n = adsm_utf8_length(text);

		if (!n) {
			add("\\ufffd");
		} else if (c == '"' || c == '\\') {
			add((char[]){ '\\', (char)c, '\0' });
		} else if (c < 0x20 || c == 0x7f) {
			add("\\u00");
			add((char[]){ hex[c >> 4], hex[c & 15], '\0' });
		} else {
			memcpy(file.text + file.n, text, n);
			file.n += n;
		}
		text += n ? n : 1;
	}
}

/* A field of the object that is being written. */
static void add_key(const char *key)
{
	if (file.text[file.n - 1] != '{')
		add(",");
	add("\"");
	add(key);
	add("\":");
}

static void add_string(const char *key, const char *text)
{
	add_key(key);
	add("\"");
	add_escaped(text);
	add("\"");
}

static void add_value(const char *key, uint64_t value)
{
	add_key(key);
	add_number(value);
}

static void begin_line(const char *phase, uint64_t pid, uint64_t tid)
{
	if (file.n > TEXT_SIZE - LINE_SIZE)
		write_out();
	add("{");
	add_string("ph", phase);
	add_value("pid", pid);
	add_value("tid", tid);
}

/* Then the name's text, and then its arguments. */
static void begin_name(void)
{
	add_key("name");
	add("\"");
}

static void begin_args(void)
{
	add("\",\"args\":{");
}

static void end_line(void)
{
	add("}},\n");
}

/* What a process or a thread is called. */
static void name_track(const char *what, uint64_t pid, uint64_t tid, const char *name, const char *more, unsigned lane)
{
	begin_line("M", pid, tid);
	begin_name();
	add(what);
	begin_args();
	/* The program's, as others know it. */
	if (pid == PROGRAM && !tid)
		add_value("pid", (uint64_t)getpid());
	begin_name();
	add_escaped(name);
	add_escaped(more);
	if (lane) {
		add(" (");
		add_number(lane + 1);
		add(")");
	}
	add("\"");
	end_line();
}

/* ---- what the events speak of */

struct device {
	bool named;			/* in the file */
	struct lane lanes[N_DEVICE_TRACKS][LANES];
};

static struct device *devices;		/* ADSM_MAX_DEVICES */
static struct adsm_mutex names_mutex = ADSM_MUTEX_INIT;
static char device_names[ADSM_MAX_DEVICES][96];
static char (*labels)[ADSM_NAME_SIZE];	/* by id: names of objects, "" where they have none */

void adsm_trace_device(int device, const char *backend, const char *name)
{
	adsm_mutex_lock(&names_mutex);
	if (device >= 0 && device < ADSM_MAX_DEVICES)
		adsm_format(device_names[device], sizeof(device_names[device]), ": %s %s", backend, name);
	adsm_mutex_unlock(&names_mutex);
}

void adsm_trace_name(uint32_t object, const char *name)
{
	adsm_mutex_lock(&names_mutex);
	if (object <= ADSM_RECORDS_MAX)
		adsm_format(labels[object], sizeof(labels[object]), "%s", name);
	adsm_mutex_unlock(&names_mutex);
}

static void add_label(uint32_t object)
{
	char label[ADSM_NAME_SIZE] = "an object";

	if (object)
		adsm_format(label, sizeof(label), "object %u", object);
	adsm_mutex_lock(&names_mutex);
	if (object && object <= ADSM_RECORDS_MAX && *labels[object])
		memcpy(label, labels[object], sizeof(label));
	adsm_mutex_unlock(&names_mutex);
	add_escaped(label);
}

static void add_object(const struct adsm_trace_event *event)
{
	add_value("object", event->object);
	add_key("label");
	add("\"");
	add_label(event->object);
	add("\"");
}

static void add_why(const struct adsm_trace_event *event)
{
	static const char *const words[] = {
		[ADSM_WHY_OTHER] = "other", [ADSM_WHY_READ] = "read", [ADSM_WHY_WRITE] = "write",
		[ADSM_WHY_COPY] = "copy", [ADSM_WHY_FILL] = "fill", [ADSM_WHY_IO] = "io", [ADSM_WHY_HOLD] = "hold",
		[ADSM_WHY_CALL] = "call", [ADSM_WHY_SYNC] = "sync", [ADSM_WHY_EVICT] = "evict",
	};

	add_string("why", words[event->why < ADSM_N_WHYS ? event->why : ADSM_WHY_OTHER]);
}

/* ---- events to lines */

static uint64_t since_start(uint64_t ns)
{
	return ns < adsm_start_ns ? 0 : ns - adsm_start_ns;
}

static uint64_t end_of(const struct adsm_trace_event *event)
{
	return event->start_ns + (event->type == ADSM_TRACE_FAULT ? event->span_ns : event->ns);
}

static void begin_bar(uint64_t pid, uint64_t tid, struct span bar, const char *category)
{
	begin_line("X", pid, tid);
	add_key("ts");
	add_time(bar.start);
	add_key("dur");
	add_time(bar.end - bar.start);
	add_string("cat", category);
	begin_name();
}

/* Those of a thread nest. */
static void begin_thread_bar(const struct ring *ring, const struct adsm_trace_event *event, const char *category)
{
	struct span bar = { since_start(event->start_ns), since_start(end_of(event)) };

	begin_bar(PROGRAM, (uint64_t)ring->tid, bar, category);
}

/* I/O need not nest with what else its thread does, nor with other I/O: it has tracks of its own. */
static void begin_io_bar(struct ring *ring, const struct adsm_trace_event *event)
{
	struct span bar = { since_start(event->start_ns), since_start(end_of(event)) };
	unsigned lane = choose_lane(ring->lanes, &bar);
	uint64_t tid = (uint64_t)ring->tid + (uint64_t)(lane + 1) * LANE_TID;

	if (!ring->lanes[lane].named)
		name_track("thread_name", PROGRAM, tid, ring->name, ": I/O", lane);
	ring->lanes[lane].named = true;
	begin_bar(PROGRAM, tid, bar, "io");
}

static void begin_device_bar(const struct adsm_trace_event *event, unsigned track, const char *category)
{
	static const char *const names[] = { "kernels", "to device", "to host" };
	unsigned index = event->device < ADSM_MAX_DEVICES ? event->device : 0;
	struct device *device = &devices[index];
	struct span bar = { since_start(event->start_ns), since_start(end_of(event)) };
	unsigned lane = choose_lane(device->lanes[track], &bar);
	uint64_t pid = FIRST_DEVICE + index, tid = track + lane * 10;

	if (!device->named) {
		char name[16], rest[sizeof(device_names[0])];

		adsm_format(name, sizeof(name), "device %u", index);
		adsm_mutex_lock(&names_mutex);
		memcpy(rest, device_names[index], sizeof(rest));
		adsm_mutex_unlock(&names_mutex);
		name_track("process_name", pid, 0, name, rest, 0);
		device->named = true;
	}
	if (!device->lanes[track][lane].named) {
		name_track("thread_name", pid, tid, names[track], "", lane);
		device->lanes[track][lane].named = true;
	}
	begin_bar(pid, tid, bar, category);
}

static void begin_instant(const struct ring *ring, const struct adsm_trace_event *event, const char *category)
{
	begin_line("i", PROGRAM, (uint64_t)ring->tid);
	add_string("s", "t");
	add_key("ts");
	add_time(since_start(event->start_ns));
	add_string("cat", category);
	begin_name();
}

static void add_kernel(const char *name)
{
	add_escaped(*name ? name : "commands");
}

static void add_fault(const struct ring *ring, const struct adsm_trace_event *event)
{
	bool write = event->detail & 1;

	begin_thread_bar(ring, event, "fault");
	add(write ? "write fault, " : "read fault, ");
	add_label(event->object);
	begin_args();
	add_object(event);
	add_value("device", event->device);
	add_value("address", event->a);
	add_value("signals", event->detail >> 1);
	add_value("ahead_blocks", event->b);
	add_value("fault_ns", event->ns);
}

static void add_opened(const struct ring *ring, const struct adsm_trace_event *event)
{
	begin_instant(ring, event, "opened");
	add(event->detail ? "opened to write, " : "opened to read, ");
	add_label(event->object);
	begin_args();
	add_object(event);
	add_why(event);
	add_value("device", event->device);
	add_value("first_block", event->a);
	add_value(event->detail ? "write_faults" : "read_faults", event->b);
}

static void add_transfer(const struct ring *ring, const struct adsm_trace_event *event)
{
	bool to_device = event->detail == ADSM_TO_DEVICE;

	begin_device_bar(event, to_device ? 1 : 2, "transfer");
	add_label(event->object);
	begin_args();
	add_object(event);
	add_why(event);
	add_value("thread", (uint64_t)ring->tid);
	add_value("offset", event->a);
	add_value(to_device ? "h2d_bytes" : "d2h_bytes", event->b);
	add_value(to_device ? "h2d_transfers" : "d2h_transfers", 1);
	add_value(to_device ? "h2d_ns" : "d2h_ns", event->ns);
}

static void add_event(struct ring *ring, const struct adsm_trace_event *event)
{
	switch (event->type) {
	case ADSM_TRACE_FAULT:
		add_fault(ring, event);
		break;
	case ADSM_TRACE_OPENED:
		add_opened(ring, event);
		break;
	case ADSM_TRACE_TRANSFER:
		add_transfer(ring, event);
		break;
	case ADSM_TRACE_EVICTED:
		begin_instant(ring, event, "evicted");
		add("evicted, ");
		add_label(event->object);
		begin_args();
		add_object(event);
		add_value("device", event->device);
		add_value("first_block", event->a);
		add_value("evictions", event->b);
		break;
	case ADSM_TRACE_CALLED:
		begin_thread_bar(ring, event, "call");
		add("call ");
		add_kernel(event->name);
		begin_args();
		add_value("device", event->device);
		add_value("seq", event->a);
		add_value("calls", 1);
		add_value("ns", event->ns);
		break;
	case ADSM_TRACE_KERNEL:
		begin_device_bar(event, KERNELS, "kernel");
		add_kernel(event->name);
		begin_args();
		add_value("seq", event->a);
		add_value("kernel_ns", event->ns);
		break;
	case ADSM_TRACE_WAITED:
		begin_thread_bar(ring, event, "wait");
		add("wait");
		begin_args();
		add_why(event);
		add_value("device", event->device);
		add_value("wait_ns", event->ns);
		break;
	case ADSM_TRACE_IO:
		begin_io_bar(ring, event);
		add("I/O");
		begin_args();
		add_value("bytes", event->b);
		add_value("io_ns", event->ns);
		break;
	case ADSM_TRACE_RESET:
		begin_instant(ring, event, "reset");
		add("counters begin anew");
		begin_args();
		break;
	default:
		begin_instant(ring, event, "object");
		add(event->type == ADSM_TRACE_MADE ? "made, " : "freed, ");
		add_label(event->object);
		begin_args();
		add_object(event);
		add_value("device", event->device);
		add_value("size", event->b);
	}
	end_line();
}

/* ---- rings to the file */

static bool is_complete(const struct ring *ring, uint64_t at)
{
	return atomic_load_explicit(&ring->stamps[at % RING_EVENTS], memory_order_acquire) == (uint32_t)(at + 1);
}

/*
 * The next event of a ring. Who jumps out of a signal handler that came in the middle of a put leaves a place
 * incomplete for ever: it is passed over, and counted as dropped, once it is old. @all: now.
 */
static const struct adsm_trace_event *next_of(struct ring *ring, bool all)
{
	uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	for (; at < head; atomic_store_explicit(&ring->tail, ++at, memory_order_release)) {
		if (is_complete(ring, at))
			return &ring->events[at % RING_EVENTS];
		if (ring->stuck != at + 1) {
			ring->stuck = at + 1;
			ring->stuck_ns = adsm_os_now_ns();
		}
		if (!all && adsm_os_now_ns() - ring->stuck_ns < ABANDONED_NS)
			return NULL;
		atomic_fetch_add(&ring->dropped[ADSM_TRACE_N_TYPES], 1);
	}
	return NULL;
}

/* A thread is called what it is when it is first seen here, or, if it has ended, what it was at its first event. */
static void tell_name(struct ring *ring)
{
	char path[48];
	ssize_t n = 0;
	int fd;

	if (ring->named)
		return;
	adsm_format(path, sizeof(path), "/proc/self/task/%d/comm", ring->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		char name[NAME_SIZE] = "";

		n = read(fd, name, sizeof(name));
		close(fd);
		/* It ends with a newline. */
		if (n > 1) {
			name[n - 1] = '\0';
			memcpy(ring->name, name, sizeof(name));
		}
	}
	name_track("thread_name", PROGRAM, (uint64_t)ring->tid, *ring->name ? ring->name : "thread", "", 0);
	ring->named = true;
}

/* Another track begins, or another file. */
static void forget_lines(struct ring *ring)
{
	memset(ring->lanes, 0, sizeof(ring->lanes));
	ring->named = false;
}

/* What the rings have that ended until @limit, in that order. @all: there is no later. */
static void drain(uint64_t limit, bool all)
{
	for (;;) {
		const struct adsm_trace_event *event;
		struct ring *best = NULL;
		uint64_t first = limit, next = limit;

		for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next) {
			event = next_of(ring, all);
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
		tell_name(best);
		for (event = next_of(best, all); event && end_of(event) <= next; event = next_of(best, all)) {
			add_event(best, event);
			atomic_fetch_add_explicit(&best->tail, 1, memory_order_release);
		}
	}
}

static void flush(bool all)
{
	bool more = false;

	drain(adsm_os_now_ns() - (all ? 0 : LATE_NS), all);
	write_out();
	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next) {
		bool is_over = atomic_load(&ring->state) == USED && syscall(SYS_tgkill, getpid(), ring->tid, 0) &&
			errno == ESRCH;
		uint64_t n = atomic_load(&ring->head) - atomic_load(&ring->tail);

		more |= n >= RING_EVENTS / 2;
		/* For the next thread that needs one. */
		if (is_over && !n) {
			forget_lines(ring);
			atomic_store(&ring->state, FREE);
		}
	}
	if (more)
		adsm_observe_poke();
}

/* ---- life */

static int open_file(const char *path)
{
	int fd, error;

	adsm_trace_forget();
	file.is_regular = adsm_output_is_new(path);
	if (file.is_regular) {
		fd = adsm_output_replace(path);
		error = fd < 0 ? fd : 0;
	} else {
		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
		error = fd < 0 ? -errno : 0;
	}
	if (!error)
		error = adsm_fd_keep(fd, &file.own);
	if (!error) {
		file.size = file.end = 0;
		file.n = 0;
		add("[\n");
		name_track("process_name", PROGRAM, 0, "program ", program_invocation_short_name, 0);
		error = write_all();
		file.size = (off_t)file.n;
		file.n = 0;
	}
	if (!error)
		return 0;
	adsm_trace_forget();
	return adsm_fail(error, "ADSM_TRACE: cannot write to %s: %s", path, strerror(-error));
}

int adsm_trace_open(const char *path)
{
	if (!labels)
		labels = adsm_os_table((ADSM_RECORDS_MAX + 1) * sizeof(*labels));
	if (!devices)
		devices = adsm_os_table(ADSM_MAX_DEVICES * sizeof(*devices));
	if (!labels || !devices)
		return adsm_fail(-ENOMEM, "ADSM_TRACE: no address space for the trace (ulimit -v)");
	adsm_mutex_lock(&names_mutex);
	memset(labels, 0, (ADSM_RECORDS_MAX + 1) * sizeof(*labels));
	adsm_mutex_unlock(&names_mutex);
	memset(devices, 0, ADSM_MAX_DEVICES * sizeof(*devices));
	/* What came after the end of the trace before. */
	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next) {
		atomic_store(&ring->tail, atomic_load(&ring->head));
		for (unsigned i = 0; i <= ADSM_TRACE_N_TYPES; i++)
			atomic_store(&ring->dropped[i], 0);
		forget_lines(ring);
	}
	for (unsigned i = 0; i < ADSM_TRACE_N_TYPES; i++)
		atomic_store(&ringless[i], 0);
	return open_file(path);
}

void adsm_trace_flush(void)
{
	flush(false);
}

static uint64_t count_dropped(unsigned type)
{
	uint64_t n = type < ADSM_TRACE_N_TYPES ? atomic_load(&ringless[type]) : 0;

	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next)
		n += atomic_load(&ring->dropped[type]);
	return n;
}

void adsm_trace_close(const char *why)
{
	static const char *const names[] = {
		[ADSM_TRACE_FAULT] = "fault", [ADSM_TRACE_OPENED] = "opened", [ADSM_TRACE_TRANSFER] = "transfer",
		[ADSM_TRACE_EVICTED] = "evicted", [ADSM_TRACE_CALLED] = "call", [ADSM_TRACE_KERNEL] = "kernel",
		[ADSM_TRACE_WAITED] = "wait", [ADSM_TRACE_IO] = "io", [ADSM_TRACE_MADE] = "made",
		[ADSM_TRACE_FREED] = "freed", [ADSM_TRACE_RESET] = "reset", [ADSM_TRACE_N_TYPES] = "abandoned",
	};
	uint64_t dropped[ADSM_TRACE_N_TYPES + 1], n = 0;

	flush(true);
	/* Where it cannot be taken back it is left away. */
	if (why && !file.is_regular)
		return;
	file.end = file.size;
	for (unsigned i = 0; i <= ADSM_TRACE_N_TYPES; i++)
		n += dropped[i] = count_dropped(i);
	begin_line("M", PROGRAM, 0);
	begin_name();
	add("trace_end");
	begin_args();
	add_value("dropped", n);
	add_key("complete");
	add(n || why ? "false" : "true");
	add_string("why", why ? why : n ? "events came faster than they could be written" : "");
	/* By category, so that sums can still be checked. */
	add_key("dropped_by");
	add("{");
	for (unsigned i = 0; i <= ADSM_TRACE_N_TYPES; i++)
		if (dropped[i])
			add_value(names[i], dropped[i]);
	add("}}}\n]\n");
	write_out();
	if (n && !why)
		adsm_warn("ADSM_TRACE: %lu events were dropped, they came faster than they could be written; larger "
			  "blocks (ADSM_BLOCK_SIZE) make fewer, and the file may be on a faster disk", n);
}

void adsm_trace_reopen(void)
{
	int fd = adsm_fd_number(file.own);

	if (!file.own || !file.is_regular)
		return;
	if (fd < 0 || ftruncate(fd, file.end) || lseek(fd, file.end, SEEK_SET) < 0) {
		adsm_error("ADSM_TRACE: cannot go on after an exec that failed: %s", strerror(fd < 0 ? -fd : errno));
		adsm_trace_forget();
		return;
	}
	file.size = file.end;
}

void adsm_trace_forget(void)
{
	adsm_fd_drop(file.own);
	file.own = NULL;
}
