# SPDX-License-Identifier: MIT
csv = ARG1; out = ARG2; caption = ARG3
title = "Figure 12: time of tpacf by block size and rolling size, paper's mode"
load ARG0[1:strstrt(ARG0, "figure12.gp") - 1]."style.gp"

set xlabel "block size, bytes"
set ylabel "time, s"
stats csv using "block_bytes" name "block" nooutput
set xrange [-0.4:block_records - 0.6]
set logscale y
set format y "%g"
set bmargin at screen 0.2
set grid xtics

array colours[3] = [vermilion, orange, blue]
array points[3] = [7, 5, 9]
array sizes[3] = ["1", "2", "4"]
low(name) = column(name."_seconds_low")
median(name) = column(name."_seconds_median")
high(name) = column(name."_seconds_high")
# With bars from the lower to the upper quartile.
plot for [k=1:3] csv using 0:(median("rolling_".sizes[k])):xtic(1) with linespoints \
		lc rgb colours[k] lw 1.5 pt points[k] ps 0.9 title "rolling size ".sizes[k], \
	for [k=1:3] csv using 0:(low("rolling_".sizes[k])):(0):(high("rolling_".sizes[k]) - low("rolling_".sizes[k])) \
		with vectors heads size screen 0.004,90 lc rgb colours[k] notitle
