/* SPDX-License-Identifier: MIT */
/*
 * errors.c - no OpenCL, other devices than wanted, drivers that fail, devices that are lost.
 * TEST_SHIM: the ICD loader that fails by a plan.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <adsm_queue.h>

#include "../sanitizers.h"
#include "raw.h"

#define GROUP 32u			/* threads: few enough for any device */

static const char source[] =
	"__kernel void add(__global const uint *a, __global const uint *b, __global uint *sum)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"\n"
	"	sum[i] = a[i] + b[i];\n"
	"}\n"
	"\n"
	"__kernel void increment(__global uint *a)\n"
	"{\n"
	"	a[get_global_id(0)]++;\n"
	"}\n";

#define FAILS_TOO 0
#define LOAD_WORK() adsmModuleLoadWith(source, strlen(source), NULL)
#define CALL_WORK(kernel, n, ...) adsmCall(kernel, adsmDim3((n) / GROUP, 1, 1), adsmDim3(GROUP, 1, 1), __VA_ARGS__)
#define ADD(w) CALL_WORK((w)->add, WORDS, adsmPtr((w)->p[0]), adsmPtr((w)->p[1]), adsmOut((w)->p[2]))
#define INCREMENT(w, p, n) CALL_WORK((w)->increment, n, adsmInOut(p))

static void set_plan(const char *words);

#include "failing.h"

/* From here on the library has the shim for its loader, with a plan. */
static void use_shim(const char *plan)
{
	const char *shim = getenv("TEST_SHIM");

	CHECK(shim);
	setenv("TEST_OPENCL", plan, 1);
	set("opencl_library", shim);
}

/* Skip where there is no device at all. In another process: one that has used a driver cannot fork. */
static void need_device(void)
{
	struct raw raw;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		raw_find(&raw);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		_exit(77);
	CHECK(!status);
}

/* ---- what is logged */

static FILE *logged;

static void capture(void)
{
	fflush(stderr);
	logged = tmpfile();
	CHECK(logged && dup2(fileno(logged), STDERR_FILENO) >= 0);
}

static size_t count_in(FILE *file, char wanted)
{
	size_t n = 0;
	char c;

	for (off_t at = 0; pread(fileno(file), &c, 1, at) == 1; at++)
		n += c == wanted;
	return n;
}

static size_t logged_lines(void)
{
	return count_in(logged, '\n');
}

/* ---- what cannot be started */

static void no_loader(void)
{
	set("opencl_library", "/nonexistent/libOpenCL.so");
}

static void no_opencl(void)
{
	set("opencl_library", "libm.so.6");
}

static char no_vendors[] = "/tmp/opencl-vendors-XXXXXX";

static void no_platform(void)
{
	CHECK(mkdtemp(no_vendors));
	setenv("OCL_ICD_VENDORS", no_vendors, 1);
	unsetenv("OCL_ICD_FILENAMES");
}

static void no_such_device(void)
{
	set("opencl_device", "nonsense");
}

static void no_such_index(void)
{
	set("opencl_device", "0:15");
}

static void no_such_platform(void)
{
	set("opencl_device", "15:0");
}

static void no_usm(void)
{
	use_shim("");		/* which shows no such extension */
	set("opencl_memory", "usm");
}

static const struct {
	void (*arrange)(void);
	bool needs_device;
	int error;
	const char *says[2];
} starts[] = {
	{ no_loader, false, ENODEV, { "/nonexistent/libOpenCL.so", "ADSM_OPENCL_LIBRARY" } },
	{ no_opencl, false, ENODEV, { "libm.so.6", "OpenCL 1.2" } },
	{ no_platform, false, ENODEV, { "no OpenCL platform", "pocl-opencl-icd" } },
	{ no_such_device, true, ENODEV, { "ADSM_OPENCL_DEVICE=nonsense", "the devices are 0:0 " } },
	{ no_such_index, true, ENODEV, { "ADSM_OPENCL_DEVICE=0:15", "the devices are 0:0 " } },
	{ no_such_platform, true, ENODEV, { "ADSM_OPENCL_DEVICE=15:0", "the devices are 0:0 " } },
	{ no_usm, true, ENOTSUP, { "ADSM_OPENCL_MEMORY=usm", "'buffer'" } },
};

