/* SPDX-License-Identifier: MIT */
/* ends.h - the two ends of a connection: addresses, and whose socket of this machine is one of them. */
#ifndef ADSM_CLUSTER_ENDS_H
#define ADSM_CLUSTER_ENDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* One end of a TCP connection. */
struct adsm_cluster_end {
	uint32_t words[4];		/* the address; IPv4 as IPv6 has it */
	unsigned port;			/* by the machine's own order of bytes */
};

/* False: it is no IPv4 or IPv6 address. */
bool adsm_cluster_end_read(const struct sockaddr_storage *address, struct adsm_cluster_end *ret_end);
/* Of PMIx: "name;tcp4://10.0.0.1:1234" or "name;tcp6://fd00::1:1234". False: it is none of these. */
bool adsm_cluster_end_of_uri(const char *uri, struct adsm_cluster_end *ret_end);
bool adsm_cluster_end_is_loopback(const struct adsm_cluster_end *end);
/* Is this the address of one of this machine's interfaces? */
bool adsm_cluster_end_is_own(const struct adsm_cluster_end *end);

/*
 * Which user has the socket of this machine that is @end of a connection, whose other end is @other? -1: there is none.
 * Nobody has a socket that its process has closed.
 */
int64_t adsm_cluster_end_user(const struct adsm_cluster_end *end, const struct adsm_cluster_end *other);

#endif
