/* SPDX-License-Identifier: MIT */
/* launch.c - the command line and the environment that start a cluster's nodes. */
#include "launch.h"

#include "base/log.h"
#include "cluster/gate.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- lists of words; a lack of memory is reported at the end */

struct words {
	char **list;
	size_t n;
	int error;			/* why the list is not complete: ENOMEM, EINVAL; 0: it is */
};

static void put(struct words *words, const char *word)
{
	char **list = realloc(words->list, (words->n + 2) * sizeof(*list));

	if (list) {
		words->list = list;
		list[words->n] = word ? strdup(word) : NULL;
		list[words->n + 1] = NULL;
	}
	if (!list || !word || !list[words->n])
		words->error = ENOMEM;
	else
		words->n++;
}

static void put_all(struct words *words, const char *const *list)
{
	while (*list)
		put(words, *list++);
}

#define PUT(words, ...) put_all(words, (const char *const []){ __VA_ARGS__, NULL })

static char **finish(struct words *words)
{
	if (!words->error)
		return words->list;
	adsm_cluster_words_free(words->list);
	errno = words->error;
	return NULL;
}

void adsm_cluster_words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

char **adsm_cluster_words(const char *text)
{
	struct words words = { .list = calloc(1, sizeof(char *)) };
	char *word = malloc(strlen(text) + 1);

	words.error = word && words.list ? 0 : ENOMEM;
	while (!words.error && *(text += strspn(text, " \t\n"))) {
		size_t n = 0;
		char quote = 0;

		for (; *text && (quote || !isspace((unsigned char)*text)); text++) {
			if (quote ? *text == quote : *text == '\'' || *text == '"')
				quote = (char)(quote ? 0 : *text);
			else
				word[n++] = *text;
		}
		word[n] = '\0';
		put(&words, word);
		if (quote)
			words.error = EINVAL;
	}
	free(word);
	return finish(&words);
}

/* ---- the command */

enum adsm_cluster_launcher adsm_cluster_launcher(const char *version)
{
	const char *open_mpi = strstr(version, "(Open MPI) ");

	if (open_mpi)
		return atoi(open_mpi + strlen("(Open MPI) ")) < 5 ? ADSM_CLUSTER_OPEN_MPI_4 : ADSM_CLUSTER_OPEN_MPI_5;
	if (strstr(version, "(PRRTE)") || strstr(version, "prterun"))
		return ADSM_CLUSTER_OPEN_MPI_5;
	if (strstr(version, "HYDRA") || strstr(version, "Intel(R) MPI"))
		return ADSM_CLUSTER_HYDRA;
	return !strncmp(version, "slurm", 5) ? ADSM_CLUSTER_SRUN : ADSM_CLUSTER_OTHER;
}

/* Add one word of the template. The word %p is replaced by several words, %n and %h inside of a word. If no host is
 * named, %h is empty: then the user's template must not have an option that needs it. */
static void put_template_word(struct words *words, const char *word, const char *n, const char *hosts,
			      char *const *program)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!strcmp(word, "%p")) {
		put_all(words, (const char *const *)program);
		return;
	}
	out = open_memstream(&text, &size);
	for (; out && *word; word++) {
		if (*word != '%') {
			fputc(*word, out);
			continue;
		}
		word++;
		if (*word == 'n' || *word == 'h' || *word == '%') {
			fputs(*word == 'n' ? n : *word == 'h' ? hosts : "%", out);
		} else {
			words->error = EINVAL;
			break;
		}
	}
	if (out)
		fclose(out);
	if (!words->error)
		put(words, out ? text : NULL);
	free(text);
}

bool adsm_cluster_is_local(const char *launch)
{
	static const char *const allocations[] = { "SLURM_JOB_ID", "SLURM_JOBID", "PBS_NODEFILE", "PBS_JOBID",
						   "LSB_JOBID", "LSB_HOSTS", "PE_HOSTFILE", "COBALT_NODEFILE",
						   "LOADL_STEP_ID", "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE" };
	/* Parts of the names of flags. */
	static const char *const parts[] = { "host", "machine", "rank", "config", "tune" };
	/* Parameters of Open MPI, each a word of its own after --mca. */
	static const char *const parameters[] = { "default_hostfile", "default_dash_host", "rank_file", "rankfile" };
	static const char *const flags[] = { "-H", "-f", "--app", "-app", "--am", "-am" };
	char **words = adsm_cluster_words(launch);
	bool is_local = words;

	for (size_t i = 0; i < sizeof(allocations) / sizeof(allocations[0]); i++)
		is_local &= !getenv(allocations[i]);
	for (char **word = words; word && *word; word++) {
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			is_local &= **word != '-' || !strstr(*word, parts[i]);
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			is_local &= strcmp(*word, flags[i]) != 0;
		for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
			is_local &= !strstr(*word, parameters[i]);
	}
	adsm_cluster_words_free(words);
	return is_local;
}

