/* SPDX-License-Identifier: MIT */
/*
 * shim.c - an ICD loader that misbehaves: ADSM_OPENCL_LIBRARY names it, and it forwards to the real one.
 *
 * Words in TEST_OPENCL, separated by commas:
 *   fail=FUNCTION:CODE[:N]   the Nth call of it (each, without N) fails with CODE; functions without an error do not
 *   event=FUNCTION:CODE[:N]  the command runs, but its event ends with CODE; a blocking one returns CODE
 *   lost=N                   the device is lost at the Nth command: events whose end was not reported before
 *                            end with -2; then commands fail with -36, and creations and builds with -2
 *   late[=SEED]              callbacks come up to 2 ms late: of one queue in order, of several in any order
 *   no-platform, no-device   there is none
 *   gpu                      the first device of each platform is a GPU
 *   devices=N                each platform shows its first device N times, as "NAME #0" and so on. All but #0 are
 *                            handles of the shim's own for the same device: a context may have one of them
 *   old                      OpenCL 1.2: functions that it does not have abort
 *   small=BYTES              largest allocation; device memory is four times that, and both are enforced
 *   group=N                  most work-items of a group; enforced
 *   align=BITS               of a device's memory; enforced for sub-buffers
 *   no-svm                   no shared virtual memory
 *   address                  has cl_ext_buffer_device_address, where the device has SVM: such buffers are SVM blocks
 *   usm                      has cl_intel_unified_shared_memory, where the device has SVM: device memory is SVM blocks
 *   strict                   with address: aborts if a kernel is enqueued whose list of addressed buffers lacks
 *                            one, or has a released one; for programs of one thread
 *   threads                  ends the process with status 99 if a function is called with SIGALRM unblocked, or by a
 *                            thread that can be cancelled and whose signals are not all blocked. Functions that create
 *                            or build programs are exempt
 *   hits=FD                  each fail= and event= writes a letter to this descriptor when it happens: 'a' is the first
 *                            of them in TEST_OPENCL, 'b' the second, and so on
 *   count                    prints at exit how many references were handed out, and how many were released
 *
 * Handles are the driver's own, except those of devices=N. Whether the driver itself has the extensions of "address"
 * and "usm" is not shown, so that a plan does the same on all; other extensions' functions are the driver's.
 */
#include "shim_own.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_STATUS 99

const char *const names[] = {
#define NAME(name) #name,
	FUNCTIONS(NAME)
#undef NAME
};

struct adsm_cl real;
cl_int (CL_API_CALL *real_retain_event)(cl_event);
cl_int (CL_API_CALL *real_set_destructor)(cl_mem, void (CL_CALLBACK *)(cl_mem, void *), void *);

struct plan plan = { .lost = UINT64_MAX };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
bool lost;
struct references counts[N_KINDS];

void end_process(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("shim: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	if (status)
		_exit(status);
	abort();
}

void *allocated(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("out of memory");
	return p;
}

/* ---- the plan */

static uint64_t number(const char *word, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (!*text || *end)
		die("TEST_OPENCL has '%s', which ends with no number", word);
	return value;
}

static void add_rule(bool of_event, const char *word, const char *text)
{
	struct rule rule = { .of_event = of_event, .function = N_FUNCTIONS };
	char function[64], end;
	int n = sscanf(text, "%63[^:]:%d:%" SCNu64 "%c", function, &rule.code, &rule.nth, &end);

	for (enum function f = 0; n >= 2 && f < N_FUNCTIONS; f++)
		if (!strcmp(names[f], function))
			rule.function = f;
	if (n < 2 || n > 3 || rule.code >= 0 || rule.function == N_FUNCTIONS || plan.n_rules == MAX_RULES)
		die("TEST_OPENCL has '%s', which is no FUNCTION:CODE[:N], or one too many", word);
	if (of_event && strncmp(function, "clEnqueue", strlen("clEnqueue")))
		die("TEST_OPENCL has '%s', but %s is no command", word, function);
	plan.rules[plan.n_rules++] = rule;
}

static void plan_word(const char *word)
{
	static const struct {
		const char *name;
		bool *flag;
		uint64_t *number;
	} words[] = {
		{ "no-platform", &plan.no_platform, NULL }, { "no-device", &plan.no_device, NULL },
		{ "gpu", &plan.gpu, NULL }, { "old", &plan.old, NULL }, { "no-svm", &plan.no_svm, NULL },
		{ "address", &plan.address, NULL }, { "usm", &plan.usm, NULL }, { "strict", &plan.strict, NULL },
		{ "threads", &plan.threads, NULL }, { "count", &plan.count, NULL },
		{ "late", &plan.late, &plan.seed }, { "lost", NULL, &plan.lost }, { "devices", NULL, &plan.devices },
		{ "small", NULL, &plan.small }, { "group", NULL, &plan.group }, { "align", NULL, &plan.align },
		{ "hits", NULL, &plan.hits },
	};
	size_t length = strcspn(word, "=");
	const char *value = word[length] ? word + length + 1 : NULL;

	if (value && !strncmp(word, "fail=", 5)) {
		add_rule(false, word, value);
		return;
	}
	if (value && !strncmp(word, "event=", 6)) {
		add_rule(true, word, value);
		return;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].name) != length || strncmp(words[i].name, word, length))
			continue;
		if (value ? !words[i].number : !words[i].flag)
			break;
		if (words[i].flag)
			*words[i].flag = true;
		if (value)
			*words[i].number = number(word, value);
		return;
	}
	die("TEST_OPENCL has '%s', which is no word of the shim's", word);
}

