# SPDX-License-Identifier: MIT
"""The test of instructions finds errors: planted.py PTX_INSTRUCTIONS CC LIB_PTX. Each plant changes one function of the
runtime, in a copy; the forms that use it must then be wrong, and without the plant right."""
import os
import shutil
import subprocess
import sys
import tempfile

program, cc, source = sys.argv[1:]
PLANTS = [
    # File; what is replaced, by what; the forms that show it.
    ("runtime.h", "return sum > INT32_MAX ? INT32_MAX", "return sum >= INT32_MAX ? INT32_MAX - 1", "add.sat.s32"),
    ("runtime.h", "(n < 31 ? n : 31)", "(n & 31)", "shr.s32"),
    ("runtime.h", "return 31 - ptx_clz_b32(a);", "return 31 - (ptx_clz_b32(a) & 31);", "bfind.u32"),
    ("runtime.h", "selector & 8 ? (byte & 128 ? 255 : 0) : byte", "byte", "prmt.b32 "),
    ("runtime.h", "(a_half)(a >> 16) * (b_byte)(b >> 8)", "(a_half)(a >> 16) * (b_byte)(b >> 16)", "dp2a"),
    ("runtime_float.h", "a == b ? ptx_f32(ptx_b32(a) | ptx_b32(b)) : b", "b", "min.f32"),
    ("runtime_float.h", "near < sum || (near == sum && rest > 0.0) ? ptx_up_f32(near)",
     "near < sum ? ptx_up_f32(near)", "fma.rp.f32"),
    ("runtime_float.h", "sum.exponent = top - 124;", "sum.exponent = top - 60;", "fma.rz.f64"),
    ("runtime_float.h", "__builtin_copysignf(PTX_MULTIPLY_ADD(sine * square, angle, angle), angle)",
     "PTX_MULTIPLY_ADD(sine * square, angle, angle)", "sin.approx.f32"),
    ("runtime_float.h", "0x1.62e430p-1f", "0x1.62e4p-1f", "ex2.approx.f32"),
    ("runtime_float.h", "a * __builtin_copysignf(0.0f, b)", "a * 0.0f", "div.approx.f32"),
    ("runtime_half.h", "(bits >> 13 & 1)", "1", "cvt.rn.f16.f32"),
    ("runtime_half.h", "ptx_odd_sum(product + addend, ptx_rest_sum(product, addend))", "(float)(product + addend)",
     "fma.rn.f16 "),
    ("runtime_convert.h", "return x == x ? limited : unknown;", "return x == x ? limited : 0;", "cvt.rzi.s64.f32"),
    ("runtime_convert.h", "+ 0x1000u) & ~0x1fffu", "+ 0xfffu) & ~0x1fffu", "cvt.rna.tf32"),
    ("runtime_memory.h", "old >= value ? 0 : old + 1", "old > value ? 0 : old + 1", "atom.inc"),
    ("runtime_texture.h", "2 * size - 1 - index", "2 * size - 2 - index", "tex."),
]

n_wrong = 0
with tempfile.TemporaryDirectory() as folder:
    copy = os.path.join(folder, "ptx")
    shutil.copytree(source, copy)
    for file, old, new, forms in PLANTS:
        path = os.path.join(copy, file)
        with open(path) as f:
            text = f.read()
        if old not in text:
            print(f"{file} has no longer: {old}")
            n_wrong += 1
            continue
        for planted in (True, False):
            with open(path, "w") as f:
                f.write(text.replace(old, new, 1) if planted else text)
            # A second rounding is seldom wrong.
            mode = "full" if forms.startswith("fma.rn.f16") else "sample"
            status = subprocess.run([program, mode, forms, cc, copy], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
            if (status.returncode != 0) != planted:
                print(f"{forms}: {'not found' if planted else 'wrong'}: {new if planted else old}\n{status.stdout}")
                n_wrong += 1
print(f"{len(PLANTS)} plants, {n_wrong} wrong")
sys.exit(n_wrong != 0)
