/* SPDX-License-Identifier: MIT */
/* partition.c - see partition.h: creates and destroys a manager, and answers queries. */
#include "partition.h"

#include "base/os.h"
#include "partition_call.h"
#include "partition_stubs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4)))
static int refuse(char *text, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, ADSM_PARTITION_TEXT, format, args);
	va_end(args);
	return error;
}

static size_t align(size_t size)
{
	return (size + ADSM_IMAGE_ALIGN - 1) & ~(size_t)(ADSM_IMAGE_ALIGN - 1);
}

/*
 * ---- the layout of the buffer: resident code, gates and stubs, sub-buffers; each piece of code has its slots before
 * it
 */

/* Bytes before the first sub-buffer. */
static size_t place_resident(struct adsm_partitions *partitions)
{
	const struct adsm_image_header *header = partitions->image.header;

	partitions->slots_size = align(header->n_slots * sizeof(uint64_t));
	partitions->stubs = partitions->slots_size + align(partitions->image.partitions[0].size);
	return partitions->stubs + align(ADSM_PARTITION_GATES + (size_t)header->n_stubs * ADSM_PARTITION_STUB);
}

static uint32_t largest_partition(const struct adsm_image *image)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i <= image->header->n_partitions; i++)
		if (!largest || image->partitions[i].size > image->partitions[largest].size)
			largest = i;
	return largest;
}

/* Bytes in all, including @before, the bytes before the first sub-buffer. */
static size_t needed_by(const struct adsm_partition_config *config, size_t slots_size, size_t before)
{
	const uint32_t largest = largest_partition(config->image);
	const size_t size = align(config->image->partitions[largest].size);

	return before + (largest ? config->n_buffers * (slots_size + size) : 0);
}

size_t adsm_partition_needs(const struct adsm_partition_config *config)
{
	struct adsm_partitions partitions = { .image = *config->image };
	const size_t before = place_resident(&partitions);

	return needed_by(config, partitions.slots_size, before);
}

static int place_all(struct adsm_partitions *partitions, const struct adsm_partition_config *config, char *text)
{
	const struct adsm_image *image = &partitions->image;
	const uint32_t n = config->n_buffers, largest = largest_partition(image);
	const size_t before = place_resident(partitions);
	const size_t largest_size = largest ? align(image->partitions[largest].size) : 0;
	const size_t needed = needed_by(config, partitions->slots_size, before);

	if (config->buffer_size && config->buffer_size < needed && !largest)
		return refuse(text, -ENOSPC, "the code needs %zu bytes of the code buffer, but has %zu: put functions "
			      "into partitions (ADSM_PARTITION, adsmcc --partition auto)", needed, config->buffer_size);
	if (config->buffer_size && config->buffer_size < needed)
		return refuse(text, -ENOSPC, "the code needs %zu bytes of the code buffer, but has %zu: %zu for "
			      "resident code, and %u sub-buffer%s of %zu for partition %u, the largest; use fewer "
			      "sub-buffers, a larger code buffer, or smaller partitions", needed, config->buffer_size,
			      before, n, n == 1 ? "" : "s", partitions->slots_size + largest_size, largest);
	partitions->size = config->buffer_size ? config->buffer_size : needed;
	partitions->stride = (partitions->size - before) / n & ~(size_t)(ADSM_IMAGE_ALIGN - 1);
	partitions->code_size = largest ? partitions->stride - partitions->slots_size : 0;
	partitions->victim_size = largest_size;
	return 0;
}

#define BUFFER_STATE sizeof(struct adsm_policy_buffer)

size_t adsm_partition_stack(const struct adsm_partition_config *config)
{
	const size_t depth = config->depth ? config->depth : ADSM_PARTITION_DEPTH;

	return depth * sizeof(struct adsm_partition_frame);
}

size_t adsm_partition_victim_needs(const struct adsm_partition_config *config)
{
	const uint32_t largest = largest_partition(config->image);

	return config->victim && largest ? align(config->image->partitions[largest].size) : 0;
}

