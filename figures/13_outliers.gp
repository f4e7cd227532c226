# What the last matrix of a layer's feed-forward reads: the magnitude of every feature, of the token that has the largest of all
# and of the others.
height = 440
load "figures/style.gp"
file = data."/13_outliers.dat"
stats file using ($2 > $3 ? $2 : $3) nooutput; largest = STATS_max
set title "A few numbers are many times as large as most"
set xlabel "feature of the layer's silu(gate) · up"
set ylabel "magnitude"
set xrange [0:511]
set yrange [0:1.25 * largest]
set xtics (0, 128, 256, 384, 511)
set label 3 "the largest of the 28 other tokens" at 508, 1.03 * largest right textcolor rgb grey
named(row, name) = row > 0 ? "" : sprintf("the token “%s”", name) # once
plot file using 1:3 with impulses linewidth 1.6 linecolor rgb "#b0b0b0", \
     file using 1:2 with impulses linewidth 1.6 linecolor rgb vermillion, \
     file using (508):(1.12 * largest):(named($0, strcol(4))) with labels right textcolor rgb vermillion
