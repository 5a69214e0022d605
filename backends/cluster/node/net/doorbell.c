/* SPDX-License-Identifier: MIT */
/* node/net/doorbell.c - how nodes on one machine wake each other. */
#include "doorbell.h"

#include "base/os.h"
#include "runs.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

struct doorbell {
	_Alignas(64) _Atomic uint32_t count;	/* futex */
	_Atomic uint32_t asleep;		/* a thread may be sleeping on it */
};

/* The file whose memory the nodes of a machine share; the first of them makes it. */
struct shared_file {
	uint64_t token;
	int pid, fd, rank;
};

static struct doorbell alone;
static struct doorbell *mine = &alone;
static struct doorbell **doorbells;	/* by rank; NULL: the node is on another machine */
static int n_here = 1;
static bool reaches_all;

/* Map the file of the first node. That process may be in another container, which MPI does not show: so the file must
 * begin with the token. */
static struct doorbell *map_shared(const struct shared_file *first, size_t size)
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

void adsm_doorbell_start(int rank, int n)
{
	struct shared_file self = { .fd = -1, .pid = getpid(), .rank = rank }, *files;
	struct doorbell *shared;
	size_t size;
	MPI_Comm here;
	int me, reached;

	doorbells = adsm_node_table((size_t)n * sizeof(struct doorbell *));
	doorbells[rank] = mine;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
	MPI_Comm_size(here, &n_here);
	MPI_Comm_rank(here, &me);
	/* The token is before the doorbells. */
	size = ((size_t)n_here + 1) * sizeof(struct doorbell);
	size = (size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	self.token = adsm_os_now_ns() ^ (uint64_t)self.pid << 32;
	if (!me && (adsm_os_memfd("bells", size, &self.fd) || pwrite(self.fd, &self.token, sizeof(self.token), 0) < 0))
		self.fd = -1;
	files = adsm_node_memory(NULL, (size_t)n_here * sizeof(*files));
	MPI_Allgather(&self, sizeof(self), MPI_BYTE, files, sizeof(self), MPI_BYTE, here);
	shared = files[0].fd < 0 ? NULL : map_shared(&files[0], size);
	reached = shared != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &reached, 1, MPI_INT, MPI_MIN, here);
	for (int i = 0; reached && i < n_here; i++)
		doorbells[files[i].rank] = &shared[i + 1];
	mine = doorbells[rank];
	reaches_all = reached && n_here == n;
	MPI_Comm_free(&here);
}

int adsm_doorbell_n_here(void)
{
	return n_here;
}

bool adsm_doorbell_reaches_all(void)
{
	return reaches_all;
}

void adsm_doorbell_ring(int rank)
{
	struct doorbell *doorbell = doorbells[rank];

	if (!doorbell)
		return;
	atomic_fetch_add(&doorbell->count, 1);
	if (atomic_load(&doorbell->asleep))
		adsm_os_wake(&doorbell->count, 1, true);
}

uint32_t adsm_doorbell_count(void)
{
	return atomic_load(&mine->count);
}

bool adsm_doorbell_sleep(uint32_t count, uint64_t most_ns)
{
	atomic_store(&mine->asleep, 1);
	adsm_os_wait(&mine->count, count, most_ns, true);
	atomic_store(&mine->asleep, 0);
	return atomic_load(&mine->count) == count;
}
