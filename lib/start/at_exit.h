/* SPDX-License-Identifier: MIT */
/* at_exit.h - the end of the process, where a driver ends with it. */
#ifndef ADSM_AT_EXIT_H
#define ADSM_AT_EXIT_H

/*
 * A driver that ends in exit() has been initialised: before it ends, what only its devices have is fetched, and they
 * are lost from then on. Once counts: the first time, which is to be as soon after that as can be.
 */
void adsm_at_exit_watch(void);

#endif
