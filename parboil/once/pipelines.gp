# SPDX-License-Identifier: MIT
# What pipelines of CPU and two devices take: above what is left when the input is there, at the paper's parameters; below
# the whole, where the devices work as long on a block as the CPU.
csv = ARG1; out = ARG2; caption = ARG3
title = "A scan by CPU, device, CPU, device"
load ARG0[1:strstrt(ARG0, "pipelines.gp") - 1]."../../parboil/figures/style.gp"

# Rows of a form stand together: a line ends where another's row is.
rows = sprintf("< head -n 1 '%s'; tail -n +2 '%s' | sort -s -t, -k1,1", csv, csv)
forms = "once threads calls copies"
array names[4] = ["write-once", "write-once, threads only", "a call and a sync for each stage", "explicit copies"]
array colours[4] = [blue, sky, vermilion, orange]
array points[4] = [7, 6, 5, 9]
is(f, work) = strcol("form") eq word(forms, f) && column("work") == work
adds = 50000

set xrange [40:1300]
set logscale x
set xtics (50, 100, 200, 400, 500, 1000)
set key maxrows 2
set multiplot
set bmargin at screen 0.55
set format x ""
set logscale y
set format y "%g"
set ylabel "pure, ms"
plot for [f=1:4] rows using (is(f, 0) ? column("blocks") : NaN):"pure_ms" with linespoints \
		lc rgb colours[f] lw 1.5 pt points[f] ps 0.8 title names[f], \
	for [f=1:4] rows using (is(f, 0) ? column("blocks") : NaN):"pure_low_ms":(0):(column("pure_high_ms") - column("pure_low_ms")) \
		with vectors heads size screen 0.003,90 lc rgb colours[f] notitle, \
	rows using (is(1, 0) ? column("blocks") : NaN):(6 * column("chain_ms")) with lines lc rgb black dt 2 \
		title "6 chains of four hops"
unset label 1
unset label 2
unset key
set tmargin at screen 0.5
set bmargin at screen 0.2
set format x "%g"
unset logscale y
set yrange [0:*]
set ylabel "runtime / blocks, ms"
set xlabel "blocks" offset 0,0.4
plot for [f=1:4] rows using (is(f, adds) ? column("blocks") : NaN):(column("runtime_ms") / column("blocks")) with linespoints \
		lc rgb colours[f] lw 1.5 pt points[f] ps 0.8 notitle
unset multiplot
