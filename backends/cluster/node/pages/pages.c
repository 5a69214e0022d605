/* SPDX-License-Identifier: MIT */
/* node/pages/pages.c - the pages of a cluster's node: see pages.h. */
#include "pages.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "tracker.h"
#include "table.h"
#include "waiting.h"
#include "base/decode.h"
#include "base/syscall.h"

static const struct adsm_tracker *tracker;
static struct adsm_pages_config config;

static struct adsm_run *written;
static size_t written_room;

/* ---- a touch */

/* Open a valid page that no other thread is working on. */
static int open_page(uint64_t page, bool write, struct adsm_run *ret_need)
{
	const bool first = !adsm_table_has(page, ADSM_PAGE_OPEN);
	int ret = tracker->touch(page, write, ret_need);

	adsm_table.counts.first_touches += first && !ret;
	adsm_waiting_release();
	return ret;
}

/* Does not return if the kernel's access is an error. Returns false for the other signal without an error. */
static bool on_touch(int sig, uintptr_t address, bool write)
{
	const uint64_t page = (address - config.base) / ADSM_PAGE_SIZE;
	bool is_illegal, is_store, is_ours = true;
	int ret = -EAGAIN;

	if (address - config.base >= config.size)
		return false;
	if (config.refuses && config.refuses())
		config.error(address, ADSM_PAGES_PLAIN);
	adsm_lock(&adsm_table.lock);
	is_illegal = !adsm_table_has(page, ADSM_PAGE_ADDED);
	is_store = write && adsm_table_read_only(page);
	if (!is_illegal && !is_store)
		is_ours = sig == tracker->signal;
	while (is_ours && !is_illegal && !is_store && ret == -EAGAIN) {
		struct adsm_run need = { page, 1 };

		if (!adsm_table_has(page, ADSM_PAGE_VALID))
			adsm_table.counts.read_faults++;
		else if (!adsm_table_has(page, ADSM_PAGE_ASKED))
			ret = open_page(page, write, &need);
		if (ret == -EAGAIN)
			adsm_waiting_sleep(need, config.wake);
	}
	adsm_unlock(&adsm_table.lock);
	if (is_ours && ret)
		config.error(address, is_illegal ? ADSM_PAGES_ILLEGAL :
			     is_store ? ADSM_PAGES_STORE : ADSM_PAGES_NO_MEMORY);
	return is_ours;
}

/* ---- start and stop */

static int start_tracker(enum adsm_track track)
{
	const char *lacks = "";
	int ret;

	tracker = track == ADSM_TRACK_SIGSEGV ? &adsm_tracker_sigsegv : &adsm_tracker_uffd;
	ret = tracker->start(config.base, config.size, config.fd, &lacks);
	if (ret == -ENOTSUP) {
		if (track == ADSM_TRACK_UFFD)
			adsm_warn("cluster: ADSM_CLUSTER_TRACKER=uffd is not possible (userfaultfd: %s); the node uses "
				  "sigsegv", lacks);
		else
			adsm_info("cluster: the tracker is sigsegv, because uffd is not possible (userfaultfd: %s)",
				  lacks);
		tracker = &adsm_tracker_sigsegv;
		ret = tracker->start(config.base, config.size, config.fd, &lacks);
	}
	return ret ? adsm_fail(ret, "cluster: %zu bytes at %p cannot be mapped for tracker %s", config.size,
			       (void *)config.base, tracker->name) : 0;
}

int adsm_pages_start(const struct adsm_pages_config *wanted)
{
	int ret = adsm_table_start(wanted);

	if (ret)
		return ret;
	config = *wanted;
	adsm_waiting_forget();
	ret = start_tracker(config.track);
	if (ret)
		goto stop_table;
	ret = adsm_handler_take(on_touch);
	if (ret)
		goto stop_tracker;
	return 0;

stop_tracker:
	tracker->stop();
stop_table:
	adsm_table_stop();
	return ret;
}

void adsm_pages_stop(void)
{
	adsm_handler_give_back();
	tracker->stop();
	adsm_table_stop();
	free(written);
	written = NULL;
	written_room = 0;
}

enum adsm_track adsm_pages_track(void)
{
	return tracker == &adsm_tracker_uffd ? ADSM_TRACK_UFFD : ADSM_TRACK_SIGSEGV;
}

uint8_t *adsm_pages_alias(uint64_t page)
{
	return adsm_table.alias + adsm_table_offset(page);
}

/* ---- objects */

int adsm_pages_add(struct adsm_run run)
{
	int ret;

	adsm_table_add(run);
	ret = tracker->add(run);
	if (ret)
		adsm_table_remove(run);
	return ret;
}

void adsm_pages_remove(struct adsm_run run)
{
	tracker->remove(run);
	adsm_table_remove(run);
}