#define N_STARTS (sizeof(starts) / sizeof(starts[0]))

static void fail_to_start(size_t i)
{
	starts[i].arrange();
	CHECK_ERROR(adsmInit(), starts[i].error);
	for (int k = 0; k < 2; k++)
		CHECK_SAYS(starts[i].says[k]);
	/* And again. */
	CHECK_NULL(adsmAlloc(PAGE), starts[i].error);
	CHECK_OK(adsmShutdown());
	/* The program may go on without. */
	set("backend", "cpu");
	CHECK_OK(adsmFree(words(16, 1)));
	CHECK_OK(adsmShutdown());
	rmdir(no_vendors);	/* where it was made */
}

static void start(void)
{
	need_device();
	for (size_t i = 0; i < N_STARTS; i++)
		in_process(fail_to_start, i);
}

/* ---- what "auto" takes */

/* One word of a kernel of adsmcc's, on a backend of this name. */
static void check_backend(const char *backend)
{
	adsmDeviceProps device = { .struct_size = sizeof(device) };
	unsigned *p;

	CHECK_OK(adsmInit());
	CHECK_OK(adsmDeviceInfo(0, &device));
	if (strcmp(device.backend, backend))
		FAIL("the backend is %s, not %s", device.backend, backend);
	p = words(100, 1);
	CHECK_OK(adsmCall(kernel("increment"), adsmDim3(4, 1, 1), adsmDim3(GROUP, 1, 1), adsmPtr(p), adsmVal(100u)));
	CHECK_OK(adsmSync());
	CHECK_EQ(p[99], 101);
	CHECK_OK(adsmFree(p));
	unload();
	CHECK_OK(adsmShutdown());
}

static void quietly_cpu(size_t i)
{
	set("backend", "auto");
	if (i < N_STARTS)
		starts[i].arrange();
	capture();
	check_backend("cpu");
	CHECK_EQ(logged_lines(), 0);
	rmdir(no_vendors);
}

static void ignore(int sig)
{
}

/* A driver that is asked for its devices, or used, takes signals; the program's are as it left them. */
static void keeps_signals(size_t use)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART }, now;

	/* This process may have inherited an ignored SIGHUP, as from nohup. */
	signal(SIGHUP, SIG_DFL);
	for (size_t i = 1; i < sizeof(signals) / sizeof(*signals); i++)
		CHECK(!sigaction(signals[i], &action, NULL));
	set("backend", use ? "opencl" : "auto");
	CHECK_OK(adsmInit());
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		CHECK(!sigaction(signals[i], NULL, &now));
		CHECK(now.sa_handler == (i ? ignore : SIG_DFL));
		CHECK(!i || now.sa_flags & SA_RESTART);
	}
	CHECK_OK(adsmShutdown());
}

