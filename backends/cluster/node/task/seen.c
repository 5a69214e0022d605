/* SPDX-License-Identifier: MIT */
/* seen.c - see seen.h. */
#include "seen.h"

#include "base/log.h"
#include "base/os.h"
#include "workers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static struct {
	struct adsm_task_record *record;
	uint64_t *writers;		/* for each page a bit for each node that wrote it; NULL: nothing is counted */
	size_t size;
	struct adsm_hcrc_in_vain in_vain;
} seen_by_all;

/* ---- a node's part */

struct adsm_seen adsm_seen_here(uint64_t start_ns, uint32_t n_workers, uint32_t n_pages)
{
	const struct adsm_task_record *record = adsm_workers_record();
	/* The waits of all nodes together must fit into the record. */
	const uint32_t n_waits = atomic_load(&record->n_waits), room = ADSM_TASK_WAITS / (uint32_t)adsm_comm.n;
	struct adsm_seen seen = {
		.start_ns = start_ns, .n_workers = n_workers,
		.n_waits = n_waits < room ? n_waits : room, .n_words = (n_pages + 63) / 64,
		.in_vain = adsm_hcrc_sharing_worst(n_workers), .workers = record->workers, .waits = record->waits,
		.written = adsm_hcrc_sharing_written(),
	};

	memcpy(seen.hot, record->hot, sizeof(seen.hot));
	return seen;
}

void adsm_seen_pack(struct adsm_pack *out, const struct adsm_seen *seen)
{
	adsm_pack_put(out, seen, sizeof(*seen), 8);
	adsm_pack_put(out, seen->workers, seen->n_workers * sizeof(*seen->workers), 8);
	adsm_pack_put(out, seen->waits, seen->n_waits * sizeof(*seen->waits), 8);
	adsm_pack_put(out, seen->written, seen->n_words * sizeof(*seen->written), 8);
}

struct adsm_seen adsm_seen_unpack(const struct adsm_letter *letter, size_t *at)
{
	struct adsm_seen seen;

	memcpy(&seen, adsm_pack_take(letter, at, sizeof(seen), 8), sizeof(seen));
	seen.workers = adsm_pack_take(letter, at, seen.n_workers * sizeof(*seen.workers), 8);
	seen.waits = adsm_pack_take(letter, at, seen.n_waits * sizeof(*seen.waits), 8);
	seen.written = adsm_pack_take(letter, at, seen.n_words * sizeof(*seen.written), 8);
	return seen;
}

/* ---- all parts together */

int adsm_seen_begin(struct adsm_task_record *ret_record, uint32_t n_pages)
{
	const size_t size = ((size_t)n_pages + 63) / 64 * 64 * sizeof(*seen_by_all.writers);

	seen_by_all.writers = adsm_os_table(size);
	if (!seen_by_all.writers)
		return -ENOMEM;
	seen_by_all.record = ret_record;
	seen_by_all.size = size;
	seen_by_all.in_vain = (struct adsm_hcrc_in_vain){ 0, 0, 0 };
	return 0;
}

void adsm_seen_add(int rank, uint32_t first, uint64_t later, const struct adsm_seen *seen)
{
	struct adsm_task_record *record = seen_by_all.record;

	for (uint32_t i = 0; i < seen->n_workers && first + i < ADSM_TASK_WORKERS_MAX; i++)
		record->workers[first + i] = (struct adsm_span){
			seen->workers[i].start_ns + later, seen->workers[i].ns
		};
	for (uint32_t i = 0; i < seen->n_waits && record->n_waits < ADSM_TASK_WAITS; i++) {
		struct adsm_task_wait *wait = &record->waits[record->n_waits++];

		*wait = seen->waits[i];
		wait->worker += first;
		wait->span.start_ns += later;
	}
	for (int i = 0; i < ADSM_TASK_HOT && seen->hot[i].n; i++)
		adsm_task_hot_add(record->hot, seen->hot[i]);
	for (uint32_t i = 0; i < seen->n_words; i++)
		for (uint64_t bits = seen->written[i]; bits; bits &= bits - 1)
			seen_by_all.writers[i * 64 + (uint32_t)__builtin_ctzll(bits)] |= (uint64_t)1 << rank;
	if (seen->in_vain.n <= seen_by_all.in_vain.n)
		return;
	seen_by_all.in_vain = seen->in_vain;
	seen_by_all.in_vain.worker += first;
}

struct adsm_sharing_worst adsm_seen_worst(uint32_t *ret_page)
{
	const struct adsm_hcrc_in_vain *in_vain = &seen_by_all.in_vain;
	const uint64_t nodes = seen_by_all.writers[in_vain->page], more = nodes & (nodes - 1);
	struct adsm_sharing_worst worst = { .n = in_vain->n, .worker = in_vain->worker };

	*ret_page = in_vain->page;
	/* The order of the stores is unknown: all nodes that wrote the page are named. */
	if (worst.n)
		adsm_format(worst.because, sizeof(worst.because), "workers on node%s %d", more ? "s" : "",
			    __builtin_ctzll(nodes));
	if (more)
		adsm_append(worst.because, sizeof(worst.because), "%s %d%s", more & (more - 1) ? "," : " and",
			    __builtin_ctzll(more), more & (more - 1) ? " and more" : "");
	return worst;
}

void adsm_seen_end(void)
{
	if (seen_by_all.writers)
		munmap(seen_by_all.writers, seen_by_all.size);
	seen_by_all.writers = NULL;
}
