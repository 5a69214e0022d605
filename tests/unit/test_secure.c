/* SPDX-License-Identifier: MIT */
/* test_secure.c - a set-user-ID program: nothing that its caller's environment names is loaded into it. */
#include "backend.h"
#include "cache.h"
#include "translate/compiler.h"

#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core.h"
#include "start/options.h"

#define NOBODY 65534

static int skip(const char *why)
{
	puts(why);
	fflush(stdout);
	return 77;
}

/* Is a library with this in its name mapped? */
static bool is_loaded(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 100];
	bool found = false;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	fclose(maps);
	return found;
}

/* @self: a file that is there, which is all that is asked of the device's program. */
static int privileged(const char *self)
{
	static const char *const drivers[] = { "opencl", "cuda" };
	const struct adsm_cache cache = { "test", "/tmp", 0 };
	static struct adsm_compiler compiler;
	const struct adsm_backend *found;
	void *data;
	size_t size;
	int n;

	if (!getauxval(AT_SECURE))
		return skip("this file system does not let programs be set-user-ID");
	CHECK(!adsmOption("cpu_device", self) && !adsm_options_load());
	for (size_t i = 0; i < 2; i++) {
		if (!adsm_backend_named(drivers[i]))
			continue;
		CHECK(adsm_backend_find(drivers[i], &found, &n) < 0);
		CHECK(strstr(adsmLastError(), "set-user-ID"));
	}
	CHECK(!adsm_backend_find("auto", &found, &n));
	CHECK(!strcmp(found->name, "cpu"));
	CHECK(!is_loaded("libOpenCL") && !is_loaded("libcuda") && !is_loaded("libnvrtc"));
	/* Nor what others may have left on disk. */
	adsm_cache_put(&cache, "key", 3, "data", 4);
	CHECK(adsm_cache_get(&cache, "key", 3, &data, &size) == -ENOENT);
	/* Nor does the program run a compiler that PATH or an option names. */
	CHECK(adsm_compiler_find("cc", &compiler) == -ENOEXEC);
	CHECK(strstr(adsmLastError(), "set-user-ID"));
	adsm_compiler_destroy(&compiler);
	return 0;
}

/* With another effective user, which may do less than the test's. */
static int run_copy(const char *path)
{
	char *const argv[] = { (char *)path, "privileged", NULL };
	char *const envp[] = { "OCL_ICD_VENDORS=/nowhere", "ADSM_BACKEND=opencl", "ADSM_LOG=debug", NULL };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		execve(path, argv, envp);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/test-secure.XXXXXX", command[PATH_MAX];
	int fd, ret;

	if (argc > 1 && !strcmp(argv[1], "privileged"))
		_exit(privileged(argv[0]));	/* a leak checker may not inspect such a program at exit */
	if (geteuid())
		return skip("only root can make a program of another user");
	fd = mkstemp(path);
	CHECK(fd >= 0 && !close(fd));
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), path);
	CHECK(!system(command));
	CHECK(!chown(path, NOBODY, NOBODY) && !chmod(path, 04755));
	ret = run_copy(path);
	CHECK(!unlink(path));
	return ret;
}
