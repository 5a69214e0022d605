/* SPDX-License-Identifier: MIT */
/*
 * raytrace - spheres on spheres, in a grid of cells with lists of what is in each. Workers take tiles of the picture
 * from their queues, and from others' when theirs are empty.
 */
#include <adsm_kernel.h>

#include "scene.h"

struct hit { double t; int sphere; };

/* The nearest point of a sphere along the ray; FAR: none. */
ADSM_FUNCTION double meet(const ADSM_SPACE_GLOBAL double *sphere, const struct ray *ray)
{
	const double r = ADSM_READ(&sphere[3]);
	double b = 0, c = -r * r, root;

	for (int k = 0; k < 3; k++) {
		const double d = ADSM_READ(&sphere[k]) - ray->from[k];

		b += d * ray->to[k];
		c += d * d;
	}
	root = b * b - c;
	if (root < 0)
		return FAR;
	root = adsm_sqrt(root);
	return b - root > NEAR ? b - root : b + root > NEAR ? b + root : FAR;
}

/* A list of the grid. */
ADSM_FUNCTION void meet_all(const ADSM_SPACE_GLOBAL double *spheres, const ADSM_SPACE_GLOBAL int *starts,
			    const ADSM_SPACE_GLOBAL int *items, int cell, const struct ray *ray, struct hit *hit)
{
	const int end = ADSM_READ(&starts[cell + 1]);

	for (int i = ADSM_READ(&starts[cell]); i < end; i++) {
		const int s = ADSM_READ(&items[i]);
		const double t = meet(&spheres[4 * s], ray);

		if (t < hit->t || (t == hit->t && s < hit->sphere))
			*hit = (struct hit){ t, s };
	}
}

/* The nearest sphere along the ray, from cell to cell. */
ADSM_FUNCTION struct hit find(const ADSM_SPACE_GLOBAL double *spheres, const ADSM_SPACE_GLOBAL int *starts,
			      const ADSM_SPACE_GLOBAL int *items, const struct ray *ray, const struct scene *scene)
{
	const int n = scene->n_cells;
	struct hit hit = { FAR, scene->n_spheres };
	double enter = 0, leave = FAR, next[3], step[3];
	int cell[3], way[3];

	for (int k = 0; k < 3; k++) {
		const double a = (scene->low - ray->from[k]) / ray->to[k];
		const double b = (scene->low + n * scene->cell - ray->from[k]) / ray->to[k];

		if (ray->to[k] == 0 && (ray->from[k] < scene->low || ray->from[k] > scene->low + n * scene->cell))
			return hit;
		if (ray->to[k] == 0)
			continue;
		enter = adsm_fmax(enter, adsm_fmin(a, b));
		leave = adsm_fmin(leave, adsm_fmax(a, b));
	}
	if (enter > leave)
		return hit;
	for (int k = 0; k < 3; k++) {
		const double at = (ray->from[k] + enter * ray->to[k] - scene->low) / scene->cell;

		cell[k] = at < 0 ? 0 : at >= n ? n - 1 : (int)at;
		way[k] = ray->to[k] < 0 ? -1 : 1;
		step[k] = ray->to[k] == 0 ? FAR : scene->cell / adsm_fabs(ray->to[k]);
		next[k] = ray->to[k] == 0 ? FAR :
			(scene->low + (cell[k] + (way[k] > 0)) * scene->cell - ray->from[k]) / ray->to[k];
	}
	for (;;) {
		const int k = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : next[1] < next[2] ? 1 : 2;

		meet_all(spheres, starts, items, (cell[2] * n + cell[1]) * n + cell[0], ray, &hit);
		/* What lies in a later cell is farther, but for what rounding makes of a border. */
		if (hit.t + NEAR < next[k])
			return hit;
		cell[k] += way[k];
		if (cell[k] < 0 || cell[k] >= n)
			return hit;
		next[k] += step[k];
	}
}

