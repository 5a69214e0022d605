# SPDX-License-Identifier: MIT
# speed-ups by the size of pages as bars, as COMIC++ has them in its Figures 10 and 11.
csv = ARG1; out = ARG2; caption = ARG3; what = ARG4
title = what eq "figure10" ? "Speed-up of six workers on one node, over one, by the size of pages, in virtual time" : \
	"Speed-up of six workers on each node, over one worker, by the size of pages between nodes, in virtual time"
load ARG0[1:strstrt(ARG0, "comic.gp") - 1]."../../parboil/figures/style.gp"

programs = ARG5; n_programs = words(programs)
pages = "2 4 8 16 32"
array colours[5] = [black, blue, green, orange, vermilion]
stats csv using "nodes" name "nodes" nooutput
# One group of bars for a program and a number of nodes, of which the next has twice as many.
least = nodes_min
n_groups = what eq "figure10" ? 1 : int(floor(log(nodes_max / least) / log(2) + 0.5)) + 1
group(p) = (p - 1) * (n_groups + 0.5)
at(x) = group(place(strcol("program"))) + floor(log(column("nodes") / least) / log(2) + 0.5)
place(name) = sum [p=1:n_programs] (word(programs, p) eq name ? p : 0)
bar = 0.17

set xrange [-0.7:group(n_programs) + n_groups - 0.3]
set boxwidth bar
set logscale y 10
set yrange [0.1:200]
set format y "%g"
set ylabel "speed-up"
set xtics ("" -9)
set for [p=1:n_programs] xtics add (word(programs, p) group(p) + (n_groups - 1) / 2.0)
plot for [k=1:5] csv using (column("page") == word(pages, k) ? at(0) + (k - 3) * bar : NaN):"speedup" with boxes \
		lc rgb colours[k] title word(pages, k)." KiB", \
	csv using (what eq "figure11" ? at(0) : NaN):(0.13):(sprintf("%d", column("nodes"))) with labels font ",8" notitle
