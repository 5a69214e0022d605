/* SPDX-License-Identifier: MIT */
/*
 * defaults.c - reads the settings that Open MPI reads: parameters from the environment, the user's files and the
 * system's file, in this order, and the default hostfile in the system's folder. Release 5 starts jobs by PRRTE, which
 * has other names.
 */
#include "defaults.h"

#include "base/log.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINE 4096

struct names {
	const char *environment, *parameter;	/* prefixes of "default_hostfile" */
	const char *home[3];			/* the user's parameter files */
	const char *system, *hostfile;		/* names of files in the system's folder */
};

static const struct names names_4 = {
	"OMPI_MCA_orte_", "orte_", { ".openmpi/mca-params.conf" },
	"openmpi-mca-params.conf", "openmpi-default-hostfile",
};
static const struct names names_5 = {
	"PRTE_MCA_prte_", "prte_", { ".prte/mca-params.conf", ".prte/prte-mca-params.conf", ".prrte/mca-params.conf" },
	"prte-mca-params.conf", "prte-default-hostfile",
};

/* Find the prefix of the command's installation: the command is PREFIX/bin/mpirun. Returns false if it is not found. */
static bool find_prefix(const char *command, char ret_prefix[PATH_MAX])
{
	const char *const given = getenv("OPAL_PREFIX"), *const path = getenv("PATH");
	char name[PATH_MAX];
	const char *at = path ? path : "";

	if (given) {
		adsm_format(ret_prefix, PATH_MAX, "%s", given);
		return true;
	}
	adsm_format(name, sizeof(name), "%s", command);
	while (!strchr(command, '/') && *at) {
		const size_t length = strcspn(at, ":");

		adsm_format(name, sizeof(name), "%.*s/%s", (int)length, at, command);
		if (!access(name, X_OK))
			break;
		at += length + (at[length] == ':');
	}
	if (!realpath(name, ret_prefix))
		return false;
	for (int i = 0; i < 2; i++) {
		char *const slash = strrchr(ret_prefix, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

/* Find a file of the system's folder. Distributions put it in places outside of the prefix. Returns false if there is
 * none. */
static bool find_system_file(const char *command, const char *name, char ret_path[PATH_MAX])
{
	static const char *const folders[] = { "/etc/openmpi", "/etc/prte", "/etc/prrte", "/etc/openmpi-x86_64",
					       "/etc/openmpi-aarch64", "/etc" };
	const char *const given = getenv("OPAL_SYSCONFDIR");
	char prefix[PATH_MAX];

	if (given) {
		adsm_format(ret_path, PATH_MAX, "%s/%s", given, name);
		return !access(ret_path, R_OK);
	}
	if (!find_prefix(command, prefix))
		return false;
	if (strlen(prefix) + strlen(name) + 8 < PATH_MAX) {
		memcpy(ret_path, prefix, strlen(prefix) + 1);
		strcat(strcat(ret_path, "/etc/"), name);
		if (!access(ret_path, R_OK))
			return true;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !strncmp(prefix, "/usr", 4); i++) {
		adsm_format(ret_path, PATH_MAX, "%s/%s", folders[i], name);
		if (!access(ret_path, R_OK))
			return true;
	}
	return false;
}

/* Remove blanks and quotes at both ends. */
static char *trimmed(char *text)
{
	char *end;

	text += strspn(text, " \t\"'");
	end = text + strlen(text);
	while (end > text && (isspace((unsigned char)end[-1]) || strchr("\"'", end[-1])))
		*--end = '\0';
	return text;
}

/* Each line is "NAME = VALUE"; the last one with this name counts. */
static bool read_parameter(const char *path, const char *name, char *ret_value, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[MAX_LINE];
	bool found = false;

	while (file && fgets(line, sizeof(line), file)) {
		char *const equals = strchr(line, '=');

		if (!equals || *trimmed(line) == '#')
			continue;
		*equals = '\0';
		if (strcmp(trimmed(line), name))
			continue;
		adsm_format(ret_value, size, "%s", trimmed(equals + 1));
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

static bool find_parameter(const struct names *names, const char *command, const char *what, char *ret_value,
			   size_t size)
{
	const char *value, *const home = getenv("HOME");
	char name[128], path[PATH_MAX];

	adsm_format(name, sizeof(name), "%s%s", names->environment, what);
	value = getenv(name);
	if (value) {
		adsm_format(ret_value, size, "%s", value);
		return true;
	}
	adsm_format(name, sizeof(name), "%s%s", names->parameter, what);
	for (size_t i = 0; home && i < 3 && names->home[i]; i++) {
		adsm_format(path, sizeof(path), "%s/%s", home, names->home[i]);
		if (read_parameter(path, name, ret_value, size))
			return true;
	}
	return find_system_file(command, names->system, path) && read_parameter(path, name, ret_value, size);
}

/* Does the file have a line that is not a comment? */
static bool names_hosts(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[MAX_LINE];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = *trimmed(line) && *trimmed(line) != '#';
	if (file)
		fclose(file);
	return found;
}

bool adsm_cluster_default_hosts(const char *command, bool is_5, char *ret_text, size_t size)
{
	const struct names *const names = is_5 ? &names_5 : &names_4;
	char text[PATH_MAX];

	/* "none" means no setting. */
	if (find_parameter(names, command, "default_dash_host", text, sizeof(text)) && *text && strcmp(text, "none")) {
		adsm_format(ret_text, size, "%s", text);
		return true;
	}
	if (find_parameter(names, command, "default_hostfile", text, sizeof(text)) && *text) {
		/* adsm_cluster_hosts() takes a name with a slash for a file. */
		adsm_format(ret_text, size, "%s%s", *text == '/' ? "" : "./", text);
		return strcmp(text, "none");
	}
	if (!find_system_file(command, names->hostfile, text) || !names_hosts(text))
		return false;
	adsm_format(ret_text, size, "%s", text);
	return true;
}
