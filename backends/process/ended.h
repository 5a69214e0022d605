/* SPDX-License-Identifier: MIT */
/* ended.h - how a device process ended, which is nobody's child: what the system still knows of it. */
#ifndef ADSM_PROCESS_ENDED_H
#define ADSM_PROCESS_ENDED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/shared.h"

/*
 * A process that has ended, in words: "was killed by signal 9 (Killed)", "has exited with status 1", or that it is not
 * known. @oom_kills: adsm_os_oom_kills() from before; @option: the one that says how much memory the device has.
 * Linux before 6.15 knows no status once somebody has waited for the process.
 */
void adsm_process_how_ended(pid_t pid, int pidfd, uint64_t oom_kills, const char *option, char *ret_text, size_t size);
/* "SIGTERM, which process 7 (kill) of user 0 sent". */
void adsm_process_who_sent(int signal, pid_t sender, uid_t user, char *ret_text, size_t size);
/* What its signal handler has written down, of a crash in no kernel: "was ended by SIGTERM, which process …". */
void adsm_process_how_crashed(const struct adsm_process_crash *crash, char *ret_text, size_t size);

#endif
