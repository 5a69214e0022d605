/* SPDX-License-Identifier: MIT */
/*
 * device.c - the program of a cpu device: a process of its own that loads kernel modules and runs launches on a pool of
 * threads, grid block by grid block.
 *
 * The main thread answers the library's requests. It ends the process when the application has ended, even in the
 * middle of a kernel. One thread for each lane takes launches in order, and runs them together with the threads of the
 * pool.
 */
#include "base/os.h"
#include "process/device/crash.h"
#include "process/device/guard.h"
#include "process/device/handler.h"
#include "process/device/once.h"
#include "process/device/serve.h"
#include "process/greet.h"

#include <sys/prctl.h>
#include <unistd.h>

static int start(const struct adsm_process_request *hello, int memory_fd, struct adsm_process_shared *shared,
		 struct adsm_process_reply *reply)
{
	void *p;
	/* Both sides use one address: if the range is used in this process, the library tries again with a new
	 * process. */
	int ret = adsm_os_reserve(hello->base, hello->size, &p);

	if (!ret)
		ret = adsm_os_map(p, hello->size, memory_fd, 0, ADSM_PROT_NONE, &p);
	if (!ret)
		adsm_guard_start((void *)(shared->extra + hello->extra - adsm_live_bytes(hello->size)), p, hello->size);
	adsm_device_once_start(memory_fd, hello->base, shared);
	adsm_handler_start(shared);
	return ret ? ret : adsm_serve_launches(shared, hello->n_threads, ADSM_PROCESS_LANES);
}

int main(void)
{
	static const struct adsm_server server = { start, adsm_serve_answer };

	adsm_process_greet(ADSM_PROCESS_SOCKET);
	prctl(PR_SET_NAME, "adsm-cpu-device");
	adsm_crash_thread();
	adsm_crash_start();
	adsm_serve(&server);
	/* _exit(): no destructor may run while kernels run. */
	_exit(0);
}
