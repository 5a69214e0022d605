/* SPDX-License-Identifier: MIT */
/*
 * once/deadlock.h - waits that nobody can end any more, as far as that can be known: all threads of the program sleep,
 * in waits for units or until another thread of the process does something, no handler of a signal could run, and what
 * runs on devices waits for units, too. A thread of the library's looks, while somebody waits long.
 */
#ifndef ADSM_ONCE_DEADLOCK_H
#define ADSM_ONCE_DEADLOCK_H

/* With the table in place; before that is gone. */
int adsm_deadlock_start(void);
void adsm_deadlock_stop(void);

#endif
