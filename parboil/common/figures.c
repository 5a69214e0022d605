/* SPDX-License-Identifier: MIT */
/* figures.c - the figures of the paper's evaluation, measured and drawn. */
#include "figures.h"

int pb_figures(const struct pb_args *args)
{
	pb_usage("no figures yet");
}
