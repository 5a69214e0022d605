/* SPDX-License-Identifier: MIT */
/*
 * device.c - the program of a scratchpad device. Like that of a cpu device it is a process of its own, whose threads
 * are cores, each with a local store (core.h). Device memory is mapped where no pointer of a kernel leads. The range of
 * its addresses stays reserved and inaccessible, so kernels reach it only through the software cache.
 *
 *	adsm-scratchpad-device SIZE CODE SETS WAYS LINE DIRTY PREFETCH BUFFERS POLICY VICTIM ALWAYS PAGE PAGES NOTES
 */
#include "base/os.h"
#include "launch.h"
#include "modules.h"
#include "notes.h"
#include "overlay.h"
#include "process/device/crash.h"
#include "process/device/serve.h"
#include "process/greet.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct adsm_scratchpad_geometry geometry;
static struct adsm_scratchpad_overlays overlays;
static struct adsm_scratchpad_task task;

static int start(const struct adsm_process_request *hello, int memory_fd, struct adsm_process_shared *shared,
		 struct adsm_process_reply *reply)
{
	struct adsm_scratchpad_layout layout;
	void *closed, *bytes;
	/* As on a cpu device: if the range is used in this process, the library tries again with a new process. */
	int ret = adsm_os_reserve(hello->base, hello->size, &closed);

	if (!ret)
		ret = adsm_os_map(NULL, hello->size, memory_fd, 0, ADSM_PROT_RW, &bytes);
	close(memory_fd);
	if (ret)
		return ret;
	if (!adsm_scratchpad_lay_out(&geometry, &layout, reply->text, sizeof(reply->text)))
		return -EINVAL;
	adsm_modules_start(&geometry, &layout, overlays.always);
	adsm_overlay_start(shared, &overlays, &layout, hello->n_threads);
	return adsm_launch_start(shared, &geometry, &layout, &task, hello->n_threads, hello, bytes);
}

static int answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply)
{
	int ret;

	switch (request->op) {
	case ADSM_PROCESS_LOAD:
		return adsm_modules_load(fds[0], &reply->index, reply->text);
	case ADSM_PROCESS_UNLOAD:
		return adsm_modules_unload(request->index);
	case ADSM_PROCESS_KERNEL:
		ret = adsm_modules_kernel(request->index, request->name, &reply->index, reply->text);
		reply->atomics = !ret && adsm_code_atomics(reply->index);
		return ret;
	default:
		return -EPROTO;
	}
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
	static const struct adsm_server server = { start, answer };

	adsm_process_greet(ADSM_PROCESS_SOCKET);
	if (argc != 16)
		return 2;
	geometry = (struct adsm_scratchpad_geometry) {
		.size = number(argv[1]), .code = number(argv[2]),
		.sets = (uint32_t)number(argv[3]), .ways = (uint32_t)number(argv[4]),
		.line = (uint32_t)number(argv[5]), .dirty = (uint32_t)number(argv[6]),
		.prefetch = (uint32_t)number(argv[7]),
	};
	overlays = (struct adsm_scratchpad_overlays) {
		.buffers = (uint32_t)number(argv[8]), .policy = (uint32_t)number(argv[9]),
		.victim = (uint32_t)number(argv[10]), .always = (uint32_t)number(argv[11]),
		.registers = (uint32_t)number(argv[12]),
	};
	task = (struct adsm_scratchpad_task){ (uint32_t)number(argv[13]), (uint32_t)number(argv[14]) };
	adsm_notes_start(argv[15]);
	prctl(PR_SET_NAME, "adsm-scratchpad");
	adsm_crash_thread();
	adsm_crash_start();
	adsm_serve(&server);
	/* _exit(): no destructor may run while kernels run. */
	_exit(0);
}
