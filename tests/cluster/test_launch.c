/* SPDX-License-Identifier: MIT */
/* test_launch.c - the command line that starts a cluster's nodes, for each launcher; hosts; the environment. */
#include "cluster/keeper/defaults.h"
#include "cluster/keeper/launch.h"
#include "cluster/keeper/job.h"
#include "cluster/keeper/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../check.h"

static char program_[] = "/lib exec/node", option_[] = "--nodes", n_[] = "4";
static char *const program[] = { program_, option_, n_, NULL };

/* The words, with '|' between them. */
static const char *joined(char **words)
{
	static char text[4096];
	size_t n = 0;

	text[0] = '\0';
	for (char **word = words; word && *word; word++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? "|" : "", *word);
	adsm_cluster_words_free(words);
	return text;
}

#define CHECK_TEXT(got, want) do {						\
	const char *got_ = (got);						\
	if (strcmp(got_, want))							\
		FAIL("%s is '%s', not '%s'", #got, got_, want);		\
} while (0)

static struct adsm_cluster_hosts hosts_of(const char *text, unsigned n)
{
	struct adsm_cluster_hosts hosts;
	char why[512] = "";

	CHECKF(!adsm_cluster_hosts(text, n, &hosts, why, sizeof(why)), "%s", why);
	return hosts;
}

static const char *dealt(const char *text, unsigned n)
{
	static char line[512];
	struct adsm_cluster_hosts hosts = hosts_of(text, n);
	char *got = adsm_cluster_hosts_text(&hosts, true);

	CHECK(got);
	snprintf(line, sizeof(line), "%s", got);
	free(got);
	adsm_cluster_hosts_free(&hosts);
	return line;
}

static const char *command(const char *launch, enum adsm_cluster_launcher launcher, const char *on)
{
	struct adsm_cluster_hosts hosts = hosts_of(on, 4);
	const char *text = joined(adsm_cluster_command(launch, launcher, 4, &hosts, program));

	adsm_cluster_hosts_free(&hosts);
	return text;
}

static void check_words(void)
{
	CHECK_TEXT(joined(adsm_cluster_words(" mpirun  --mca x\t'a b' \"c 'd'\" e\"f\"g ")),
		   "mpirun|--mca|x|a b|c 'd'|efg");
	CHECK_TEXT(joined(adsm_cluster_words("")), "");
	CHECK(!adsm_cluster_words("mpirun 'x") && errno == EINVAL);
}

static void check_launchers(void)
{
	CHECK_EQ(adsm_cluster_launcher("mpirun (Open MPI) 4.1.4\n\nReport bugs to"), ADSM_CLUSTER_OPEN_MPI_4);
	CHECK_EQ(adsm_cluster_launcher("mpirun (Open MPI) 5.0.7\n"), ADSM_CLUSTER_OPEN_MPI_5);
	CHECK_EQ(adsm_cluster_launcher("mpirun (Open MPI) 10.1\n"), ADSM_CLUSTER_OPEN_MPI_5);
	CHECK_EQ(adsm_cluster_launcher("HYDRA build details:\n    Version: 4.0.2"), ADSM_CLUSTER_HYDRA);
	CHECK_EQ(adsm_cluster_launcher("Intel(R) MPI Library for Linux* OS, Version 2021.9"), ADSM_CLUSTER_HYDRA);
	CHECK_EQ(adsm_cluster_launcher("slurm 22.05.8\n"), ADSM_CLUSTER_SRUN);
	CHECK_EQ(adsm_cluster_launcher("something else"), ADSM_CLUSTER_OTHER);
}

