# Perplexity by position, past the trained length of 512: plain, and with each scaling of chapter 4 by 8.
height = 460
load "figures/style.gp"

# The last section of a committed run.
rows = "< sed '1,/^# middle/d' tests/golden/beyond.txt"

# Each name stands where its curve ends, and away from the others.
array names[5] = ["plain", "linear", "dynamic", "yarn", "llama3"]
array order[5] = [2, 3, 4, 5, 1]
array height_at[5]
do for [i = 1:5] { stats rows using (column(i + 1)) every ::31::31 nooutput; height_at[i] = STATS_max }
do for [n = 1:50] { do for [i = 1:5] { do for [j = 1:5] {
    if (i != j && height_at[i] >= height_at[j] && height_at[i] < 1.26 * height_at[j]) {
        height_at[i] = height_at[i] * 1.01; height_at[j] = height_at[j] / 1.01
    }
} } }

set title "Plain RoPE fails far past its trained length; yarn and llama3 hold on"
set xlabel "position in the text"
set ylabel "perplexity of a token"
set logscale y
set xrange [0:4096]
set yrange [1:200]
set xtics (512, 1024, 2048, 3072, 4096)
set ytics (1, 2, 5, 10, 20, 50, 100)
set object rectangle from 0, graph 0 to 512, graph 1 behind fillcolor rgb sky fillstyle solid 0.16 noborder
set label "trained\nlength" at 256, graph 0.96 center textcolor rgb grey
set key off
set rmargin 10
set for [i = 1:5] label names[i] at 4150, height_at[i] left textcolor linetype order[i]
plot for [i = 1:5] rows using 1:i + 1 with lines linetype order[i]
