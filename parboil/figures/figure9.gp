# SPDX-License-Identifier: MIT
csv = ARG1; out = ARG2; caption = ARG3
title = "Figure 9: time of the 3-D stencil by volume, protocol and block size"
load ARG0[1:strstrt(ARG0, "figure9.gp") - 1]."style.gp"

set xlabel "edge of the volume, cells"
set ylabel "time, s"
stats csv using "edge" name "edge" nooutput
set xrange [edge_min * 0.9:edge_max * 1.03 + 8]
set yrange [0:*]
set bmargin at screen 0.2
set key inside top left vertical maxrows auto
set grid xtics

array colours[6] = [black, vermilion, orange, sky, blue, green]
array points[6] = [4, 7, 9, 11, 5, 13]
array dashes[6] = [2, 1, 1, 1, 1, 1]
array names[6] = ["explicit", "lazy", "rolling_4K", "rolling_256K", "rolling_1M", "rolling_32M"]
array titles[6] = ["explicit copies", "lazy", "rolling, blocks of 4K", "rolling, 256K", "rolling, 1M", "rolling, 32M"]
low(name) = column(name."_seconds_low")
median(name) = column(name."_seconds_median")
high(name) = column(name."_seconds_high")
# With bars from the lower to the upper quartile.
plot for [k=1:6] csv using "edge":(median(names[k])):xtic(1) with linespoints lc rgb colours[k] \
		lw 1.5 dt dashes[k] pt points[k] ps 0.8 title titles[k], \
	for [k=1:6] csv using "edge":(low(names[k])):(0):(high(names[k]) - low(names[k])) \
		with vectors heads size screen 0.004,90 lc rgb colours[k] notitle