static const int fatal[] = { SIGABRT, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
#define N_FATAL (sizeof(fatal) / sizeof(*fatal))

static bool is_raised(int sig)
{
#if defined(__x86_64__)
	return sig == SIGFPE || sig == SIGABRT || sig == SIGSEGV;
#else
	return sig == SIGABRT || sig == SIGSEGV;	/* a division by zero does not trap */
#endif
}

/* In a child, which is to end by that signal: sent, or raised by an instruction, which no sanitizer looks at before. */
__attribute__((no_sanitize("integer-divide-by-zero"))) static void end_by(size_t use)
{
	static volatile int none;
	static volatile uintptr_t nowhere = 8;
	const int sig = fatal[use % N_FATAL];

	signal(sig, SIG_DFL);
	set("backend", use / N_FATAL % 2 ? "opencl" : "auto");
	CHECK_OK(adsmInit());
	if (use < 2 * N_FATAL)
		kill(getpid(), sig);
	else if (sig == SIGFPE)
		printf("%d\n", 100 / none);
	else if (sig == SIGABRT)
		abort();
	else
		*(volatile int *)nowhere = 1;
	_exit(9);
}

/* Where the program has no handler, a signal ends it as if no driver had been loaded, which has some for all these. */
static void ends_by_signals(void)
{
	int status;
	pid_t child;

	for (size_t i = 0; i < 4 * N_FATAL; i++) {
		if (i >= 2 * N_FATAL && !is_raised(fatal[i % N_FATAL]))
			continue;
		child = fork();
		CHECK(child >= 0);
		if (!child)
			end_by(i);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECKF(WIFSIGNALED(status) && WTERMSIG(status) == fatal[i % N_FATAL], "signal %d, way %zu: status %x",
		       fatal[i % N_FATAL], i / N_FATAL, status);
	}
}

/* A signal that the driver has a handler for: a kernel that divides by zero continues. */
static void kernel_divides(size_t unused)
{
	unsigned *p;

	set("backend", "opencl");
	p = words(100, 1);
	CHECK_OK(adsmCall(kernel("divide"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(p), adsmVal(0u)));
	CHECK_OK(adsmSync());
	CHECK_EQ(p[99], 100);
}

static void keeps_all_signals(void)
{
	if (WITH_TSAN)
		skip("actions as the kernel has them are ThreadSanitizer's own");
	in_process(keeps_signals, 0);
	in_process(keeps_signals, 1);
	ends_by_signals();
	/* AddressSanitizer's own handler ends the process. */
	if (!WITH_ASAN)
		in_process(kernel_divides, 0);
}

static void automatic(void)
{
	/* The last: an OpenCL device that is the CPU only. */
	for (size_t i = 0; i <= N_STARTS; i++)
		in_process(quietly_cpu, i);
}

static void automatic_gpu(void)
{
	need_device();
	set("backend", "auto");
	use_shim("gpu");
	check_backend("opencl");
}

/* Where nothing but the second device will do. */
static void chosen_device(void)
{
	adsmDeviceProps device = { .struct_size = sizeof(device) };

	need_device();
	use_shim("devices=3");
	set("opencl_device", "0:1");
	CHECK_EQ(adsmDeviceCount(), 1);
	CHECK_OK(adsmDeviceInfo(0, &device));
	CHECK(strstr(device.name, "#1"));
	check_backend("opencl");
	set("opencl_device", ":2");
	CHECK_EQ(adsmDeviceCount(), 1);
	CHECK_OK(adsmDeviceInfo(0, &device));
	CHECK(strstr(device.name, "#2"));
	CHECK_OK(adsmShutdown());
	set("opencl_device", "2");
	CHECK_ERROR(adsmDeviceCount(), ENODEV);
	set("opencl_device", "0");
	CHECK_EQ(adsmDeviceCount(), 3);
	CHECK_OK(adsmShutdown());
}

/* ---- limits */

static void limits(void)
{
	unsigned *p;

	need_device();
	use_shim("small=1048576,group=16");
	p = words(100, 1);
	CHECK_ERROR(adsmCall(kernel("increment"), adsmDim3(4, 1, 1), adsmDim3(17, 1, 1), adsmPtr(p), adsmVal(100u)),
		    EINVAL);
	CHECK_SAYS("a block of 17 threads");
	CHECK_SAYS("at most 16");
	CHECK_ERROR(adsmCall(kernel("increment"), adsmDim3(4, 1, 1), adsmDim3(5, 5, 1), adsmPtr(p), adsmVal(100u)),
		    EINVAL);
	CHECK_SAYS("a block of 25 threads");
	CHECK_OK(adsmCall(kernel("increment"), adsmDim3(7, 1, 1), adsmDim3(16, 1, 1), adsmPtr(p), adsmVal(100u)));
	CHECK_OK(adsmSync());
	CHECK_EQ(p[99], 101);
	CHECK_NULL(adsmAlloc(2u << 20), ENOMEM);
	CHECK_SAYS("1048576");
	CHECK_NULL(adsmDeviceAlloc(2u << 20), ENOMEM);
	CHECK_OK(adsmFree(alloc(1u << 20)));
	CHECK_OK(adsmFree(p));
	unload();
	CHECK_OK(adsmShutdown());
}

/* ---- operations that fail: repeated, they work, and nothing is lost */

static void set_plan(const char *words)
{
	use_shim(words);
	set("opencl_cache", "off");
}

/* The shim writes here which of a plan's failures have happened: 'a' for the first of them. */
static FILE *hits(void)
{
	static FILE *file;

	if (!file)
		file = tmpfile();
	CHECK(file);
	return file;
}

/* Did a process notice the failure of a function's nth call? */
static bool nth_fails(const char *function, unsigned nth)
{
	char words[128];

	snprintf(words, sizeof(words), "fail=%s:%d:%u,hits=%d", function, CL_OUT_OF_RESOURCES, nth, fileno(hits()));
	return fails_at(words);
}

/* With batch the CPU copies and fills, and with lazy it copies parts of objects. */
static bool needs_no_call(const char *function)
{
	return (!rolling() && !strcmp(function, "clEnqueueCopyBuffer")) ||
		(batch() && !strcmp(function, "clEnqueueFillBuffer"));
}

/*
 * Each of some functions, at one call after the other; of many calls each protocol has a third, unless all is asked
 * for. How many failures were seen.
 */
static unsigned fail_some(const char *const *functions, unsigned most)
{
	unsigned step = most < 9 || getenv("TEST_FULL") ? 1 : 3, n_seen = 0;
	unsigned first = step == 1 || batch() ? 1 : rolling() ? 2 : 3;

	need_device();
	for (; *functions; functions++) {
		const size_t before = count_in(hits(), 'a');

		for (unsigned nth = first; nth <= most; nth += step)
			n_seen += nth_fails(*functions, nth);
		CHECKF(count_in(hits(), 'a') > before || needs_no_call(*functions), "%s has never failed", *functions);
	}
	return n_seen;
}

static void fail_each(const char *const *functions, unsigned most)
{
	unsigned n_seen = fail_some(functions, most);

	/* With batch a call tries several times itself. */
	CHECK(n_seen || batch());
}

static void fail_allocations(void)
{
	fail_each(FUNCTIONS("clCreateBuffer", "clCreateSubBuffer"), 6);
}

/* The device is full when the @nth buffer with an address is created. */
static void full_once(size_t nth)
{
	char plan[64];
	unsigned *p;

	snprintf(plan, sizeof(plan), "address,fail=clCreateBufferWithProperties:-4:%zu", nth);
	use_shim(plan);
	set("opencl_memory", "address");
	set("oversubscribe", nth == 2 ? "off" : "on");
	CHECK_OK(adsmInit());
	CHECK_ERROR(adsmFree((void *)8), EINVAL);
	p = words(GROUP, 7);
	CALL("increment", 1, adsmPtr(p), adsmVal(1u));
	SYNC();
	CHECK_EQ(p[0], 8);
	CHECK_OK(adsmFree(p));
	/* Nothing else has failed. */
	CHECK_SAYS("0x8");
	unload();
	CHECK_OK(adsmShutdown());
}

/* The first is a trial. The second is the object, and works when the library tries again. No third is needed. */
static void full_lists(void)
{
	need_device();
	in_process(full_once, 2);
	in_process(full_once, 3);
}

/* Where copies fail once while the device is measured, nothing shows that mappings are faster: they are not used. */
static void unmeasured(void)
{
	char words[160];

	/* Ten mappings are measured. The eleventh would be a copy. */
	snprintf(words, sizeof(words), "fail=clEnqueueWriteBuffer:-5:1,fail=clEnqueueReadBuffer:-5:1,"
		 "fail=clEnqueueMapBuffer:-5:11,hits=%d", fileno(hits()));
	fails_at(words);
	CHECK_EQ(count_in(hits(), 'b'), 1);
	CHECK_EQ(count_in(hits(), 'c'), 0);
}

/* The first of these measure the device. */
static void fail_transfers(void)
{
	fail_each(FUNCTIONS("clEnqueueWriteBuffer", "clEnqueueReadBuffer"), 20);
	unmeasured();
}

/* Unified memory cannot be mapped again after a kernel: its end is known all the same, and the next calls work. */
static void not_mapped(size_t unused)
{
	char plan[128];
	unsigned *p;

	snprintf(plan, sizeof(plan), "fail=clEnqueueMarkerWithWaitList:-5:1,fail=clEnqueueMapBuffer:-5:2,hits=%d",
		 fileno(hits()));
	use_shim(plan);
	set("opencl_memory", "unified");
	p = words(GROUP, 7);
	for (unsigned i = 1; i <= 3; i++) {
		CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(1u));
		SYNC();
		CHECK_EQ(p[0], 7 + i);
	}
	CHECK_OK(adsmFree(p));
	unload();
	CHECK_OK(adsmShutdown());
}

/* Whether anything is mapped depends on what is fast; and of what lazy does little is waited for. */
static void fail_mappings(void)
{
	const char *protocol = getenv("ADSM_PROTOCOL");
	unsigned n_seen = fail_some(FUNCTIONS("clEnqueueMapBuffer", "clEnqueueUnmapMemObject",
						"clWaitForEvents"), 24);

	in_process(not_mapped, 0);
	CHECK_EQ(count_in(hits(), 'b'), 1);
	CHECK(n_seen || !protocol || strcmp(protocol, "rolling"));
}

static void fail_copies(void)
{
	fail_each(FUNCTIONS("clEnqueueCopyBuffer", "clEnqueueFillBuffer"), 4);
}

static void fail_calls(void)
{
	fail_each(FUNCTIONS("clSetKernelArg", "clEnqueueNDRangeKernel"), 9);
}

static void fail_modules(void)
{
	fail_each(FUNCTIONS("clCreateProgramWithSource", "clBuildProgram", "clCreateKernel", "clGetKernelInfo",
			    "clGetProgramInfo"), 2);
}

static void fail_starts(void)
{
	fail_each(FUNCTIONS("clCreateContext", "clCreateCommandQueueWithProperties"), 3);
}

/* Drivers that cannot say when a command has ended are waited for. */
static void fail_telling(void)
{
	need_device();
	for (unsigned nth = 0; nth <= 3; nth++)
		nth_fails("clSetEventCallback", nth);
	CHECK(count_in(hits(), 'a'));
}

/* A kernel that ends with an error: the sync says so, once, and the next call works. */
static void kernel_failed(void)
{
	struct work w;
	int error;

	need_device();
	use_shim("event=clEnqueueNDRangeKernel:-5:2");
	catch_sigbus();
	CHECK_OK(adsmInit());
	create_work(&w);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(INCREMENT(&w, w.p[0], WORDS));
		error = adsmSync();
		if (i == 1) {
			CHECK(error == -ENOMEM || error == -EIO);
			CHECK(adsmLastError()[0]);
			CHECK_OK(adsmSync());
		} else {
			CHECK_OK(error);
		}
	}
	touch(w.p[1], w.model[1], 1, false);
	destroy_work(&w);
	CHECK_OK(adsmShutdown());
}

