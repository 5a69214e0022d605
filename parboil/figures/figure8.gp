# SPDX-License-Identifier: MIT
csv = ARG1; out = ARG2; caption = ARG3
title = "Figure 8: bytes transferred, as a share of what batch transfers"
load ARG0[1:strstrt(ARG0, "figure8.gp") - 1]."style.gp"

set ylabel "bytes / bytes of batch, each direction"
stats csv using "lazy_to_device_share_median" name "lazy" nooutput
set yrange [0:1.2]
set ytics 0.2
set xrange [-0.6:lazy_records - 0.4]
set boxwidth 0.19

array at[4] = [-0.3, -0.1, 0.1, 0.3]
array colours[4] = [orange, yellow, blue, sky]
array names[4] = ["lazy_to_device", "lazy_from_device", "rolling_to_device", "rolling_from_device"]
array titles[4] = ["lazy, to the device", "lazy, from it", "rolling, to the device", "rolling, from it"]
share(k) = column(names[k]."_share_median")
text(k) = share(k) == 0 ? " 0" : share(k) < 0.001 ? sprintf(" %.0e", share(k)) : sprintf(" %.3f", share(k))
plot csv using 0:(NaN):xtic(1) notitle, \
	for [k=1:4] csv using ($0 + at[k]):(share(k)) with boxes lc rgb colours[k] title titles[k], \
	for [k=1:4] csv using ($0 + at[k]):(share(k)):(text(k)) with labels rotate left font ",8" notitle
