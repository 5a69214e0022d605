/* SPDX-License-Identifier: MIT */
/* cluster/options.c - rows of the options of the cluster backend. */
#include "options.h"

#include "list.h"
#include "shared.h"
#include "store/layout.h"
#include "store/options.h"

#include <errno.h>

struct adsm_cluster_options adsm_cluster_options;

static int parse_node_page(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	int ret = adsm_parse_number(row, text, ret_value);

	return ret ? ret : !ret_value[0] || adsm_is_power(ret_value[0], row->min, row->max) ? 0 : -EINVAL;
}

struct adsm_option adsm_cluster_rows[] = {
	{ "CLUSTER_NODES", "2", "a number from 1 to 1024",
	  "cluster: number of nodes",
	  ADSM_FIELD(adsm_cluster_options.nodes), adsm_parse_number, 1, ADSM_CLUSTER_MAX_NODES, .class = "cluster" },
	{ "CLUSTER_NODE", "cpu", "cpu, scratchpad",
	  "cluster: what the nodes consist of; cpu: processors, which run kernels but no tasks; scratchpad: "
	  "processors, and cores with a local store, which run tasks; SCRATCHPAD_SIZE, SCRATCHPAD_CODE, TASK_PAGE and "
	  "TASK_PAGES describe these cores",
	  ADSM_FIELD(adsm_cluster_options.node), adsm_parse_index, .class = "cluster" },
	{ "TASK_LOCK_LOCALITY", "4", "a number from 0 to 1000000",
	  "cluster: while other nodes wait for a lock, maximum number of its acquisitions in a row on one node, per "
	  "worker of that node; 0: the lock leaves the node at each release",
	  ADSM_FIELD(adsm_cluster_options.locality), adsm_parse_number, 0, 1000000,
	  .class = "cluster", .expert = true },
	{ "TASK_FRAMES", "auto", "auto, or a number of pages up to 1G",
	  "cluster: maximum number of pages of other nodes that a node keeps copies of while a task runs; auto: no "
	  "limit",
	  ADSM_FIELD(adsm_cluster_options.frames), adsm_parse_number, 1, (uint64_t)1 << 30, .zero = "auto",
	  .class = "cluster", .expert = true },
	{ "TASK_NODE_PAGE", "auto", "auto, or 2K, 4K, 8K, 16K or 32K bytes",
	  "cluster: bytes of a page that nodes send each other while a task runs, at least TASK_PAGE, the unit that "
	  "workers copy; auto: TASK_PAGE",
	  ADSM_FIELD(adsm_cluster_options.node_page), parse_node_page, ADSM_SCRATCHPAD_MIN_PAGE,
	  ADSM_SCRATCHPAD_MAX_PAGE, .zero = "auto", .class = "cluster", .expert = true },
	{ "TASK_VIRTUAL", "off", "off, cell, modern",
	  "cluster: estimates the time of tasks on other machines, and does not count loads and stores; cell: Cell "
	  "processors and their network; modern: a current network",
	  ADSM_FIELD(adsm_cluster_options.virtual), adsm_parse_index, .class = "cluster", .expert = true },
	{ "CLUSTER_HOSTS", "auto", "auto, a file with a host in each line, or name[:nodes],…",
	  "cluster: hosts of the nodes, in a file or a list; the program's host is always the first; auto: the hosts "
	  "that the launch command chooses",
	  ADSM_FIELD(adsm_cluster_options.hosts), adsm_parse_text, .zero = "auto", .class = "cluster" },
	{ "CLUSTER_THREADS", "auto", "auto, or a number from 1 to 1024",
	  "cluster: number of worker threads of each node; auto: the host's processors, divided by the number of its "
	  "nodes",
	  ADSM_FIELD(adsm_cluster_options.threads), adsm_parse_number, 1, 1024, .zero = "auto", .class = "cluster" },
	{ "CLUSTER_MEMORY_SIZE", "auto", "auto, or bytes up to 65536G",
	  "cluster: bytes of memory of each node; auto: half of the available memory of the program's machine",
	  ADSM_FIELD(adsm_cluster_options.memory_size), adsm_parse_number, 0, (uint64_t)1 << 46, .zero = "auto",
	  .class = "cluster" },
	{ "CLUSTER_LAUNCH", "mpirun", "a command, or a template with %n, %h and %p",
	  "cluster: command that starts the nodes: mpirun or srun, with or without flags; in a template %n is the "
	  "number of nodes, %h are their hosts and %p is the node program",
	  ADSM_FIELD(adsm_cluster_options.launch), adsm_parse_text, .class = "cluster" },
	{ "CLUSTER_UPDATE", "adaptive", "adaptive, eager, lazy, threshold",
	  "cluster: which nodes get the pages that a kernel wrote; adaptive: nodes that read them before; eager: all "
	  "nodes; lazy: node 0, and other nodes when they read them; threshold: lazy for more than CLUSTER_LAZY "
	  "pages, else eager",
	  ADSM_FIELD(adsm_cluster_options.update), adsm_parse_word, .paper = "threshold", .class = "cluster" },
	{ "CLUSTER_LAZY", "2048", "a number of pages from 0 to 1G",
	  "cluster: with CLUSTER_UPDATE=threshold, maximum number of pages of an eager update; if a kernel wrote more "
	  "pages, the update is lazy",
	  ADSM_FIELD(adsm_cluster_options.lazy), adsm_parse_number, 0, (uint64_t)1 << 30,
	  .class = "cluster", .expert = true },
	{ "CLUSTER_EXCHANGE", "allgatherv", "allgatherv, bcast",
	  "cluster: how all nodes get all pages; allgatherv: in one operation; bcast: in a broadcast by each node",
	  ADSM_FIELD(adsm_cluster_options.exchange), adsm_parse_word, .paper = "bcast",
	  .class = "cluster", .expert = true },
	{ "CLUSTER_TRACKER", "auto", "auto, sigsegv, uffd, off",
	  "cluster: how nodes detect stores of kernels; auto: uffd if the node supports it, else sigsegv, but a "
	  "single node tracks nothing; off: the same as auto",
	  ADSM_FIELD(adsm_cluster_options.tracker), adsm_parse_word, .paper = "sigsegv",
	  .class = "cluster", .expert = true },
	{ "CLUSTER_TIMEOUT", "30", "seconds from 1 to 3600",
	  "cluster: seconds that the start of the nodes may take, and seconds after which a silent node is lost",
	  ADSM_FIELD(adsm_cluster_options.timeout), adsm_parse_number, 1, 3600, .class = "cluster" },
	{ "CLUSTER_PROGRAM", "auto", "auto, or a file",
	  "cluster: file of the node program, at the same path on each machine; auto: the program installed with the "
	  "library",
	  ADSM_FIELD(adsm_cluster_options.program), adsm_parse_text, .zero = "auto",
	  .class = "cluster", .expert = true },
	{ "CLUSTER_KEEPER", "auto", "auto, or a file",
	  "cluster: file of the program that starts and ends the nodes; auto: the program installed with the library",
	  ADSM_FIELD(adsm_cluster_options.keeper), adsm_parse_text, .zero = "auto",
	  .class = "cluster", .expert = true },
	{ 0 }
};
