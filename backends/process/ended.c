/* SPDX-License-Identifier: MIT */
/* ended.c - how a process has ended, from /proc and its pidfd. */
#include "ended.h"

#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"

#define REAPED_TIMEOUT_MS 200		/* mostly the parent of an orphan, such as init, waits for it immediately */

/* From linux/pidfd.h, which is newer than the headers of the oldest system that the library builds on. */
struct pidfd_info_v0 {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};
#define PIDFD_GET_INFO_V0 _IOWR(0xFF, 11, struct pidfd_info_v0)
#define PIDFD_INFO_EXIT_BIT (UINT64_C(1) << 3)

/* Find the status that wait() would return: from /proc until the parent has waited for the process, then from the pidfd
 * if it keeps the status. */
static bool find_status(pid_t pid, int pidfd, int *ret_status)
{
	/* No events: ends with POLLHUP after the parent has waited for the process. */
	struct pollfd polled = { .fd = pidfd };
	struct pidfd_info_v0 info = { .mask = PIDFD_INFO_EXIT_BIT };
	char path[32], text[1024];
	const char *at;
	int status = 0;

	if (pidfd < 0)
		return false;
	poll(&polled, 1, REAPED_TIMEOUT_MS);
	if (!ioctl(pidfd, PIDFD_GET_INFO_V0, &info) && info.mask & PIDFD_INFO_EXIT_BIT) {
		*ret_status = info.exit_code;
		return true;
	}
	adsm_format(path, sizeof(path), "/proc/%d/stat", pid);
	at = strrchr(adsm_os_read_text(path, text, sizeof(text)), ')');
	if (!at || at[2] != 'Z')
		return false;
	/* The status is the last field; it is also 0 if this process has no permission to read it. */
	for (at = text; (at = strchr(at, ' '));)
		status = atoi(++at);
	*ret_status = status;
	return status;
}

int adsm_process_how_status(int status, char *ret_text, size_t size)
{
	if (WIFSIGNALED(status))
		return adsm_format(ret_text, size, "was killed by signal %d (%s)", WTERMSIG(status),
				   sigdescr_np(WTERMSIG(status)));
	return adsm_format(ret_text, size, "has exited with status %d", WEXITSTATUS(status));
}

void adsm_process_how_ended(pid_t pid, int pidfd, uint64_t oom_kills, const char *option, char *ret_text, size_t size)
{
	uint64_t killed = adsm_os_oom_kills() - oom_kills;
	bool known;
	int status, n;

	known = find_status(pid, pidfd, &status);
	if (known)
		n = adsm_process_how_status(status, ret_text, size);
	else
		n = adsm_format(ret_text, size, "was killed or has exited");
	if (killed && !(known && WIFEXITED(status)) && (size_t)n < size)
		adsm_format(ret_text + n, size - (size_t)n, ", and the system has killed %" PRIu64 " process%s for "
			    "lack of memory since the device was opened (%s)", killed, killed == 1 ? "" : "es", option);
}

void adsm_process_who_sent(int signal, pid_t sender, uid_t user, char *ret_text, size_t size)
{
	char path[32], name[32];

	if (!sender) {
		adsm_format(ret_text, size, "SIG%s, which the system sent, or a process outside of this PID namespace",
			    sigabbrev_np(signal));
		return;
	}
	adsm_format(path, sizeof(path), "/proc/%d/comm", sender);
	adsm_os_read_text(path, name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	adsm_format(ret_text, size, "SIG%s, which process %d (%s) of user %u sent", sigabbrev_np(signal), sender,
		    *name ? name : "already ended", user);
}

void adsm_process_how_crashed(const struct adsm_process_crash *crash, char *ret_text, size_t size)
{
	const int signal = (int)atomic_load(&crash->signal);
	int n;

	if (crash->sent) {
		n = adsm_format(ret_text, size, "was ended by ");
		adsm_process_who_sent(signal, (pid_t)crash->sender, crash->user, ret_text + n, size - (size_t)n);
	} else {
		adsm_format(ret_text, size, "crashed with SIG%s at address %p, outside of kernels",
			    sigabbrev_np(signal), (void *)crash->address);
	}
}
