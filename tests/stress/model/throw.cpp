/* SPDX-License-Identifier: MIT */
/* throw.cpp - an exception thrown by a signal handler, and who catches it. */

extern "C" bool model_catches(void (*call)(void *), void *arg);
extern "C" void model_throws();

bool model_catches(void (*call)(void *), void *arg)
{
	try {
		call(arg);
	} catch (int) {
		return true;
	}
	return false;
}

void model_throws()
{
	throw 1;
}
