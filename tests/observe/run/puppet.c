/* SPDX-License-Identifier: MIT */
/* puppet.c - writes the name of each signal that it gets, until its input ends. */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const struct {
	int number;
	const char *line;
} signals[] = {
	{ SIGHUP, "HUP\n" }, { SIGINT, "INT\n" }, { SIGQUIT, "QUIT\n" }, { SIGTERM, "TERM\n" }, { SIGUSR1, "USR1\n" },
	{ SIGUSR2, "USR2\n" }, { SIGWINCH, "WINCH\n" }, { SIGALRM, "ALRM\n" }, { SIGCONT, "CONT\n" },
};

static void say(const char *line)
{
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		_exit(1);
}

static void handle(int number)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i].number == number)
			say(signals[i].line);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	char c;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i].number, &action, NULL);
	say("ready\n");
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	say("end\n");
	return 3;
}
