/* SPDX-License-Identifier: MIT */
/* ends.h - the two ends of a TCP connection: their addresses, and the user of an end on this machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* One end of a TCP connection. */
struct adsm_cluster_end {
	uint32_t words[4];		/* the address; IPv4 addresses are mapped to IPv6 */
	unsigned port;			/* in the machine's byte order */
};

/* Returns false if it is no IPv4 or IPv6 address. */
bool adsm_cluster_end_read(const struct sockaddr_storage *address, struct adsm_cluster_end *ret_end);
/* Parse a URI of PMIx: "name;tcp4://10.0.0.1:1234" or "name;tcp6://fd00::1:1234". Returns false for any other text. */
bool adsm_cluster_end_of_uri(const char *uri, struct adsm_cluster_end *ret_end);
bool adsm_cluster_end_is_loopback(const struct adsm_cluster_end *end);
/* Is this the address of one of this machine's interfaces? */
bool adsm_cluster_end_is_own(const struct adsm_cluster_end *end);

/* Returns the user of the socket on this machine that is the end @end of a connection whose other end is @other.
 * Returns -1 if there is none, also if its process has closed it. */
int64_t adsm_cluster_end_user(const struct adsm_cluster_end *end, const struct adsm_cluster_end *other);
