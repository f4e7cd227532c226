# Perplexity by position, past the trained length of 512: plain, and with each scaling of chapter 4 by 3.
height = 460
load "figures/style.gp"

file = data."/09_beyond.dat"
set title "Past its trained length, a model needs its angles scaled"
set xlabel "position in the text"
set ylabel "perplexity of a token"
set logscale y
set xrange [0:1800]
set xtics (64, 512, 1024, 1536)
set arrow from 512, graph 0 to 512, graph 1 nohead linecolor rgb grey linewidth 1 dashtype 2
set label "trained up to here" at 500, graph 0.96 right textcolor rgb grey
unset key
array names[5] = ["plain", "linear", "dynamic", "yarn", "llama3"]
plot for [s = 1:5] file using 1:(column(s + 1)) with lines linetype s, \
     for [s = 1:5] file using (1550):(column(s + 1)):(names[s]) every ::23::23 with labels left textcolor linetype s
