/* SPDX-License-Identifier: MIT */
/* join.c - the cards of nodes, and how node 0 sends them to the keeper. */
#include "join.h"

#include "base/log.h"
#include "base/os.h"
#include "base/processor.h"
#include "process/greet.h"
#include "process/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

void adsm_cluster_card(struct adsm_cluster_card *ret_card)
{
	struct utsname name;

	memset(ret_card, 0, sizeof(*ret_card));
	ret_card->magic = ADSM_CLUSTER_MAGIC;
	ret_card->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	snprintf(ret_card->library, sizeof(ret_card->library), "%s", adsm_process_version);
	uname(&name);
	snprintf(ret_card->machine, sizeof(ret_card->machine), "%.15s", name.machine);
	snprintf(ret_card->host, sizeof(ret_card->host), "%.63s", name.nodename);
	snprintf(ret_card->libc, sizeof(ret_card->libc), "%.15s", gnu_get_libc_version());
	adsm_os_read_text("/proc/sys/kernel/random/boot_id", ret_card->boot, sizeof(ret_card->boot));
	ret_card->boot[strcspn(ret_card->boot, "\n")] = '\0';
	ret_card->cores = adsm_os_n_cpus();
	ret_card->levels = adsm_processor_levels();
	ret_card->pid = (uint32_t)getpid();
}

static bool is_older(const char *libc, const char *than)
{
	unsigned major = 0, minor = 0, than_major = 0, than_minor = 0;

	sscanf(libc, "%u.%u", &major, &minor);
	sscanf(than, "%u.%u", &than_major, &than_minor);
	return major < than_major || (major == than_major && minor < than_minor);
}

int adsm_cluster_check(const struct adsm_cluster_card *card, uint32_t i, uint32_t n,
		       const struct adsm_cluster_card *here, char ret_why[ADSM_CLUSTER_WHY])
{
	const char *what = NULL, *has = "", *wants = "";
	char pages[2][16];

	snprintf(pages[0], sizeof(pages[0]), "%u", card->page_size);
	snprintf(pages[1], sizeof(pages[1]), "%u", here->page_size);
	if (card->magic != ADSM_CLUSTER_MAGIC)
		what = "has another kind of node program";
	else if (strcmp(card->library, here->library))
		what = "has another version of the library", has = card->library, wants = here->library;
	else if (strcmp(card->machine, here->machine))
		what = "has another type of processor", has = card->machine, wants = here->machine;
	else if (card->page_size != here->page_size)
		what = "has pages of another size", has = pages[0], wants = pages[1];
	else if (is_older(card->libc, here->libc))
		what = "has an older C library (kernels may not load there)", has = card->libc, wants = here->libc;
	if (what) {
		adsm_format(ret_why, ADSM_CLUSTER_WHY, "node %u of %u (%s) %s than this machine (%s)%s%s%s%s", i, n,
			    *card->host ? card->host : "unknown host", what, here->host, *has ? ": " : "", has,
			    *has ? ", not " : "", wants);
		return -ENODEV;
	}
	if (!i && strcmp(card->boot, here->boot)) {
		adsm_format(ret_why, ADSM_CLUSTER_WHY, "node 0 was started on %s, but it must run on the application's "
			    "machine: make %s the first host (ADSM_CLUSTER_HOSTS)", card->host, here->host);
		return -ENODEV;
	}
	if (!card->error)
		return 0;
	adsm_format(ret_why, ADSM_CLUSTER_WHY, "node %u of %u (%s): %s", i, n, card->host,
		    *card->why ? card->why : strerror(-card->error));
	return card->error;
}

/* ---- nodes */

/* A launcher may have passed the node a descriptor with a number that the application's descriptors get here. Such a
 * descriptor is moved, and the variable that names it is changed. */
static void free_number(const char *name)
{
	const char *text = getenv(name);
	int fd = text ? atoi(text) : -1;
	char number[16];

	if (fd != ADSM_PROCESS_SOCKET && fd != ADSM_PROCESS_APPLICATION)
		return;
	snprintf(number, sizeof(number), "%d", fcntl(fd, F_DUPFD, ADSM_PROCESS_KEPT));
	setenv(name, number, 1);
}

/* With these settings MPI communicates by shared memory only, and does not even open a port. Each MPI ignores the
 * settings of the others. */
