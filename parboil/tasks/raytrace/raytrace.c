/* SPDX-License-Identifier: MIT */
/* raytrace.c - a picture of spheres on spheres, against one that asks each sphere for each ray. */
#include "scene.h"
#include "../program.h"

#include <stdlib.h>
#include <string.h>

struct model {
	struct scene scene;
	double *spheres;		/* four numbers each: where, and how large */
	int *starts, *items;		/* of each cell's list */
};

/* ---- the scene: each sphere carries nine of a third of its size, all around the side that is away from its own */

static void normalise(double v[3])
{
	const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);

	for (int k = 0; k < 3; k++)
		v[k] /= length;
}

static void add(struct model *model, const double at[3], double r, const double up[3], int depth)
{
	double *sphere = &model->spheres[4 * model->scene.n_spheres++], side[3], front[3];

	memcpy(sphere, at, 3 * sizeof(*at));
	sphere[3] = r;
	if (!depth)
		return;
	/* Two directions that stand on the first. */
	side[0] = up[1] - up[2];
	side[1] = up[2] - up[0];
	side[2] = up[0] - up[1];
	if (fabs(side[0]) + fabs(side[1]) + fabs(side[2]) < 1e-3)
		side[0] = 1;
	normalise(side);
	for (int k = 0; k < 3; k++)
		front[k] = up[(k + 1) % 3] * side[(k + 2) % 3] - up[(k + 2) % 3] * side[(k + 1) % 3];
	normalise(front);
	for (int i = 0; i < 9; i++) {
		/* Six around its waist, three above. */
		const double turn = i < 6 ? i * 1.0471975511965976 : i * 2.0943951023931953 + 0.5;
		const double height = i < 6 ? 0 : 0.81, width = sqrt(1 - height * height);
		double way[3], there[3];

		for (int k = 0; k < 3; k++)
			way[k] = width * (cos(turn) * side[k] + sin(turn) * front[k]) + height * up[k];
		normalise(way);
		for (int k = 0; k < 3; k++)
			there[k] = at[k] + way[k] * (r + r / 3);
		add(model, there, r / 3, way, depth - 1);
	}
}

/* The cells that a sphere may be in: a bit more than its box. Returns how many, to be put into lists. */
static void put(struct model *model, int sphere, int *used)
{
	const struct scene *scene = &model->scene;
	const double *s = &model->spheres[4 * sphere];
	int first[3], last[3];

	for (int k = 0; k < 3; k++) {
		first[k] = (int)floor((s[k] - s[3] - scene->low) / scene->cell - 1e-6);
		last[k] = (int)floor((s[k] + s[3] - scene->low) / scene->cell + 1e-6);
		first[k] = first[k] < 0 ? 0 : first[k];
		last[k] = last[k] < scene->n_cells ? last[k] : scene->n_cells - 1;
	}
	for (int z = first[2]; z <= last[2]; z++)
		for (int y = first[1]; y <= last[1]; y++)
			for (int x = first[0]; x <= last[0]; x++) {
				const int cell = (z * scene->n_cells + y) * scene->n_cells + x;

				if (model->items)
					model->items[model->starts[cell] + used[cell]] = sphere;
				used[cell]++;
			}
}

static void make_grid(struct model *model)
{
	struct scene *scene = &model->scene;
	const size_t n = (size_t)scene->n_cells * (size_t)scene->n_cells * (size_t)scene->n_cells;
	int *used = ps_alloc(n * sizeof(*used));

	model->starts = ps_shared((n + 1) * sizeof(int));
	for (int i = 0; i < scene->n_spheres; i++)
		put(model, i, used);
	model->starts[0] = 0;
	for (size_t i = 0; i < n; i++)
		model->starts[i + 1] = model->starts[i] + used[i];
	model->items = ps_shared((size_t)model->starts[n] * sizeof(int));
	memset(used, 0, n * sizeof(*used));
	for (int i = 0; i < scene->n_spheres; i++)
		put(model, i, used);
	free(used);
}

static struct model make(int depth, int size, int samples)
{
	static const double middle[3] = { 0, 0, 0 }, up[3] = { 0.28, 0.96, 0 };
	struct model model = { .scene = { .low = -2.5, .size = size, .samples = samples } };
	size_t n = 1;

	for (int i = 0; i < depth; i++)
		n = 9 * n + 1;
	model.spheres = ps_shared(4 * n * sizeof(double));
	add(&model, middle, 1, up, depth);
	model.scene.n_cells = 4 << (depth > 3 ? 3 : depth);
	model.scene.cell = 5.0 / model.scene.n_cells;
	make_grid(&model);
	return model;
}

/* ---- the reference: no grid, no queues */

