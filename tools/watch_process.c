/* SPDX-License-Identifier: MIT */
/* watch_process.c - see watch_process.h. */
#include "watch_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#define NAME(name) #name " "
#define COUNTER_NAME(name, help) #name " "
#define MOST_OBJECTS ((uint64_t)1 << 20)

static bool read_at(pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec here = { to, size }, there = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static uint64_t read_number(pid_t pid, uint64_t address, size_t size)
{
	uint64_t number = 0;

	return read_at(pid, address, &number, size) ? number : 0;
}

/* Read a text of at most @size - 1 bytes. It may lie at the end of a mapping, so this reads in small pieces. */
static void read_text(pid_t pid, uint64_t address, char *text, size_t size)
{
	size_t n = 0;

	for (; n < size - 1 && read_at(pid, address + n, text + n, 1) && text[n]; n++)
		if ((unsigned char)text[n] < ' ' || text[n] == 127)
			text[n] = '?';
	text[n] = '\0';
}

/* Has the process this text at the address? */
static bool has_text(pid_t pid, uint64_t address, const char *text)
{
	const size_t size = strlen(text) + 1;
	char *found = malloc(size);
	const bool has = found && read_at(pid, address, found, size) && !memcmp(found, text, size);

	free(found);
	return has;
}

/* Is it the table of a library of this version? The end of a mapping may have a copy without the addresses. */
static bool is_table(pid_t pid, const struct adsm_watch *table)
{
	return !memcmp(table->magic, ADSM_WATCH_MAGIC, sizeof(table->magic)) &&
	       table->version == ADSM_WATCH_VERSION &&
	       has_text(pid, table->names_at, ADSM_WATCH_FIELDS(NAME)) &&
	       has_text(pid, table->counter_names_at, ADSM_STATS(COUNTER_NAME));
}

/* Search a mapping for the table. */
static bool find_in(pid_t pid, uint64_t start, uint64_t end, struct adsm_watch *ret_table)
{
	const size_t size = end - start;
	char *bytes = malloc(size);
	bool found = false;

	if (bytes && read_at(pid, start, bytes, size))
		for (size_t i = 0; i + sizeof(*ret_table) <= size && !found; i += ADSM_WATCH_ALIGNMENT) {
			memcpy(ret_table, bytes + i, sizeof(*ret_table));
			found = is_table(pid, ret_table);
		}
	free(bytes);
	return found;
}

const char *watch_find(pid_t pid, struct watched *ret_watched)
{
	struct adsm_watch *table = &ret_watched->table;
	bool is_loaded = false, found = false;
	char line[4096 + 128], rights[8];
	unsigned long start, end;
	FILE *maps;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
	maps = fopen(line, "r");
	if (!maps)
		return errno == ENOENT ? "there is no such process" : strerror(errno);
	errno = 0;
	while (!found && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/libadsm.so") || sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3)
			continue;
		is_loaded = true;
		found = !strchr(rights, 'x') && find_in(pid, start, end, table);
	}
	fclose(maps);
	if (!is_loaded)
		return errno == EACCES ? "only its user and root may read its memory" :
			"it has not loaded libadsm.so";
	if (!found && errno == EPERM)
		return "the system does not let this user read its memory (see /proc/sys/kernel/yama/ptrace_scope)";
	ret_watched->pid = pid;
	if (!found)
		return "its library is of another version than this adsm-info";
	return NULL;
}

static uint64_t field(const char *bytes, uint64_t offset, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, bytes + offset, size);
	return number;
}

static void read_device(const struct watched *watched, int i, struct watched_device *ret_device)
{
	const struct adsm_watch *t = &watched->table;
	const uint64_t home = t->homes_at + (uint64_t)i * t->home_size;
	const uint64_t device = read_number(watched->pid, home + t->home_device, 8), backend =
		read_number(watched->pid, device + t->device_backend, 8);
	const uint64_t ended = read_number(watched->pid, home + t->home_ended, 8);

	ret_device->last_call = read_number(watched->pid, home + t->home_last_call, 8);
	ret_device->running = ret_device->last_call > ended ? ret_device->last_call - ended : 0;
	ret_device->lost = read_number(watched->pid, device + t->device_lost, 8) != 0;
	read_text(watched->pid, device + t->device_name, ret_device->name, sizeof(ret_device->name));
	read_text(watched->pid, read_number(watched->pid, backend + t->backend_name, 8), ret_device->backend,
		  sizeof(ret_device->backend));
}

