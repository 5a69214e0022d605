/* SPDX-License-Identifier: MIT */
/* test_sharing.c - what is said of pages that workers of a task share, by counts of the test's own. */
#include "store/sharing.h"

#include "../check.h"

#define BASE UINT64_C(0x7e8000000000)
#define KIB UINT64_C(1024)

static struct adsm_sharings sharings;

static void check(const struct adsm_sharing_counts *counts, const char *before, const char *want)
{
	char text[768];

	snprintf(text, sizeof(text), "%s", before);
	adsm_sharing_advise(&sharings, "task", counts, text, sizeof(text));
	CHECKF(!strcmp(text, want), "'%s', not '%s'", text, want);
}

/* A call: its page at @at was given up @n times in vain; it moved 40 KiB by pages of 8 KiB, and @less by those of 2. */
static void add(uint64_t at, uint64_t n, uint64_t less)
{
	const uint64_t first = BASE + 64 * KIB, second = BASE + 128 * KIB, value = 7;
	const void *const args[] = { &first, &value, &second };
	struct adsm_sharing_call call = {
		.task = "task", .page = 8 * KIB, .moved = { less, 20 * KIB, 40 * KIB }, .args = args, .n_args = 3,
		.base = BASE, .size = 256 * KIB, .worst = { .address = BASE + at, .n = n, .worker = 2 },
	};

	snprintf(call.worst.because, sizeof(call.worst.because), "worker 4");
	adsm_sharing_add(&sharings, &call);
}

#define VAIN(n, all, most, where) #n " of " #all " pages that workers gave up had changed only in parts that " \
	"they had not accessed: most often, " #most " times in a call, the page at " where " was given up by " \
	"worker 2 because of worker 4; let each worker write to pages of its own"

int main(void)
{
	struct adsm_sharing_counts counts = { .workers = 6, .given_up = 24, .falsely = 6 };

	check(&counts, "", "");		/* nothing is known of it */
	/* The nearest pointer below is the argument. */
	add(136 * KIB, 3, 18 * KIB);
	check(&counts, "", VAIN(6, 24, 3, "0x7e8000022000, byte 8192 of argument 3,")
	      "; its workers moved 40 KiB in pages of 8 KiB; with ADSM_TASK_PAGE=2K they would move at most 18 KiB");
	check(&counts, "slow", "slow; " VAIN(6, 24, 3, "0x7e8000022000, byte 8192 of argument 3,")
	      "; its workers moved 40 KiB in pages of 8 KiB; with ADSM_TASK_PAGE=2K they would move at most 18 KiB");
	/* One in each worker is no matter, and neither is one of four. */
	counts.falsely = 5;
	check(&counts, "", "its workers moved 40 KiB in pages of 8 KiB; with ADSM_TASK_PAGE=2K they would move at "
	      "most 18 KiB");
	counts = (struct adsm_sharing_counts){ .workers = 6, .given_up = 28, .falsely = 6 };
	check(&counts, "", "its workers moved 40 KiB in pages of 8 KiB; with ADSM_TASK_PAGE=2K they would move at "
	      "most 18 KiB");
	/* Calls add up; of the pages the worst one in a call counts. No argument points to the last one. */
	add(80 * KIB, 2, 18 * KIB);
	counts.given_up = 12;
	check(&counts, "", VAIN(6, 12, 3, "0x7e8000022000, byte 8192 of argument 3,")
	      "; its workers moved 80 KiB in pages of 8 KiB; with ADSM_TASK_PAGE=2K they would move at most 36 KiB");
	add(8 * KIB, 9, 40 * KIB);
	check(&counts, "", VAIN(6, 12, 9, "0x7e8000002000")
	      "; its workers moved 120 KiB in pages of 8 KiB; with ADSM_TASK_PAGE=4K they would move at most 60 KiB");
	return 0;
}
