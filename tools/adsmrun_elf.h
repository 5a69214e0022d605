/* SPDX-License-Identifier: MIT */
/* adsmrun_elf.h - examines the program's file: can a library be preloaded, and which APIs does the library follow? */
#ifndef ADSMRUN_ELF_H
#define ADSMRUN_ELF_H

#include <limits.h>

struct program {
	char path[PATH_MAX];		/* the file that is executed */
	char elf[PATH_MAX];		/* the file that is loaded: path, or a script's interpreter; "": unreadable */
	char why_not[PATH_MAX + 128];	/* why a library cannot be preloaded; "": it can */
};

/* Examine program->path, and set the rest. Returns 0, or an errno if the file is no program. */
int program_examine(struct program *program);
/* Print on standard error which APIs the program uses, and whether the library can follow them. */
void program_audit(const struct program *program);

/*
 * Find the library of MPI wrappers for the implementation of MPI that the program is linked with. It lies in the same
 * folder as @library, or in its build folder. @ret_path: "" if there is none.
 */
void program_find_mpi(const struct program *program, const char *library, char ret_path[PATH_MAX]);

#endif
