/* SPDX-License-Identifier: MIT */
/* os_linux.c - os.h on Linux: waiting, time, identity, files, and the memory limits of control groups. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/syscall.h"

/* ---- waiting, time, identity */

_Thread_local struct adsm_os_patience adsm_os_patience;

int adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared)
{
	struct timespec timeout;

	if (adsm_os_patience.until_ns) {
		uint64_t now = adsm_os_now_ns(), until = adsm_os_patience.until_ns;

		if (now >= until)
			adsm_os_patience.over();
		if (!timeout_ns || timeout_ns > until - now)
			timeout_ns = until - now;
	}
	timeout = (struct timespec){ (time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000) };
	return (int)sys(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value,
			timeout_ns ? &timeout : NULL);
}

void adsm_os_wake(_Atomic uint32_t *word, int n, bool shared)
{
	sys(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, n);
}

uint64_t adsm_os_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);	/* in the vDSO: no system call */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void adsm_os_sleep_until_ns(uint64_t when_ns)
{
	struct timespec when = { (time_t)(when_ns / 1000000000), (long)(when_ns % 1000000000) };

	while (sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == -EINTR)
		;
}

int adsm_os_thread_id(void)
{
	return (int)sys(SYS_gettid);
}

unsigned adsm_os_n_cpus(void)
{
	unsigned long mask[128] = { 0 };	/* as many processors as Linux supports */
	long size = sys(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	unsigned n = 0;

	for (long i = 0; i < size / (long)sizeof(mask[0]); i++)
		n += (unsigned)__builtin_popcountl(mask[i]);
	return n ? n : 1;
}

unsigned adsm_os_cpu(void)
{
	return (unsigned)sched_getcpu();
}

const char *adsm_os_getenv(const char *name)
{
	return secure_getenv(name);
}

bool adsm_os_is_privileged(void)
{
	return getauxval(AT_SECURE);
}

/* ---- files */

const char *adsm_os_read_text(const char *path, char *buffer, size_t size)
{
	long fd = sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), n;
	size_t length = 0;

	if (fd >= 0) {
		while (length < size - 1 &&
		       (n = sys(SYS_read, fd, buffer + length, size - 1 - length)) > 0)
			length += (size_t)n;
		sys(SYS_close, fd);
	}
	buffer[length] = '\0';
	return buffer;
}

int adsm_os_write(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		long n = sys(SYS_write, fd, p, size);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* ---- memory that may still be allocated */

/* The number after @key at the start of a line of @text; UINT64_MAX: there is none. */
static uint64_t number_after(const char *text, const char *key)
{
	size_t length = strlen(key);
	char *end;

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
		if (!strncmp(line, key, length)) {
			uint64_t value = strtoull(line + length, &end, 10);

			return end == line + length ? UINT64_MAX : value;
		}
	}
	return UINT64_MAX;
}

/* A version of control groups: where it is mounted, and the names of its files. */
struct cgroup_files {
	const char *mount, *limit, *used, *cache, *events;
};

/* Buffers for files, not on the stack, which may be small. */
struct room {
	char groups[4096], path[PATH_MAX], text[16384];
};

/* The path of the next memory group in lines "number:controllers:path"; NULL: there is none. In version 2 the
 * controllers are empty. */
static const char *next_group(const char **line, const struct cgroup_files **ret_files)
{
	static const struct cgroup_files v1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
						"memory.usage_in_bytes", "total_inactive_file", "memory.oom_control" };
	static const struct cgroup_files v2 = { "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
						"memory.events" };

	while (*line && **line) {
		const char *names = strchr(*line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		const char *memory = names ? strstr(names, "memory") : NULL;

		*line = strchr(*line, '\n');
		*line += !!*line;
		if (!path)
			break;
		if (path == names + 1 || (memory && memory < path)) {
			*ret_files = path == names + 1 ? &v2 : &v1;
			return path + 1;
		}
	}
	return NULL;
}

/* The number after @key in a file of the group whose path is the first @length bytes of @path; or UINT64_MAX. */
static uint64_t group_number(struct room *room, const struct cgroup_files *files, const char *path, size_t length,
			     const char *name, const char *key)
{
	char *p;

	if (strlen(files->mount) + length + 64 >= PATH_MAX)
		return UINT64_MAX;
	p = mempcpy(stpcpy(room->path, files->mount), path, length);
	*p++ = '/';
	strcpy(p, name);
	return number_after(adsm_os_read_text(room->path, room->text, sizeof(room->text)), key);
}

/* The bytes that the group at @path, and all groups above it, have left. File cache that can be dropped does not count
 * as used. */
static uint64_t group_available(struct room *room, const struct cgroup_files *files, const char *path)
{
	uint64_t least = UINT64_MAX;

	for (size_t end = strcspn(path, "\n");; end--) {
		uint64_t limit = group_number(room, files, path, end, files->limit, "");
		uint64_t used = group_number(room, files, path, end, files->used, "");
		uint64_t cache = group_number(room, files, path, end, "memory.stat", files->cache);

		if (limit != UINT64_MAX && used != UINT64_MAX) {
			if (cache != UINT64_MAX && cache < used)
				used -= cache;
			limit = limit > used ? limit - used : 0;
			if (limit < least)
				least = limit;
		}
		while (end && path[end - 1] != '/')
			end--;
		if (!end)
			return least;
	}
}

uint64_t adsm_os_memory_available(void)
{
	struct room *room = malloc(sizeof(*room));
	const struct cgroup_files *files;
	const char *line, *path;
	uint64_t least, group;
	int saved_errno = errno;

	if (!room)
		return UINT64_MAX;
	least = number_after(adsm_os_read_text("/proc/meminfo", room->text, sizeof(room->text)), "MemAvailable:");
	if (least != UINT64_MAX)
		least *= 1024;
	line = adsm_os_read_text("/proc/self/cgroup", room->groups, sizeof(room->groups));
	while ((path = next_group(&line, &files))) {
		group = group_available(room, files, path);
		if (group < least)
			least = group;
	}
	free(room);
	errno = saved_errno;
	return least;
}

uint64_t adsm_os_oom_kills(void)
{
	struct room *room = malloc(sizeof(*room));
	const struct cgroup_files *files;
	const char *line, *path;
	uint64_t number = UINT64_MAX;
	int saved_errno = errno;

	if (!room)
		return 0;
	line = adsm_os_read_text("/proc/self/cgroup", room->groups, sizeof(room->groups));
	while (number == UINT64_MAX && (path = next_group(&line, &files)))
		number = group_number(room, files, path, strcspn(path, "\n"), files->events, "oom_kill ");
	if (number == UINT64_MAX)
		number = number_after(adsm_os_read_text("/proc/vmstat", room->text, sizeof(room->text)), "oom_kill ");
	free(room);
	errno = saved_errno;
	return number == UINT64_MAX ? 0 : number;
}
