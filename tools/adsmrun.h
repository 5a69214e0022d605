/* SPDX-License-Identifier: MIT */
/* adsmrun.h - the parts of the launcher: the program's file, the run, and what is left in files after it. */
#ifndef ADSMRUN_H
#define ADSMRUN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Exit statuses of adsmrun's own, as env(1) has them. */
enum { RUN_USAGE = 2, RUN_FAILED = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

/* "adsmrun: …" on standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- adsmrun_elf.c */

struct program {
	char path[PATH_MAX];		/* what is executed */
	char elf[PATH_MAX];		/* what is loaded: that, or the interpreter of a script; "": cannot be read */
	char why_not[PATH_MAX + 128];	/* a library cannot be preloaded into it; "" */
};

/* Look at the file: 0, or an errno for one that is no program. */
int program_examine(struct program *program);
/* Say on standard error what of the program the library can follow. */
void program_audit(const struct program *program);

/* ---- adsmrun_files.c */

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
