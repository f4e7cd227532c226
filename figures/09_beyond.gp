# Perplexity by position, past the trained length of 512: plain, and with each scaling of chapter 5 by 8.
height = 460
load "figures/style.gp"

# The last section of a committed run.
rows = "< sed '1,/^# middle/d' tests/studies/extrapolation.txt"

# From the highest curve to the lowest: the column of each, its colour, its name, and how far up it stands, for room.
array columns[5] = [3, 2, 4, 6, 5]
array colours[5] = [3, 2, 4, 1, 7]
array names[5] = ["linear", "plain", "dynamic", "llama3", "yarn"]
array up[5] = [0, 0, 0.5, 0, -0.5]

set title "Far past the trained length plain RoPE fails; three of four scalings hold on"
set xlabel "position in the text"
set ylabel "perplexity, 128 tokens at a time"
set logscale y
set xrange [0:4096]
set yrange [1:200]
set xtics (0, 512, 1024, 2048, 3072, 4096)
set ytics (1, 2, 5, 10, 20, 50, 100)
set object rectangle from 0, graph 0 to 512, graph 1 behind fillcolor rgb sky fillstyle solid 0.16 noborder
set label "trained\nlength" at 256, graph 0.96 center textcolor rgb grey
set rmargin 11
unset key
plot for [n = 1:5] rows using 1:(column(columns[n])) with lines linetype colours[n], \
     for [n = 1:5] rows using ($1 > 4000 ? $1 : NaN):(column(columns[n])):(names[n]) with labels left offset 1, up[n] textcolor linetype colours[n]
