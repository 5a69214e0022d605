/* SPDX-License-Identifier: MIT */
/* compiler.h - the C compiler, in a process that the program does not see. */
#pragma once

#include <limits.h>
#include <stddef.h>

#define ADSM_COMPILER_WORDS 64		/* of a command */
#define ADSM_COMPILER_ID 96		/* bytes of an identity, terminator included */

struct adsm_compiler {
	char *words[ADSM_COMPILER_WORDS];	/* the command; the rest is NULL */
	size_t n;
	char path[PATH_MAX];		/* the program that the first word names */
	char identity[ADSM_COMPILER_ID];	/* changes with the program: size, time, number of its file */
};

/*
 * Find the compiler of a command, such as "gcc -pipe"; "": cc, gcc or clang, whichever comes first. Also after an
 * error, adsm_compiler_destroy() is necessary.
 *
 * Returns 0 or:
 *   -ENOEXEC  there is none; adsm_fail() names packages
 */
int adsm_compiler_find(const char *command, struct adsm_compiler *ret_compiler);
void adsm_compiler_destroy(struct adsm_compiler *compiler);
/* Append options, separated by spaces. Returns -E2BIG with a sentence if there are too many. */
int adsm_compiler_add(struct adsm_compiler *compiler, const char *options);
/* The identity of the file at @path, as above; "": there is no such file. */
void adsm_compiler_identify(const char *path, char ret_identity[ADSM_COMPILER_ID]);

/*
 * Run the compiler with a source as its standard input, and get the file that it writes. The caller waits.
 *
 * @what: for sentences, such as "kernel 'scale'".
 * @ret_file, @ret_size: the file's bytes, which the caller frees.
 *
 * Returns 0 or a negative errno with a sentence:
 *   -ENOEXEC  the compiler does not accept the source; the sentence has its first error
 */
int adsm_compiler_run(const struct adsm_compiler *compiler, const char *what, const char *source, size_t size,
		      void **ret_file, size_t *ret_size);
