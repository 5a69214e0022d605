/* SPDX-License-Identifier: MIT */
/*
 * node/pages/pages.h - the pages of a cluster's node: which of them it has, who touches those it lacks, what kernels
 * wrote.
 *
 * A page's number counts from the arena's start. The view is where kernels see it, protected; the alias is a second
 * mapping of the same file, always writable, from which and into which all data moves: the network never sees a view.
 * Node 0 is the home: it has every page, always.
 *
 * All but what the handlers do is for one thread, the communication thread. Those marked [any time] it may call while
 * kernels run, the others only between launches. Threads that run kernels need an alternate stack (the pool gives
 * them one); a touch of a page that the node lacks keeps its thread in the handler until the page has arrived.
 *
 * A launch, here: begin(), kernels; meanwhile wanted() and arrived(), and at home original() for who asks; once all
 * threads have ended, and all that was wanted has arrived, written(); then the exchange: diff() or whole pages from
 * here, at home patch() and merge() of what others wrote to the same page, arrived() for what comes, invalidate() for
 * what does not.
 */
#ifndef ADSM_CLUSTER_PAGES_H
#define ADSM_CLUSTER_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"
#include "process/device/diff.h"
#include "types.h"

#define ADSM_PAGES_DIFF_MAX ADSM_DIFF_MAX(ADSM_PAGE_SIZE)

struct adsm_runs;

/*
 * Take the memory and the signals SIGSEGV and SIGBUS, after MPI_Init(), which takes them too; faults that are not of
 * the view go to who had them. A tracker that this system lacks is named in a warning, and sigsegv is taken. 0 or a
 * negative errno, with adsm_fail()'s sentence.
 */
int adsm_pages_start(const struct adsm_pages_config *config);
void adsm_pages_stop(void);
enum adsm_track adsm_pages_track(void);		/* the one in use */

uint8_t *adsm_pages_alias(uint64_t page);						/* [any time] */

/*
 * Objects: their pages are invalid, at home valid. What is not added is illegal to touch. -ENOMEM: no mappings left.
 */
int adsm_pages_add(struct adsm_run run);
void adsm_pages_remove(struct adsm_run run);
/* Pages of no object, over which the caller had mapped something else. A negative errno: they cannot be used again. */
int adsm_pages_restore(struct adsm_run run);						/* [any time] */
/* All of their pages, ascending. */
const struct adsm_runs *adsm_pages_objects(void);
/* Other bytes hold elsewhere: the next touch fetches them. Not at home; twins of these pages are gone. */
void adsm_pages_invalidate(struct adsm_run run);

/*
 * A launch begins: nothing is written yet, all valid pages are readable, the first store to each is seen. @read_only,
 * in any order, are objects that it may only read. -ENOMEM: as for add; nothing has begun.
 */
int adsm_pages_begin(const struct adsm_run *read_only, size_t n);

/* After its threads have ended: what was written, ascending runs, valid until the next call. NULL: no memory. */
const struct adsm_run *adsm_pages_written(size_t *ret_n);

/*
 * A page as it was at the launch's start: what a twin is. Twins live until the next begin(). Tracker uffd has none but
 * at home: there others send a page that several wrote whole, which costs home no more.
 */
bool adsm_pages_has_twin(uint64_t page);
const uint8_t *adsm_pages_twin(uint64_t page);
/* Byte-exact differences to the twin, which there must be. @out: ADSM_PAGES_DIFF_MAX bytes. */
size_t adsm_pages_diff(uint64_t page, uint8_t *out);

/* Home: what to send to who asks for a page while kernels run; it stays until the exchange. */
const uint8_t *adsm_pages_original(uint64_t page);					/* [any time] */
/*
 * Home: what another node wrote to a page that several wrote, as a diff or as the whole page: it differs from the
 * original in what that node wrote. -EINVAL: that is no diff.
 */
int adsm_pages_patch(uint64_t page, const uint8_t *diff, size_t size);
void adsm_pages_merge(uint64_t page, const uint8_t *bytes);

/*
 * Bytes are in the alias: the pages are valid, and who waits for them goes on. @mapped false: their first touch is
 * seen, see adsm_pages_seen(). At home: for all that others sent or the host wrote, before begin().
 */
void adsm_pages_arrived(struct adsm_run run, bool mapped);				/* [any time] */
/* A page that arrived unmapped: has it been touched since? (One that was mapped has.) */
bool adsm_pages_seen(uint64_t page);
/* Is the page here? */
bool adsm_pages_valid(uint64_t page);

/*
 * The next fetch to make, if there is one: a page that a thread waits for, and such as it will want next, in runs that
 * double while it goes on in order. At most one is under way for each waiting thread.
 */
bool adsm_pages_wanted(struct adsm_run *ret_run);					/* [any time] */

struct adsm_pages_counts adsm_pages_counts(void);					/* [any time] */

/* ---- the signals by which touches come, SIGSEGV and SIGBUS, shared with who had them before */

/* In the handler, all signals blocked, on the thread's alternate stack. False: it is not for us. */
typedef bool adsm_touch_handler(int sig, uintptr_t address, bool write);

/* Also once more, which takes them back from who has taken them meanwhile, and is forwarded to then. */
int adsm_handler_take(adsm_touch_handler *handler);
/* If they are still ours. */
void adsm_handler_give_back(void);

#endif