int adsm_pages_restore(struct adsm_run run)
{
	return tracker->restore(run, config.fd);
}

const struct adsm_runs *adsm_pages_objects(void)
{
	return &adsm_table.objects;
}

/* Close those pages of the run that are open. */
static void close_run(struct adsm_run run)
{
	const uint64_t end = run.first + run.n;

	for (uint64_t page = run.first, n; page < end; page += n) {
		n = adsm_table_length(page, end, ADSM_PAGE_OPEN, ADSM_PAGE_OPEN);
		if (n)
			tracker->close((struct adsm_run) { page, n });
		n += adsm_table_length(page + n, end, ADSM_PAGE_OPEN, 0);
	}
}

void adsm_pages_invalidate(struct adsm_run run)
{
	assert(!config.home);
	close_run(run);
	for (uint64_t page = run.first; page < run.first + run.n; page++)
		adsm_table_clear(page, 0xff & ~ADSM_PAGE_ADDED);
}

/* ---- launches */

int adsm_pages_begin(const struct adsm_run *read_only, size_t n)
{
	struct adsm_run *old;
	size_t n_old;
	int ret = adsm_table_set_read_only(read_only, n, &old, &n_old);

	if (ret)
		return ret;
	/* Other code may have set handlers of its own since. */
	ret = adsm_handler_take(on_touch);
	if (!ret)
		ret = tracker->begin(old, n_old);
	free(old);
	if (!ret)
		adsm_table_settle(ADSM_PAGE_WRITTEN | ADSM_PAGE_STALE | (tracker->keeps_twins ? 0 : ADSM_PAGE_TWIN));
	return ret;
}

static bool add_written(struct adsm_run run, size_t *n)
{
	if (*n == written_room) {
		size_t room = written_room ? 2 * written_room : 256;
		struct adsm_run *list = realloc(written, room * sizeof(*list));

		if (!list)
			return false;
		written = list;
		written_room = room;
	}
	if (*n && written[*n - 1].first + written[*n - 1].n == run.first)
		written[*n - 1].n += run.n;
	else
		written[(*n)++] = run;
	return true;
}

const struct adsm_run *adsm_pages_written(size_t *ret_n)
{
	static const struct adsm_run none;
	struct adsm_run run;
	uint64_t at = 0;
	size_t n = 0;

	tracker->collect();
	for (size_t i = 0; adsm_table_next_changed(&i, &at, &run);) {
		const uint64_t end = run.first + run.n;

		for (uint64_t page = run.first, length; page < end; page += length ? length : 1) {
			length = adsm_table_length(page, end, ADSM_PAGE_WRITTEN, ADSM_PAGE_WRITTEN);
			if (length && !add_written((struct adsm_run) { page, length }, &n))
				return NULL;
		}
	}
	*ret_n = n;
	return n ? written : &none;
}

bool adsm_pages_has_twin(uint64_t page)
{
	return adsm_table_has(page, ADSM_PAGE_TWIN);
}

const uint8_t *adsm_pages_twin(uint64_t page)
{
	return adsm_table.twins + adsm_table_offset(page);
}

size_t adsm_pages_diff(uint64_t page, uint8_t *out)
{
	assert(adsm_pages_has_twin(page));
	return adsm_diff(adsm_pages_alias(page), adsm_pages_twin(page), ADSM_PAGE_SIZE, out);
}

/* ---- home */

const uint8_t *adsm_pages_original(uint64_t page)
{
	const uint8_t *bytes = adsm_pages_twin(page);

	adsm_lock(&adsm_table.lock);
	while (adsm_table_has(page, ADSM_PAGE_ASKED))
		adsm_waiting_sleep((struct adsm_run) { page, 1 }, NULL);
	if (adsm_table_read_only(page))
		bytes = adsm_pages_alias(page);
	/* A kernel must make a twin before it can write the page, which needs the lock. */
	else if (!adsm_table_has(page, ADSM_PAGE_TWIN))
		adsm_table_take_twin(page);
	adsm_unlock(&adsm_table.lock);
	return bytes;
}

/* The page is about to change. Keep the original as a twin: pages that other nodes send are compared with it. */
static uint8_t *change(uint64_t page)
{
	if (!adsm_table_has(page, ADSM_PAGE_TWIN))
		adsm_table_take_twin(page);
	adsm_table_set(page, ADSM_PAGE_STALE);
	return adsm_pages_alias(page);
}

int adsm_pages_patch(uint64_t page, const uint8_t *diff, size_t size)
{
	if (!adsm_diff_is_valid(diff, size, ADSM_PAGE_SIZE))
		return -EINVAL;
	adsm_diff_patch(change(page), diff, size);
	return 0;
}

void adsm_pages_merge(uint64_t page, const uint8_t *bytes)
{
	uint8_t *into = change(page);

	adsm_diff_merge(into, bytes, adsm_pages_twin(page), ADSM_PAGE_SIZE);
}

