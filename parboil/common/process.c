/* SPDX-License-Identifier: MIT */
/* process.c - never ends by a signal of its own, and leaves no temporary files. */
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

char pb_process_name[32];

static char folder[PATH_MAX - 64];	/* "" where there is none */

void pb_process_set_name(const char *name)
{
	snprintf(pb_process_name, sizeof(pb_process_name), "%s", name);
}

/* ---- files */

const char *pb_files_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	int error;

	if (folder[0])
		return folder;
	tmp = tmp && *tmp ? tmp : "/tmp";
	snprintf(folder, sizeof(folder), "%s/parboil-XXXXXX", tmp);
	if (!mkdtemp(folder)) {
		error = errno;
		folder[0] = '\0';
		pb_die("no folder for files in %s: %s", tmp, strerror(error));
	}
	atexit(pb_files_remove);
	return folder;
}

/* May run in a signal handler (snprintf() of these is in fact safe in glibc). The names are job.c's. */
void pb_files_remove(void)
{
	char path[PATH_MAX];

	if (!folder[0])
		return;
	for (unsigned i = 0; ; i++) {
		snprintf(path, sizeof(path), "%s/input.%u", folder, i);
		if (unlink(path))
			break;
	}
	snprintf(path, sizeof(path), "%s/output", folder);
	unlink(path);
	rmdir(folder);
	folder[0] = '\0';
}

void pb_files_keep(void)
{
	fprintf(stderr, "parboil: %s: files are in %s\n", pb_process_name, folder);
	folder[0] = '\0';
}

void pb_files_beside(char *ret_path, size_t size, const char *name)
{
	const bool whole = PB_INSTALLED[0] == '/';
	char self[PATH_MAX / 2], installed[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		pb_die("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(ret_path, size, "%s/%s", self, name);
	snprintf(installed, sizeof(installed), "%s%s%s/%s", whole ? "" : self, whole ? "" : "/", PB_INSTALLED, name);
	if (access(ret_path, R_OK) && !access(installed, R_OK))
		snprintf(ret_path, size, "%s", installed);
}

void pb_files_forget(void)
{
	folder[0] = '\0';
}

/* ---- signals */

static void lost(int signal, siginfo_t *info, void *context)
{
	static const char before[] = ": lost data at 0x", after[] = ": the device has died\n";
	char line[sizeof(before) + sizeof(after) + sizeof(pb_process_name) + 32] = "parboil: ";
	size_t n = strlen(line), name_length = strlen(pb_process_name);
	uintptr_t address = (uintptr_t)info->si_addr;

	memcpy(line + n, pb_process_name, name_length);
	n += name_length;
	memcpy(line + n, before, sizeof(before) - 1);
	n += sizeof(before) - 1;
	for (int shift = 60; shift >= 0; shift -= 4)
		if (!shift || address >> shift)
			line[n++] = "0123456789abcdef"[address >> shift & 15];
	memcpy(line + n, after, sizeof(after) - 1);
	n += sizeof(after) - 1;
	if (write(STDERR_FILENO, line, n) < 0)
		n = 0;		/* nobody is left to be told */
	pb_files_remove();
	_exit(1);
}

/* A signal that ends the program: its disposition is the default again. */
static void interrupted(int signal)
{
	pb_files_remove();
	raise(signal);
}

void pb_catch(int signal, const struct sigaction *action)
{
	struct sigaction old;

	if (!sigaction(signal, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(signal, action, NULL);
}

void pb_catch_signals(void)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
	struct sigaction action = { .sa_sigaction = lost, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
	action = (struct sigaction){ .sa_handler = interrupted, .sa_flags = SA_RESETHAND };
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		pb_catch(ends[i], &action);
}
