/* SPDX-License-Identifier: MIT */
/* adsmreplay_load.c - reads a recording, and checks it, so that replays can rely on it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adsmreplay.h"
#include "protocols/protocol.h"

#define OBJECTS_MAX (1u << 20)
#define SIZE_LIMIT ((uint64_t)1 << 47)
#define DEVICES_MAX 8u
#define BLOCK_SIZE_MAX ((uint64_t)1 << 30)	/* of ADSM_BLOCK_SIZE */
#define PAGE_SHIFT 12u

/* ---- the file */

static bool map_file(const char *path, struct recording *recording)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status)) {
		complain("cannot read %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	recording->map_size = (size_t)status.st_size;
	/* Private and writable, because events are put into another order. */
	recording->map = status.st_size ? mmap(NULL, recording->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) :
		MAP_FAILED;
	close(fd);
	if (recording->map != MAP_FAILED)
		return true;
	recording->map = NULL;
	complain("cannot read %s: %s", path, status.st_size ? strerror(errno) : "the file is empty");
	return false;
}

static const char *broken_header(const struct recording *recording)
{
	const struct adsm_recording_header *header = recording->header;

	if (recording->map_size < ADSM_RECORDING_HEADER ||
	    memcmp(header->magic, ADSM_RECORDING_MAGIC, sizeof(header->magic)) != 0)
		return "it is not a recording; make one by adsmrun --record FILE PROGRAM";
	if (header->order != ADSM_RECORDING_ORDER)
		return "it was recorded on a processor with another byte order";
	if (header->version != ADSM_RECORDING_VERSION)
		return "its version is not the one of this adsm-replay; use the adsm-replay of the recording library";
	if (header->header_size != ADSM_RECORDING_HEADER ||
	    header->event_size != sizeof(struct adsm_recording_event) || header->page_size != 4096 ||
	    header->block_size < 4096 || header->block_size > BLOCK_SIZE_MAX ||
	    header->block_size & (header->block_size - 1) ||
	    header->program[sizeof(header->program) - 1] || header->protocol[sizeof(header->protocol) - 1])
		return "its header is damaged";
	if (!adsm_protocol_find(header->protocol))
		return "its header is damaged, or the recorded run used a protocol that is unknown";
	return NULL;
}

/* ---- events */

static struct recorded_object *made(struct recording *recording, const struct adsm_recording_event *event)
{
	unsigned shift = event->b & 0xff, device = event->b >> 8 & 0xff;
	uint64_t protocol = event->b >> 16;
	const struct adsm_recording_header *header = recording->header;
	struct recorded_object *object, *objects;
	const char *name;

	if (event->object != recording->n_objects || event->object > OBJECTS_MAX || !event->a ||
	    event->a > SIZE_LIMIT || device >= DEVICES_MAX || protocol >= ADSM_RECORDING_PROTOCOLS || shift > 48 ||
	    (shift < PAGE_SHIFT && !(event->detail & ADSM_REC_MADE_DEVICE_ONLY)))
		return NULL;
	objects = realloc(recording->objects, (recording->n_objects + 1) * sizeof(*objects));
	if (!objects)
		return NULL;
	recording->objects = objects;
	object = &objects[recording->n_objects++];
	*object = (struct recorded_object){
		.size = event->a, .flags = event->detail, .device = device, .protocol = (unsigned)protocol,
		.block_shift = shift,
	};
	name = header->protocols[protocol];
	object->own = strncmp(name, header->protocol, sizeof(header->protocol)) != 0 ||
		(!strcmp(name, "rolling") && (uint64_t)1 << shift != header->block_size);
	return object;
}

static void count(struct recorded_object *object, const struct adsm_recording_event *event)
{
	switch (event->detail) {
#define TAKE(i, x, y) case i: object->counted.x = event->a; object->counted.y = event->b; break;
	ADSM_RECORDING_COUNTERS(TAKE)
#undef TAKE
	}
}

static void name(struct recorded_object *object, const struct adsm_recording_event *event)
{
	uint64_t words[2] = { event->a, event->b };

	if ((event->detail + 1u) * sizeof(words) <= sizeof(object->name))
		memcpy(object->name + event->detail * sizeof(words), words, sizeof(words));
	object->name[sizeof(object->name) - 1] = '\0';
}

/* Is the event valid for its object? */
static bool fits(const struct recorded_object *object, const struct adsm_recording_event *event)
{
	uint64_t span = (object->size + 4095) & ~(uint64_t)4095, a = event->a, b = event->b;

	if (object->freed)
		return false;
	switch (event->kind) {
	case ADSM_REC_TOUCH:
		return a < span && event->detail <= 1;
	case ADSM_REC_ACCESS:
	case ADSM_REC_DEVICE_WROTE:
	case ADSM_REC_EVICTED:
		return a < b && b <= span && event->detail < ADSM_N_EVENTS;
	case ADSM_REC_INPUT:
	case ADSM_REC_OUTPUT:
		return a <= b && b <= object->size;
	case ADSM_REC_BULK_LIMITS:
		return b > 0 && b <= SIZE_LIMIT;
	case ADSM_REC_BULK:
		return a < object->size && b && b <= object->size - a;
	case ADSM_REC_CALLED:
		return event->detail >= ADSM_EVENT_CALL_IN && event->detail <= ADSM_EVENT_CALL_OUT;
	}
	return true;
}

static bool take(struct recording *recording, const struct adsm_recording_event *event)
{
	struct recorded_object *object;

	if (event->thread >= recording->n_threads)
		recording->n_threads = event->thread + 1u;
	switch (event->kind) {
	case ADSM_REC_MADE:
		return made(recording, event);
	case ADSM_REC_CALLED_ALL:
	case ADSM_REC_SYNC:
		return event->object < DEVICES_MAX;
	case ADSM_REC_RESET:
		recording->reset = true;
		return true;
	case ADSM_REC_UNRECORDED:
		recording->n_missed += event->a;
		return true;
	case ADSM_REC_END:
		recording->ended = true;
		return true;
	}
	if (event->kind >= ADSM_REC_N || !event->object || event->object >= recording->n_objects)
		return false;
	object = &recording->objects[event->object];
	if (!fits(object, event))
		return false;
	if (event->kind == ADSM_REC_NAMED)
		name(object, event);
	if (event->kind == ADSM_REC_COUNTED)
		count(object, event);
	object->freed = event->kind == ADSM_REC_FREED;
	return true;
}

static void move(struct adsm_recording_event *events, size_t from, size_t to)
{
	struct adsm_recording_event event = events[from];

	memmove(&events[to + 1], &events[to], (from - to) * sizeof(event));
	events[to] = event;
}

/*
 * An early send comes after the access that needed it. Put it first: then the pages that are open for writing are those
 * after both. A bulk copy of the library is one access.
 */
static bool reorder(struct recording *recording)
{
	size_t *bulks = calloc(recording->n_threads, sizeof(*bulks));	/* the copies of threads, 0: none */
	struct adsm_recording_event *events = recording->events;

	for (size_t i = 1; bulks && i < recording->n_events; i++) {
		size_t *bulk = &bulks[events[i].thread];

		if (events[i].kind == ADSM_REC_BULK)
			*bulk = events[i].detail & ADSM_REC_BULK_LIBC ? 0 : i;
		else if (events[i].kind == ADSM_REC_BULK_END)
			*bulk = 0;
		else if (events[i].kind == ADSM_REC_EVICTED && *bulk)
			move(events, i, (*bulk)++);
		else if (events[i].kind == ADSM_REC_EVICTED &&
			 (events[i - 1].kind == ADSM_REC_TOUCH || events[i - 1].kind == ADSM_REC_INPUT))
			move(events, i, i - 1);
	}
	free(bulks);
	return bulks;
}

bool recording_load(const char *path, struct recording *ret_recording)
{
	struct recording *recording = ret_recording;
	const char *broken;

	*recording = (struct recording){ .path = path, .n_objects = 1 };
	if (!map_file(path, recording))
		return false;
	recording->header = recording->map;
	broken = broken_header(recording);
	if (broken) {
		complain("%s: %s", path, broken);
		return false;
	}
	recording->events = (void *)((char *)recording->map + ADSM_RECORDING_HEADER);
	recording->n_events = (recording->map_size - ADSM_RECORDING_HEADER) / sizeof(*recording->events);
	/* A program that was killed leaves empty events at the end. */
	for (size_t i = 0; i < recording->n_events; i++) {
		if (recording->events[i].kind == ADSM_REC_NONE) {
			recording->n_events = i;
		} else if (!take(recording, &recording->events[i])) {
			complain("%s: event %zu is damaged", path, i);
			return false;
		}
	}
	if (recording->n_events && !reorder(recording)) {
		complain("no memory for %s", path);
		return false;
	}
	return true;
}

void recording_free(struct recording *recording)
{
	if (recording->map)
		munmap(recording->map, recording->map_size);
	free(recording->objects);
}

void recording_counted(const struct recording *recording, adsmStats *ret_stats)
{
	*ret_stats = (adsmStats){ 0 };
	for (uint32_t i = 1; i < recording->n_objects; i++) {
#define ADD(n, x, y) ret_stats->x += recording->objects[i].counted.x; ret_stats->y += recording->objects[i].counted.y;
		ADSM_RECORDING_COUNTERS(ADD)
#undef ADD
	}
}
