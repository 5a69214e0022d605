/* SPDX-License-Identifier: MIT */
/* adsmrun_elf.h - the program's file: can a library be preloaded into it, and what of it would the library follow? */
#ifndef ADSMRUN_ELF_H
#define ADSMRUN_ELF_H

#include <limits.h>

struct program {
	char path[PATH_MAX];		/* what is executed */
	char elf[PATH_MAX];		/* what is loaded: that, or the interpreter of a script; "": cannot be read */
	char why_not[PATH_MAX + 128];	/* a library cannot be preloaded into it; "" */
};

/* Look at the file: 0, or an errno for one that is no program. */
int program_examine(struct program *program);
/* Say on standard error what of the program the library can follow. */
void program_audit(const struct program *program);

/*
 * The library of wrappers for the implementation of MPI that the program is linked with, to @ret_path, "" for none. It
 * lies in the library's folder, or in that of its build.
 */
void program_find_mpi(const struct program *program, const char *library, char ret_path[PATH_MAX]);

#endif