/* A kernel that could reach objects is called again after all have been freed: its list has none of them. */
static void none_left(void)
{
	unsigned *p, *q;

	need_device();
	use_shim("address,strict");
	set("keep", "0");
	p = words(100, 1);
	q = words(100, 2);
	CALL("copy", 100, adsmPtr(p), adsmPtr(q), adsmVal(100u));
	SYNC();
	CHECK_EQ(q[99], 100);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmFree(q));
	CALL("copy", 1, adsmPtr(NULL), adsmPtr(NULL), adsmVal(0u));
	SYNC();
	unload();
	CHECK_OK(adsmShutdown());
}

/* ---- a device that is lost */

/* Work until the device is lost; false where it was not. */
static bool work_until_lost(const struct work *w, unsigned *ret_n_calls)
{
	for (*ret_n_calls = 0; *ret_n_calls < 100; ++*ret_n_calls) {
		int error = INCREMENT(w, w->p[1], WORDS);

		if (!error)
			error = adsmSync();
		if (error) {
			CHECK_EQ(error, -ENODEV);
			CHECK_SAYS("lost");
			return true;
		}
		if (!usable(w->p[1], false))
			return true;
	}
	return false;
}

static void after_loss(struct work *w)
{
	adsmDeviceProps device = { .struct_size = sizeof(device) };
	size_t before;

	CHECK_OK(adsmDeviceInfo(0, &device));
	CHECK_EQ(device.lost, 1);
	CHECK_ERROR(INCREMENT(w, w->p[0], WORDS), ENODEV);
	CHECK_SAYS("lost");
	CHECK_NULL(adsmAlloc(PAGE), ENODEV);
	/* What the CPU has stays, and can be written. */
	touch(w->p[0], w->model[0], 1, false);
	touch(w->p[0], w->model[0], 100, true);
	touch(w->p[0], w->model[0], 1, false);
	if (info(w->p[1]).n_invalid) {
		adsmObjectProps object = info(w->p[1]);
		unsigned *last = w->p[1] + WORDS - 1;

		/* The device has them all, or the CPU the first. */
		CHECK(object.n_invalid >= object.n_blocks - 1);
		before = logged_lines();
		CHECK(!usable(last, false));
		CHECK_EQ(logged_lines(), before + 1);
		CHECK(!usable(last, false));
	}
	destroy_work(w);
	CHECK_OK(adsmShutdown());
	set("backend", "cpu");
	check_backend("cpu");
	set("backend", "opencl");
}

