/* SPDX-License-Identifier: MIT */
/* half.c - arithmetic with f16 and bf16, one number or two in a register. */
#include "list.h"

#define HALF "f16 f16x2"
#define BRAIN "bf16 bf16x2"

const struct adsm_ptx_form adsm_ptx_half_forms[] = {
	{ "add", "?rn ?ftz ?sat", HALF, 0, "ptx_add_$t($1, $2)", NULL },
	{ "add", "?rn", BRAIN, 0, "ptx_add_$t($1, $2)", NULL },
	{ "sub", "?rn ?ftz ?sat", HALF, 0, "ptx_sub_$t($1, $2)", NULL },
	{ "sub", "?rn", BRAIN, 0, "ptx_sub_$t($1, $2)", NULL },
	{ "mul", "?rn ?ftz ?sat", HALF, 0, "ptx_mul_$t($1, $2)", NULL },
	{ "mul", "?rn", BRAIN, 0, "ptx_mul_$t($1, $2)", NULL },
	{ "fma", "rn ?ftz ?sat", HALF, 0, "ptx_fma_$t($1, $2, $3)", NULL },
	{ "fma", "rn ?ftz relu", HALF, 0, "ptx_relu_$t(ptx_fma_$t($1, $2, $3))", NULL },
	{ "fma", "rn", BRAIN, 0, "ptx_fma_$t($1, $2, $3)", NULL },
	{ "fma", "rn relu", BRAIN, 0, "ptx_relu_$t(ptx_fma_$t($1, $2, $3))", NULL },
	{ "neg", "?ftz", HALF, 0, "ptx_neg_$t($1)", NULL },
	{ "neg", "", BRAIN, 0, "ptx_neg_$t($1)", NULL },
	{ "abs", "?ftz", HALF, 0, "ptx_abs_$t($1)", NULL },
	{ "abs", "", BRAIN, 0, "ptx_abs_$t($1)", NULL },
	{ "min", "?ftz", HALF, 0, "ptx_min_$t($1, $2)", NULL },
	{ "min", "", BRAIN, 0, "ptx_min_$t($1, $2)", NULL },
	{ "min", "?ftz NaN", HALF, 0, "ptx_min_nan_$t($1, $2)", NULL },
	{ "min", "NaN", BRAIN, 0, "ptx_min_nan_$t($1, $2)", NULL },
	{ "min", "?ftz xorsign abs", HALF, 0, "ptx_min_xorsign_$t($1, $2)", NULL },
	{ "min", "xorsign abs", BRAIN, 0, "ptx_min_xorsign_$t($1, $2)", NULL },
	{ "min", "?ftz NaN xorsign abs", HALF, 0, "ptx_min_nan_xorsign_$t($1, $2)", NULL },
	{ "min", "NaN xorsign abs", BRAIN, 0, "ptx_min_nan_xorsign_$t($1, $2)", NULL },
	{ "max", "?ftz", HALF, 0, "ptx_max_$t($1, $2)", NULL },
	{ "max", "", BRAIN, 0, "ptx_max_$t($1, $2)", NULL },
	{ "max", "?ftz NaN", HALF, 0, "ptx_max_nan_$t($1, $2)", NULL },
	{ "max", "NaN", BRAIN, 0, "ptx_max_nan_$t($1, $2)", NULL },
	{ "max", "?ftz xorsign abs", HALF, 0, "ptx_max_xorsign_$t($1, $2)", NULL },
	{ "max", "xorsign abs", BRAIN, 0, "ptx_max_xorsign_$t($1, $2)", NULL },
	{ "max", "?ftz NaN xorsign abs", HALF, 0, "ptx_max_nan_xorsign_$t($1, $2)", NULL },
	{ "max", "NaN xorsign abs", BRAIN, 0, "ptx_max_nan_xorsign_$t($1, $2)", NULL },
	{ "ex2", "approx", HALF, 0, "ptx_ex2_$t($1)", NULL },
	{ "ex2", "approx ftz", BRAIN, 0, "ptx_ex2_$t($1)", NULL },
	{ "tanh", "approx", HALF " " BRAIN, 0, "ptx_tanh_$t($1)", NULL },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
