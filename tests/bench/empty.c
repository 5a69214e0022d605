/* SPDX-License-Identifier: MIT */
/* empty.c - a library with nothing in it: what preloading costs in any case. */
