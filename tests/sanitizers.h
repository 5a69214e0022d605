/* SPDX-License-Identifier: MIT */
/* sanitizers.h - which sanitizer a test is built with. */
#ifndef ADSM_TESTS_SANITIZERS_H
#define ADSM_TESTS_SANITIZERS_H

/* ThreadSanitizer runs signal handlers with all signals masked, turns vfork() into fork(), and reserves addresses. */
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#ifndef WITH_TSAN
#define WITH_TSAN 0
#endif

/* AddressSanitizer installs signal handlers of its own. */
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif

#endif
