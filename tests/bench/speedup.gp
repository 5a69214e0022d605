# SPDX-License-Identifier: MIT
# speed-ups of 1 to 8 nodes as bars, as CUDA-For-Clusters has them in its Figure 3: above with its exchange, below adaptive.
csv = ARG1; out = ARG2; caption = ARG3
title = "Speed-up of 1 to 8 nodes of 8 cores, in virtual time"
load ARG0[1:strstrt(ARG0, "speedup.gp") - 1]."../../parboil/figures/style.gp"

programs = "cp mri-fhd mri-q tpacf scan blackscholes blackscholes"
# The second blackscholes is with lazy update.
update(p, above) = !above ? "adaptive" : p == 7 ? "paper-lazy" : "paper"
name(p) = p == 7 ? "… lazy" : word(programs, p)
is(p, n, above) = strcol("program") eq word(programs, p) && strcol("network") eq "2011" && \
	strcol("update") eq update(p, above) && column("nodes") == n
array colours[8] = [black, grey, sky, blue, green, yellow, orange, vermilion]
bar = 0.1

set xrange [0.4:7.6]
set yrange [0:8]
set ytics 2
set boxwidth bar
set key samplen 1
set multiplot
set bmargin at screen 0.54
set xtics ("" 1)
set for [p=1:7] xtics add (name(p) p)
set ylabel "the paper's exchange"
plot for [n=1:8] for [p=1:7] csv using (is(p, n, 1) ? p + (n - 4.5) * bar : NaN):"speedup" with boxes \
	lc rgb colours[n] title p == 1 ? sprintf("%d", n) : ""
unset label 1
unset label 2
unset key
set tmargin at screen 0.48
set bmargin at screen 0.17
set xrange [0.4:6.6]
set ylabel "adaptive"
plot for [n=1:8] for [p=1:6] csv using (is(p, n, 0) ? p + (n - 4.5) * bar : NaN):"speedup" with boxes lc rgb colours[n] notitle
unset multiplot
