/* SPDX-License-Identifier: MIT */
/* node/net/version.c - the name and version of this MPI, and its transports. */
#include "version.h"

#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

struct parts {
	char pml[16], others[64];	/* pml: the part that selects transports; others: the transports */
};

/* The parts of Open MPI are loaded files; parts that are not used have been unloaded by now. */
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
	/* Skip "self", which every process has, and "sm", which only reports that it is now called vader. */
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
	/* Only the first part of the text. */
	length = (int)strcspn(version, ",\n");
	if (*parts.pml)
		snprintf(text, size, "%.*s (%s%s%s)", length, version, parts.pml, *parts.others ? ":" : "",
			 parts.others);
	else
		snprintf(text, size, "%.*s", length, version);
}
