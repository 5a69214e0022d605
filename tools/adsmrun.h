/* SPDX-License-Identifier: MIT */
/* adsmrun.h - the parts of the launcher. */
#pragma once

#include <sys/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <limits.h>

/* ---- the reports and traces of a run (adsmrun_files.c) */

/* How a run ended. */
struct outcome {
	pid_t pid;
	int status;			/* as returned by wait() */
	double seconds;
	const char *name;		/* of the program, as on the command line */
};

struct program;

/*
 * Choose the files by the options, and pass their names to the library in the environment. Old files are removed if
 * nothing fails; else all of them stay. @html: the page to write; NULL: none. @program: no file may replace it.
 * Returns 0 or a status.
 */
int files_prepare(const char *html, const struct program *program);
/* After the run: complete the files, and print those that are to be printed. */
void files_finish(const struct outcome *outcome);
/* No program was started: remove what files_prepare() made. */
void files_discard(void);

/* ---- exit statuses and error messages of the launcher */

/* Exit statuses of adsmrun itself, the same as those of env(1). */
enum { RUN_USAGE = 2, RUN_FAILED = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

/* Do both paths lead to one file? */
bool same_file(const char *a, const char *b);

/* Print "adsmrun: …" on standard error. */
#define complain(format, ...) fprintf(stderr, "adsmrun: " format "\n", ##__VA_ARGS__)

/* ---- the program's file: can a library be preloaded, and which APIs does the library follow? (adsmrun_elf.c) */

struct program {
	char path[PATH_MAX];		/* the file that is executed */
	char elf[PATH_MAX];		/* the file that is loaded: path, or a script's interpreter; "": unreadable */
	char why_not[PATH_MAX + 128];	/* why a library cannot be preloaded; "": it can */
};

/* Examine program->path, and set the rest. Returns 0, or an errno if the file is no program. */
int program_examine(struct program *program);
/* Print on standard error which APIs the program uses, and whether the library can follow them. */
void program_audit(const struct program *program);

/* Find the library of MPI wrappers for the implementation of MPI that the program is linked with. It lies in the same
 * folder as @library, or in its build folder. @ret_path: "" if there is none. */
void program_find_mpi(const struct program *program, const char *library, char ret_path[PATH_MAX]);