size_t adsm_partition_beside(const struct adsm_partition_config *config)
{
	/* For each partition: where it is, and its place in the image. */
	const size_t list = (config->image->header->n_partitions + 1) * (1 + sizeof(struct adsm_image_entry));
	const size_t state = offsetof(struct adsm_partitions, run_all) - ADSM_POLICY_MAX_BUFFERS * BUFFER_STATE;

	return adsm_partition_stack(config) + list + state + config->n_buffers * BUFFER_STATE +
		adsm_partition_victim_needs(config);
}

static int map_buffer(struct adsm_partitions *partitions, char *text)
{
	const size_t pages = (partitions->size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	void *write = NULL, *run = NULL;
	int fd, ret;

	ret = adsm_os_memfd("adsm-partitions", pages, &fd);
	if (ret) {
		refuse(text, ret, "not enough memory for a code buffer of %zu bytes: %s", pages, strerror(-ret));
		return ret;
	}
	ret = adsm_os_map(NULL, pages, fd, 0, ADSM_PROT_RW, &write);
	if (!ret)
		ret = adsm_os_map(NULL, pages, fd, 0, ADSM_PROT_RX, &run);
	close(fd);
	if (ret) {
		if (write)
			adsm_os_unmap(write, pages);
		ret = ret == -EPERM ? -EACCES : ret;
		refuse(text, ret, "the system provides no executable memory for loaded code: %s", strerror(-ret));
		return ret;
	}
	partitions->write_all = write;
	partitions->run_all = run;
	partitions->write = partitions->write_all + place_resident(partitions) + partitions->slots_size;
	partitions->run = partitions->run_all + (partitions->write - partitions->write_all);
	return 0;
}

static void unmap_buffer(struct adsm_partitions *partitions)
{
	const size_t pages = (partitions->size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);

	adsm_os_unmap(partitions->write_all, pages);
	adsm_os_unmap(partitions->run_all, pages);
}

/* ---- the permanent contents of the buffer */

static const uint8_t *stub_of(const struct adsm_partitions *partitions, uint32_t function)
{
	return partitions->run_all + partitions->stubs + ADSM_PARTITION_GATES + (size_t)function * ADSM_PARTITION_STUB;
}

static int find_slot(const struct adsm_partitions *partitions, const struct adsm_partition_config *config,
		     const struct adsm_image_slot *slot, const void **ret_value, char *text)
{
	const char *name = partitions->image.names + slot->value;

	switch (slot->kind) {
	case ADSM_IMAGE_SLOT_ENTER:
		*ret_value = partitions->run_all + partitions->stubs + ADSM_PARTITION_GATE_ENTER;
		return 0;
	case ADSM_IMAGE_SLOT_STUB:
		*ret_value = stub_of(partitions, slot->value);
		return 0;
	case ADSM_IMAGE_SLOT_RESIDENT:
		*ret_value = partitions->run_all + partitions->slots_size + slot->value;
		return 0;
	default:
		*ret_value = config->resolve ? config->resolve(config->context, name) : NULL;
		return *ret_value ? 0 : refuse(text, -ENOENT, "the code uses %s, which neither the image nor the "
					       "device has", name);
	}
}

static int write_slots(struct adsm_partitions *partitions, const struct adsm_partition_config *config, char *text)
{
	const struct adsm_image *image = &partitions->image;
	const uint32_t n = image->header->n_partitions ? config->n_buffers : 0;

	for (uint32_t i = 0; i < image->header->n_slots; i++) {
		const void *value = NULL;
		int ret = find_slot(partitions, config, &image->slots[i], &value, text);

		if (ret)
			return ret;
		memcpy(partitions->write_all + partitions->slots_size - ((size_t)i + 1) * sizeof(value), &value,
		       sizeof(value));
	}
	for (uint32_t i = 0; i < n; i++)
		memcpy(partitions->write + i * partitions->stride - partitions->slots_size, partitions->write_all,
		       partitions->slots_size);
	return 0;
}

static void write_resident(struct adsm_partitions *partitions)
{
	memcpy(partitions->write_all + partitions->slots_size, adsm_image_code(&partitions->image, 0),
	       partitions->image.partitions[0].size);
	adsm_partition_write_stubs(partitions, partitions->write_all + partitions->stubs);
	partitions->leave = (uintptr_t)partitions->run_all + partitions->stubs + ADSM_PARTITION_GATE_LEAVE;
	adsm_partition_serialise(partitions->run_all, partitions->size);
}

/* ---- the manager */

static int check_config(const struct adsm_partition_config *config, char *text)
{
	const uint32_t n = config->n_buffers;

	if (!n || n > ADSM_POLICY_MAX_BUFFERS || n & (n - 1))
		return refuse(text, -EINVAL, "a code buffer can have 1, 2, 4, 8, 16, 32 or 64 sub-buffers, not %u", n);
	if (config->policy != ADSM_POLICY_MODULUS && config->policy != ADSM_POLICY_LRU)
		return refuse(text, -EINVAL, "policy %d is invalid: valid are modulus (%d) and LRU (%d)",
			      config->policy, ADSM_POLICY_MODULUS, ADSM_POLICY_LRU);
	if (!config->fail || config->buffer_size > (size_t)1 << 30 || config->depth > 1u << 20)
		return refuse(text, -EINVAL, "%s", config->fail ? "a code buffer can have at most 1 GiB, and a "
			      "partition stack 1048576 entries" : "the function that reports failed calls is missing");
	return 0;
}

int adsm_partition_create(const struct adsm_partition_config *config, struct adsm_partitions **ret_partitions,
			  char *ret_text)
{
	const struct adsm_image_header *header = config->image->header;
	struct adsm_partitions *partitions;
	uint8_t *where = NULL;
	int ret = check_config(config, ret_text);

	if (ret)
		return ret;
	partitions = calloc(1, sizeof(*partitions));
	if (!partitions)
		return refuse(ret_text, -ENOMEM, "not enough memory for a partition manager");
	partitions->image = *config->image;
	partitions->context = config->context;
	partitions->fail = config->fail;
	partitions->max_frames = config->depth ? config->depth : ADSM_PARTITION_DEPTH;
	partitions->all_registers = config->all_registers;
	ret = place_all(partitions, config, ret_text);
	if (ret)
		goto free_manager;
	partitions->frames = calloc(partitions->max_frames, sizeof(*partitions->frames));
	where = calloc((size_t)header->n_partitions + 1, 1);
	partitions->victim = config->victim && partitions->victim_size ? adsm_os_table(partitions->victim_size) : NULL;
	if (!partitions->frames || !where || (config->victim && partitions->victim_size && !partitions->victim)) {
		ret = refuse(ret_text, -ENOMEM, "not enough memory for a partition manager");
		goto free_tables;
	}
	ret = map_buffer(partitions, ret_text);
	if (ret)
		goto free_tables;
	ret = write_slots(partitions, config, ret_text);
	if (ret)
		goto unmap;
	write_resident(partitions);
	adsm_policy_start(&partitions->policy, config->policy, partitions->victim, config->n_buffers,
			  header->n_partitions, where);
	*ret_partitions = partitions;
	return 0;

unmap:
	unmap_buffer(partitions);
free_tables:
	if (partitions->victim)
		adsm_os_unmap(partitions->victim, partitions->victim_size);
	free(partitions->frames);
	free(where);
free_manager:
	free(partitions);
	return ret;
}

void adsm_partition_destroy(struct adsm_partitions *partitions)
{
	if (!partitions)
		return;
	unmap_buffer(partitions);
	if (partitions->victim)
		adsm_os_unmap(partitions->victim, partitions->victim_size);
	free(partitions->frames);
	free(partitions->policy.where);
	free(partitions);
}

void *adsm_partition_function(const struct adsm_partitions *partitions, const char *name)
{
	const struct adsm_image *image = &partitions->image;
	const int32_t found = adsm_image_find(image, name);

	if (found < 0)
		return NULL;
	if (!adsm_image_partition(image->functions[found].symbol))
		return partitions->run_all + partitions->slots_size + adsm_image_offset(image->functions[found].symbol);
	return (uint32_t)found < image->header->n_stubs ? (void *)(uintptr_t)stub_of(partitions, (uint32_t)found) :
		NULL;
}

struct adsm_partition_counters adsm_partition_counters(const struct adsm_partitions *partitions)
{
	struct adsm_partition_counters counters = partitions->counters;

	counters.calls = partitions->calls;
	counters.depth = partitions->depth;
	return counters;
}

enum adsm_policy_state adsm_partition_state(const struct adsm_partitions *partitions, uint32_t partition)
{
	return adsm_policy_state(&partitions->policy, partition);
}

size_t adsm_partition_size(const struct adsm_partitions *partitions)
{
	return partitions->size;
}

size_t adsm_partition_victim_size(const struct adsm_partitions *partitions)
{
	return partitions->policy.victim ? partitions->victim_bytes : 0;
}

void adsm_partition_victim(struct adsm_partitions *partitions, bool allowed)
{
	adsm_policy_drop_victim(&partitions->policy, allowed && partitions->victim);
	partitions->victim_bytes = 0;
	if (partitions->victim)
		madvise(partitions->victim, partitions->victim_size, MADV_DONTNEED);
}

void adsm_partition_reset(struct adsm_partitions *partitions)
{
	partitions->n_frames = 0;
	adsm_policy_reset(&partitions->policy);
	if (partitions->log)
		adsm_policy_log_reset(partitions->log);
}

void adsm_partition_count(struct adsm_partitions *partitions)
{
	partitions->counters = (struct adsm_partition_counters) { 0 };
	partitions->calls = 0;
	partitions->depth = 0;
	if (partitions->log)
		adsm_policy_log_count(partitions->log);
}

void adsm_partition_watch(struct adsm_partitions *partitions, struct adsm_spans *spans)
{
	partitions->spans = spans;
}

void adsm_partition_record(struct adsm_partitions *partitions, struct adsm_policy_log *log)
{
	partitions->log = log;
}

void adsm_partition_empty(struct adsm_partitions *partitions)
{
	struct adsm_policy *policy = &partitions->policy;

	adsm_partition_reset(partitions);
	adsm_partition_victim(partitions, policy->victims);
	adsm_policy_start(policy, policy->kind, policy->victims, policy->n_buffers, policy->n_partitions,
			  policy->where);
	if (partitions->log)
		adsm_policy_log_empty(partitions->log);
	adsm_partition_count(partitions);
}

void adsm_partition_forget(struct adsm_partitions *partitions, uint32_t partition)
{
	adsm_policy_forget(&partitions->policy, partition);
}

/* Find the partition, or 0 for the resident code, that a byte of the buffer belongs to now. */
static bool find_code(const struct adsm_partitions *partitions, size_t at, uint32_t *ret_id, size_t *ret_offset)
{
	const size_t first = (size_t)(partitions->run - partitions->run_all);
	size_t buffer;

	if (at < partitions->stubs) {
		*ret_id = 0;
		*ret_offset = at - partitions->slots_size;
		return at >= partitions->slots_size;
	}
	if (at < first || !partitions->code_size)
		return false;
	buffer = (at - first) / partitions->stride;
	*ret_offset = (at - first) % partitions->stride;
	*ret_id = buffer < partitions->policy.n_buffers ? partitions->policy.buffers[buffer].id : 0;
	return *ret_id != 0;
}

const char *adsm_partition_where(const struct adsm_partitions *partitions, uintptr_t address)
{
	const struct adsm_image *image = &partitions->image;
	uint32_t id;
	size_t offset;

	if (address < (uintptr_t)partitions->run_all || address - (uintptr_t)partitions->run_all >= partitions->size ||
	    !find_code(partitions, address - (uintptr_t)partitions->run_all, &id, &offset))
		return NULL;
	for (uint32_t i = 0; i < image->header->n_symbols; i++) {
		const struct adsm_image_function *function = &image->functions[i];

		if (adsm_image_partition(function->symbol) == id &&
		    offset - adsm_image_offset(function->symbol) < function->size)
			return adsm_image_name(image, i);
	}
	return NULL;
}
