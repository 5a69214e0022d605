/* SPDX-License-Identifier: MIT */
/* water.h - what the molecules are, for the task and for the host. */
#ifndef PT_WATER_H
#define PT_WATER_H

#define CUTOFF 2.5
#define SPACING 1.6		/* between molecules, at first */
#define SPRING 200.0
#define LENGTH_OH 0.32
#define LENGTH_HH 0.5
#define MASS_O 16.0
#define MASS_H 1.0
#define DT 0.005

struct water {
	double side;		/* of the box */
	int n_cells;		/* along it, 3 at least, none shorter than the cut-off */
	int n_steps;
};

#endif
