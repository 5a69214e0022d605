/* SPDX-License-Identifier: MIT */
/* door.c - the keeper's socket. */
#include "door.h"

#include "base/log.h"
#include "process/shared.h"
#include "shield.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define PATIENCE_S 10			/* time limit for a process that has connected but does not send */

int adsm_cluster_door_open(struct adsm_cluster_door *door, const char *folder)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int ret = adsm_cluster_random(door->token, sizeof(door->token));

	if (ret)
		return ret;
	door->node = -1;
	snprintf(door->path, sizeof(door->path), "%s/keeper", folder);
	memcpy(address.sun_path, door->path, sizeof(address.sun_path));
	door->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (door->sock < 0)
		return -errno;
	if (!bind(door->sock, (struct sockaddr *)&address, sizeof(address)) && !listen(door->sock, 16))
		return 0;
	ret = -errno;
	close(door->sock);
	return ret;
}

/* The time of the comparison does not depend on the contents. */
static bool is_same(const char *a, const char *b, size_t size)
{
	unsigned differ = 0;

	for (size_t i = 0; i < size; i++)
		differ |= (unsigned)(a[i] ^ b[i]);
	return !differ;
}

/* Terminate the texts. Of MPI's text only the first part, with the version, stays. */
static void end_texts(struct adsm_cluster_card *card)
{
	card->library[sizeof(card->library) - 1] = card->machine[sizeof(card->machine) - 1] = '\0';
	card->libc[sizeof(card->libc) - 1] = card->boot[sizeof(card->boot) - 1] = '\0';
	card->host[sizeof(card->host) - 1] = card->mpi[sizeof(card->mpi) - 1] = '\0';
	card->tracker[sizeof(card->tracker) - 1] = card->why[sizeof(card->why) - 1] = '\0';
	card->mpi[strcspn(card->mpi, ",\n")] = '\0';
	for (char *at = card->mpi; (at = strchr(at, '\t'));)
		*at = ' ';
}

static int wrong_number(const struct adsm_cluster_door *door, uint32_t n, const struct adsm_cluster_card *card,
			char ret_why[ADSM_CLUSTER_WHY])
{
	if (n == 1)
		adsm_format(ret_why, ADSM_CLUSTER_WHY, "'%s' started %u separate jobs of one node, not a job of %u "
			    "nodes: it belongs to another MPI than adsm-cluster-node, which was built with %s; set "
			    "ADSM_CLUSTER_LAUNCH to that MPI's command", door->launch, door->n_nodes, door->n_nodes,
			    *card->mpi ? card->mpi : "an unknown MPI");
	else
		adsm_format(ret_why, ADSM_CLUSTER_WHY,
			    "'%s' started a job of %u nodes, not of %u (ADSM_CLUSTER_LAUNCH)", door->launch, n,
			    door->n_nodes);
	return -ENODEV;
}

static void write_down(struct adsm_cluster_shared *shared, uint32_t i, const struct adsm_cluster_card *card)
{
	struct adsm_cluster_node *node = &shared->nodes[i];

	adsm_format(node->host, sizeof(node->host), "%s", card->host);
	adsm_format(node->tracker, sizeof(node->tracker), "%s", card->tracker);
	node->cores = card->cores;
	node->threads = card->threads;
	node->levels = card->levels;
	if (!i)
		adsm_format(shared->engine, sizeof(shared->engine), "%s", card->mpi);
}

/* Check all cards, and return the most serious error. -EEXIST is less serious: the address may be free at the next
 * start. */
static int look_at(const struct adsm_cluster_door *door, int sock, uint32_t n, struct adsm_cluster_shared *shared,
		   char ret_why[ADSM_CLUSTER_WHY])
{
	struct adsm_cluster_card here, card;
	char why[ADSM_CLUSTER_WHY];
	int ret = 0, error;

	adsm_cluster_card(&here);
	for (uint32_t i = 0; i < n; i++) {
		error = adsm_process_receive(sock, &card, sizeof(card), NULL);
		if (error) {
			adsm_format(ret_why, ADSM_CLUSTER_WHY, "node 0 did not send the description of node %u of %u: "
				    "%s", i, n, strerror(-error));
			return -ENODEV;
		}
		end_texts(&card);
		if (n != door->n_nodes)
			return wrong_number(door, n, &card, ret_why);
		error = adsm_cluster_check(&card, i, n, &here, why);
		if (error && (!ret || ret == -EEXIST)) {
			ret = error;
			strcpy(ret_why, why);
		}
		write_down(shared, i, &card);
	}
	return ret;
}

int adsm_cluster_door_answer(struct adsm_cluster_door *door, const int fds[2],
			     struct adsm_cluster_shared *shared, char ret_why[ADSM_CLUSTER_WHY])
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct adsm_cluster_joined answer = { .magic = ADSM_CLUSTER_MAGIC };
	struct adsm_cluster_joining joining;
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int sock = accept4(door->sock, NULL, NULL, SOCK_CLOEXEC), ret = -EAGAIN;

	if (sock < 0)
		return -EAGAIN;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &length) || peer.uid != geteuid() ||
	    adsm_process_receive(sock, &joining, sizeof(joining), NULL) || joining.magic != ADSM_CLUSTER_MAGIC ||
	    !is_same(joining.token, door->token, sizeof(joining.token)) || !joining.n_nodes)
		goto close_sock;
	ret = look_at(door, sock, joining.n_nodes, shared, ret_why);
	answer.error = ret;
	if (ret)
		adsm_format(answer.why, sizeof(answer.why), "%s", ret_why);
	if (adsm_process_send(sock, &answer, sizeof(answer), fds, ret ? 0 : 2) && !ret) {
		adsm_format(ret_why, ADSM_CLUSTER_WHY, "node 0 ended during its start");
		ret = -ENODEV;
	}
	if (!ret) {
		door->node_pid = peer.pid;
		door->node = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	}
close_sock:
	close(sock);
	return ret;
}
