/* SPDX-License-Identifier: MIT */
/* names.c - host names that other threads look up; a look-up with too many arguments for a row of args.c; forkpty(). */
#include <netdb.h>
#include <pty.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#include "range.h"

#undef res_nquerydomain		/* a macro, in old headers */

ADSM_REALS(getaddrinfo_a, res_nquerydomain, forkpty)

/* ---- getaddrinfo_a(): libc's threads for it have all signals blocked, so a fault there would end the process */

static bool text_shared(const char *s)
{
	return s && adsm_may_be_shared(s, 1);
}

static bool request_shared(struct gaicb *const *list, int n)
{
	bool any = n > 0 && adsm_may_be_shared(list, (size_t)n * sizeof(*list));

	for (int i = 0; i < n && !any; i++)
		any = list[i] && (adsm_may_be_shared(list[i], sizeof(**list)) || text_shared(list[i]->ar_name) ||
				  text_shared(list[i]->ar_service) ||
				  adsm_may_be_shared(list[i]->ar_request, sizeof(*list[i]->ar_request)));
	return any;
}

/* A copy of all that libc reads of a request, in one allocation with its texts. NULL: no memory. */
static struct gaicb *copy_request(const struct gaicb *from)
{
	size_t name = from->ar_name ? strlen(from->ar_name) + 1 : 0;
	size_t service = from->ar_service ? strlen(from->ar_service) + 1 : 0;
	struct { struct gaicb request; struct addrinfo hints; char texts[]; } *copy;

	copy = calloc(1, sizeof(*copy) + name + service);
	if (!copy)
		return NULL;
	if (name)
		copy->request.ar_name = memcpy(copy->texts, from->ar_name, name);
	if (service)
		copy->request.ar_service = memcpy(copy->texts + name, from->ar_service, service);
	if (from->ar_request) {
		copy->hints = *from->ar_request;
		copy->request.ar_request = &copy->hints;
	}
	return &copy->request;
}

/* Look all names up now, whatever the mode is. For GAI_NOWAIT an empty request then makes libc notify the program. */
ADSM_SLOW int look_up_now(int mode, struct gaicb *list[], int n, struct sigevent *event)
{
	struct gaicb **copies = calloc((size_t)n, sizeof(*copies));
	int ret = copies ? 0 : EAI_MEMORY;

	for (int i = 0; i < n && !ret; i++)
		if (list[i] && !(copies[i] = copy_request(list[i])))
			ret = EAI_MEMORY;
	if (!ret)
		ret = real(getaddrinfo_a)(GAI_WAIT, copies, n, NULL);
	for (int i = 0; i < n && copies; i++) {
		if (copies[i] && list[i] && ret != EAI_MEMORY) {
			list[i]->ar_result = copies[i]->ar_result;
			list[i]->__return = gai_error(copies[i]);
		}
		free(copies[i]);
	}
	free(copies);
	if (mode == GAI_NOWAIT && ret != EAI_MEMORY) {
		struct sigevent copy;

		if (event)
			copy = *event;
		ret = real(getaddrinfo_a)(GAI_NOWAIT, list, 0, event ? &copy : NULL);
	}
	return ret;
}

ADSM_WRAPPER int getaddrinfo_a(int mode, struct gaicb *list[], int n, struct sigevent *event)
{
	bool shared = !adsm_range_idle() && (mode == GAI_WAIT || mode == GAI_NOWAIT) && n > 0 &&
		(request_shared(list, n) || adsm_may_be_shared(event, sizeof(*event)));

	return shared ? look_up_now(mode, list, n, event) : real(getaddrinfo_a)(mode, list, n, event);
}

ADSM_WRAPPER int res_nquerydomain(res_state state, const char *name, const char *domain, int class, int type,
				  unsigned char *answer, int size)
{
	struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	void *p = answer;
	int n;

	if (size <= 0 || !adsm_range_given(answer, (size_t)size))
		return real(res_nquerydomain)(state, name, domain, class, type, answer, size);
	adsm_io_look_back(ADSM_STACK());
	if (adsm_range_begin(&io, &p, (size_t)size, room, ADSM_UPDATE))
		return adsm_refuse(EIO);
	n = real(res_nquerydomain)(state, name, domain, class, type, p, size);
	return adsm_io_end(&io, (size_t)size) ? adsm_refuse(EIO) : n;
}

/* The system reads @window in place. @master and @name are written by libc, and the child has no shared memory. */
ADSM_WRAPPER int forkpty(int *master, char *name, const struct termios *settings, const struct winsize *window)
{
	struct winsize own;
	int error;

	if (window && adsm_may_be_shared(window, sizeof(*window))) {
		adsm_io_look_back(ADSM_STACK());
		error = adsm_range_take(&own, window, sizeof(own));
		if (error && error != -EFAULT)
			return adsm_refuse(EIO);
		window = error ? window : &own;
	}
	return real(forkpty)(master, name, settings, window);
}
