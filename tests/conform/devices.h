/* SPDX-License-Identifier: MIT */
/* devices.h - what tests of calls on several devices share. */
#ifndef CONFORM_DEVICES_H
#define CONFORM_DEVICES_H

#include "conform.h"

#include <string.h>

#define N ((size_t)50000)	/* words of an object */
#define SIZE (N * 4)

static int n_devices;

static inline void start(void)
{
	set("cpu_devices", "3");
	n_devices = adsmDeviceCount();
	if (n_devices < 2)
		skip("one device");
	if (unified() || !strcmp(device_props().memory, "view"))
		skip("the device's objects have their addresses there");
}

/* An object of a device, with first, first + 1, … */
static inline unsigned *words_on(int device, unsigned first)
{
	unsigned *p;

	CHECK_OK(adsmDeviceSet(device));
	p = words(N, first);
	CHECK_EQ(info(p).device, device);
	return p;
}

static inline void expect(const unsigned *p, unsigned first)
{
	for (size_t i = 0; i < N; i++)
		CHECK_AT(p[i], i, first + i);
}

static inline void increment(unsigned *p)
{
	CALL("increment", N, adsmPtr(p), adsmVal((unsigned)N));
}

#endif