/* The flags that each launcher needs: the number of nodes, their hosts, permission to share cores, and permission to
 * run as root. Nodes on several machines need the key: Open MPI gets -x for it; MPICH and Slurm pass all variables. */
static void put_flags(struct words *words, enum adsm_cluster_launcher launcher, const char *n, const char *hosts,
		      bool all_here)
{
	static const char *const open_mpi_4[] = { "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
						  "--map-by", "slot", NULL };
	static const char *const open_mpi_5[] = { "--allow-run-as-root", "--bind-to", "none", "--map-by",
						  "slot:OVERSUBSCRIBE", NULL };
	static const char *const srun[] = { "--kill-on-bad-exit=1", "--overlap", "--cpu-bind=none", NULL };
	static const char *const nothing[] = { NULL };
	static const struct {
		const char *const *flags;
		const char *hosts;	/* the option for hosts */
	} kinds[] = {
		[ADSM_CLUSTER_OTHER] = { nothing, NULL },
		[ADSM_CLUSTER_OPEN_MPI_4] = { open_mpi_4, "--host" },
		[ADSM_CLUSTER_OPEN_MPI_5] = { open_mpi_5, "--host" },
		[ADSM_CLUSTER_HYDRA] = { nothing, "-hosts" },
		[ADSM_CLUSTER_SRUN] = { srun, "-w" },
	};

	put_all(words, kinds[launcher].flags);
	if (!all_here && (launcher == ADSM_CLUSTER_OPEN_MPI_4 || launcher == ADSM_CLUSTER_OPEN_MPI_5))
		PUT(words, "-x", ADSM_CLUSTER_KEY);
	if (all_here && launcher == ADSM_CLUSTER_HYDRA)
		PUT(words, "-iface", "lo");
	PUT(words, "-n", n);
	if (*hosts && kinds[launcher].hosts)
		PUT(words, kinds[launcher].hosts, hosts);
}

char **adsm_cluster_command(const char *launch, enum adsm_cluster_launcher launcher, unsigned n_nodes,
			    const struct adsm_cluster_hosts *hosts, char *const *program)
{
	struct words words = { .list = calloc(1, sizeof(char *)) };
	char **parts = adsm_cluster_words(launch), n[16], *names;
	bool is_template = strchr(launch, '%'), has_program = false;

	words.error = parts ? 0 : errno;
	names = adsm_cluster_hosts_text(hosts, !is_template && launcher != ADSM_CLUSTER_SRUN);
	if (!words.list || !names)
		words.error = ENOMEM;
	snprintf(n, sizeof(n), "%u", n_nodes);
	for (char **part = parts; !words.error && *part; part++) {
		has_program |= !strcmp(*part, "%p");
		if (is_template)
			put_template_word(&words, *part, n, names, program);
		else
			put(&words, *part);
	}
	if (!words.error && !is_template)
		put_flags(&words, launcher, n, names, adsm_cluster_hosts_here(hosts));
	if (!words.error && !has_program)
		put_all(&words, (const char *const *)program);
	adsm_cluster_words_free(parts);
	free(names);
	return finish(&words);
}

/* ---- the environment */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

void adsm_cluster_clean_environment(void)
{
	/* Inside an MPI job, MPI's own settings for its processes cannot be distinguished from the user's. */
	bool in_job = getenv("OMPI_COMM_WORLD_SIZE") || getenv("OMPI_UNIVERSE_SIZE");

	for (char **entry = environ; entry && *entry;) {
		bool is_setting = begins(*entry, "OMPI_MCA_") || begins(*entry, "PRTE_MCA_") ||
			begins(*entry, "PMIX_MCA_");
		bool goes = begins(*entry, "LD_PRELOAD=") || begins(*entry, "LD_AUDIT=") || begins(*entry, "ADSM_") ||
			begins(*entry, "PMI_") || begins(*entry, "HYDI_") || begins(*entry, "MPI_LOCAL") ||
			((begins(*entry, "PMIX_") || begins(*entry, "PRTE_") || begins(*entry, "OMPI_")) &&
			 (in_job || !is_setting));
		char name[128];
		size_t length = strcspn(*entry, "=");

		if (goes && length < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)length, *entry);
			unsetenv(name);	/* the following entries move up */
		} else {
			entry++;
		}
	}
	/* UCX's handlers of SIGSEGV would get the faults of tracked pages. In a node that is linked with MPICH, UCX
	 * installs them before main() runs, so the node itself would set this too late. */
	setenv("UCX_ERROR_SIGNALS", "", 0);
}

void adsm_cluster_transports(char *ret_text, size_t size)
{
	static const char *const names[] = { "OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl", "UCX_TLS",
					     "UCX_NET_DEVICES", "FI_PROVIDER" };
	size_t n = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *const value = getenv(names[i]);

		if (!value || n + 1 >= size)
			continue;
		adsm_format(ret_text + n, size - n, "%s%s=%s", n ? ", " : "", names[i], value);
		n = strlen(ret_text);
	}
}
