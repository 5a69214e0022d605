/* SPDX-License-Identifier: MIT */
/*
 * device/handler.h - the execution handler in a device process: requests of running kernels. The device itself serves
 * chunks of loops and memory; services and prints go to the application's thread through the command buffers
 * (shared.h).
 */
#pragma once

#include "adsm_kernel.h"
#include "lent.h"
#include "process/shared.h"

/* Memory of ADSM_ALLOC. */
extern struct adsm_lent adsm_handler_lent;
/* Call this at the start. Until then kernels have no services. */
void adsm_handler_start(struct adsm_process_shared *shared);
/* Called before and after each launch. One launch runs at a time. */
void adsm_handler_begin(const char *kernel);
/* Frees the memory that the launch has allocated. Returns 0, or the error of an invalid request with its text. */
int adsm_handler_end(char ret_text[ADSM_PROCESS_TEXT]);
/* Frees the memory of malloc() in CUDA C: no module is loaded any more. */
void adsm_handler_forget(void);
/* The number of commands that this thread has given. */
uint64_t adsm_handler_commands(void);
