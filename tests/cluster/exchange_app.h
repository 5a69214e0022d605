/* SPDX-License-Identifier: MIT */
/*
 * exchange_app.h - an application within node 0: it allocates, writes, and launches C functions as kernels over
 * intervals of blocks, with the nodes' own exchange, pages and letters, but without the library, modules and a device
 * process.
 */
#ifndef TEST_CLUSTER_EXCHANGE_APP_H
#define TEST_CLUSTER_EXCHANGE_APP_H

#include "cluster/node/net/comm.h"
#include "cluster/node/exchange/launch.h"
#include "cluster/node/pages/pages.h"

/* A kernel: one block of it. */
typedef void app_kernel(uint64_t block, const void *args);

extern app_kernel *const app_kernels[];		/* of the test */

/* What one launch asks for beside its blocks. */
struct app_call {
	uint32_t kernel;
	uint64_t n_blocks;
	const void *args;
	size_t size;			/* of the arguments */
	bool alone;
	const void *read_only;		/* an object that it may only read, or NULL */
};

/* All ranks. Options are in argv: KEY=VALUE, see exchange_app.c. Node 0 continues; the others end here. */
void app_start(int argc, char **argv, size_t arena_size);
const char *app_option(const char *key, const char *otherwise);
/* Node 0: another case, of these options. No object of the one before is left, and no choice of its exchanges. */
void app_next(int argc, char **argv);
/* Node 0: the end of all. */
_Noreturn void app_finish(void);

/* Whole pages, with the address that kernels have. */
void *app_alloc(size_t size);
void app_free(void *p);
/* Where the application writes and reads them; after writes, app_wrote(). */
void *app_host(const void *p);
void app_wrote(const void *p, size_t size);
struct adsm_node_counts app_launch(const struct app_call *call);
/* Of all memory that is allocated. */
uint64_t app_hash(void);

/* Every node reads all memory: fails where one has other bytes than node 0. */
void app_check_nodes(void);
/* For app_kernels: what that launches. */
void app_hash_kernel(uint64_t block, const void *args);

#endif
