/* SPDX-License-Identifier: MIT */
/* api/service.c - the public functions for services. They need no device, so they do not start the library. */
#include "api/told.h"
#include "adsm_service.h"
#include "core/life.h"
#include "run/object/service.h"
#include "start/start.h"

int adsmServiceRegister(const char *name, adsmServiceFunction *function, size_t max_in, size_t max_out, void *ctx)
{
	ADSM_TELLS;

	return ADSM_TOLD(adsm_is_child() ? adsm_start() : adsm_service_register(name, function, max_in, max_out, ctx));
}

int adsmServiceUnregister(const char *name)
{
	ADSM_TELLS;

	return ADSM_TOLD(adsm_is_child() ? adsm_start() : adsm_service_unregister(name));
}
