/* SPDX-License-Identifier: MIT */
/* test_gate.c - whether a node's variables say that all nodes are on its machine. */
#include "cluster/gate.h"

#include <stdlib.h>

#include "../check.h"

static const char *const names[] = {
	"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "PMI_SIZE", "SLURM_STEP_NUM_NODES",
};

static const struct {
	const char *values[5];
	bool here;
} cases[] = {
	{ { NULL }, false },
	{ { "2", "2" }, true },
	{ { "2", "4" }, false },
	{ { NULL, NULL, "2", "2" }, true },
	{ { NULL, NULL, "2", "4" }, false },
	/* srun starts the nodes itself. PMI_SIZE is then Slurm's. */
	{ { NULL, NULL, NULL, NULL, "1" }, true },
	{ { NULL, NULL, NULL, "4", "1" }, true },
	{ { NULL, NULL, NULL, "4", "2" }, false },
	/* mpirun and mpiexec in a step, or with daemons that steps of one machine have started. */
	{ { "2", "4", NULL, NULL, "1" }, false },
	{ { NULL, "4", NULL, NULL, "1" }, false },
	{ { NULL, NULL, "2", "4", "1" }, false },
	{ { "2", "2", NULL, NULL, "2" }, true },
	{ { NULL, NULL, "2", "2", "2" }, true },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			CHECK(!unsetenv(names[n]));
			CHECK(!cases[i].values[n] || !setenv(names[n], cases[i].values[n], 1));
		}
		CHECKF(adsm_cluster_all_here() == cases[i].here, "case %zu", i);
	}
	return 0;
}
