/* SPDX-License-Identifier: MIT */
/*
 * guard.c - device memory in a device's process. Kernels open live pages by faults. Meanwhile the application frees
 * memory, and both threads of the process close it. When freed memory has been closed, it must stay closed.
 */
#include "step.h"

static int protect(void *p, size_t size, enum adsm_prot prot);
#define adsm_os_protect protect

#include "backends/process/live.c"
#include "backends/process/device/guard.c"

#define PAGES 3u
#define BASE UINT64_C(0x100000)

static union {
	struct adsm_live_shared live;
	char room[sizeof(struct adsm_live_shared) + 2 * sizeof(uint64_t)];
} shared_;
static _Atomic bool is_readable[PAGES];
static bool is_freed, is_closed;

static int protect(void *p, size_t size, enum adsm_prot prot)
{
	const size_t first = ((uintptr_t)p - BASE) / ADSM_PAGE_SIZE, n = size / ADSM_PAGE_SIZE;

	STEP_CHECK(first < PAGES && n && n <= PAGES - first);
	for (size_t i = first; i < first + n; i++)
		atomic_store(&is_readable[i], prot != ADSM_PROT_NONE);
	return 0;
}

STEP_HAS_NEVER
bool (*adsm_crash_opener)(uintptr_t address);
const char *(*adsm_crash_explain)(int signal, uint64_t address, const char *access);

static bool was_freed(void *arg)
{
	return is_freed;
}

/* A kernel's access to a page: it is repeated until the page is open, or crashes. */
static void touch(void *page)
{
	const uintptr_t at = (uintptr_t)page;

	while (!atomic_load(&is_readable[at]))
		if (!open_memory(BASE + at * ADSM_PAGE_SIZE + 8))
			return;
	STEP_CHECK(!is_closed || at != 1);
}

static void free_page(void *arg)
{
	adsm_live_remove(&live, ADSM_PAGE_SIZE, ADSM_PAGE_SIZE);
	is_freed = true;
}

/* Close memory, as before a launch, or before other memory is mapped there. */
static void close_page(void *arg)
{
	step_await(was_freed, NULL);
	adsm_guard_close();
	is_closed = true;
	STEP_CHECK(!atomic_load(&is_readable[1]));
}

/* The freed page is closed, and no other pages were opened. */
static bool is_settled(void)
{
	return !is_readable[1] && !atomic_load(&shared_.live.is_open);
}

static void start(void)
{
	memset(&shared_, 0, sizeof(shared_));
	memory = BASE;
	memory_size = PAGES * ADSM_PAGE_SIZE;
	adsm_live_start(&live, &shared_.live, memory_size);
	for (uint64_t i = 0; i < PAGES; i++) {
		atomic_init(&is_readable[i], false);
		adsm_live_add(&live, i * ADSM_PAGE_SIZE, ADSM_PAGE_SIZE);
	}
	atomic_init(&n_closed, 0);
	is_freed = is_closed = false;
	step_thread("program", free_page, NULL, 0);
	step_thread("launches", close_page, NULL, 0);
}

static void start_beside(void)
{
	start();
	step_thread("kernel", touch, (void *)0, 0);
}

static void start_same(void)
{
	start();
	step_thread("kernel", touch, (void *)1, 0);
}

static void start_two(void)
{
	start();
	step_thread("requests", close_page, NULL, 0);
	step_thread("kernel", touch, (void *)2, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "beside a page that is freed", .start = start_beside, .settled = is_settled,
		  .time = STEP_NO_TIME },
		{ .name = "a page that is freed", .start = start_same, .settled = is_settled, .time = STEP_NO_TIME },
		{ .name = "two that close", .start = start_two, .settled = is_settled, .time = STEP_NO_TIME,
		  .preemptions = 3, .full_preemptions = 5 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
