/* SPDX-License-Identifier: MIT */
/*
 * peer.h - requests between processes of one machine and one user: sockets, and how a process finds another one's
 * socket.
 *
 * The system chooses the socket's name. The thread that answers has this name as a part of its own name, which all
 * processes can read and only its process can write. Both ends check which process is at the other end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ADSM_PEER_THREAD_SIZE 16	/* bytes of a thread's name, with its end */

/* Make a socket that listens, and the name of the thread that answers there. 0 or a negative errno. */
int adsm_peer_listen(int *ret_fd, char ret_thread[ADSM_PEER_THREAD_SIZE]);
/* Wait for the next connection, of this user or of root. Negative errno: no connection; -EINVAL: there will be none any
 * more (adsm_peer_shut()). */
int adsm_peer_accept(int fd);
/* End all operations on a socket, which stays open. 0, or a negative errno: it is not a socket. */
int adsm_peer_shut(int fd);

/* Connect to a process that answers; -ENOENT: it does not answer. adsm_peer_close() closes the connection. */
int adsm_peer_connect(int pid);							/* [signal] */
void adsm_peer_close(int fd);							/* [signal] */
/* The process at the other end, which has connected; 0: not known. */
int adsm_peer_process(int fd);							/* [signal] */
int adsm_peer_send(int fd, const void *data, size_t size);			/* [signal] */
/* False: the process has ended. */
bool adsm_peer_runs(int pid);							/* [signal] */
/*
 * Wait for the next message. Returns its size, cut to @size; 0: the other process has closed the connection; or a
 * negative errno. @pid: the other process; while there is no message, the function checks that it still runs. 0: not
 * known.
 */
long adsm_peer_receive(int fd, void *data, size_t size, int pid);		/* [signal] */
