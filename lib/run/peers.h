/* SPDX-License-Identifier: MIT */
/*
 * peers.h - other processes that read and write this one's shared memory by the system's process_vm_readv() and
 * process_vm_writev(), as ranks of MPI on one machine do.
 *
 * The kernel refuses them pages that are closed. The other process's library sees that (interpose/libc/peer.c) and asks
 * this one, which makes the bytes present, or begins an input, and answers with the address of the alias. One thread
 * listens, and each question has a thread of its own.
 */
#ifndef ADSM_PEERS_H
#define ADSM_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "run/io.h"

#define ADSM_PEER_RANGES 64		/* in one question */
#define ADSM_PEER_PIECES ADSM_IO_ROOM(ADSM_PEER_RANGES)	/* in its answer */

/* Answer from now on, if this is a process of MPI's. The library works without, too. */
void adsm_peers_start(void);
/* There are no objects any longer. */
void adsm_peers_stop(void);

/* ---- the other side; any thread, signal handlers, whether the library has started here or not */

/*
 * Memory of another process is to be read, or written: to @ret_pieces comes where it is. -ENOENT: that process does
 * not answer; -ESRCH: it has ended; another negative errno: its memory cannot be had. To be ended in every other case.
 */
int adsm_peer_begin(int pid, bool write, const struct iovec *ranges, int n, struct iovec ret_pieces[ADSM_PEER_PIECES],
		    int *ret_n, int *ret_fd);
/* So many bytes were moved. 0 or a negative errno, as above; then they do not count. */
int adsm_peer_end(int pid, int fd, bool write, size_t delivered);

#endif
