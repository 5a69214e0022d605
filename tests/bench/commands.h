/* SPDX-License-Identifier: MIT */
/* commands.h - a part of the benchmark scratchpad: what kernels ask of the program. The library has not started. */
#ifndef BENCH_COMMANDS_H
#define BENCH_COMMANDS_H

void bench_commands(void);

#endif
