/* SPDX-License-Identifier: MIT */
/* test_wide.c - one instruction that writes four blocks, where one may be Dirty: as XSAVE does, which stores up to 11
 * KiB. Not every processor stores that much, so its faults are simulated: it restarts until all blocks are open. */
#include <signal.h>
#include <ucontext.h>

#include "core.h"
#include "run/touch/fault.h"

#define BLOCKS 4

int main(void)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	static ucontext_t context;	/* no register changes */
	unsigned *a, n = 0;

	setenv("ADSM_ROLLING_SIZE", "1", 1);
	setenv("ADSM_EVICT_BATCH", "1", 1);
	a = alloc_with(BLOCKS * PAGE, "rolling", PAGE);
	object = object_of(a);
	for (unsigned b = 0; b < BLOCKS && n < 1000; b++) {
		struct adsm_fault fault = {
			.address = object->start + b * PAGE,
			.instruction = (uintptr_t)main,
			.stack = (uintptr_t)__builtin_frame_address(0),
			.context = &context,
			.write = true,
		};

		if (object->blocks.at[b].view == ADSM_PROT_RW)
			continue;
		adsm_os_signals_block(&old);
		CHECK_EQ(adsm_on_fault(&fault), ADSM_FAULT_SERVED);
		adsm_os_signals_restore(&old);
		n++;
		b = UINT32_MAX;		/* from its start */
	}
	CHECK(n < 1000);
	CHECK(!adsmFree(a));
	return 0;
}
