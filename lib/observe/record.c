/* SPDX-License-Identifier: MIT */
/* record.c - the list of records, and the counts of causes in each. */
#include "observe/record.h"

#include <stdlib.h>
#include <string.h>

uint64_t adsm_counted_ns;

/* Taken under the mutex of objects.c. Under it only homes' locks are taken, for advice. */
static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_RECORDS);
static struct adsm_record *records;
static uint32_t n_records;
static uint64_t n_more;

struct adsm_record *adsm_records_lock(uint64_t *ret_n_more)
{
	adsm_mutex_lock(&mutex);
	if (ret_n_more)
		*ret_n_more = n_more;
	return records;
}

void adsm_records_unlock(void)
{
	adsm_mutex_unlock(&mutex);
}

struct adsm_record *adsm_record_new(const struct adsm_object *object)
{
	struct adsm_record *record = n_records < ADSM_RECORDS_MAX ? calloc(1, sizeof(*record)) : NULL;

	if (!record) {
		n_more++;
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
	record->next = records;
	records = record;
	return record;
}

void adsm_record_reset(struct adsm_record *record)
{
	memset(&record->stats, 0, sizeof(record->stats));
	atomic_store(&record->calls, 0);
	for (int i = 0; i < ADSM_CAUSES_MAX; i++) {
		struct adsm_cause_count *count = &record->causes[i];

		atomic_store(&count->place, 0);
#define RESET(field) atomic_store(&count->field, 0);
		ADSM_CAUSE_COUNTS(RESET)
#undef RESET
	}
}

void adsm_record_stats(const struct adsm_record *record, adsmStats *ret_stats)
{
	if (record->object)
		adsm_counters_read(&record->object->counters, ret_stats);
	else
		*ret_stats = record->stats;
}

void adsm_records_forget(void)
{
	while (records) {
		struct adsm_record *next = records->next;

		free(records);
		records = next;
	}
	n_records = 0;
	n_more = 0;
}

/* ---- causes */

static uint64_t key_of(const struct adsm_cause *cause)
{
	uint64_t key = (cause->where << 4 | (uint64_t)cause->why) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t words[sizeof(cause->name) / sizeof(uint64_t)];

	/* The name tells kernels apart if calls have no address. */
	if (!cause->name[0])
		return key | 1;
	memcpy(words, cause->name, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		key = (key ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		key ^= key >> 32;
	}
	return key | 1;
}

/* The last entry is for causes that have found no free one. */
struct adsm_cause_count *adsm_record_cause(struct adsm_record *record, const struct adsm_cause *cause)
{
	uint64_t key = key_of(cause);

	for (unsigned i = 0; i < ADSM_CAUSES_MAX - 1; i++) {
		struct adsm_cause_count *count = &record->causes[(key + i) % (ADSM_CAUSES_MAX - 1)];
		uint64_t found = atomic_load_explicit(&count->key, memory_order_relaxed);

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
