# The text's 29 tokens: the RMS of each hidden state, step by step, and of the copy that a norm makes of it. Token 11 is "a".
height = 420
load "figures/style.gp"
file = data."/01_growth.dat"
stats file using 2 nooutput name "SIZE"
set title "Hidden states grow from layer to layer; each layer reads a copy with RMS 1"
set ylabel "RMS of a hidden state"
set logscale y
set yrange [SIZE_min / 1.5:SIZE_max * 2]
set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1000" 1000)
set xrange [-0.25:10.4]
set xtics ("embedding" 0, "after layer 0" 2, "after layer 1" 4, "after layer 2" 6, "after layer 3" 8)
plot for [t = 1:28] file using 1:2 every :::t::t with lines linecolor rgb "#b8b8b8" linewidth 1, \
     file using 1:2 every :::11::11 with lines linecolor rgb black linewidth 1.5, \
     file using 1:2 every :::0::0 with lines linetype 2, \
     file using 1:3 every :::0::0 with linespoints linetype 1, \
     file using ($1 + 0.15):2:("<s>") every ::8:0:8:0 with labels left offset 0, -0.2 textcolor rgb vermillion, \
     file using ($1 + 0.15):2:("a") every ::8:11:8:11 with labels left offset 0, 0.5 textcolor rgb black, \
     file using ($1 + 0.15):2:("the other tokens") every ::8:1:8:1 with labels left textcolor rgb grey, \
     file using ($1 + 0.15):3:("their normalized copies") every ::8:0:8:0 with labels left textcolor rgb blue
