/* SPDX-License-Identifier: MIT */
/* hosts.c - reads the list of machines, orders it, and distributes nodes. */
#include "hosts.h"

#include "cluster/ends.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is @name an address of this machine? Names are not looked up, because that may take a minute. */
static bool is_own_address(const char *name)
{
	struct sockaddr_storage address = { .ss_family = strchr(name, ':') ? AF_INET6 : AF_INET };
	void *bytes = address.ss_family == AF_INET ? (void *)&((struct sockaddr_in *)(void *)&address)->sin_addr :
		(void *)&((struct sockaddr_in6 *)(void *)&address)->sin6_addr;
	struct adsm_cluster_end end;

	return inet_pton(address.ss_family, name, bytes) == 1 && adsm_cluster_end_read(&address, &end) &&
		adsm_cluster_end_is_own(&end);
}

static bool is_here(const char *name)
{
	char own[256] = "";
	size_t length;

	if (!strcmp(name, "localhost") || !strncmp(name, "127.", 4) || !strcmp(name, "::1"))
		return true;
	gethostname(own, sizeof(own) - 1);
	/* Compare with and without the domain. */
	length = strcspn(own, ".");
	if (!strcmp(name, own) || (strlen(name) == length && !strncmp(name, own, length)) ||
	    (!own[length] && !strncmp(name, own, length) && name[length] == '.'))
		return true;
	return is_own_address(name);
}

static int add(struct adsm_cluster_hosts *hosts, const char *name, size_t length, unsigned slots, bool in_front)
{
	struct adsm_cluster_host *list;

	/* A host that is named again gets more slots, as in the files of batch systems. */
	for (size_t i = 0; i < hosts->n; i++)
		if (strlen(hosts->list[i].name) == length && !strncmp(hosts->list[i].name, name, length)) {
			hosts->list[i].slots += slots;
			return 0;
		}
	list = realloc(hosts->list, (hosts->n + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	hosts->list = list;
	list += in_front ? 0 : hosts->n;
	if (in_front)
		memmove(list + 1, list, hosts->n * sizeof(*list));
	*list = (struct adsm_cluster_host) { .name = strndup(name, length), .slots = slots };
	hosts->n++;
	return list->name ? 0 : -ENOMEM;
}

/* One line of a file, or the text between two commas. */
static int read_entry(struct adsm_cluster_hosts *hosts, const char *entry, size_t length)
{
	const char *colon, *slots;
	unsigned long n = 1;
	size_t name = 0;
	char text[512];

	while (length && isspace((unsigned char)*entry))
		entry++, length--;
	snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : sizeof(text) - 1), entry);
	text[strcspn(text, "#")] = '\0';
	name = strcspn(text, " \t\r");
	if (!name)
		return 0;
	colon = memchr(text, ':', name);
	if (colon && !strchr(colon + 1, ':')) {		/* an address with several colons is IPv6 */
		n = strtoul(colon + 1, NULL, 10);
		name = (size_t)(colon - text);
	}
	/* "max_slots=4" does not count. */
	for (slots = text + name; (slots = strstr(slots, "slots=")); slots += 6) {
		if (isspace((unsigned char)slots[-1]))
			n = strtoul(slots + 6, NULL, 10);
	}
	/* Open MPI's hostfiles may exclude a host ("^a") and have entries without a name ("+n0"); these are not
	 * supported. */
	if (!name || !n || n > 1024 || *text == '^' || *text == '+')
		return -EINVAL;
	return add(hosts, text, name, (unsigned)n, false);
}

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = ferror(file) ? NULL : strdup("");
	}
	fclose(file);
	return text;
}

static int read_list(const char *text, struct adsm_cluster_hosts *hosts, char *ret_why, size_t size)
{
	struct stat status;
	const char *end = ",", *at = text;
	char *file = NULL;
	int ret = 0;

	if ((!stat(text, &status) && !S_ISDIR(status.st_mode)) || strchr(text, '/')) {
		at = file = read_all(text);
		end = "\n";
		if (!file) {
			snprintf(ret_why, size, "the host file '%s' (ADSM_CLUSTER_HOSTS) cannot be read: %s", text,
				 strerror(errno));
			return -ENODEV;
		}
	}
	while (*at && !ret) {
		size_t length = strcspn(at, end);

		ret = read_entry(hosts, at, length);
		if (ret == -EINVAL)
			snprintf(ret_why, size, "'%.*s' is not a valid host (ADSM_CLUSTER_HOSTS): valid are 'name', "
				 "'name:4' and 'name slots=4', with a number of nodes from 1 to 1024", (int)length, at);
		at += length + (at[length] != '\0');
	}
	free(file);
	if (!ret && !hosts->n) {
		snprintf(ret_why, size, "'%s' contains no host (ADSM_CLUSTER_HOSTS)", text);
		ret = -ENODEV;
	}
	return ret == -EINVAL ? -ENODEV : ret;
}

static int put_here_first(struct adsm_cluster_hosts *hosts)
{
	for (size_t i = 0; i < hosts->n; i++) {
		struct adsm_cluster_host host = hosts->list[i];

		if (!is_here(host.name))
			continue;
		memmove(hosts->list + 1, hosts->list, i * sizeof(host));
		hosts->list[0] = host;
		return 0;
	}
	return add(hosts, "localhost", 9, 1, true);
}

int adsm_cluster_hosts(const char *text, unsigned n_nodes, struct adsm_cluster_hosts *ret_hosts, char *ret_why,
		       size_t size)
{
	struct adsm_cluster_hosts hosts = { 0 };
	int ret = *text ? read_list(text, &hosts, ret_why, size) : 0;

	if (!ret && *text)
		ret = put_here_first(&hosts);
	if (ret) {
		adsm_cluster_hosts_free(&hosts);
		if (ret == -ENOMEM)
			snprintf(ret_why, size, "not enough memory for the list of hosts");
		return ret;
	}
	for (unsigned left = hosts.n ? n_nodes : 0; left;)
		for (size_t i = 0; i < hosts.n && left; i++) {
			unsigned some = hosts.list[i].slots < left ? hosts.list[i].slots : left;

			hosts.list[i].n += some;
			left -= some;
		}
	/* Hosts without nodes are at the end: remove them. */
	while (hosts.n && !hosts.list[hosts.n - 1].n)
		free(hosts.list[--hosts.n].name);
	*ret_hosts = hosts;
	return 0;
}

char *adsm_cluster_hosts_text(const struct adsm_cluster_hosts *hosts, int with_numbers)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < hosts->n; i++) {
		fprintf(out, "%s%s", i ? "," : "", hosts->list[i].name);
		if (with_numbers)
			fprintf(out, ":%u", hosts->list[i].n);
	}
	if (fclose(out)) {
		free(text);
		text = NULL;
	}
	return text;
}

bool adsm_cluster_hosts_here(const struct adsm_cluster_hosts *hosts)
{
	return hosts->n == 1 && is_here(hosts->list[0].name);
}

void adsm_cluster_hosts_free(struct adsm_cluster_hosts *hosts)
{
	for (size_t i = 0; i < hosts->n; i++)
		free(hosts->list[i].name);
	free(hosts->list);
	*hosts = (struct adsm_cluster_hosts) { 0 };
}
