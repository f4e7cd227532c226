# Perplexity by position, past the trained length of 512: plain, and with each scaling of chapter 4 by 3.
height = 460
load "figures/style.gp"

file = data."/09_beyond.dat"
set title "Past 1024 plain RoPE begins to fail, linear scaling fails from the start"
set xlabel "position in the text"
set ylabel "perplexity of a token"
set logscale y
set xrange [0:1560]
set yrange [1:150]
set xtics (64, 512, 1024, 1536)
set ytics (1, 2, 5, 10, 20, 50, 100)
set arrow from 512, graph 0 to 512, graph 1 nohead linecolor rgb grey linewidth 1 dashtype 2
set label "trained up to here" at 500, graph 0.95 right textcolor rgb grey
set key at graph 0.98, graph 0.96 right maxrows 2 width 2
array names[5] = ["plain", "linear", "dynamic", "yarn", "llama3"]
array order[5] = [2, 3, 4, 5, 1]
plot for [i = 1:5] file using 1:(column(order[i] + 1)) with lines linetype order[i] title names[order[i]]
