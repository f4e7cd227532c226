# The operations of one more token in one layer of Llama 3 8B, and how many times more they are without a cache.
height = 460
load "figures/style.gp"

set title "Without a cache, every new token costs as much as the whole text so far"
set xlabel "tokens so far"
set ylabel "GFLOP for one more token"
set logscale xy
set xrange [1:2.2e6]
set yrange [0.1:1e6]
set xtics ("1" 1, "8" 8, "128" 128, "1024" 1024, "8192" 8192, "131072" 131072)
set ytics ("0.1" 0.1, "1" 1, "10" 10, "100" 100, "1000" 1000, "10⁴" 1e4, "10⁵" 1e5, "10⁶" 1e6)
set grid noxtics
file = data."/07_cost.dat"
chosen(n) = n == 8 || n == 128 || n == 8192 || n == 131072
set label "without a cache" at 1.7e5, 2e5 textcolor rgb vermillion
set label "with the cache" at 1.7e5, 2.6 textcolor rgb blue
plot file using (chosen($1) ? $1 : NaN):2:(0):($3 - $2) with vectors nohead linecolor rgb grey linewidth 1 dashtype 2, \
     file using 1:3 with lines linetype 2, file using 1:2 with lines linetype 1, \
     file using (chosen($1) ? $1 * 1.2 : NaN):(0.8 * sqrt($2 * $3)):(sprintf("%.0f times", $3 / $2)) with labels left textcolor rgb black
