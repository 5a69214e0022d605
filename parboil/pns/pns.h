/* SPDX-License-Identifier: MIT */
/* pns.h - what the variants of pns share: everything that is not shared data. */
#ifndef PARBOIL_PNS_H
#define PARBOIL_PNS_H

#include "../common/harness.h"

#define PNS_THREADS 256u

/* What one trajectory came to: variance of the marks, largest mark. */
struct pns_reward {
	float var;
	int max;
};

/* Mean and variance of the two over all trajectories: what is written. */
enum { PNS_MEAN_VAR, PNS_VAR_VAR, PNS_MEAN_MAX, PNS_VAR_MAX, PNS_N_NUMBERS };

/* A simulation, in private memory. */
struct pns {
	int n, steps;			/* n: half the rows */
	int n_trajectories, per_launch;
	size_t n_places;		/* of the net */
	size_t bytes;			/* of a launch: marks and stamps of its trajectories */
	float scale;			/* 1 / n_places */
	struct pns_reward *rewards;	/* of the trajectories */
	double numbers[PNS_N_NUMBERS];
};

/* What the rewards and numbers must be, and the marks that the last launch leaves. */
struct pns_reference {
	double numbers[PNS_N_NUMBERS];
	struct pns_reward *rewards;	/* all behind the struct, in the same memory */
	uint64_t *squares;		/* sum over the marks, of each trajectory */
	unsigned char *marks;
};

extern const struct pb_bench pns_bench;

void pns_adsm(struct pb_run *run);
void pns_explicit(struct pb_run *run);
void pns_cuda(struct pb_run *run);

void pns_open(struct pns *ret_pns, const struct pb_run *run);
/* Trajectories of the launch that starts with number @base. */
int pns_launch(const struct pns *pns, int base);
/* Take the rewards of a launch. */
void pns_collect(struct pns *pns, int base, const float *vars, const int *maxs);
/* Find the numbers, and write them to the output file. */
void pns_write(struct pns *pns, struct pb_run *run);
/* Compare with the reference, and note the result. @places: as the last launch left them; @copy brings a part of them
 * to private memory. */
void pns_verify(struct pb_run *run, const struct pns *pns, const unsigned char *places,
		int (*copy)(void *dst, const void *src, size_t size));
void pns_close(struct pns *pns);

/*
 * ---- the reference, step by step: a net, all of whose places hold one token
 */

struct pns_net {
	int n;
	size_t n_places;
	unsigned char *marks;
	uint32_t *claims;		/* the batch that last took from each place */
	uint32_t batch;
	uint32_t *touched;		/* the places that may hold another number of tokens now, with repeats */
	size_t n_touched;
};

void pns_net_init(struct pns_net *ret_net, const struct pns *pns);
/* Trajectory number @i of the simulation; marks are what it ends with. */
void pns_net_run(struct pns_net *net, const struct pns *pns, int i);
/* Put one token back on each place. Gives the sum of the squares of the marks, and the largest, as they were. */
void pns_net_reset(struct pns_net *net, uint64_t *ret_squares, int *ret_max);
void pns_net_finish(struct pns_net *net);

#endif