/* How bright it is where the ray comes from, by what it meets. */
ADSM_FUNCTION double look(const ADSM_SPACE_GLOBAL double *spheres, const ADSM_SPACE_GLOBAL int *starts,
			  const ADSM_SPACE_GLOBAL int *items, struct ray ray, const struct scene *scene)
{
	double light = 0, weight = 1;

	for (int bounce = 0; bounce < BOUNCES; bounce++) {
		struct hit hit = find(spheres, starts, items, &ray, scene);
		const double floor = ray.to[1] < 0 ? (FLOOR - ray.from[1]) / ray.to[1] : FAR;
		struct ray shadow = { .to = { LIGHT_X, LIGHT_Y, LIGHT_Z } };
		double normal[3] = { 0, 1, 0 }, shade, facing = 0;

		if (floor > NEAR && floor < hit.t)
			hit = (struct hit){ floor, -1 };
		if (hit.t >= FAR)
			return light + weight * (0.5 + 0.5 * ray.to[1]);
		for (int k = 0; k < 3; k++) {
			ray.from[k] += hit.t * ray.to[k];
			shadow.from[k] = ray.from[k];
			if (hit.sphere >= 0)
				normal[k] = (ray.from[k] - ADSM_READ(&spheres[4 * hit.sphere + k])) /
					ADSM_READ(&spheres[4 * hit.sphere + 3]);
			facing += normal[k] * ray.to[k];
		}
		shade = normal[0] * LIGHT_X + normal[1] * LIGHT_Y + normal[2] * LIGHT_Z;
		if (shade < 0 || find(spheres, starts, items, &shadow, scene).t < FAR)
			shade = 0;
		light += weight * (1 - MIRROR) * (AMBIENT + (1 - AMBIENT) * shade);
		weight *= MIRROR;
		for (int k = 0; k < 3; k++)
			ray.to[k] -= 2 * facing * normal[k];
	}
	return light;
}

ADSM_FUNCTION void draw(const ADSM_SPACE_GLOBAL double *spheres, const ADSM_SPACE_GLOBAL int *starts,
			const ADSM_SPACE_GLOBAL int *items, ADSM_SPACE_GLOBAL float *picture, int tile,
			const struct scene *scene)
{
	const int across = (scene->size + TILE - 1) / TILE, n = scene->size * scene->samples;

	for (int i = 0; i < TILE * TILE; i++) {
		const int x = tile % across * TILE + i % TILE, y = tile / across * TILE + i / TILE;
		double sum = 0;

		if (x >= scene->size || y >= scene->size)
			continue;
		for (int s = 0; s < scene->samples * scene->samples; s++) {
			struct ray ray = { .from = { 0, 0, -8 } };
			double length = 0;

			ray.to[0] = (2 * (x * scene->samples + s % scene->samples + 0.5) / n - 1) * 0.5;
			ray.to[1] = (1 - 2 * (y * scene->samples + s / scene->samples + 0.5) / n) * 0.5;
			ray.to[2] = 1;
			for (int k = 0; k < 3; k++)
				length += ray.to[k] * ray.to[k];
			for (int k = 0; k < 3; k++)
				ray.to[k] /= adsm_sqrt(length);
			sum += look(spheres, starts, items, ray, scene);
		}
		ADSM_WRITE(&picture[y * scene->size + x], (float)(sum / (scene->samples * scene->samples)));
	}
}

/* A tile of a worker's queue; -1: it is empty. */
ADSM_FUNCTION int take(ADSM_SPACE_GLOBAL int *queues, int worker)
{
	int tile = -1;

	ADSM_LOCK(worker);
	if (ADSM_READ(&queues[2 * worker]) < ADSM_READ(&queues[2 * worker + 1])) {
		tile = ADSM_READ(&queues[2 * worker]);
		ADSM_WRITE(&queues[2 * worker], tile + 1);
	}
	ADSM_UNLOCK(worker);
	return tile;
}

ADSM_TASK(raytrace, ADSM_IN(double, spheres), ADSM_IN(int, starts), ADSM_IN(int, items), ADSM_INOUT(float, picture),
	  ADSM_INOUT(int, queues), ADSM_VAL(struct scene, scene))
{
	const int across = (scene.size + TILE - 1) / TILE, n = across * across;

	ADSM_WRITE(&queues[2 * ADSM_WORKER], n * ADSM_WORKER / ADSM_N_WORKERS);
	ADSM_WRITE(&queues[2 * ADSM_WORKER + 1], n * (ADSM_WORKER + 1) / ADSM_N_WORKERS);
	ADSM_ALL_BARRIER;
	/* Queues are never filled again: each is found empty once. */
	for (int i = 0; i < ADSM_N_WORKERS; i++) {
		const int worker = (ADSM_WORKER + i) % ADSM_N_WORKERS;
		int tile;

		while ((tile = take(queues, worker)) >= 0)
			draw(spheres, starts, items, picture, tile, &scene);
	}
	ADSM_ALL_BARRIER;
}
