/* SPDX-License-Identifier: MIT */
/* ended.h - how a device process ended. It is not a child of the application, so wait() does not tell: this is what the
 * system still knows. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/shared.h"

/* Writes "has exited with status 1" or "was killed by signal 9 (Killed)". Returns the length. */
int adsm_process_how_status(int status, char *ret_text, size_t size);
/*
 * Describe how a process has ended: "was killed by signal 9 (Killed)", "has exited with status 1", or a text for an
 * unknown status. Linux before 6.15 does not report the status after the parent has waited for the process.
 * @oom_kills: the value of adsm_os_oom_kills() before the process was started.
 * @option: the name of the option for the size of the device's memory.
 */
void adsm_process_how_ended(pid_t pid, int pidfd, uint64_t oom_kills, const char *option, char *ret_text, size_t size);
/* Writes "SIGTERM, which process 7 (kill) of user 0 sent". */
void adsm_process_who_sent(int signal, pid_t sender, uid_t user, char *ret_text, size_t size);
/* Describes a crash outside of kernels, from the note of the signal handler: "was ended by SIGTERM, which process
 * …". */
void adsm_process_how_crashed(const struct adsm_process_crash *crash, char *ret_text, size_t size);
