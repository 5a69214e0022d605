/* SPDX-License-Identifier: MIT */
/* scene.h - what is drawn: spheres on spheres, above a floor, by one light; for the task and for the host. */
#ifndef PT_SCENE_H
#define PT_SCENE_H

#define TILE 8				/* points a side that a worker takes at once */
#define BOUNCES 3
#define MIRROR 0.35			/* of the light that falls on it */
#define AMBIENT 0.15
#define NEAR 1e-6
#define FAR 1e30
#define FLOOR -2.5

/* Towards the light, a unit vector. */
#define LIGHT_X 0.48
#define LIGHT_Y 0.8
#define LIGHT_Z -0.36

struct scene {
	int n_spheres;
	int n_cells;			/* of the grid, along each axis */
	double low, cell;		/* where it begins, on each axis, and a cell's side */
	int size, samples;		/* the picture's side; of each point, along each axis */
};

struct ray { double from[3], to[3]; };	/* the second a unit vector */

#endif