static void lose(bool in_driver, unsigned nth)
{
	char plan[32];
	struct work w;
	unsigned n_calls;

	snprintf(plan, sizeof(plan), "lost=%u", nth);
	capture();
	if (in_driver)
		use_shim(plan);
	else
		set("wrap", plan);
	CHECK_OK(adsmInit());
	create_work(&w);
	catch_sigbus();		/* after the driver's compiler, which has handlers too */
	CHECK(work_until_lost(&w, &n_calls));
	after_loss(&w);
}

/* The driver's: permanently, in this process. */
static void lose_in_driver(size_t nth)
{
	lose(true, (unsigned)nth);
	CHECK_ERROR(adsmInit(), ENODEV);
	CHECK_SAYS("CL_DEVICE_NOT_AVAILABLE");
}

/* The wrapper's: as if it had been repaired. */
static void lose_in_wrapper(size_t nth)
{
	lose(false, (unsigned)nth);
	set("wrap", "");
	check_backend("opencl");
}

static void lost_in_driver(void)
{
	need_device();
	/* After what it takes to start, and to send. */
	for (size_t nth = 60; nth < 90; nth += 3)
		in_process(lose_in_driver, nth);
}

static void lost_in_wrapper(void)
{
	need_device();
	for (size_t nth = 20; nth < 50; nth += 3)
		in_process(lose_in_wrapper, nth);
}

