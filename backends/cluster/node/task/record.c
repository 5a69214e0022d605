/* SPDX-License-Identifier: MIT */
/* node/task/record.c - see record.h. */
#include "record.h"

#include "base/log.h"
#include "base/os.h"
#include "workers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static struct {
	struct adsm_task_record *record;
	/* For each part of a page a bit for each node that wrote it. NULL: nothing is counted. */
	uint64_t *writers;
	size_t size;
	uint32_t n_parts;
	struct adsm_hcrc_in_vain in_vain;
} all_records;

/* ---- a node's part */

struct adsm_node_record adsm_node_record_here(uint64_t start_ns, uint32_t n_workers, uint32_t n_pages)
{
	const struct adsm_task_record *record = adsm_workers_record();
	/* The waits of all nodes together must fit into the record. */
	const uint32_t n_waits = atomic_load(&record->n_waits), room = ADSM_TASK_WAITS / (uint32_t)adsm_comm.n;
	struct adsm_node_record part = {
		.start_ns = start_ns, .n_workers = n_workers,
		.n_waits = n_waits < room ? n_waits : room, .n_words = (n_pages + 63) / 64,
		.in_vain = adsm_hcrc_sharing_worst(n_workers), .workers = record->workers, .waits = record->waits,
		.written = adsm_hcrc_sharing_written(),
	};

	memcpy(part.hot, record->hot, sizeof(part.hot));
	return part;
}

void adsm_node_record_pack(struct adsm_pack *out, const struct adsm_node_record *part)
{
	adsm_pack_put(out, part, sizeof(*part), 8);
	adsm_pack_put(out, part->workers, part->n_workers * sizeof(*part->workers), 8);
	adsm_pack_put(out, part->waits, part->n_waits * sizeof(*part->waits), 8);
	adsm_pack_put(out, part->written, part->n_words * sizeof(*part->written), 8);
}

struct adsm_node_record adsm_node_record_unpack(const struct adsm_letter *letter, size_t *at)
{
	struct adsm_node_record part;

	memcpy(&part, adsm_pack_take(letter, at, sizeof(part), 8), sizeof(part));
	part.workers = adsm_pack_take(letter, at, part.n_workers * sizeof(*part.workers), 8);
	part.waits = adsm_pack_take(letter, at, part.n_waits * sizeof(*part.waits), 8);
	part.written = adsm_pack_take(letter, at, part.n_words * sizeof(*part.written), 8);
	return part;
}

/* ---- all parts together */

int adsm_node_record_begin(struct adsm_task_record *ret_record, uint32_t n_pages, uint32_t n_parts)
{
	const size_t size = ((size_t)n_pages * n_parts + 63) / 64 * 64 * sizeof(*all_records.writers);

	all_records.writers = adsm_os_table(size);
	if (!all_records.writers)
		return -ENOMEM;
	all_records.record = ret_record;
	all_records.size = size;
	all_records.n_parts = n_parts;
	all_records.in_vain = (struct adsm_hcrc_in_vain){ 0, 0, 0 };
	return 0;
}

void adsm_node_record_add(int rank, uint32_t first, uint64_t clock_offset_ns, const struct adsm_node_record *part)
{
	struct adsm_task_record *record = all_records.record;

	for (uint32_t i = 0; i < part->n_workers && first + i < ADSM_TASK_WORKERS_MAX; i++)
		record->workers[first + i] = (struct adsm_span){
			part->workers[i].start_ns + clock_offset_ns, part->workers[i].ns
		};
	for (uint32_t i = 0; i < part->n_waits && record->n_waits < ADSM_TASK_WAITS; i++) {
		struct adsm_task_wait *wait = &record->waits[record->n_waits++];

		*wait = part->waits[i];
		wait->worker += first;
		wait->span.start_ns += clock_offset_ns;
	}
	for (int i = 0; i < ADSM_TASK_HOT && part->hot[i].n; i++)
		adsm_task_hot_add(record->hot, part->hot[i]);
	for (uint32_t i = 0; i < part->n_words; i++)
		for (uint64_t bits = part->written[i]; bits; bits &= bits - 1)
			all_records.writers[i * 64 + (uint32_t)__builtin_ctzll(bits)] |= (uint64_t)1 << rank;
	if (part->in_vain.n <= all_records.in_vain.n)
		return;
	all_records.in_vain = part->in_vain;
	all_records.in_vain.worker += first;
}

struct adsm_sharing_worst adsm_node_record_worst(uint32_t *ret_page)
{
	const struct adsm_hcrc_in_vain *in_vain = &all_records.in_vain;
	const uint64_t *parts = all_records.writers + (in_vain->page - in_vain->page % all_records.n_parts);
	struct adsm_sharing_worst worst = { .n = in_vain->n, .worker = in_vain->worker };
	uint64_t nodes = 0, more;

	*ret_page = in_vain->page;
	if (!worst.n)
		return worst;
	/* The order of the stores is unknown, and a notice is about all parts of a page. So all nodes that wrote any of
	 * them are named. */
	for (uint32_t i = 0; i < all_records.n_parts; i++)
		nodes |= parts[i];
	more = nodes & (nodes - 1);
	if (nodes)
		adsm_format(worst.because, sizeof(worst.because), "workers on node%s %d", more ? "s" : "",
			    __builtin_ctzll(nodes));
	else
		adsm_format(worst.because, sizeof(worst.because), "other workers");
	if (more)
		adsm_append(worst.because, sizeof(worst.because), "%s %d%s", more & (more - 1) ? "," : " and",
			    __builtin_ctzll(more), more & (more - 1) ? " and more" : "");
	return worst;
}

void adsm_node_record_end(void)
{
	if (all_records.writers)
		munmap(all_records.writers, all_records.size);
	all_records.writers = NULL;
}
