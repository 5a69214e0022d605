/* SPDX-License-Identifier: MIT */
/* runtime_text.h - the C text that modules begin with: the files runtime*.h. */
#ifndef ADSM_PTX_RUNTIME_TEXT_H
#define ADSM_PTX_RUNTIME_TEXT_H

extern const char adsm_ptx_runtime_text[];

#endif
