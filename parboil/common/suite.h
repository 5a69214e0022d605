/* SPDX-License-Identifier: MIT */
/* suite.h - what programs have in common that run others by their names, each held against a sequential one. */
#ifndef PARBOIL_SUITE_H
#define PARBOIL_SUITE_H

#include <adsm.h>

#include <stddef.h>
#include <stdint.h>

#define PS_WRONG 256			/* bytes of what is wrong */

struct ps_size {
	const char *name;		/* NULL ends a list */
	long v[3];			/* what they mean the program knows */
};

/* The name of the whole, before what it says; the program's own. */
extern const char ps_name[];

/* Ends the program with a sentence. */
_Noreturn void ps_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t ps_now_ns(void);
/* Memory, shared or not, or the end of the program. */
void *ps_shared(size_t size);
void *ps_alloc(size_t size);
/* Say what is wrong, unless something is said already; at first it is "". */
void ps_wrong(char wrong[PS_WRONG], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Is @got what it should be, but for so much of it? */
void ps_check(char wrong[PS_WRONG], const char *what, size_t i, double got, double want, double tolerance);

/* The number that an option was given, or the end of the program. */
unsigned long ps_number(const char *option, const char *text, unsigned long least, unsigned long most);
/* A module, or the end of the program: beside this one, as in a build folder; or in @installed, as seen from it. */
adsmModule *ps_load(const char *name, const char *installed);
/* The values of a size of a program, or the end of this one. */
const long *ps_values(const char *program, const struct ps_size *sizes, const char *size);
/* Two lines about a program. @units: what its sizes are. */
void ps_list(const char *program, const char *what, const char *units, const struct ps_size *sizes);

#endif
