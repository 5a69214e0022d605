/* SPDX-License-Identifier: MIT */
/* adsmrun_say.h - what the launcher says and how it ends, in all its files. */
#ifndef ADSMRUN_SAY_H
#define ADSMRUN_SAY_H

#include <stdio.h>

/* Exit statuses of adsmrun's own, as env(1) has them. */
enum { RUN_USAGE = 2, RUN_FAILED = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

/* "adsmrun: …" on standard error. */
#define complain(format, ...) fprintf(stderr, "adsmrun: " format "\n", ##__VA_ARGS__)

#endif
