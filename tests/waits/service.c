/* SPDX-License-Identifier: MIT */
/* service.c - services: the thread that unregisters one waits until it has returned, or has ended its thread. */
#include "step.h"

#include "lib/run/object/service.c"

_Thread_local bool adsm_serving;

static int n_inside;

/* A function of the program returns, or ends its thread. */
void adsm_os_run(void (*run_)(void *), void (*thread_is_over)(void *), void *arg)
{
	run_(arg);
	if (!step_choose(2))
		return;
	thread_is_over(arg);
	step_end();
}

static int function(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	n_inside++;
	step_at(NULL, "", 0, "is in the program's function");
	n_inside--;
	return 0;
}

static void serve(void *arg)
{
	adsm_service_run("f", NULL, 0, NULL, 0);
}

static void unregister(void *arg)
{
	STEP_CHECK(!adsm_service_unregister("f"));
	STEP_CHECK(!n_inside);
}

static void start_service(void)
{
	n_inside = 0;
	services = NULL;
	adsm_service_register("f", function, 0, 0, NULL);
	step_thread("shadow", serve, NULL, 0);
	step_thread("other shadow", serve, NULL, 0);
	step_thread("program", unregister, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "a service is unregistered", .start = start_service, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
