/* SPDX-License-Identifier: MIT */
/*
 * peers.h - other processes that read and write this process's shared memory by process_vm_readv() and
 * process_vm_writev(), as ranks of MPI on one machine do.
 *
 * The kernel refuses to do this for closed pages. The other process's library notices that (interpose/libc/peer.c) and
 * asks this process, which fetches the bytes or begins an input, and answers with addresses in the alias. One thread
 * listens, and each request has a thread of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "run/copy/io.h"

#define ADSM_PEER_RANGES 64		/* in one request */
#define ADSM_PEER_PIECES ADSM_IO_ROOM(ADSM_PEER_RANGES)	/* in the answer */

/* Answer requests from now on, if this process belongs to MPI. A failure is not an error of the library's start. */
void adsm_peers_start(void);
/* Stop answering. There are no objects any longer. */
void adsm_peers_stop(void);

/* ---- the asking side; any thread, signal handlers, also if the library has not started in this process */

/*
 * Begin to read or write memory of another process: get the addresses for it, in @ret_pieces. Returns -ENOENT if that
 * process does not answer, and another negative errno if its memory is not accessible. After success the caller must
 * call adsm_peer_end().
 */
int adsm_peer_begin(int pid, bool write, const struct iovec *ranges, int n, struct iovec ret_pieces[ADSM_PEER_PIECES],
		    int *ret_n, int *ret_fd);
/* End it: @delivered bytes were moved. Returns 0, or a negative errno if the bytes are not there. */
int adsm_peer_end(int pid, int fd, bool write, size_t delivered);