static void open_real(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;		/* there are no platforms then */
#define FIND(name) *(void **)&real.name = dlsym(library, #name);
	ADSM_CL_FUNCTIONS(FIND)
	ADSM_CL_LATER_FUNCTIONS(FIND)
#undef FIND
	*(void **)&real_retain_event = dlsym(library, "clRetainEvent");
	*(void **)&real_set_destructor = dlsym(library, "clSetMemObjectDestructorCallback");
}

__attribute__((constructor))
static void start(void)
{
	const char *text = getenv("TEST_OPENCL");
	char *words = text ? strdup(text) : NULL, *rest = words;

	for (char *word; (word = strsep(&rest, ","));)
		if (*word)
			plan_word(word);
	free(words);
	plan.address |= plan.strict;
	lost = !plan.lost;
	open_real();
}

__attribute__((destructor))
static void print_counts(void)
{
	static const char *const kinds[] = { "buffers", "kernels", "programs", "events" };

	if (!plan.count)
		return;
	fputs("shim:", stderr);
	for (size_t i = 0; i < N_KINDS; i++)
		fprintf(stderr, "%s %s created %" PRIu64 " released %" PRIu64, i ? "," : "", kinds[i],
			counts[i].created, counts[i].released);
	fputc('\n', stderr);
}

void handed_out(enum kind kind)
{
	pthread_mutex_lock(&lock);
	counts[kind].created++;
	pthread_mutex_unlock(&lock);
}

void given_back(enum kind kind)
{
	pthread_mutex_lock(&lock);
	counts[kind].released++;
	pthread_mutex_unlock(&lock);
}

cl_int planned(bool of_event, enum function f)
{
	cl_int code = 0;

	for (struct rule *rule = plan.rules; rule < plan.rules + plan.n_rules; rule++) {
		if (rule->of_event != of_event || rule->function != f || (++rule->n_calls != rule->nth && rule->nth))
			continue;
		code = rule->code;
		if (plan.hits)
			dprintf((int)plan.hits, "%c", (int)('a' + (rule - plan.rules)));
	}
	return code;
}

bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static cl_int lost_error(const char *name)
{
	if (begins(name, "clEnqueue") || !strcmp(name, "clFlush") || !strcmp(name, "clFinish"))
		return CL_INVALID_COMMAND_QUEUE;
	if (begins(name, "clCreate") || !strcmp(name, "clSVMAlloc") || !strcmp(name, "clBuildProgram"))
		return CL_DEVICE_NOT_AVAILABLE;
	return 0;
}

_Thread_local bool in_callback;

static void check_signals(const char *name)
{
	sigset_t mask;
	int state;

	if (begins(name, "clCreateProgram") || !strcmp(name, "clBuildProgram"))
		return;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	if (!sigismember(&mask, SIGALRM))
		end_process(THREADS_STATUS, "%s was called with SIGALRM unblocked", name);
	/* A thread that has all blocked is one that the program does not know; callbacks run in the driver's own. */
	if (in_callback)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (state == PTHREAD_CANCEL_ENABLE && !sigismember(&mask, SIGSEGV))
		end_process(THREADS_STATUS, "%s was called by a thread that can be cancelled", name);
	pthread_setcancelstate(state, NULL);
}

cl_int enter(enum function f)
{
	cl_int error;

	if (plan.threads)
		check_signals(names[f]);
	if (plan.old && f >= FIRST_LATER)
		die("%s was called, which OpenCL 1.2 does not have", names[f]);
	pthread_mutex_lock(&lock);
	error = planned(false, f);
	if (!error && lost)
		error = lost_error(names[f]);
	pthread_mutex_unlock(&lock);
	return error;
}

void *none(cl_int error, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = error;
	return NULL;
}

cl_int answer(const void *value, size_t value_size, size_t size, void *ret, size_t *ret_size)
{
	if (ret && size < value_size)
		return CL_INVALID_VALUE;
	if (ret)
		memcpy(ret, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}
