# Perplexity by position, past the trained length of 512: plain, and with each scaling of chapter 4 by 8.
height = 460
load "figures/style.gp"

# The last section of a committed run.
rows = "< sed '1,/^# middle/d' tests/golden/beyond.txt"
set title "Plain RoPE holds for twice its trained length and then fails; yarn and llama3 hold on"
set xlabel "position in the text"
set ylabel "perplexity of a token"
set logscale y
set xrange [0:4096]
set yrange [1:200]
set xtics (512, 1024, 2048, 3072, 4096)
set ytics (1, 2, 5, 10, 20, 50, 100)
set object rectangle from 0, graph 0 to 512, graph 1 behind fillcolor rgb sky fillstyle solid 0.16 noborder
set label "trained\nlength" at 256, graph 0.96 center textcolor rgb grey
set label "19.7 on average over\nthe last 512 positions" at 3700, 40 right textcolor linetype 2 font ",14"
set key off
set rmargin 10
array names[5] = ["plain", "linear", "dynamic", "yarn", "llama3"]
array order[5] = [2, 3, 4, 5, 1]
array height_at[5] = [21, 73, 2.75, 1.55, 2.07]
set for [i = 1:5] label names[i] at 4150, height_at[i] left textcolor linetype order[i]
plot for [i = 1:5] rows using 1:i + 1 with lines linetype order[i]
