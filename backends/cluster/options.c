/* SPDX-License-Identifier: MIT */
/* cluster/options.c - rows of the options of the cluster backend. */
#include "options.h"

#include "list.h"
#include "shared.h"

struct adsm_cluster_options adsm_cluster_options;

struct adsm_option adsm_cluster_rows[] = {
	{ "CLUSTER_NODES", "2", "a number from 1 to 1024",
	  "cluster: how many nodes there are",
	  ADSM_FIELD(adsm_cluster_options.nodes), adsm_parse_number, 1, ADSM_CLUSTER_MAX_NODES },
	{ "CLUSTER_NODE", "cpu", "cpu, scratchpad",
	  "cluster: what runs tasks on its nodes: nothing, or cores with a local store, as SCRATCHPAD_SIZE and "
	  "TASK_PAGE say",
	  ADSM_FIELD(adsm_cluster_options.node), adsm_parse_index },
	{ "TASK_LOCK_LOCALITY", "4", "a number from 0 to 1000000",
	  "cluster: how often in a row, for each of its workers, a lock may stay on a node while others want it; 0: "
	  "never",
	  ADSM_FIELD(adsm_cluster_options.locality), adsm_parse_number, 0, 1000000 },
	{ "TASK_FRAMES", "auto", "auto, or a number of pages up to 1G",
	  "cluster: of how many pages that are other nodes' a node keeps a copy while a task runs; auto: of all",
	  ADSM_FIELD(adsm_cluster_options.frames), adsm_parse_number, 1, (uint64_t)1 << 30, .zero = "auto" },
	{ "TASK_VIRTUAL", "off", "off, cell, modern",
	  "cluster: whether it is counted what tasks would take on other machines, instead of their loads and stores: "
	  "those of the Cell processor on its network, or on one of today",
	  ADSM_FIELD(adsm_cluster_options.virtual), adsm_parse_index },
	{ "CLUSTER_HOSTS", "auto", "auto, a file with a host in each line, or name[:nodes],…",
	  "cluster: the machines of its nodes, this one first; auto: those that the launch command chooses",
	  ADSM_FIELD(adsm_cluster_options.hosts), adsm_parse_text, .zero = "auto" },
	{ "CLUSTER_THREADS", "auto", "auto, or a number from 1 to 1024",
	  "cluster: worker threads of each node; auto: one per processor",
	  ADSM_FIELD(adsm_cluster_options.threads), adsm_parse_number, 1, 1024, .zero = "auto" },
	{ "CLUSTER_MEMORY_SIZE", "auto", "auto, or bytes up to 65536G",
	  "cluster: memory of each node; auto: half of what is available on this machine",
	  ADSM_FIELD(adsm_cluster_options.memory_size), adsm_parse_number, 0, (uint64_t)1 << 46, .zero = "auto" },
	{ "CLUSTER_LAUNCH", "mpirun", "a command, or one with %n, %h and %p in it",
	  "cluster: what starts the nodes: mpirun or srun, perhaps with more flags, or any command with the number of "
	  "nodes, their hosts and the program",
	  ADSM_FIELD(adsm_cluster_options.launch), adsm_parse_text },
	{ "CLUSTER_UPDATE", "adaptive", "adaptive, eager, lazy, threshold",
	  "cluster: who gets what a kernel wrote: the nodes that read it before, all at once, node 0 alone until "
	  "somebody asks; threshold: lazy above CLUSTER_LAZY, else eager",
	  ADSM_FIELD(adsm_cluster_options.update), adsm_parse_word, .paper = "threshold" },
	{ "CLUSTER_LAZY", "2048", "a number of pages from 0 to 1G",
	  "cluster: how many pages a kernel may modify before its exchange is lazy, with CLUSTER_UPDATE=threshold",
	  ADSM_FIELD(adsm_cluster_options.lazy), adsm_parse_number, 0, (uint64_t)1 << 30 },
	{ "CLUSTER_EXCHANGE", "allgatherv", "allgatherv, bcast",
	  "cluster: how all nodes get all pages: in one operation, or in a broadcast by each node",
	  ADSM_FIELD(adsm_cluster_options.exchange), adsm_parse_word, .paper = "bcast" },
	{ "CLUSTER_TRACKER", "auto", "auto, sigsegv, uffd, off",
	  "cluster: how stores of kernels are seen; auto: uffd where each node has it, off with one node",
	  ADSM_FIELD(adsm_cluster_options.tracker), adsm_parse_word, .paper = "sigsegv" },
	{ "CLUSTER_TIMEOUT", "30", "seconds from 1 to 3600",
	  "cluster: how long nodes may take to start, and a host may be silent",
	  ADSM_FIELD(adsm_cluster_options.timeout), adsm_parse_number, 1, 3600 },
	{ "CLUSTER_PROGRAM", "auto", "auto, or a file",
	  "cluster: the nodes' program, the same on each machine; auto: the one installed with the library",
	  ADSM_FIELD(adsm_cluster_options.program), adsm_parse_text, .zero = "auto" },
	{ "CLUSTER_KEEPER", "auto", "auto, or a file",
	  "cluster: the program that starts and ends them; auto: the one installed with the library",
	  ADSM_FIELD(adsm_cluster_options.keeper), adsm_parse_text, .zero = "auto" },
	{ 0 }
};
