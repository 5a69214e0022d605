/* SPDX-License-Identifier: MIT */
/* node/handler.h - the signals by which touches come, SIGSEGV and SIGBUS, shared with who had them before. */
#ifndef ADSM_CLUSTER_HANDLER_H
#define ADSM_CLUSTER_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

/* In the handler, all signals blocked, on the thread's alternate stack. False: it is not for us. */
typedef bool adsm_touch_handler(int sig, uintptr_t address, bool write);

/* Also once more, which takes them back from who has taken them meanwhile, and is forwarded to then. */
int adsm_handler_take(adsm_touch_handler *handler);
/* If they are still ours. */
void adsm_handler_give_back(void);

#endif
