/* SPDX-License-Identifier: MIT */
/* kernels.c - md: particles that pull each other by a potential of sin², all pairs: forces, and the next step. */
#include <adsm_kernel.h>

#define HALF_PI 1.57079633f

/* The potential at a distance; beyond π/2 it stays 1. */
ADSM_PARTITION(2) ADSM_FUNCTION float potential(float d)
{
	const float s = adsm_sinf(d < HALF_PI ? d : HALF_PI);

	return s * s;
}

/* Its slope, in units of the distance. */
ADSM_PARTITION(3) ADSM_FUNCTION float slope(float d)
{
	return d < HALF_PI ? adsm_sinf(2 * d) / d : 0;
}

/* All that the others do to a particle: @sums gets the force, and half of the potential of its pairs. */
ADSM_PARTITION(1) ADSM_FUNCTION void pull(const ADSM_SPACE_GLOBAL float *places, int i, int n, float *sums)
{
	sums[0] = sums[1] = sums[2] = sums[3] = 0;
	for (int k = 0; k < n; k++) {
		float away[3], square = 0, d, f;

		if (k == i)
			continue;
		for (int c = 0; c < 3; c++) {
			away[c] = places[3 * i + c] - places[3 * k + c];
			square += away[c] * away[c];
		}
		d = adsm_sqrtf(square);
		f = slope(d);
		for (int c = 0; c < 3; c++)
			sums[c] -= away[c] * f;
		sums[3] += 0.5f * potential(d);
	}
}

ADSM_KERNEL(forces, ADSM_IN(float, places), ADSM_OUT(float, force), ADSM_OUT(float, energies), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		const int i = ADSM_GLOBAL_X;
		float sums[4];

		if (i >= n)
			continue;
		pull(places, i, n, sums);
		for (int c = 0; c < 3; c++)
			force[3 * i + c] = sums[c];
		energies[i] = sums[3];
	}
}

/* Velocity Verlet, of mass 1, for one component; @last is the force before. */
ADSM_PARTITION(4) ADSM_FUNCTION void advance(ADSM_SPACE_GLOBAL float *place, ADSM_SPACE_GLOBAL float *speed,
					      ADSM_SPACE_GLOBAL float *last, float force, float dt)
{
	*speed += 0.5f * dt * (force + *last);
	*place += dt * *speed + 0.5f * dt * dt * force;
	*last = force;
}

ADSM_KERNEL(move, ADSM_INOUT(float, places), ADSM_INOUT(float, speeds), ADSM_IN(float, force), ADSM_INOUT(float, last),
	    ADSM_VAL(float, dt), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		const int i = ADSM_GLOBAL_X;

		if (i < 3 * n)
			advance(places + i, speeds + i, last + i, force[i], dt);
	}
}
