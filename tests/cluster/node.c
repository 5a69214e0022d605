/* SPDX-License-Identifier: MIT */
/*
 * node.c - plays the node program of a cluster, for tests of its start and its end: it joins the keeper and serves the
 * application on node 0 alone, as a cpu device does. Built with MPI (TEST_MPI), and without: then launch.sh says which
 * node a process is. TEST_NODE has words that make it misbehave, "WORD" or "WORD:NODE":
 *
 *	library, machine, pages, libc, boot	this field of that node's card differs
 *	taken		the address range is in use there
 *	taken-once	the same, while the file TEST_NODE_FILE does not exist; the node then creates it
 *	alone		a job of one node
 *	token		another token
 *	late		the node does not join
 *	waits		it joins when the pipe TEST_NODE_FILE is written to, or opened for writing
 *	ends		it ends before it joins, with a sentence
 *	asked		node 0 does that at the application's first request
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef TEST_MPI
#include <mpi.h>
#endif

#include "base/os.h"
#include "cluster/gate.h"
#include "cluster/join.h"
#include "process/device/crash.h"
#include "process/device/serve.h"
#include "process/shared.h"

static const char *connect_to, *token;
static uint64_t base, size;
static int rank, n_nodes;

static void read_options(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--connect"))
			connect_to = argv[i + 1];
		else if (!strcmp(argv[i], "--token"))
			token = argv[i + 1];
		else if (!strcmp(argv[i], "--nodes"))
			n_nodes = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--arena"))
			sscanf(argv[i + 1], "%lx:%lx", &base, &size);
	}
}

/* Is this to be done, on this node? */
static bool has_word(const char *word)
{
	const char *words = getenv("TEST_NODE");
	size_t length = strlen(word);

	if (!words || strncmp(words, word, length) || (words[length] && words[length] != ':'))
		return false;
	return !words[length] || atoi(words + length + 1) == rank;
}

static void misbehave(struct adsm_cluster_card *card)
{
	if (has_word("library"))
		strcpy(card->library, "0.0.9 (1)");
	if (has_word("machine"))
		strcpy(card->machine, "m68k");
	if (has_word("pages"))
		card->page_size = 65536;
	if (has_word("libc"))
		strcpy(card->libc, "2.1");
	if (has_word("boot"))
		strcpy(card->boot, "another");
	if (has_word("taken") ||
	    (has_word("taken-once") && open(getenv("TEST_NODE_FILE"), O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0)) {
		card->error = -EEXIST;
		snprintf(card->why, sizeof(card->why), "%lu bytes at 0x%lx are in use there", size, base);
	}
	if (has_word("ends")) {
		fprintf(stderr, "adsm-cluster-node: this is what it says\n");
		exit(3);
	}
	while (has_word("late"))
		pause();
	if (has_word("waits"))
		open(getenv("TEST_NODE_FILE"), O_RDONLY | O_CLOEXEC);
}

static void *reserved;

/* As a cpu device does. */
static int start(const struct adsm_process_request *hello, int memory_fd, struct adsm_process_shared *shared,
		 struct adsm_process_reply *reply)
{
	void *p;
	int ret;

	if (has_word("asked")) {
		fprintf(stderr, ADSM_CLUSTER_SAYS "this is what it says\n");
		_exit(1);
	}
	ret = adsm_os_map(reserved, size, memory_fd, 0, ADSM_PROT_RW, &p);

	return ret ? ret : adsm_serve_launches(shared, hello->n_threads, 1);
}

static void serve(const struct adsm_cluster_card *cards)
{
	static const struct adsm_server server = { start, adsm_serve_answer };
	char why[ADSM_CLUSTER_WHY] = "";

	if (adsm_cluster_join(connect_to, has_word("token") ? "00" : token, (uint32_t)n_nodes, cards, why)) {
		fprintf(stderr, "adsm-cluster-node: %s\n", why);
		return;
	}
	adsm_crash_thread();
	adsm_crash_start();
	adsm_serve(&server);
}

int main(int argc, char **argv)
{
	static struct adsm_cluster_card card, cards[64];
	const char *mpi = "";
	int ret;

#ifdef TEST_MPI
	static char text[MPI_MAX_LIBRARY_VERSION_STRING];

	MPI_Get_library_version(text, &ret);
	mpi = text;
#endif
	read_options(argc, argv);
	adsm_cluster_prepare(connect_to, mpi, adsm_cluster_all_here());
	adsm_cluster_gate_start();
	ret = adsm_os_reserve(base, size, &reserved);
#ifdef TEST_MPI
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_nodes);
#else
	rank = getenv("TEST_RANK") ? atoi(getenv("TEST_RANK")) : 0;
#endif
	adsm_cluster_card(&card);
	if (ret) {
		card.error = ret;
		snprintf(card.why, sizeof(card.why), "%lu bytes at 0x%lx are in use there", size, base);
	}
	misbehave(&card);
	if (has_word("alone"))
		n_nodes = 1;
#ifdef TEST_MPI
	snprintf(card.mpi, sizeof(card.mpi), "%.*s", (int)strcspn(mpi, "\n"), mpi);
	MPI_Gather(&card, sizeof(card), MPI_BYTE, cards, sizeof(card), MPI_BYTE, 0, MPI_COMM_WORLD);
#else
	for (int i = 0, own = rank; i < n_nodes && !own; i++) {
		rank = i;
		adsm_cluster_card(&cards[i]);
		misbehave(&cards[i]);
		rank = own;
	}
#endif
	if (rank == 0)
		serve(cards);
	while (rank)
		pause();
	_exit(1);	/* kernels may still run */
}
