/* SPDX-License-Identifier: MIT */
/* process.h - the process as a whole: its name in messages, its temporary files, and what ends it. */
#ifndef PARBOIL_PROCESS_H
#define PARBOIL_PROCESS_H

#include <signal.h>
#include <stddef.h>

/* What this process works on, for messages: a benchmark's name, or "". */
extern char pb_process_name[32];
void pb_process_set_name(const char *name);

/* A folder for this process's files. pb_files_remove() removes it with its files, input.0, input.1, ... and
 * output, as does the end of the process by exit() or by a signal that can be caught; pb_files_keep() leaves
 * it, and says where it is. */
const char *pb_files_folder(void);
void pb_files_keep(void);
void pb_files_remove(void);
/* The path of a file beside the program, <folder of the program>/@name, or in the folder where such are installed. */
void pb_files_beside(char *ret_path, size_t size, const char *name);
/* In a child: the files are its parent's. */
void pb_files_forget(void);

/* Set what a signal does, but leave one alone that is ignored, as by nohup(1). */
void pb_catch(int signal, const struct sigaction *action);
/* From now on a signal that ends the process removes its files first, and SIGBUS, an access that the library
 * could not serve, is one clear line. Before adsmInit(), which keeps the handlers it finds. */
void pb_catch_signals(void);

#endif