/* ---- pages that come, and pages to request */

void adsm_pages_arrived(struct adsm_run run, bool mapped)
{
	adsm_lock(&adsm_table.lock);
	for (uint64_t page = run.first; page < run.first + run.n; page++) {
		assert(adsm_table_has(page, ADSM_PAGE_ADDED));
		adsm_table_set(page, ADSM_PAGE_VALID | (config.home ? ADSM_PAGE_STALE : 0));
	}
	if (!config.home && mapped)
		tracker->show(run);
	else if (!config.home)
		close_run(run);
	for (uint64_t page = run.first; !config.home && page < run.first + run.n; page++)
		adsm_table_clear(page, ADSM_PAGE_ASKED);
	adsm_waiting_release();
	adsm_unlock(&adsm_table.lock);
}

bool adsm_pages_touched(uint64_t page)
{
	return adsm_table_has(page, ADSM_PAGE_OPEN);
}

bool adsm_pages_valid(uint64_t page)
{
	return adsm_table_has(page, ADSM_PAGE_VALID);
}

bool adsm_pages_wanted(struct adsm_run *ret_run)
{
	return adsm_waiting_next(ret_run);
}

struct adsm_pages_counts adsm_pages_counts(void)
{
	struct adsm_pages_counts counts;

	adsm_lock(&adsm_table.lock);
	counts = adsm_table.counts;
	adsm_unlock(&adsm_table.lock);
	return counts;
}

/* ---- SIGSEGV and SIGBUS, shared with previous handlers */

static struct {
	const int signal;
	struct sigaction first;		/* the action at the start */
	struct sigaction previous;	/* the action when the signal was last taken */
} taken[] = { { .signal = SIGSEGV }, { .signal = SIGBUS } };

static _Atomic(adsm_touch_handler *) touch_handler;	/* NULL: the signals were given back */
static ucontext_t been_here;		/* marks the context of a signal that is being forwarded */

/* A direct system call, not through libc: an action of zeros is the default. */
static void set_default(int sig)
{
	static const uint64_t action[4];

	sys(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
}

/* Do what the system would have done without this handler: the instruction runs again, or the signal is sent again. */
static void die(int sig, const siginfo_t *info)
{
	set_default(sig);
	if (info->si_code <= 0)
		sys(SYS_tgkill, getpid(), adsm_os_thread_id(), sig);
}

static void forward(int sig, siginfo_t *info, ucontext_t *context)
{
	const size_t i = sig == SIGBUS;
	/* The handler that this one forwards to may have replaced it, and forward to it in turn. Then use the first
	 * action. */
	const bool again = context->uc_link == &been_here;
	const struct sigaction *action = again ? &taken[i].first : &taken[i].previous;
	uint64_t mask, more;

	if (action->sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (action->sa_handler == SIG_IGN || action->sa_handler == SIG_DFL) {
		die(sig, info);
		return;
	}
	context->uc_link = &been_here;
	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	memcpy(&more, &action->sa_mask, sizeof(more));
	mask |= more | SIGNAL_BIT(sig);
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SIGSET_SIZE);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(sig, info, context);
	else
		action->sa_handler(sig);
	context->uc_link = NULL;
}

_Thread_local uintptr_t adsm_touch_instruction;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const int saved_errno = errno;
	adsm_touch_handler *handler = atomic_load(&touch_handler);
	bool write;

	/* A signal that was sent has no address. */
	if (!handler || info->si_code <= 0 || !adsm_decode_fault(context, &adsm_touch_instruction, &write) ||
	    !handler(sig, (uintptr_t)info->si_addr, write))
		forward(sig, info, context);
	errno = saved_errno;
}

int adsm_handler_take(adsm_touch_handler *handler)
{
	struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

	/* Block all signals in the handler: a handler of the program may touch pages, and need the lock that this
	 * thread holds. */
	memset(&ours.sa_mask, 0xff, sizeof(ours.sa_mask));
	for (size_t i = 0; i < 2; i++) {
		if (sigaction(taken[i].signal, NULL, &now))
			return -errno;
		if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal)
			continue;
		taken[i].previous = now;
		if (!atomic_load(&touch_handler))
			taken[i].first = now;
	}
	atomic_store(&touch_handler, handler);
	for (size_t i = 0; i < 2; i++)
		if (sigaction(taken[i].signal, &ours, NULL))
			return -errno;
	return 0;
}

void adsm_handler_give_back(void)
{
	struct sigaction now;

	atomic_store(&touch_handler, NULL);
	for (size_t i = 0; i < 2; i++)
		if (!sigaction(taken[i].signal, NULL, &now) && now.sa_flags & SA_SIGINFO &&
		    now.sa_sigaction == on_signal)
			sigaction(taken[i].signal, &taken[i].first, NULL);
}
