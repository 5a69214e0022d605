/* SPDX-License-Identifier: MIT */
/*
 * warnings.h - what a program should know without having asked: gross cases only, a line each, few lines. Always on,
 * and made of what is counted anyhow.
 */
#ifndef ADSM_WARNINGS_H
#define ADSM_WARNINGS_H

struct adsm_object;

/* An object's blocks are written again after they were sent early; fetched again and again: told where it is gross. */
void adsm_judge_again(struct adsm_object *object);
void adsm_judge_fetches(struct adsm_object *object);

/* The library ends: was it mostly moving data? Once in a process. */
void adsm_warn_at_end(void);

#endif
