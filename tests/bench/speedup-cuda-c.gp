# SPDX-License-Identifier: MIT
# speed-ups of 1 to 8 nodes as bars: of programs with kernels in the dialect, and of the same with kernels in CUDA C.
csv = ARG1; out = ARG2; caption = ARG3
title = "Speed-up of 1 to 8 nodes of 8 cores, in virtual time: the dialect and CUDA C"
load ARG0[1:strstrt(ARG0, "speedup-cuda-c.gp") - 1]."../../parboil/figures/style.gp"

programs = "cp cp-cuda-c tpacf tpacf-cuda-c scan scan-cuda-c blackscholes blackscholes-cuda-c"
name(p) = p % 2 ? word(programs, p) : "CUDA C"
is(p, n, above) = strcol("program") eq word(programs, p) && strcol("network") eq "2011" && \
	strcol("update") eq (above ? "paper" : "adaptive") && column("nodes") == n
array colours[8] = [black, grey, sky, blue, green, yellow, orange, vermilion]
bar = 0.1

set xrange [0.4:8.6]
set yrange [0:8]
set ytics 2
set boxwidth bar
set key samplen 1
set multiplot
set bmargin at screen 0.54
set xtics ("" 1)
set for [p=1:8] xtics add (name(p) p)
set ylabel "the paper's exchange"
plot for [n=1:8] for [p=1:8] csv using (is(p, n, 1) ? p + (n - 4.5) * bar : NaN):"speedup" with boxes \
	lc rgb colours[n] title p == 1 ? sprintf("%d", n) : ""
unset label 1
unset label 2
unset key
set tmargin at screen 0.48
set bmargin at screen 0.17
set ylabel "adaptive"
plot for [n=1:8] for [p=1:8] csv using (is(p, n, 0) ? p + (n - 4.5) * bar : NaN):"speedup" with boxes lc rgb colours[n] notitle
unset multiplot
