/* SPDX-License-Identifier: MIT */
/* node/net/bell.c - how nodes on one machine wake each other. */
#include "bell.h"

#include "base/os.h"
#include "runs.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

struct bell {
	_Alignas(64) _Atomic uint32_t count;	/* futex */
	_Atomic uint32_t asleep;		/* a thread may be sleeping on it */
};

/* The file whose memory the nodes of a machine share; the first of them makes it. */
struct place {
	uint64_t token;
	int pid, fd, rank;
};

static struct bell alone;
static struct bell *mine = &alone;
static struct bell **bells;		/* by rank; NULL: the node is on another machine */
static int n_here = 1;
static bool reaches_all;

/*
 * Map the file of the first node. That process may be in another container, which MPI does not show: so the file must
 * begin with the token.
 */
static struct bell *map(const struct place *first, size_t size)
{
	char path[64];
	void *p = NULL;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", first->pid, first->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (lseek(fd, 0, SEEK_END) != (off_t)size || adsm_os_map(NULL, size, fd, 0, ADSM_PROT_RW, &p))
		p = NULL;
	close(fd);
	return p && *(uint64_t *)p == first->token ? p : NULL;
}

void adsm_bell_start(int rank, int n)
{
	struct place self = { .fd = -1, .pid = getpid(), .rank = rank }, *places;
	struct bell *shared;
	size_t size;
	MPI_Comm here;
	int me, reached;

	bells = adsm_node_table((size_t)n * sizeof(struct bell *));
	bells[rank] = mine;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
	MPI_Comm_size(here, &n_here);
	MPI_Comm_rank(here, &me);
	/* The token is before the bells. */
	size = ((size_t)n_here + 1) * sizeof(struct bell);
	size = (size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	self.token = adsm_os_now_ns() ^ (uint64_t)self.pid << 32;
	if (!me && (adsm_os_memfd("bells", size, &self.fd) || pwrite(self.fd, &self.token, sizeof(self.token), 0) < 0))
		self.fd = -1;
	places = adsm_node_memory(NULL, (size_t)n_here * sizeof(*places));
	MPI_Allgather(&self, sizeof(self), MPI_BYTE, places, sizeof(self), MPI_BYTE, here);
	shared = places[0].fd < 0 ? NULL : map(&places[0], size);
	reached = shared != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &reached, 1, MPI_INT, MPI_MIN, here);
	for (int i = 0; reached && i < n_here; i++)
		bells[places[i].rank] = &shared[i + 1];
	mine = bells[rank];
	reaches_all = reached && n_here == n;
	MPI_Comm_free(&here);
}

int adsm_bell_n_here(void)
{
	return n_here;
}

bool adsm_bell_reaches_all(void)
{
	return reaches_all;
}

void adsm_bell_ring(int rank)
{
	struct bell *bell = bells[rank];

	if (!bell)
		return;
	atomic_fetch_add(&bell->count, 1);
	if (atomic_load(&bell->asleep))
		adsm_os_wake(&bell->count, 1, true);
}

uint32_t adsm_bell_count(void)
{
	return atomic_load(&mine->count);
}

bool adsm_bell_sleep(uint32_t count, uint64_t most_ns)
{
	atomic_store(&mine->asleep, 1);
	adsm_os_wait(&mine->count, count, most_ns, true);
	atomic_store(&mine->asleep, 0);
	return atomic_load(&mine->count) == count;
}