static void check_commands(void)
{
	CHECK_TEXT(command("mpirun", ADSM_CLUSTER_OPEN_MPI_4, ""),
		   "mpirun|--allow-run-as-root|--oversubscribe|--bind-to|none|--map-by|slot|-x|ADSM_CLUSTER_KEY|"
		   "-n|4|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("mpirun", ADSM_CLUSTER_OPEN_MPI_4, "localhost"),
		   "mpirun|--allow-run-as-root|--oversubscribe|--bind-to|none|--map-by|slot|-n|4|--host|localhost:4|"
		   "/lib exec/node|--nodes|4");
	CHECK_TEXT(command("mpirun --mca a b", ADSM_CLUSTER_OPEN_MPI_4, "x,localhost:2"),
		   "mpirun|--mca|a|b|--allow-run-as-root|--oversubscribe|--bind-to|none|--map-by|slot|"
		   "-x|ADSM_CLUSTER_KEY|-n|4|--host|localhost:3,x:1|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("/opt/mpi/bin/mpirun", ADSM_CLUSTER_OPEN_MPI_5, "localhost,x"),
		   "/opt/mpi/bin/mpirun|--allow-run-as-root|--bind-to|none|--map-by|slot:OVERSUBSCRIBE|-x|"
		   "ADSM_CLUSTER_KEY|-n|4|--host|localhost:2,x:2|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("mpirun", ADSM_CLUSTER_HYDRA, "localhost,x"),
		   "mpirun|-n|4|-hosts|localhost:2,x:2|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("mpirun", ADSM_CLUSTER_HYDRA, "localhost"),
		   "mpirun|-iface|lo|-n|4|-hosts|localhost:4|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("srun --mpi=pmix", ADSM_CLUSTER_SRUN, ""),
		   "srun|--mpi=pmix|--kill-on-bad-exit=1|--overlap|--cpu-bind=none|-n|4|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("srun", ADSM_CLUSTER_SRUN, "localhost,x"),
		   "srun|--kill-on-bad-exit=1|--overlap|--cpu-bind=none|-n|4|-w|localhost,x|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("start 'it now' -np %n -on=%h 100%% %p -v", ADSM_CLUSTER_OPEN_MPI_4, "localhost,x"),
		   "start|it now|-np|4|-on=localhost,x|100%|/lib exec/node|--nodes|4|-v");
	CHECK_TEXT(command("start -np %n", ADSM_CLUSTER_OTHER, ""), "start|-np|4|/lib exec/node|--nodes|4");
	CHECK_TEXT(command("start -np %x", ADSM_CLUSTER_OTHER, ""), "");
	CHECK_TEXT(command("start -np %", ADSM_CLUSTER_OTHER, ""), "");
}

static void check_local(void)
{
	CHECK(adsm_cluster_is_local("mpirun") && adsm_cluster_is_local("mpirun --mca btl_tcp_if_include eth0"));
	CHECK(!adsm_cluster_is_local("mpirun --hostfile hosts") && !adsm_cluster_is_local("mpirun -H a,b") &&
	      !adsm_cluster_is_local("mpiexec -machinefile m") && !adsm_cluster_is_local("mpiexec -f m"));
	CHECK(!adsm_cluster_is_local("mpirun --mca orte_default_hostfile f") &&
	      !adsm_cluster_is_local("mpirun --tune f"));
	setenv("SLURM_JOB_ID", "1", 1);
	CHECK(!adsm_cluster_is_local("mpirun"));
	unsetenv("SLURM_JOB_ID");
}

static void refused(const char *text, const char *because)
{
	struct adsm_cluster_hosts hosts;
	char why[512] = "";

	CHECK_EQ(adsm_cluster_hosts(text, 4, &hosts, why, sizeof(why)), -ENODEV);
	CHECKF(strstr(why, because), "%s", why);
}

static void check_hosts(const char *file)
{
	char own[256], text[512];
	FILE *out;

	CHECK(!gethostname(own, sizeof(own)));
	own[strcspn(own, ".")] = '\0';
	CHECK_TEXT(dealt("", 4), "");
	/* This machine is first, whatever it is called, and where it is not named. */
	CHECK_TEXT(dealt("a,b,localhost", 3), "localhost:1,a:1,b:1");
	CHECK_TEXT(dealt("a, 127.0.0.1:2 ,b", 4), "127.0.0.1:2,a:1,b:1");
	CHECK_TEXT(dealt("a,b", 3), "localhost:1,a:1,b:1");
	snprintf(text, sizeof(text), "a,%s.some.where:2", own);
	CHECK(!strncmp(dealt(text, 3), own, strlen(own)));
	/* Fewer nodes, more nodes, the same host again. */
	CHECK_TEXT(dealt("localhost,a,b", 2), "localhost:1,a:1");
	CHECK_TEXT(dealt("localhost:2,a", 1), "localhost:1");
	CHECK_TEXT(dealt("localhost,a:2", 7), "localhost:3,a:4");
	CHECK_TEXT(dealt("localhost,a,localhost,a", 4), "localhost:2,a:2");
	out = fopen(file, "w");
	CHECK(out && fputs("# hosts\n\na max_slots=8 slots=2\n  b:3   # big\nlocalhost\n", out) >= 0 && !fclose(out));
	CHECK_TEXT(dealt(file, 6), "localhost:1,a:2,b:3");
	CHECK(truncate(file, 0) == 0);
	refused(file, "contains no host");
	CHECK(!unlink(file));
	refused("/no/such/file", "cannot be read");
	refused("a,b:x", "'b:x' is not a valid host");
	refused("a,:4", "':4' is not a valid host");
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	CHECK(out && fputs(text, out) >= 0 && !fclose(out));
}

