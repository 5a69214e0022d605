/* SPDX-License-Identifier: MIT */
/* behind.c - permissions that the program takes of its pages, and signal masks that nothing announces. */
#include "model.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

static _Thread_local sigjmp_buf refused_touch;
static _Thread_local volatile sig_atomic_t expects;	/* a fault of the program's own */

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (!expects)
		_exit(4);
	siglongjmp(refused_touch, 1);
}

static void on_mask(int sig, siginfo_t *info, void *context)
{
	sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGSEGV);
}

void start_behind(const sigset_t *others)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_mask = *others, .sa_flags = SA_SIGINFO };
	struct sigaction mask = { .sa_sigaction = on_mask, .sa_mask = *others, .sa_flags = SA_SIGINFO | SA_RESTART };

	CHECK(!sigaction(SIGSEGV, &fault, NULL) && !sigaction(MASK_SIGNAL, &mask, NULL));
}

/* ---- permissions */

static void is_refused(const struct spot *pages, bool write)
{
	volatile unsigned char *p = pages->p + draw(pages->size);

	if (sigsetjmp(refused_touch, 1)) {
		expects = 0;
		return;
	}
	expects = 1;
	if (write)
		*p = 1;
	else
		(void)*p;
	FAIL("a page that the program has closed can be %s", write ? "written" : "read");
}

/* Of an object of the thread's own; what is outside of these pages is used as ever, and kernels use all of it. */
void protect(void)
{
	struct object *object = any_thing();
	const int permitted = draw(2) ? PROT_READ : PROT_NONE;
	struct spot all, pages;
	size_t first, n;

	if (!object || object->size <= PAGE)
		return;
	all = pages = whole(object);
	n = object->size / PAGE;
	first = draw(n);
	n = draw(n - first) + 1;
	pages.p += first * PAGE;
	pages.shadow += first * PAGE;
	pages.size = n * PAGE;
	settle(object);
	note(permitted == PROT_READ ? "mprotect to read" : "mprotect to none", &pages, 0);
	if (mprotect(pages.p, pages.size, permitted)) {
		/* An engine that lets writes to readable pages pass. */
		CHECK(errno == ENOTSUP && permitted == PROT_READ && getenv("ADSM_ENGINE"));
		return;
	}
	for (size_t left = draw(4) + 1; left > 0; left--)
		switch (draw(5)) {
		case 0:
			add_to_all(object);
			settle(object);
			break;
		case 1:
			sync_all();
			break;
		case 2:
			is_refused(&pages, permitted == PROT_READ || draw(2));
			break;
		case 3:
			errno = 0;
			CHECK(read(me->in[CHANNEL_FILE], pages.p, 0) == 0);
			CHECK(pread(me->in[CHANNEL_FILE], pages.p, 1, 0) <= 0);
			break;
		case 4:
			if (permitted == PROT_READ) {
				look_at(&pages);
			} else if (first) {
				all.size = first * PAGE;
				look_at(&all);
			}
			break;
		}
	note("mprotect back", &pages, 0);
	CHECK(!mprotect(pages.p, pages.size, PROT_READ | PROT_WRITE));
	settle(object);
	look_at(&pages);
}

/* ---- masks */

/* SIGSEGV is blocked now, as the program sees it; its objects are there all the same. */
void mask_behind(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const size_t how = draw(3);
	volatile bool back = false;
	sigset_t set, old;
	ucontext_t here;

	note("SIGSEGV blocked", &s, (unsigned)how);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	switch (how) {
	case 0:
		CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
		break;
	case 1:
		CHECK(!raise(MASK_SIGNAL));
		break;
	case 2:
		CHECK(!getcontext(&here));
		if (!back) {
			back = true;
			sigaddset(&here.uc_sigmask, SIGSEGV);
			setcontext(&here);
		}
		break;
	}
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &old));
	CHECK(sigismember(&old, SIGSEGV) == 1);
	look_at(&s);
	make_bytes(s.shadow, s.size, draw_from(&me->state));
	write_spot(&s);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	look_at(&s);
}
