/* SPDX-License-Identifier: MIT */
/* node/net/version.c - which MPI this is, and what it sends messages with. */
#include "version.h"

#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

struct parts {
	char pml[16], others[64];	/* what chooses, and what sends */
};

/* Open MPI's are files that are loaded; those that are of no use have been given back by now. */
static int find_part(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = strrchr(info->dlpi_name, '/');
	struct parts *parts = arg;
	size_t length = strlen(parts->others);
	char kind[4], part[16];

	if (!name || sscanf(name, "/mca_%3[a-z]_%15[a-z0-9].so", kind, part) != 2)
		return 0;
	if (!strcmp(kind, "pml"))
		strcpy(parts->pml, part);
	/* What is in every process, and what only says that it is called vader now. */
	if ((!strcmp(kind, "btl") || !strcmp(kind, "mtl")) && strcmp(part, "self") && strcmp(part, "sm"))
		snprintf(parts->others + length, sizeof(parts->others) - length, " %s", part);
	return 0;
}

void adsm_node_mpi(char *text, size_t size)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	struct parts parts = { "", "" };
	int length;

	MPI_Get_library_version(version, &length);
	dl_iterate_phdr(find_part, &parts);
	/* The first of several things that it says. */
	length = (int)strcspn(version, ",\n");
	if (*parts.pml)
		snprintf(text, size, "%.*s (%s%s%s)", length, version, parts.pml, *parts.others ? ":" : "",
			 parts.others);
	else
		snprintf(text, size, "%.*s", length, version);
}
