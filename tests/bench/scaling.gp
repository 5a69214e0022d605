# SPDX-License-Identifier: MIT
# speed-ups of 1 to 1024 nodes as lines: on a fast network and on a slow one.
csv = ARG1; out = ARG2; caption = ARG3
title = "Speed-up of 1 to 1024 nodes of 8 cores, in virtual time; dashed: the paper's exchange"
load ARG0[1:strstrt(ARG0, "scaling.gp") - 1]."../../parboil/figures/style.gp"

programs = "cp mri-fhd mri-q tpacf scan blackscholes"
array colours[6] = [blue, orange, vermilion, green, black, sky]
array points[6] = [7, 5, 9, 11, 13, 4]
is(p, network, update) = strcol("program") eq word(programs, p) && strcol("network") eq network && \
	strcol("update") eq update
speedup(p, network, update) = is(p, network, update) ? column("speedup") : NaN

set logscale x 2
set logscale y 10
set xrange [0.9:1200]
set yrange [0.01:1200]
set format y "%g"
set grid xtics
set datafile missing NaN
set key vertical maxrows 2
set tmargin at screen 0.83
set bmargin at screen 0.21
set multiplot
set rmargin at screen 0.52
set xlabel "nodes, 100 Gbit/s"
set ylabel "speed-up"
plot for [p=1:6] csv using "nodes":(speedup(p, "100Gbit", "adaptive")) with linespoints lc rgb colours[p] lw 1.5 \
		pt points[p] ps 0.6 title word(programs, p), \
	for [p=1:6] csv using "nodes":(speedup(p, "100Gbit", "paper")) with lines lc rgb colours[p] dt 2 notitle
unset label 1
unset label 2
unset key
unset ylabel
set format y ""
set lmargin at screen 0.55
set rmargin at screen 0.975
set xlabel "nodes, 1 Gbit/s"
plot for [p=1:6] csv using "nodes":(speedup(p, "1Gbit", "adaptive")) with linespoints lc rgb colours[p] lw 1.5 \
		pt points[p] ps 0.6 title word(programs, p), \
	for [p=1:6] csv using "nodes":(speedup(p, "1Gbit", "paper")) with lines lc rgb colours[p] dt 2 notitle
unset multiplot