static double nearest(const struct model *model, const struct ray *ray, int *ret_sphere)
{
	double best = FAR;

	for (int i = 0; i < model->scene.n_spheres; i++) {
		const double *s = &model->spheres[4 * i];
		double b = 0, c = -s[3] * s[3], root, t;

		for (int k = 0; k < 3; k++) {
			b += (s[k] - ray->from[k]) * ray->to[k];
			c += (s[k] - ray->from[k]) * (s[k] - ray->from[k]);
		}
		root = b * b - c;
		if (root < 0)
			continue;
		root = sqrt(root);
		t = b - root > NEAR ? b - root : b + root > NEAR ? b + root : FAR;
		if (t < best) {
			best = t;
			*ret_sphere = i;
		}
	}
	return best;
}

static double brightness(const struct model *model, struct ray ray)
{
	double light = 0, weight = 1;

	for (int bounce = 0; bounce < BOUNCES; bounce++) {
		struct ray shadow = { .to = { LIGHT_X, LIGHT_Y, LIGHT_Z } };
		const double floor = ray.to[1] < 0 ? (FLOOR - ray.from[1]) / ray.to[1] : FAR;
		double normal[3] = { 0, 1, 0 }, shade, facing = 0, t;
		int sphere = -1, other;

		t = nearest(model, &ray, &sphere);
		if (floor > NEAR && floor < t) {
			t = floor;
			sphere = -1;
		}
		if (t >= FAR)
			return light + weight * (0.5 + 0.5 * ray.to[1]);
		for (int k = 0; k < 3; k++) {
			shadow.from[k] = ray.from[k] += t * ray.to[k];
			if (sphere >= 0)
				normal[k] = (ray.from[k] - model->spheres[4 * sphere + k]) /
					model->spheres[4 * sphere + 3];
			facing += normal[k] * ray.to[k];
		}
		shade = normal[0] * LIGHT_X + normal[1] * LIGHT_Y + normal[2] * LIGHT_Z;
		if (shade < 0 || nearest(model, &shadow, &other) < FAR)
			shade = 0;
		light += weight * (1 - MIRROR) * (AMBIENT + (1 - AMBIENT) * shade);
		weight *= MIRROR;
		for (int k = 0; k < 3; k++)
			ray.to[k] -= 2 * facing * normal[k];
	}
	return light;
}

static float point(const struct model *model, int x, int y)
{
	const int samples = model->scene.samples, n = model->scene.size * samples;
	double sum = 0;

	for (int s = 0; s < samples * samples; s++) {
		struct ray ray = { .from = { 0, 0, -8 }, .to = { 0, 0, 1 } };

		ray.to[0] = (2 * (x * samples + s % samples + 0.5) / n - 1) * 0.5;
		ray.to[1] = (1 - 2 * (y * samples + s / samples + 0.5) / n) * 0.5;
		normalise(ray.to);
		sum += brightness(model, ray);
	}
	return (float)(sum / (samples * samples));
}

static void verify(struct pt_run *run, const struct model *model, const float *picture)
{
	const int size = model->scene.size;
	const uint64_t start = ps_now_ns();
	float low = 1, high = 0;

	for (int i = 0; i < size * size; i++) {
		ps_check(run->wrong, "a point", (size_t)i, picture[i], point(model, i % size, i / size), 1e-6);
		low = fminf(low, picture[i]);
		high = fmaxf(high, picture[i]);
	}
	run->reference_ns = ps_now_ns() - start;
	if (!(high - low > 0.5f))
		ps_wrong(run->wrong, "the picture has only values from %g to %g", low, high);
}

static int run_raytrace(struct pt_run *run)
{
	struct model model = make((int)run->v[0], (int)run->v[1], (int)run->v[2]);
	const int size = model.scene.size, across = (size + TILE - 1) / TILE;
	const uint64_t locks = (uint64_t)across * (uint64_t)across + (uint64_t)run->workers * run->workers;
	float *picture = ps_shared((size_t)size * (size_t)size * sizeof(*picture));
	int *queues = ps_shared(2 * run->workers * sizeof(*queues)), error;

	memset(picture, 0, (size_t)size * (size_t)size * sizeof(*picture));
	memset(queues, 0, 2 * run->workers * sizeof(*queues));
	error = PT_CALL(run, "raytrace", adsmPtr(model.spheres), adsmPtr(model.starts), adsmPtr(model.items),
			adsmPtr(picture), adsmPtr(queues), adsmVal(model.scene));
	/* Each tile is taken once, and each worker finds each queue empty once. */
	run->least = run->most = (struct pt_counts){ locks, 2 };
	if (!error && run->verify)
		verify(run, &model, picture);
	adsmFree(model.spheres);
	adsmFree(model.starts);
	adsmFree(model.items);
	adsmFree(picture);
	adsmFree(queues);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 2, 64, 1 } }, { "medium", { 4, 64, 2 } }, { "paper", { 4, 512, 3 } }, { 0 }
};

const struct pt_program pt_raytrace = {
	"raytrace", "spheres on spheres: tiles from queues, and from others' queues", "depth, points a side, samples",
	sizes, run_raytrace,
};
