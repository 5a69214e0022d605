/* SPDX-License-Identifier: MIT */
/* ends.c - the two ends of a TCP connection: their addresses, and the user of an end on this machine. */
#include "ends.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool adsm_cluster_end_read(const struct sockaddr_storage *address, struct adsm_cluster_end *ret_end)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	memset(ret_end, 0, sizeof(*ret_end));
	if (address->ss_family == AF_INET) {
		ret_end->words[2] = htonl(0xffff);
		ret_end->words[3] = v4->sin_addr.s_addr;
		ret_end->port = ntohs(v4->sin_port);
	} else if (address->ss_family == AF_INET6) {
		memcpy(ret_end->words, &v6->sin6_addr, sizeof(ret_end->words));
		ret_end->port = ntohs(v6->sin6_port);
	}
	return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

/* The port is after the last colon. PMIx writes IPv6 addresses without brackets. */
bool adsm_cluster_end_of_uri(const char *uri, struct adsm_cluster_end *ret_end)
{
	struct sockaddr_storage address = { 0 };
	struct sockaddr_in *v4 = (void *)&address;
	struct sockaddr_in6 *v6 = (void *)&address;
	const char *at = strstr(uri, ";tcp");
	bool is_v6, is_address;
	char text[128], *colon;
	unsigned long port;

	if (!at || (strncmp(at, ";tcp4://", 8) && strncmp(at, ";tcp6://", 8)))
		return false;
	is_v6 = at[4] == '6';
	at += 8;
	at += *at == '[';
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, ";,"), at);
	colon = strrchr(text, ':');
	if (!colon || (port = strtoul(colon + 1, NULL, 10)) - 1 >= UINT16_MAX)
		return false;
	*colon = '\0';
	text[strcspn(text, "]%")] = '\0';
	address.ss_family = is_v6 ? AF_INET6 : AF_INET;
	is_address = inet_pton(address.ss_family, text, is_v6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr) == 1;
	if (is_v6)
		v6->sin6_port = htons((uint16_t)port);
	else
		v4->sin_port = htons((uint16_t)port);
	return is_address && adsm_cluster_end_read(&address, ret_end);
}

bool adsm_cluster_end_is_loopback(const struct adsm_cluster_end *end)
{
	if (end->words[0] || end->words[1])
		return false;
	if (end->words[2])
		return end->words[2] == htonl(0xffff) && (ntohl(end->words[3]) >> 24) == 127;
	return end->words[3] == htonl(1);
}

/* Parse "0100007F:1F90" of /proc/net: an address of 8 or 32 digits, and a port. */
static bool parse_end(const char *text, struct adsm_cluster_end *ret_end)
{
	const size_t digits = strcspn(text, ":"), n = digits / 8;
	char word[9] = "";

	memset(ret_end, 0, sizeof(*ret_end));
	if ((digits != 8 && digits != 32) || !text[digits])
		return false;
	for (size_t i = 0; i < n; i++) {
		memcpy(word, text + 8 * i, 8);
		ret_end->words[4 - n + i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (n == 1)
		ret_end->words[2] = htonl(0xffff);
	ret_end->port = (unsigned)strtoul(text + digits + 1, NULL, 16);
	return true;
}

/* The kernel lists a socket that its process has closed with inode 0 and user 0, whichever user it had. */
int64_t adsm_cluster_end_user(const struct adsm_cluster_end *end, const struct adsm_cluster_end *other)
{
	static const char *const files[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	int64_t user = -1;

	for (size_t i = 0; i < 2 && user < 0; i++) {
		FILE *file = fopen(files[i], "re");
		char line[512], texts[2][48];
		unsigned long uid, inode;

		while (file && user < 0 && fgets(line, sizeof(line), file)) {
			struct adsm_cluster_end ends[2];

			if (sscanf(line, "%*s %47s %47s %*s %*s %*s %*s %lu %*s %lu", texts[0], texts[1], &uid,
				   &inode) == 4 && inode &&
			    parse_end(texts[0], &ends[0]) && parse_end(texts[1], &ends[1]) &&
			    !memcmp(&ends[0], end, sizeof(*end)) && !memcmp(&ends[1], other, sizeof(*other)))
				user = (int64_t)uid;
		}
		if (file)
			fclose(file);
	}
	return user;
}

bool adsm_cluster_end_is_own(const struct adsm_cluster_end *end)
{
	struct ifaddrs *all;
	bool found = adsm_cluster_end_is_loopback(end);

	if (found || getifaddrs(&all))
		return found;
	for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next) {
		struct sockaddr_storage address = { 0 };
		const sa_family_t family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
		struct adsm_cluster_end own;

		if (family != AF_INET && family != AF_INET6)
			continue;
		memcpy(&address, one->ifa_addr,
		       family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		found = adsm_cluster_end_read(&address, &own) && !memcmp(own.words, end->words, sizeof(own.words));
	}
	freeifaddrs(all);
	return found;
}
