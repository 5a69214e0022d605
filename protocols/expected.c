/* SPDX-License-Identifier: MIT */
/* expected.c - what the CPU reads first after a call. */
#include "expected.h"

#define AGAIN_MIN 2			/* calls in a row, before one is expected */
#define TRUST 15			/* calls after one for which a fault has told that it was right */

/* The block that the CPU reads first after a call that may write the object. */
struct first_read {
	struct adsm_block *block;
	uint8_t again;			/* so many calls in a row it has been the same */
	uint8_t writes;			/* and after so many it was written, too */
	uint8_t trust;			/* for so many more the view is opened with it, and no fault tells */
	bool used, written;		/* since the last one */
};

_Static_assert(sizeof(struct first_read) <= sizeof(struct adsm_notes), "the notes of an object have room for it");

void adsm_expected_touched(struct adsm_notes *notes, struct adsm_block *block, bool write)
{
	struct first_read *first = (struct first_read *)notes;

	if (write)
		first->written |= first->used && block == first->block;
	if (write || first->used)
		return;
	first->trust = block == first->block && first->again == AGAIN_MIN ? TRUST : 0;
	first->again = block != first->block ? 0 : first->again < AGAIN_MIN ? first->again + 1 : AGAIN_MIN;
	first->block = block;
	first->used = true;
}

struct adsm_block *adsm_expected_next(const struct adsm_notes *notes)
{
	const struct first_read *first = (const struct first_read *)notes;

	return first->used && first->again == AGAIN_MIN ? first->block : NULL;
}

static void forget(struct adsm_expected *expected, const struct adsm_notes *notes)
{
	for (unsigned i = expected->n_due; i-- > 0; )
		if (expected->due[i] == notes)
			expected->due[i] = expected->due[--expected->n_due];
}

void adsm_expected_written(void *policy, struct adsm_notes *notes, bool told)
{
	struct first_read *first = (struct first_read *)notes;
	struct adsm_expected *expected = policy;

	if (!notes) {
		expected->n_due = 0;
		return;
	}
	/* The object may still be listed: not all calls are followed by a sync. */
	forget(expected, notes);
	if (told && adsm_expected_next(notes) && expected->n_due < ADSM_EXPECTED_MAX)
		expected->due[expected->n_due++] = notes;
	if (!told || !first->used)
		first->again = 0;
	first->writes = !first->written ? 0 : first->writes < AGAIN_MIN ? first->writes + 1 : AGAIN_MIN;
	first->used = first->written = false;
}

struct adsm_block *adsm_expected_synced(void *policy, uint8_t *ret_view)
{
	struct adsm_expected *expected = policy;

	while (expected->n_due) {
		struct first_read *first = (struct first_read *)expected->due[--expected->n_due];

		if (first->used)
			continue;
		*ret_view = ADSM_PERMIT_NONE;
		if (first->trust) {
			*ret_view = first->writes == AGAIN_MIN ? ADSM_PERMIT_WRITE : ADSM_PERMIT_READ;
			first->trust--;
			first->used = true;
			first->written = first->writes == AGAIN_MIN;
		}
		return first->block;
	}
	return NULL;
}

void adsm_expected_object(void *policy, struct adsm_notes *notes, int change)
{
	if (change < 0)
		forget(policy, notes);
}
