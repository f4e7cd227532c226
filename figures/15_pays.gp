# The speedup over one machine, by the formula, for a small model with 4.5 bits per weight and the largest with 16.
height = 460
load "figures/style.gp"
file = data."/15_pays.dat"
set multiplot layout 1, 2 title "A small model needs a fast network, a large model gains on almost any" font ",18"
set xlabel "machines"
set ylabel "speedup over one machine"
set logscale xy 2
set xrange [1:64]
set yrange [1:64]
set xtics 1, 2, 64
set ytics 1, 2, 64
set key left top
array names = ["1 Gbit/s", "10 Gbit/s", "100 Gbit/s", "InfiniBand"]
set title "Llama 3.2 1B, 4.5 bits per weight" font ",16"
plot for [k = 1:4] file index 0 using 1:(column(1 + k)) with linespoints linetype k title names[k], x with lines linecolor rgb grey dashtype 2
set title "Llama 3.1 405B, 16 bits per weight"
unset ylabel
unset key
plot for [k = 1:4] file index 1 using 1:(column(1 + k)) with linespoints linetype k, x with lines linecolor rgb grey dashtype 2
unset multiplot