/* The text that the lookup finds; "": none. */
static const char *defaults(bool is_5)
{
	static char text[512];

	return adsm_cluster_default_hosts("mpirun", is_5, text, sizeof(text)) ? text : "";
}

/* A default hostfile, the system's parameters, the user's parameters, the environment: each before those before it. */
static void check_defaults_of(const char *folder, bool is_5)
{
	const char *const name = is_5 ? "prte" : "openmpi";
	char hostfile[128], system[128], user[128], home[128];

	snprintf(hostfile, sizeof(hostfile), "%.64s/%s-default-hostfile", folder, name);
	snprintf(system, sizeof(system), "%.64s/%s-mca-params.conf", folder, name);
	snprintf(home, sizeof(home), "%.64s/.%s", folder, name);
	snprintf(user, sizeof(user), "%.64s/.%s/mca-params.conf", folder, name);
	CHECK(!mkdir(home, 0700));
	CHECK_TEXT(defaults(is_5), "");
	write_file(hostfile, "# no host\n\n   # none\n");
	CHECK_TEXT(defaults(is_5), "");
	write_file(hostfile, "# hosts\n\n a slots=2\n");
	CHECK_TEXT(defaults(is_5), hostfile);
	write_file(system, is_5 ? "# x\nprte_default_hostfile = /system\n" : "# x\norte_default_hostfile = /system\n");
	CHECK_TEXT(defaults(is_5), "/system");
	write_file(user, is_5 ? "prte_default_hostfile=none" : "orte_default_hostfile=none");
	CHECK_TEXT(defaults(is_5), "");
	write_file(user, is_5 ? "x=y\n prte_default_hostfile = \"user\" \n#prte_default_hostfile = n\n" :
		   "x=y\n orte_default_hostfile = \"user\" \n#orte_default_hostfile = n\n");
	CHECK_TEXT(defaults(is_5), "./user");
	setenv(is_5 ? "PRTE_MCA_prte_default_hostfile" : "OMPI_MCA_orte_default_hostfile", "/environment", 1);
	CHECK_TEXT(defaults(is_5), "/environment");
	setenv(is_5 ? "PRTE_MCA_prte_default_dash_host" : "OMPI_MCA_orte_default_dash_host", "a,b:2", 1);
	CHECK_TEXT(defaults(is_5), "a,b:2");
	clearenv();
	CHECK(!unlink(hostfile) && !unlink(system) && !unlink(user) && !rmdir(home));
}

static void check_defaults(void)
{
	char folder[] = "./defaults.XXXXXX";

	CHECK(mkdtemp(folder));
	for (int is_5 = 0; is_5 < 2; is_5++) {
		clearenv();
		setenv("HOME", folder, 1);
		setenv("OPAL_SYSCONFDIR", folder, 1);
		check_defaults_of(folder, is_5);
	}
	CHECK(!rmdir(folder));
	/* What only Open MPI understands is left to it. */
	refused("a,^b", "'^b' is not a valid host");
	refused("+n0", "'+n0' is not a valid host");
}