/* The same in the CPU's own pages, which an object of another device gets afterwards. */
static void lost_unified(size_t unused)
{
	unsigned *p, *q, *r;

	use_shim("devices=2,event=clEnqueueNDRangeKernel:-2:1");
	set("opencl_memory", "unified");
	p = words(GROUP, 1);
	q = words(GROUP, 1);
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(q), adsmVal(1u));
	CALL("late_increment", 1, adsmVal(5 * SPIN), adsmPtr(p), adsmVal(1u));
	CHECK_ERROR(adsmSync(), ENODEV);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmDeviceSet(1));
	r = words(GROUP, 7);
	CHECK(r == p);
	/* It takes longer than the kernel of the lost device. */
	CALL("late_increment", 1, adsmVal(10 * SPIN), adsmPtr(r + 1), adsmVal(1u));
	SYNC();
	CHECK_EQ(r[0], 7);
	CHECK_EQ(r[1], 9);
	CHECK_OK(adsmFree(q));
	CHECK_OK(adsmFree(r));
	unload();
	CHECK_OK(adsmShutdown());
}

/* The device is lost because of one kernel. Another one still runs when the program frees its object. */
static void lost_while_running(void)
{
	const size_t size = (size_t)4 << 20;
	unsigned *p, *q;
	adsmQueue *other;
	adsmEvent failed;

	need_device();
	in_process(lost_unified, 0);
	use_shim("usm,event=clEnqueueNDRangeKernel:-2:2");
	CHECK_OK(adsmInit());
	p = alloc(size);
	q = words(GROUP, 0);
	other = adsmQueueCreate();
	CHECK(kernel("late_increment") && kernel("increment") && other);
	CALL("late_increment", 1, adsmVal(5 * SPIN), adsmPtr(p), adsmVal((unsigned)(size / sizeof(*p))));
	CHECK_OK(adsmQueueSet(other));
	CALL("increment", GROUP, adsmPtr(q), adsmVal(GROUP));
	CHECK_OK(adsmCallEvent(&failed));
	CHECK_ERROR(adsmEventWait(failed), ENODEV);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmFree(q));
	CHECK_OK(adsmQueueDestroy(other));
	unload();
	CHECK_OK(adsmShutdown());
}

