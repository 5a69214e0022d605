# SPDX-License-Identifier: MIT
csv = ARG1; out = ARG2; caption = ARG3
title = "Figure 11: vector addition by block size, times and bandwidths of transfers"
load ARG0[1:strstrt(ARG0, "figure11.gp") - 1]."style.gp"

array colours[6] = [black, grey, blue, sky, orange, vermilion]
array points[6] = [9, 8, 7, 6, 5, 4]
array dashes[6] = [1, 2, 1, 2, 1, 2]
array names[6] = ["default", "paper", "default_to_device", "paper_to_device", \
	"default_from_device", "paper_from_device"]
array titles[6] = ["whole run", "whole run, paper's mode", "to device", "to device, paper's mode", \
	"from device", "from device, paper's mode"]
low(name) = 1e3 * column(name."_seconds_low")
median(name) = 1e3 * column(name."_seconds_median")
high(name) = 1e3 * column(name."_seconds_high")
bandwidth(name) = column(name."_bytes_per_second_median") / 1e9
set grid xtics
stats csv using "block_bytes" name "block" nooutput
set xrange [-0.5:block_records - 0.5]
set key maxrows 2 samplen 1
set multiplot

set bmargin at screen 0.53
set ylabel "time, ms"
set logscale y
set format y "%g"
set format x ""
# With bars from the lower to the upper quartile.
plot for [k=1:6] csv using 0:(median(names[k])):xtic("") with linespoints lc rgb colours[k] lw 1.5 \
		dt dashes[k] pt points[k] ps 0.8 title titles[k], \
	for [k=1:6] csv using 0:(low(names[k])):(0):(high(names[k]) - low(names[k])) \
		with vectors heads size screen 0.004,90 lc rgb colours[k] notitle

unset label 1
unset label 2
unset logscale y
set tmargin at screen 0.48
set bmargin at screen 0.2
set boxwidth 0.2
set yrange [0:*]
set xlabel "block size, bytes"
set ylabel "bandwidth, GB/s"
unset key
plot csv using 0:(NaN):xtic(1) notitle, \
	for [k=3:6] csv using ($0 + (k - 4.5) * 0.2):(bandwidth(names[k])) \
		with boxes lc rgb colours[k] notitle
unset multiplot
