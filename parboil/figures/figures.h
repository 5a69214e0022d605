/* SPDX-License-Identifier: MIT */
/* figures.h - the figures of the paper's evaluation, measured and drawn. */
#ifndef PARBOIL_FIGURES_H
#define PARBOIL_FIGURES_H

#include "../common/args.h"

/* The command "figures [NUMBER ...]"; the exit status. */
int pb_figures(const struct pb_args *args);

#endif
