/* SPDX-License-Identifier: MIT */
/* adsmrun_say.h - exit statuses and error messages of the launcher. */
#ifndef ADSMRUN_SAY_H
#define ADSMRUN_SAY_H

#include <stdio.h>

/* Exit statuses of adsmrun itself, the same as those of env(1). */
enum { RUN_USAGE = 2, RUN_FAILED = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

/* Print "adsmrun: …" on standard error. */
#define complain(format, ...) fprintf(stderr, "adsmrun: " format "\n", ##__VA_ARGS__)

#endif
