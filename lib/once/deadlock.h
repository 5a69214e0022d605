/* SPDX-License-Identifier: MIT */
/*
 * once/deadlock.h - finds waits that nothing can end any more, as far as this can be known: all threads of the program
 * sleep, in waits for units or until another thread of the process acts; no signal handler could run; and kernels on
 * devices wait for units, too. A helper thread looks for this while a wait lasts long.
 */
#pragma once

/* Start after the table is made; stop before it is unmapped. */
int adsm_deadlock_start(void);
void adsm_deadlock_stop(void);
