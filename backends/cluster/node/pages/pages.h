/* SPDX-License-Identifier: MIT */
/*
 * node/pages/pages.h - the pages of a cluster's node: which ones it has, touches of those that it lacks, and what
 * kernels wrote.
 *
 * A page's number counts from the arena's start. The view is the protected mapping that kernels use. The alias is a
 * second mapping of the same file, always writable; all data is moved from and to the alias, and the network never
 * accesses a view. Node 0 is the home: it always has every page.
 *
 * All functions except the handlers are for one thread, the communication thread. It may call those marked [any time]
 * while kernels run, and the others only between launches. Threads that run kernels need an alternate stack, which the
 * pool gives them: after a touch of a page that the node lacks, a thread stays in the handler until the page has
 * arrived.
 *
 * The order in a launch: begin(), then kernels run. Meanwhile wanted() and arrived(), and on the home original() for
 * requests. When all threads have ended and all wanted pages have arrived, written(). Then the exchange: diff() or
 * whole pages from here; on the home patch() and merge() of what others wrote to the same page; arrived() for pages
 * that come, invalidate() for those that do not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"
#include "process/device/diff.h"
#include "types.h"

#define ADSM_PAGES_DIFF_MAX ADSM_DIFF_MAX(ADSM_PAGE_SIZE)

struct adsm_runs;

/*
 * Map the memory and set handlers for SIGSEGV and SIGBUS. Call this after MPI_Init(), which sets handlers, too; faults
 * outside of the view are forwarded to the previous handlers. If the system does not support the tracker, a warning is
 * logged, and sigsegv is used. Returns 0, or a negative errno with adsm_fail().
 */
int adsm_pages_start(const struct adsm_pages_config *config);
void adsm_pages_stop(void);
enum adsm_track adsm_pages_track(void);		/* the tracker in use */

uint8_t *adsm_pages_alias(uint64_t page);						/* [any time] */

/* Add objects: their pages are invalid, on the home valid. Touches of other pages are errors. -ENOMEM: no mappings
 * left. */
int adsm_pages_add(struct adsm_run run);
void adsm_pages_remove(struct adsm_run run);
/* Map pages of no object again after the caller had mapped something else there. After a negative errno they are
 * unusable. */
int adsm_pages_restore(struct adsm_run run);						/* [any time] */
/* All pages of objects, ascending. */
const struct adsm_runs *adsm_pages_objects(void);
/* The pages have changed on other nodes: the next touch fetches them. Not on the home. Removes the pages' twins. */
void adsm_pages_invalidate(struct adsm_run run);

/*
 * A launch begins: no page is written, all valid pages are readable, and the first store to each page is detected.
 * @read_only: the objects that the launch only reads, in any order. -ENOMEM: as for add(); nothing has begun.
 */
int adsm_pages_begin(const struct adsm_run *read_only, size_t n);

/* After all threads have ended: what was written, in ascending runs, valid until the next call. NULL: no memory. */
const struct adsm_run *adsm_pages_written(size_t *ret_n);

/* A twin is a copy of a page from the launch's start. Twins stay until the next begin(). With the tracker uffd, only
 * the home has twins: other nodes send a page that several nodes wrote as a whole, which costs the home no more. */
bool adsm_pages_has_twin(uint64_t page);
const uint8_t *adsm_pages_twin(uint64_t page);
/* The byte-exact differences to the twin, which must exist. @out: ADSM_PAGES_DIFF_MAX bytes. */
size_t adsm_pages_diff(uint64_t page, uint8_t *out);

/* Home: the page to send to a node that requests it while kernels run. It stays valid until the exchange. */
const uint8_t *adsm_pages_original(uint64_t page);					/* [any time] */
/* Home: apply what another node wrote to a page that several nodes wrote, from a diff or the whole page. Its
 * differences to the original are what that node wrote. -EINVAL: the diff is invalid. */
int adsm_pages_patch(uint64_t page, const uint8_t *diff, size_t size);
void adsm_pages_merge(uint64_t page, const uint8_t *bytes);

/*
 * The bytes are in the alias: the pages are valid, and threads that wait for them continue. If @mapped is false, their
 * first touch is detected: adsm_pages_touched(). The home calls it, before begin(), for all that others sent or the
 * host wrote.
 */
void adsm_pages_arrived(struct adsm_run run, bool mapped);				/* [any time] */
/* Was a page that arrived unmapped touched since? Also true for pages that arrived mapped. */
bool adsm_pages_touched(uint64_t page);
/* Does this node have the page? */
bool adsm_pages_valid(uint64_t page);

/* The next fetch to make, if there is one: a page that a thread waits for, and following pages, in runs that double
 * while the thread touches pages in order. For each waiting thread at most one fetch is in progress. */
bool adsm_pages_wanted(struct adsm_run *ret_run);					/* [any time] */

struct adsm_pages_counts adsm_pages_counts(void);					/* [any time] */

/* ---- The signals of touches, SIGSEGV and SIGBUS, which are shared with previous handlers */

/* Called in the handler with all signals blocked, on the thread's alternate stack. Returns false for a fault of
 * others. */
typedef bool adsm_touch_handler(int sig, uintptr_t address, bool write);

/* Set the handlers. A second call sets them again if other code has replaced them, and forwards to that code. */
int adsm_handler_take(adsm_touch_handler *handler);
/* The instruction of the thread's last touch, valid while the handler runs. */
extern _Thread_local uintptr_t adsm_touch_instruction;
/* Restore the previous handlers, unless other code has replaced these. */
void adsm_handler_give_back(void);
