/* SPDX-License-Identifier: MIT */
/* md - particles that attract each other, all pairs, by velocity Verlet: each worker has some of them. */
#include <adsm_kernel.h>

#define HALF_PI 1.5707963267948966

/* The force on particle @i, and its half of the potential energy of its pairs. */
ADSM_FUNCTION double attract(const ADSM_SPACE_GLOBAL double *pos, int n, int i, double *ret_force)
{
	const double x = ADSM_READ(&pos[3 * i]), y = ADSM_READ(&pos[3 * i + 1]), z = ADSM_READ(&pos[3 * i + 2]);
	double potential = 0;

	ret_force[0] = ret_force[1] = ret_force[2] = 0;
	for (int j = 0; j < n; j++) {
		double dx, dy, dz, d, capped, s;

		if (j == i)
			continue;
		dx = x - ADSM_READ(&pos[3 * j]);
		dy = y - ADSM_READ(&pos[3 * j + 1]);
		dz = z - ADSM_READ(&pos[3 * j + 2]);
		d = adsm_sqrt(dx * dx + dy * dy + dz * dz);
		capped = d < HALF_PI ? d : HALF_PI;
		s = adsm_sin(capped);
		potential += 0.5 * s * s;
		s = adsm_sin(2 * capped) / d;
		ret_force[0] -= dx * s;
		ret_force[1] -= dy * s;
		ret_force[2] -= dz * s;
	}
	return potential;
}

ADSM_TASK(md, ADSM_INOUT(double, pos), ADSM_INOUT(double, vel), ADSM_INOUT(double, acc), ADSM_INOUT(double, force),
	  ADSM_INOUT(double, energies), ADSM_VAL(int, n), ADSM_VAL(int, n_steps), ADSM_VAL(double, dt))
{
	const int first = (int)((long)n * ADSM_WORKER / ADSM_N_WORKERS);
	const int end = (int)((long)n * (ADSM_WORKER + 1) / ADSM_N_WORKERS);

	for (int step = 0; step < n_steps; step++) {
		double potential = 0, kinetic = 0, f[3];

		for (int i = first; i < end; i++) {
			potential += attract(pos, n, i, f);
			for (int k = 3 * i; k < 3 * i + 3; k++) {
				kinetic += 0.5 * ADSM_READ(&vel[k]) * ADSM_READ(&vel[k]);
				ADSM_WRITE(&force[k], f[k - 3 * i]);
			}
		}
		/* Of the first step and of the last one. */
		if (!step || step == n_steps - 1)
			ADSM_WRITE(&energies[2 * ADSM_WORKER + (step > 0)], potential + kinetic);
		ADSM_ALL_BARRIER;
		for (int k = 3 * first; k < 3 * end; k++) {
			const double a = ADSM_READ(&acc[k]), v = ADSM_READ(&vel[k]), now = ADSM_READ(&force[k]);

			ADSM_WRITE(&pos[k], ADSM_READ(&pos[k]) + v * dt + 0.5 * dt * dt * a);
			ADSM_WRITE(&vel[k], v + 0.5 * dt * (now + a));
			ADSM_WRITE(&acc[k], now);
		}
		ADSM_ALL_BARRIER;
	}
	ADSM_ALL_BARRIER;
}
