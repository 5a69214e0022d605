/* SPDX-License-Identifier: MIT */
/* node/uffd.h - tracker: userfaultfd, stores noted by the system. */
#ifndef ADSM_CLUSTER_UFFD_H
#define ADSM_CLUSTER_UFFD_H

#include "tracker.h"

extern const struct adsm_tracker adsm_tracker_uffd;

#endif
