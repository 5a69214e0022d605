/* SPDX-License-Identifier: MIT */
/* adsmrun_files.h - the reports and traces of a run. */
#ifndef ADSMRUN_FILES_H
#define ADSMRUN_FILES_H

#include <sys/types.h>

/* How a run ended. */
struct outcome {
	pid_t pid;
	int status;			/* as returned by wait() */
	double seconds;
	const char *name;		/* of the program, as on the command line */
};

/* Choose the files by the options, and pass their names to the library in the environment. Returns 0 or a status. */
int files_prepare(void);
/* After the run: complete the files, and print those that are to be printed. */
void files_finish(const struct outcome *outcome);
/* No program was started: remove what files_prepare() made. */
void files_discard(void);

#endif
