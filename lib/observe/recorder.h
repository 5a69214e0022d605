/* SPDX-License-Identifier: MIT */
/* recorder.h - writes a recording. The file is mapped, so a killed program leaves all events to its end. */
#pragma once

#include "core/observe.h"
#include "observe/recording.h"

struct adsm_record;

/* Begin a recording. Returns 0, or a negative errno with an error text. */
int adsm_recorder_open(const char *path);
/* End it, if there is one. */
void adsm_recorder_close(void);
bool adsm_recorder_runs(void);

/* Add an event. Signals are blocked. Also in the fault handler, and with the lock of a home. Without a recording it has
 * no effect. */
void adsm_recorder_put(enum adsm_recording_kind kind, unsigned detail, uint32_t object, uint64_t a, uint64_t b);
void adsm_recorder_act(const struct adsm_act *act);

/* ---- in ordinary code */

void adsm_recorder_made(const struct adsm_record *record);
void adsm_recorder_named(const struct adsm_record *record);
/* The object's counters, at its end or at the end of the recording. */
void adsm_recorder_counted(const struct adsm_record *record, const adsmStats *stats, bool freed);
void adsm_recorder_reset(void);
/* An object was made that has no record. */
void adsm_recorder_missed(void);
