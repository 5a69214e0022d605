/* SPDX-License-Identifier: MIT */
/*
 * failing.h - for tests of drivers that fail: child processes, calls and touches that are repeated until they work, and
 * work on three objects with a model of each in ordinary memory. The program defines before the #include:
 *	FAILS_TOO		another error that calls may return, beside -EIO and -ENOMEM; 0: none
 *	LOAD_WORK()		loads a module with the kernels add and increment
 *	ADD(w), INCREMENT(w)	call these kernels
 *	set_plan(words)		a function that makes the driver fail as @words say
 */
#ifndef CONFORM_FAILING_H
#define CONFORM_FAILING_H

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

#define WORDS 40960u
#define TRIES 20
#define FUNCTIONS(...) ((const char *const []){ __VA_ARGS__, NULL })

/* Run a test in a child process, because a driver stays loaded as long as its process lives. */
static inline void in_process(void (*run)(size_t i), size_t i)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		run(i);
		fflush(NULL);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		FAIL("number %zu: status %x", i, status);
}

static unsigned n_failures;

/* Returns whether to repeat the call. A call that failed must have set an error text. */
static inline bool again(int error, unsigned *tries, const char *call)
{
	if (!error)
		return false;
	if (error != -EIO && error != -ENOMEM && error != FAILS_TOO)
		FAIL("error %d", error);
	if (!adsmLastError()[0])
		FAIL("%s failed without a sentence", call);
	CHECK(++*tries < TRIES);
	n_failures++;
	return true;
}

#define REPEAT(call) do { \
	unsigned tries_ = 0; \
	while (again((call), &tries_, #call)) \
		; \
} while (0)

static sigjmp_buf failed_touch;
static volatile sig_atomic_t touching;

static inline void on_sigbus(int signal)
{
	if (!touching)
		_exit(3);
	touching = 0;
	siglongjmp(failed_touch, 1);
}

static inline void catch_sigbus(void)
{
	struct sigaction action = { .sa_handler = on_sigbus };

	CHECK(!sigaction(SIGBUS, &action, NULL));
}

/* Read a word, and with @write also write it. Returns false on SIGBUS. */
static inline bool usable(volatile unsigned *p, bool write)
{
	if (sigsetjmp(failed_touch, 1))
		return false;
	touching = 1;
	if (write)
		(*p)++;
	else
		(void)*p;
	touching = 0;
	return true;
}

/* Compare, or with @write change, every @step-th word. */
static inline void touch(unsigned *words, unsigned *model, unsigned step, bool write)
{
	volatile unsigned *p = words;
	volatile unsigned i = 0, tries = 0;

	if (sigsetjmp(failed_touch, 1)) {
		CHECK(++tries < TRIES);
		n_failures++;
	}
	touching = 1;
	for (; i < WORDS; i += step, tries = 0) {
		if (write)
			p[i] = model[i] = model[i] * 3 + i;
		else
			CHECK_AT(p[i], i, model[i]);
	}
	touching = 0;
}

struct work {
	unsigned *p[3], *model[3];
	adsmModule *module;
	adsmKernel *add, *increment;
};

static inline void create_work(struct work *w)
{
	unsigned tries = 0;

	while (!(w->module = LOAD_WORK()))
		again(-errno, &tries, "loading a module");
	w->add = adsmKernelGet(w->module, "add");
	w->increment = adsmKernelGet(w->module, "increment");
	CHECK(w->add && w->increment);
	for (int i = 0; i < 3; i++) {
		while (!(w->p[i] = adsmAlloc(WORDS * sizeof(unsigned))))
			again(-errno, &tries, "adsmAlloc");
		w->model[i] = calloc(WORDS, sizeof(unsigned));
		touch(w->p[i], w->model[i], 1, true);
	}
}

static inline void destroy_work(struct work *w)
{
	for (int i = 0; i < 3; i++) {
		REPEAT(adsmFree(w->p[i]));
		free(w->model[i]);
	}
	REPEAT(adsmModuleUnload(w->module));
}

static inline void round_of_work(struct work *w)
{
	unsigned **p = w->p, **model = w->model;

	touch(p[0], model[0], 1500, true);
	REPEAT(ADD(w));
	for (size_t i = 0; i < WORDS; i++)
		model[2][i] = model[0][i] + model[1][i];
	REPEAT(INCREMENT(w, p[1], WORDS));
	for (size_t i = 0; i < WORDS; i++)
		model[1][i]++;
	/* Only the second half, because it may be a separate buffer of the device. */
	REPEAT(INCREMENT(w, p[0] + WORDS / 2, WORDS / 2));
	for (size_t i = WORDS / 2; i < WORDS; i++)
		model[0][i]++;
	REPEAT(adsmSync());
	touch(p[0], model[0], 1, false);
	touch(p[1], model[1], 977, false);
	touch(p[1], model[1], 1200, true);
	REPEAT(adsmMemcpy(p[1], p[2], WORDS / 2 * sizeof(**p)));
	memcpy(model[1], model[2], WORDS / 2 * sizeof(**p));
	REPEAT(adsmMemset(p[2], 5, WORDS * sizeof(**p)));
	memset(model[2], 5, WORDS * sizeof(**p));
	for (int i = 0; i < 3; i++)
		touch(p[i], model[i], 1, false);
}

/* Work in a child whose driver fails as @words say. Returns not 0 if a call or touch failed, and 0 if none did. */
static inline bool fails_at(const char *words)
{
	struct work w;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		set_plan(words);
		set("log", "silent");
		catch_sigbus();
		REPEAT(adsmInit());
		create_work(&w);
		for (int round = 0; round < 3; round++)
			round_of_work(&w);
		destroy_work(&w);
		REPEAT(adsmShutdown());
		_exit(n_failures ? 2 : 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 2))
		FAIL("%s: status %x", words, status);
	return status;
}

#endif