/* A fill that is not waited for fails: the next access gets an error, because the device is lost, and no old bytes. */
static void deferred_failed(void)
{
	unsigned value = 7, n = 0, *d;
	struct work w;
	int error = 0;

	need_device();
	capture();
	use_shim("event=clEnqueueFillBuffer:-5:6");	/* not those at the start of objects */
	CHECK_OK(adsmInit());
	create_work(&w);
	catch_sigbus();
	d = adsmDeviceAlloc(PAGE);
	CHECK(d);
	CHECK_OK(adsmCopyToDevice(d, &value, 4));	/* the first is waited for */
	for (; !error && n < 20; n++) {
		error = adsmDeviceFill(d, 1, PAGE);
		if (error)
			break;
		error = n % 2 ? adsmCopyToHost(&value, d, 4) :
			INCREMENT(&w, d, GROUP);
	}
	CHECK_EQ(error, -ENODEV);
	CHECK_SAYS("lost");
	CHECK_OK(adsmDeviceFree(d));
	after_loss(&w);
}

static const struct conform_case cases[] = {
	CASE("start", start),
	CASE("auto", automatic),
	CASE("auto-gpu", automatic_gpu),
	CASE("signals", keeps_all_signals),
	CASE("chosen-device", chosen_device),
	CASE("limits", limits),
	CASE("fail-allocations", fail_allocations),
	CASE("full-lists", full_lists),
	CASE("fail-transfers", fail_transfers),
	CASE("fail-mappings", fail_mappings),
	CASE("fail-copies", fail_copies),
	CASE("fail-calls", fail_calls),
	CASE("fail-modules", fail_modules),
	CASE("fail-starts", fail_starts),
	CASE("fail-telling", fail_telling),
	CASE("kernel-failed", kernel_failed),
	CASE("none-left", none_left),
	CASE("deferred-failed", deferred_failed),
	CASE("lost-in-driver", lost_in_driver),
	CASE("lost-in-wrapper", lost_in_wrapper),
	CASE("lost-while-running", lost_while_running),
};

CONFORM_MAIN(cases)
