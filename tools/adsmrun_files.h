/* SPDX-License-Identifier: MIT */
/* adsmrun_files.h - the files of a run: what is left in them after it. */
#ifndef ADSMRUN_FILES_H
#define ADSMRUN_FILES_H

#include <sys/types.h>

/* How a run ended. */
struct outcome {
	pid_t pid;
	int status;			/* as wait() gives it */
	double seconds;
	const char *name;		/* of the program, as it was asked for */
};

/* By the options in force, choose the files of the run and tell the library in the environment: 0 or a status. */
int files_prepare(void);
/* Complete them, and print what is to be printed. */
void files_finish(const struct outcome *outcome);
/* Nothing was started. */
void files_discard(void);

#endif
