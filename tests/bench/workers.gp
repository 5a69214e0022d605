# SPDX-License-Identifier: MIT
# speed-ups of tasks over nodes as bars, as COMIC++ has them in its Figure 12: what is reached, and the ideal behind it.
csv = ARG1; out = ARG2; caption = ARG3
title = "Speed-up of workers on nodes of six, over one, in virtual time; light: ideal"
load ARG0[1:strstrt(ARG0, "workers.gp") - 1]."../../parboil/figures/style.gp"

programs = ARG4; n_programs = words(programs)
counts = "6 12 24 48 96 192 384"
is(p, n, costs) = strcol("program") eq word(programs, p) && strcol("costs") eq costs && \
	strcol("workers") eq word(counts, n)
x(p, n) = p + (n - 4) * bar
array colours[7] = [black, blue, green, orange, vermilion, sky, grey]
bar = 0.12

set xrange [0.4:n_programs + 0.6]
set yrange [0.1:600]
set logscale y 10
set format y "%g"
set boxwidth bar
set style fill solid 1 noborder
set key samplen 1
set multiplot
set bmargin at screen 0.54
set xtics ("" 1)
set for [p=1:n_programs] xtics add (word(programs, p) p)
set ylabel "Cell, Gigabit Ethernet"
plot for [n=1:7] for [p=1:n_programs] csv using (is(p, n, "cell") ? x(p, n) : NaN):"ideal" with boxes lc rgb 0xe0e0e0 notitle, \
	for [n=1:7] for [p=1:n_programs] csv using (is(p, n, "cell") ? x(p, n) : NaN):"speedup" with boxes lc rgb colours[n] \
		title p == 1 ? word(counts, n) : ""
unset label 1
unset label 2
unset key
set tmargin at screen 0.48
set bmargin at screen 0.17
set ylabel "today, 100 Gbit/s"
plot for [n=1:7] for [p=1:n_programs] csv using (is(p, n, "modern") ? x(p, n) : NaN):"ideal" with boxes lc rgb 0xe0e0e0 notitle, \
	for [n=1:7] for [p=1:n_programs] csv using (is(p, n, "modern") ? x(p, n) : NaN):"speedup" with boxes lc rgb colours[n] notitle
unset multiplot
