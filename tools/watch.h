/* SPDX-License-Identifier: MIT */
/* watch.h - adsm-info --watch: what the library does in another process, while it runs. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Print the devices, rates and busiest objects of process @pid every @interval seconds, @n times, or until the process
 * ends if @n is 0. On a terminal each picture replaces the last one. Returns an exit status.
 */
int watch(pid_t pid, double interval, unsigned long n);

/* A number of bytes for people, such as "1.5 MiB"; returns @text. Defined in adsm-info.c. */
const char *human(uint64_t bytes, char text[32]);
