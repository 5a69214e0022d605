/* SPDX-License-Identifier: MIT */
/* crc_copies.c - see crc_copies.h: implements struct adsm_copies_below by crc.h. */
#include "crc_copies.h"

_Static_assert(ADSM_CRC_BLOCKS == ADSM_COPIES_BLOCKS, "they are the same blocks");

static bool may(const struct adsm_copies *pages, uint64_t address, uint64_t size, bool write)
{
	return adsm_crc_find(pages->arg, address, size, write);
}

static void own(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin)
{
	adsm_crc_twin(pages->arg, bytes, twin);
}

static uint64_t fetch(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin, bool write)
{
	const uint64_t since = adsm_crc_fetch(pages->arg, page, bytes);

	if (write)
		own(pages, page, bytes, twin);
	return since;
}

static bool send(struct adsm_copies *pages, uint64_t page, const uint8_t *bytes, uint8_t *twin, bool keep)
{
	adsm_crc_merge(pages->arg, pages->worker, page, bytes, twin);
	return true;
}

/* Nothing to do: there is no list of copies. */
static void drop(struct adsm_copies *pages, uint64_t page)
{
}

static bool is_old(struct adsm_copies *pages, uint64_t page, const struct adsm_copies_slot *slot)
{
	struct adsm_crc *crc = pages->arg;

	if (!adsm_crc_is_stale(crc, pages->worker, page, slot->since))
		return false;
	if (pages->counted && adsm_crc_shares_falsely(crc, pages->worker, page, slot->since, slot->touched))
		pages->counts.shared_falsely++;
	return true;
}

static uint8_t *reach(struct adsm_copies *pages, uint64_t address, uint64_t size, bool write)
{
	const struct adsm_crc_span *span = adsm_crc_find(pages->arg, address, size, write);

	return span ? span->bytes + (address - span->begin) : NULL;
}

static void note(struct adsm_copies *pages, uint64_t address, uint64_t blocks)
{
	adsm_crc_note(pages->arg, pages->worker, address, blocks);
}

const struct adsm_copies_below adsm_crc_copies = {
	.twins = true,
	.may = may,
	.fetch = fetch,
	.own = own,
	.send = send,
	.drop = drop,
	.is_old = is_old,
	.reach = reach,
	.note = note,
};
