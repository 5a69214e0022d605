/* SPDX-License-Identifier: MIT */
/* test_ends.c - ends of connections: addresses of PMIx, this machine's addresses, and whose a socket is. */
#include "cluster/ends.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "../check.h"

/* The URI is this address and port. */
static void check_uri(const char *uri, const char *address, unsigned port)
{
	struct sockaddr_storage storage = { .ss_family = strchr(address, ':') ? AF_INET6 : AF_INET };
	struct sockaddr_in *v4 = (void *)&storage;
	struct sockaddr_in6 *v6 = (void *)&storage;
	struct adsm_cluster_end got, want;

	CHECK_EQ(inet_pton(storage.ss_family, address, storage.ss_family == AF_INET ? (void *)&v4->sin_addr :
			   (void *)&v6->sin6_addr), 1);
	CHECK(adsm_cluster_end_read(&storage, &want));
	want.port = port;
	CHECKF(adsm_cluster_end_of_uri(uri, &got), "%s", uri);
	CHECKF(!memcmp(&got, &want, sizeof(got)), "%s", uri);
}

static void check_uris(void)
{
	static const char *const wrong[] = {
		"", "a.0", "a.0;usock", "a.0;tcp4://", "a.0;tcp4://10.0.0.1", "a.0;tcp4://x:1",
		"a.0;tcp4://fd00::1:4711", "a.0;tcp6://10.0.0.1:4711", "a.0;tcp6://fd00::g:1",
		"a.0;tcp5://10.0.0.1:1", "a.0;tcp4://10.0.0.1:0", "a.0;tcp4://10.0.0.1:65536",
	};
	struct adsm_cluster_end end;

	check_uri("PMIX_SERVER_URI41=prterun-here-1@0.0;tcp4://10.77.0.1:43211", "10.77.0.1", 43211);
	check_uri("PMIX_SERVER_URI41=prterun-here-1@0.0;tcp6://fd00:77::1:43211", "fd00:77::1", 43211);
	check_uri("a.0;tcp6://[fd00:77::1]:65535", "fd00:77::1", 65535);
	check_uri("a.0;tcp6://fe80::1%eth0:1", "fe80::1", 1);
	check_uri("a.0;tcp4://10.77.0.1:43211,10.0.0.2:1", "10.77.0.1", 43211);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECKF(!adsm_cluster_end_of_uri(wrong[i], &end), "%s", wrong[i]);
}

static void check_addresses(void)
{
	struct adsm_cluster_end end;

	CHECK(adsm_cluster_end_of_uri("a.0;tcp4://127.0.0.2:1", &end) && adsm_cluster_end_is_loopback(&end));
	CHECK(adsm_cluster_end_is_own(&end));
	CHECK(adsm_cluster_end_of_uri("a.0;tcp6://::1:1", &end) && adsm_cluster_end_is_loopback(&end));
	CHECK(adsm_cluster_end_of_uri("a.0;tcp6://::ffff:127.0.0.1:1", &end) && adsm_cluster_end_is_loopback(&end));
	/* For documents only, by RFC 5737 and RFC 3849. */
	CHECK(adsm_cluster_end_of_uri("a.0;tcp4://192.0.2.1:1", &end) && !adsm_cluster_end_is_own(&end));
	CHECK(adsm_cluster_end_of_uri("a.0;tcp6://2001:db8::1:1", &end) && !adsm_cluster_end_is_own(&end));
}

/* A socket is its process's until that closes it. */
static void check_user(void)
{
	struct sockaddr_storage address[2] = { { .ss_family = AF_INET }, { .ss_family = AF_INET } };
	struct sockaddr_in *own = (void *)&address[0];
	socklen_t length = sizeof(*own);
	int listening = socket(AF_INET, SOCK_STREAM, 0), sock = socket(AF_INET, SOCK_STREAM, 0), accepted;
	struct adsm_cluster_end ends[2];

	own->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(listening, (struct sockaddr *)own, length) && !listen(listening, 1));
	CHECK(!getsockname(listening, (struct sockaddr *)own, &length));
	CHECK(!connect(sock, (struct sockaddr *)own, length));
	CHECK(!getsockname(sock, (struct sockaddr *)&address[1], &length));
	accepted = accept(listening, NULL, NULL);
	CHECK(accepted >= 0 && adsm_cluster_end_read(&address[0], &ends[0]) &&
	      adsm_cluster_end_read(&address[1], &ends[1]));
	CHECK_EQ(adsm_cluster_end_user(&ends[1], &ends[0]), geteuid());
	close(sock);
	CHECK_EQ(adsm_cluster_end_user(&ends[1], &ends[0]), -1);
}

int main(void)
{
	check_uris();
	check_addresses();
	check_user();
	return 0;
}
