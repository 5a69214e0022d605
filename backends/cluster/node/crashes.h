/* SPDX-License-Identifier: MIT */
/* node/crashes.h - why a node cannot continue: it tells node 0, which tells the application. */
#pragma once

#include "cluster/node/pages/pages.h"
#include "process/shared.h"

/* @shared: on node 0, the memory that the application reads; NULL on other nodes. */
void adsm_crashes_start(struct adsm_process_shared *shared);
/* A kernel did something invalid: the error function of struct adsm_pages_config. */
void adsm_crashes_of_kernel(uint64_t address, enum adsm_pages_wrong why);
/* Other nodes: the same with a text. Called in a thread that runs kernels. */
void adsm_crashes_refuse(const char *text) __attribute__((noreturn));
/* Other nodes: the communication thread calls this from time to time; it sends reports to node 0. */
void adsm_crashes_poll(void);
/* Node 0: handle the report of another node. */
_Noreturn void adsm_crashes_tell(const char *place, const void *data, size_t size);
