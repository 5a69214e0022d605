/* SPDX-License-Identifier: MIT */
/*
 * peer.h - processes of one machine and user that ask each other: sockets, and how one finds the other's.
 *
 * The system chooses the socket's name. The thread that answers there bears it in its own name, where anybody can read
 * it and only that process can write it. Both ends look at who the other one is.
 */
#ifndef ADSM_PEER_H
#define ADSM_PEER_H

#include <stdbool.h>
#include <stddef.h>

#define ADSM_PEER_THREAD_SIZE 16	/* bytes of a thread's name, with its end */

/* A socket that listens, and the name for the thread that answers there. 0 or a negative errno. */
int adsm_peer_listen(int *ret_fd, char ret_thread[ADSM_PEER_THREAD_SIZE]);
/* The next connection, of this user's or root's; a negative errno: none, -EINVAL: nor later (adsm_peer_shut()). */
int adsm_peer_accept(int fd);
/* End what goes on at a socket. It stays open. 0 or a negative errno: it is none. */
int adsm_peer_shut(int fd);

/* A connection to a process that answers; -ENOENT: it is none. To be closed by adsm_peer_close(). */
int adsm_peer_connect(int pid);							/* [signal] */
void adsm_peer_close(int fd);							/* [signal] */
int adsm_peer_send(int fd, const void *data, size_t size);			/* [signal] */
/* False: the process has ended. */
bool adsm_peer_runs(int pid);							/* [signal] */
/*
 * The size of the next message, cut to @size; 0: the other one has left; or a negative errno. @pid: of whom; while
 * there is no message it is looked whether that still runs. 0: not known.
 */
long adsm_peer_receive(int fd, void *data, size_t size, int pid);		/* [signal] */

#endif
