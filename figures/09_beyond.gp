# Perplexity by position, past the trained length of 512: plain, and with each scaling of chapter 4 by 8.
height = 460
load "figures/style.gp"

# The last section of a committed run.
rows = "< sed '1,/^# middle/d' tests/golden/beyond.txt"
set title "Past twice its trained length plain RoPE fails; llama3's and YaRN's scalings hold"
set xlabel "position in the text"
set ylabel "perplexity of a token"
set logscale y
set xrange [0:4096]
set yrange [1:200]
set xtics (512, 1024, 2048, 3072, 4096)
set ytics (1, 2, 5, 10, 20, 50, 100)
set arrow from 512, graph 0 to 512, graph 1 nohead linecolor rgb grey linewidth 1 dashtype 2
set label "trained up to here" at 560, graph 0.95 left textcolor rgb grey
set key off
set rmargin 10
array names[5] = ["plain", "linear", "dynamic", "yarn", "llama3"]
array order[5] = [2, 3, 4, 5, 1]
array height_at[5] = [21, 73, 2.75, 1.55, 2.07]
set for [i = 1:5] label names[i] at 4150, height_at[i] left textcolor linetype order[i]
plot for [i = 1:5] rows using 1:i + 1 with lines linetype order[i]