/* @slot: the bytes of a live object. */
static void take_object(const struct watched *watched, const char *slot, struct watched_object *ret_object)
{
	const struct adsm_watch *t = &watched->table;
	const uint8_t lacking = (uint8_t)slot[t->object_lacking], unsent = (uint8_t)slot[t->object_unsent];

	memset(ret_object, 0, sizeof(*ret_object));
	ret_object->address = field(slot, t->object_start, 8);
	ret_object->size = field(slot, t->object_bytes, 8);
	ret_object->generation = field(slot, t->object_generation, 8);
	ret_object->device = (int)read_number(watched->pid, field(slot, t->object_home, 8) + t->home_index, 4);
	memcpy(&ret_object->stats, slot + t->object_counters, sizeof(ret_object->stats));
	snprintf(ret_object->name, sizeof(ret_object->name), "%s", slot + t->object_name);
	for (char *p = ret_object->name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	if (slot[t->object_device_only]) {
		snprintf(ret_object->protocol, sizeof(ret_object->protocol), "device only");
		return;
	}
	read_text(watched->pid, read_number(watched->pid, field(slot, t->object_protocol, 8) + t->protocol_name, 8),
		  ret_object->protocol, sizeof(ret_object->protocol));
	ret_object->n_blocks = field(slot, t->object_n_blocks, 4);
	for (int i = 0; i < 4; i++) {
		const uint64_t n = field(slot, t->object_n_in + 4 * (uint64_t)i, 4);

		ret_object->n_invalid += lacking >> i & 1 ? n : 0;
		ret_object->n_dirty += unsent >> i & 1 ? n : 0;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct watched_object *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static bool read_objects(const struct watched *watched, struct watched_state *state)
{
	const struct adsm_watch *t = &watched->table;
	const uint64_t n = t->chunk_slots ? read_number(watched->pid, t->n_slots_at, 4) : 0;
	char *chunk = malloc(t->chunk_slots * t->object_size + 1);
	const bool has_memory = chunk != NULL;

	state->objects = n <= MOST_OBJECTS ? calloc(n + 1, sizeof(*state->objects)) : NULL;
	for (uint64_t i = 0; chunk && state->objects && i < n; i += t->chunk_slots) {
		const uint64_t n_here = n - i < t->chunk_slots ? n - i : t->chunk_slots;
		const uint64_t at = read_number(watched->pid, t->chunks_at + i / t->chunk_slots * 8, 8);

		if (!read_at(watched->pid, at, chunk, n_here * t->object_size))
			break;
		for (uint64_t k = 0; k < n_here; k++)
			if (chunk[k * t->object_size + t->object_live])
				take_object(watched, chunk + k * t->object_size, &state->objects[state->n_objects++]);
	}
	free(chunk);
	if (state->objects)
		qsort(state->objects, state->n_objects, sizeof(*state->objects), by_address);
	return has_memory && state->objects;
}

bool watch_read(const struct watched *watched, struct watched_state *ret_state)
{
	struct timespec now;
	int n;

	memset(ret_state, 0, sizeof(*ret_state));
	clock_gettime(CLOCK_MONOTONIC, &now);
	ret_state->now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (!read_at(watched->pid, watched->table.total_at, &ret_state->total, sizeof(ret_state->total)))
		return false;
	n = (int)read_number(watched->pid, watched->table.n_homes_at, 4);
	for (int i = 0; i < n && i < WATCHED_DEVICES; i++)
		read_device(watched, i, &ret_state->devices[ret_state->n_devices++]);
	return read_objects(watched, ret_state);
}

bool watch_ended(const struct watched *watched)
{
	char byte;

	/* A process that only its parent still has to wait for has no memory: that is ESRCH, too. */
	return !read_at(watched->pid, watched->table.total_at, &byte, sizeof(byte)) && errno == ESRCH;
}
