/* SPDX-License-Identifier: MIT */
/*
 * device.c - the program of a cpu device: a process of its own that loads kernel modules and runs
 * launches on a pool of threads, grid block by grid block.
 *
 * The main thread answers the library's requests and ends the process when the application is gone,
 * also in the middle of a kernel. One thread takes launches in order and runs them with the others.
 */
#include "process/device/crash.h"
#include "process/device/serve.h"

#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	prctl(PR_SET_NAME, "adsm-cpu-device");
	adsm_crash_thread();
	adsm_crash_start();
	adsm_serve();
	/* No destructor may run beside kernels. */
	_exit(0);
}
