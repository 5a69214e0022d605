/* SPDX-License-Identifier: MIT */
/* opencl/once_probe.c - see once_probe.h. */
#include "once_probe.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "program.h"

#define TRIES 3
#define POLLS ((cl_ulong)1 << 22)	/* of the first try; each further try has four times as many */

/* The kernel answers each number that the host stores, and gives up after some polls. */
static const char source[] =
	"__kernel void adsm_probe(volatile __global uint *to, volatile __global uint *from, ulong polls)\n"
	"{\n"
	"	for (uint round = 1; round <= 3; round++) {\n"
	"		ulong i = 0;\n"
	"		atomic_xchg(to, round);\n"
	"		while (*from != round && i < polls)\n"
	"			i++;\n"
	"		if (*from != round)\n"
	"			return;\n"
	"	}\n"
	"	atomic_xchg(to, 4u);\n"
	"}\n";

struct words {
	_Alignas(64) _Atomic uint32_t to_host;
	_Alignas(64) _Atomic uint32_t to_kernel;
};

/* The kernel runs, or is about to: answer its numbers until it has ended. */
static void converse(struct words *words, cl_event event)
{
	cl_int status = CL_QUEUED;

	while (!adsm_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) &&
	       status > CL_COMPLETE && atomic_load(&words->to_host) < 4) {
		atomic_store(&words->to_kernel, atomic_load(&words->to_host));
		sched_yield();
	}
}

static bool try_kernel(cl_kernel kernel, cl_command_queue queue, struct words *words, cl_ulong polls)
{
	const size_t one = 1;
	cl_event event;

	atomic_store(&words->to_host, 0);
	atomic_store(&words->to_kernel, 0);
	if (adsm_cl.clSetKernelArgSVMPointer(kernel, 0, &words->to_host) ||
	    adsm_cl.clSetKernelArgSVMPointer(kernel, 1, &words->to_kernel) ||
	    adsm_cl.clSetKernelArg(kernel, 2, sizeof(polls), &polls) ||
	    adsm_cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &event))
		return false;
	/* Some drivers run the kernel in here. It then ends without an answer. */
	adsm_cl.clFlush(queue);
	converse(words, event);
	adsm_cl.clWaitForEvents(1, &event);
	adsm_cl.clReleaseEvent(event);
	return atomic_load(&words->to_host) == 4;
}

bool adsm_cl_once_probe(struct adsm_cl_device *device)
{
	struct words *words = aligned_alloc(64, sizeof(*words));
	cl_command_queue queue = NULL;
	cl_program program = NULL;
	cl_kernel kernel = NULL;
	cl_ulong polls = POLLS;
	cl_int error = CL_SUCCESS;
	bool works = false;

	if (words && !adsm_cl_program_make(device, source, strlen(source), &program)) {
		kernel = adsm_cl.clCreateKernel(program, "adsm_probe", &error);
		queue = error ? NULL : adsm_cl.clCreateCommandQueue(device->context, device->id, 0, &error);
	}
	/* The kernel may give up because this thread did not get a processor. */
	for (int i = 0; i < TRIES && queue && !works; i++, polls *= 4)
		works = try_kernel(kernel, queue, words, polls);
	if (queue)
		adsm_cl.clReleaseCommandQueue(queue);
	if (kernel)
		adsm_cl.clReleaseKernel(kernel);
	if (program)
		adsm_cl.clReleaseProgram(program);
	free(words);
	adsm_info("%s: kernels %s what the host stores while they run", device->base.base.name,
		  works ? "see" : "do not see");
	return works;
}