static void check_environment(void)
{
	static const char *const go[] = { "LD_PRELOAD", "LD_AUDIT", "ADSM_BACKEND", "ADSM_CLUSTER_NODES", "PMIX_RANK",
					  "PMI_FD", "PMI_SIZE", "OMPI_COMM_WORLD_RANK",
					  "OMPI_UNIVERSE_SIZE", "HYDI_CONTROL_FD", "MPI_LOCALNRANKS" };
	char text[64];

	clearenv();
	for (size_t i = 0; i < sizeof(go) / sizeof(go[0]); i++)
		setenv(go[i], "1", 1);
	setenv("PATH", "/bin", 1);
	setenv("OMPI_MCA_orte_hnp_uri", "1", 1);
	setenv("UCX_TLS", "tcp", 1);
	adsm_cluster_clean_environment();
	for (size_t i = 0; i < sizeof(go) / sizeof(go[0]); i++)
		CHECKF(!getenv(go[i]), "%s", go[i]);
	/* In a job MPI's settings are that job's; else they are the user's. */
	CHECK(getenv("PATH") && getenv("UCX_TLS") && !getenv("OMPI_MCA_orte_hnp_uri"));
	/* UCX reads it before main() of a node that is linked with it. The user's value stays. */
	CHECK_TEXT(getenv("UCX_ERROR_SIGNALS") ? getenv("UCX_ERROR_SIGNALS") : "unset", "");
	setenv("UCX_ERROR_SIGNALS", "SIGILL", 1);
	adsm_cluster_clean_environment();
	CHECK_TEXT(getenv("UCX_ERROR_SIGNALS"), "SIGILL");
	setenv("OMPI_MCA_btl_tcp_if_include", "eth0", 1);
	setenv("PRTE_MCA_prte_if_include", "eth0", 1);
	adsm_cluster_clean_environment();
	CHECK(getenv("OMPI_MCA_btl_tcp_if_include") && getenv("PRTE_MCA_prte_if_include"));
	setenv("FI_PROVIDER", "absent", 1);
	adsm_cluster_transports(text, sizeof(text));
	CHECK_TEXT(text, "UCX_TLS=tcp, FI_PROVIDER=absent");
	clearenv();
	adsm_cluster_transports(text, sizeof(text));
	CHECK_TEXT(text, "");
}

/* Of what a launch command prints, the sentence that tells most. */
static struct adsm_cluster_job job;

static void said(const char *text, const char *want)
{
	char got[256];

	job.n = strlen(text);
	strcpy(job.tail, text);
	adsm_cluster_job_said(&job, got, sizeof(got));
	CHECK_TEXT(got, want);
}

static void check_said(void)
{
	said("", "");
	said("------\nThere are not\n enough slots.\n\nEither ask for\n------\n", "There are not enough slots");
	said("---\nfirst\n---\nadsm-cluster-node: no memory\n---\nx\n", "no memory");
	said("--\nPrimary job terminated normally\n--\n--\nmpirun noticed that process rank 1\non node a exited\n--\n",
	     "mpirun noticed that process rank 1 on node a exited");
	said("[1.0] [vm:1:0] parser.c:1908 UCX  WARN  unused env variable: X (set Y=n)\nFatal error\n", "Fatal error");
	said("no newline", "no newline");
	CHECK(!adsm_cluster_job_gave_up(&job));
	said("mpirun noticed that process rank 1 with PID 2", "mpirun noticed that process rank 1 with PID 2");
	CHECK(adsm_cluster_job_gave_up(&job));
	/* Output without end: the library stops listening in between. */
	job.output = open("/dev/zero", O_RDONLY);
	CHECK(job.output >= 0);
	alarm(30);
	CHECK(adsm_cluster_job_listen(&job));
	close(job.output);
}

/* The linker replaces the allocations of the code under test by these. The one that counts down to 0 fails. */
static unsigned n_left;

static bool fails(void)
{
	errno = n_left == 1 ? ENOMEM : errno;
	return n_left && !--n_left;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

/* Each allocation fails once: each time there is a sentence that does not blame the command. */
static void check_no_memory(void)
{
	static char *rest[] = { option_, n_, NULL };
	const struct adsm_cluster_start start = { "start -n %n -h %h %p", "here:2,there", "/node", "0:0", 3, 5, rest };
	struct adsm_cluster_door door = { .launch = "start" };
	unsigned n = 1;
	char **got;
	int ret;

	do {
		char why[512] = "";

		n_left = n;
		ret = adsm_cluster_start_command(&start, &door, "/tmp", &got, why, sizeof(why));
		CHECKF(!ret || *why, "allocation %u failed: error %d, and no sentence", n, ret);
		CHECKF(!ret || !strstr(why, "no command"), "allocation %u failed: %s", n, why);
	} while (ret && ++n);
	CHECK(n > 5);
	n_left = 0;
	adsm_cluster_words_free(got);
}

int main(int argc, char **argv)
{
	char file[64];

	snprintf(file, sizeof(file), "hosts.%d", getpid());
	check_words();
	check_launchers();
	check_commands();
	check_local();
	check_hosts(file);
	check_defaults();
	check_said();
	check_environment();
	check_no_memory();
	return 0;
}
