/* SPDX-License-Identifier: MIT */
/* command.h - gives a command of the program to the driver, as a call of the library. */
#pragma once

#include "cuda/cu.h"
#include "driver/driver.h"

/* adsm_driver_call() for wrappers: the result is a result code of the driver. */
CUresult adsm_cuda_command(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, CUstream stream,
			   int (*enqueue)(void *arg), void *arg);
/* A command that may use every object of its stream's context. If there are none, or the stream is capturing, the
 * driver gets it directly: the commands of a capture run later, by cuGraphLaunch(). */
CUresult adsm_cuda_unnamed(CUstream stream, int (*enqueue)(void *arg), void *arg);

/* Homes other than that of the command's stream whose objects the command may use, too. */
struct adsm_cuda_others {
	struct {
		struct adsm_home *home;
		CUstream stream;	/* where the end of the command is noted */
	} list[ADSM_MAX_DEVICES];
	size_t n;
};
/* Add a home, unless it is NULL, @own or in the list. */
void adsm_cuda_other(struct adsm_cuda_others *others, struct adsm_home *own, struct adsm_home *home, CUstream stream);
/*
 * The same as adsm_cuda_unnamed() for a command that uses objects of other homes. A home cannot note the end of a
 * command in a stream of another context. So if a home is listed with the command's stream, this waits for the command.
 */
CUresult adsm_cuda_unnamed_with(const struct adsm_cuda_others *others, CUstream stream, int (*enqueue)(void *arg),
				void *arg);