static void set_no_network(const char *mpi)
{
	const char *const open_mpi = strstr(mpi, "Open MPI v");

	setenv("OMPI_MCA_pml", "ob1", 0);
	setenv("OMPI_MCA_btl", open_mpi && atoi(open_mpi + strlen("Open MPI v")) < 5 ? "self,vader" : "self,sm", 0);
	setenv("UCX_TLS", "self,sm", 0);
	setenv("FI_PROVIDER", "shm", 0);
}

void adsm_cluster_prepare(const char *path, const char *mpi, bool all_here)
{
	/*
	 * MPI's own handlers of SIGSEGV would get the faults of tracked pages. Copies directly from another process's
	 * memory would fail at pages that are closed. Nodes do not wait inside MPI, but sleep between two checks; a
	 * node that yields the processor at each check does not get it back when a message arrives. Messages of a few
	 * pages are sent immediately, without a handshake.
	 */
	static const char *const settings[][2] = {
		{ "OMPI_MCA_opal_signal", "6,7,8" },
		{ "OMPI_MCA_btl_vader_single_copy_mechanism", "none" },
		{ "OMPI_MCA_btl_vader_eager_limit", "73728" },
		{ "OMPI_MCA_btl_sm_eager_limit", "73728" },
		{ "OMPI_MCA_smsc", "^cma,knem,xpmem" },
		{ "OMPI_MCA_mpi_yield_when_idle", "0" },
		/* Open MPI loads UCX later. Elsewhere UCX has read it: adsm_cluster_clean_environment(). */
		{ "UCX_ERROR_SIGNALS", "" },
	};
	char folder[PATH_MAX];
	int fd;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		setenv(settings[i][0], settings[i][1], 0);
	if (all_here)
		set_no_network(mpi);
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') ? strrchr(path, '/') - path : 0), path);
	if (*folder && !access(folder, W_OK)) {
		setenv("OMPI_MCA_btl_vader_backing_directory", folder, 1);
		setenv("OMPI_MCA_btl_sm_backing_directory", folder, 1);
		setenv("TMPDIR", folder, 1);
	}
	free_number("PMI_FD");
	free_number("HYDI_CONTROL_FD");
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < ADSM_PROCESS_APPLICATION);
}

static int receive_answer(int sock, char ret_why[ADSM_CLUSTER_WHY])
{
	static const int numbers[] = { ADSM_PROCESS_SOCKET, ADSM_PROCESS_APPLICATION };
	struct adsm_cluster_joined answer;
	int fds[ADSM_PROCESS_MAX_FDS], ret = adsm_process_receive(sock, &answer, sizeof(answer), fds);

	if (!ret && answer.magic != ADSM_CLUSTER_MAGIC)
		ret = -EPROTO;
	if (ret)
		adsm_format(ret_why, ADSM_CLUSTER_WHY, "the keeper did not answer node 0: %s", strerror(-ret));
	else
		adsm_format(ret_why, ADSM_CLUSTER_WHY, "%s", answer.why);
	if (ret || answer.error)
		return ret ? ret : answer.error;
	for (int i = 0; i < 2; i++) {
		close(numbers[i]);
		if (fds[i] >= 0 && dup2(fds[i], numbers[i]) < 0)
			return -errno;
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return 0;
}

int adsm_cluster_join(const char *path, const char *token, uint32_t n_nodes, const struct adsm_cluster_card *cards,
		      char ret_why[ADSM_CLUSTER_WHY])
{
	struct adsm_cluster_joining joining = { .magic = ADSM_CLUSTER_MAGIC, .n_nodes = n_nodes };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), ret;

	if (sock < 0)
		return -errno;
	snprintf(joining.token, sizeof(joining.token), "%s", token);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address))) {
		ret = -errno;
		adsm_format(ret_why, ADSM_CLUSTER_WHY, "node 0 was started on %s and cannot connect to the application "
			    "(%s: %s): make the application's machine the first host (ADSM_CLUSTER_HOSTS)",
			    cards[0].host, path, strerror(-ret));
		goto close_sock;
	}
	ret = adsm_process_send(sock, &joining, sizeof(joining), NULL, 0);
	for (uint32_t i = 0; i < n_nodes && !ret; i++)
		ret = adsm_process_send(sock, &cards[i], sizeof(cards[i]), NULL, 0);
	/* The keeper may have answered and closed the socket before it has read everything. */
	if (!ret || ret == -EPIPE)
		ret = receive_answer(sock, ret_why);
close_sock:
	close(sock);
	return ret;
}
