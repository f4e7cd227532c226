# For each rung, the speed that the theory predicts and the speed that it reaches: on the left with many rows beside the FMA peak,
# on the right with one row beside the read bandwidth.
height = 560
load "figures/style.gp"

file = data."/12_ladder.dat"
names = "triple_loop loop_interchange float_accumulator omp_simd four_accumulators register_tile packing blocking,_prefetch threads BF16_weights BF16_dot_products"
spaced(s) = (i = strstrt(s, "_"), i ? s[1:i - 1]." ".spaced(s[i + 1:*]) : s)
name(n) = sprintf("%d  %s", n, spaced(word(names, n + 1)))
stats file using 1 nooutput name "RUNG" # the last is there where the processor has it
set multiplot layout 1, 2 margins 0.21, 0.95, 0.17, 0.84 spacing 0.06, 0 \
    title "Predicted and measured: the gap is what the theory does not explain" font ",18"
set yrange [RUNG_max + 0.6:-0.7]
set logscale x
unset grid
set grid xtics linecolor rgb faint linewidth 0.7
unset key
set label 1 "○ predicted" at graph -0.02, 1.045 textcolor rgb grey
set label 2 "● measured" at graph 0.35, 1.045 textcolor rgb blue
do for [n = 0:int(RUNG_max)] { set ytics add (name(n) n) }
percent(v) = v < 0.1 ? sprintf("%.1f", 100 * v) : sprintf("%.0f", 100 * v)
set xlabel "128 rows, of the FMA peak"
set xtics ("1 %%" 1, "3 %%" 3, "10 %%" 10, "30 %%" 30, "100 %%" 100)
set xrange [0.6:170]
rows = 128
plot file using ($2 == rows ? 100 * $4 : NaN):1:(100 * ($5 - $4)):(0) with vectors nohead linecolor rgb "#aaaaaa" linewidth 2, \
     file using ($2 == rows ? 100 * $4 : NaN):1 with points pointtype 6 pointsize 1.1 linewidth 1.6 linecolor rgb grey, \
     file using ($2 == rows ? 100 * $5 : NaN):1 with points pointtype 7 pointsize 0.8 linecolor rgb blue, \
     file using ($2 == rows ? 118 * ($4 > $5 ? $4 : $5) : NaN):1:(percent($5)) with labels left textcolor rgb blue
unset label 1
unset label 2
unset ytics
set xlabel "1 row, of the read bandwidth"
set xtics ("10 %%" 10, "20 %%" 20, "50 %%" 50, "100 %%" 100)
set xrange [10:150]
rows = 1
plot file using ($2 == rows ? 100 * $6 : NaN):1:(100 * ($7 - $6)):(0) with vectors nohead linecolor rgb "#aaaaaa" linewidth 2, \
     file using ($2 == rows ? 100 * $6 : NaN):1 with points pointtype 6 pointsize 1.1 linewidth 1.6 linecolor rgb grey, \
     file using ($2 == rows ? 100 * $7 : NaN):1 with points pointtype 7 pointsize 0.8 linecolor rgb blue, \
     file using ($2 == rows ? 109 * ($6 > $7 ? $6 : $7) : NaN):1:(percent($7)) with labels left textcolor rgb blue
unset multiplot
