# Each rung's speed, predicted and measured: many rows beside the FMA peak, one row beside the read bandwidth.
height = 580
load "figures/style.gp"

file = data."/12_ladder.dat"
names = "triple_loop loop_order float_sum omp_simd multiple_accumulators register_tile packed_panels asking_ahead threads BF16_weights BF16_pairs"
name(n) = sprintf("%d  %s", n, spaced(word(names, n + 1)))
spaced(s) = (i = strstrt(s, "_"), i ? s[1:i - 1]." ".s[i + 1:*] : s)
set multiplot layout 1, 2 margins 0.19, 0.97, 0.17, 0.85 spacing 0.06, 0 \
    title "What the theory gives each rung, and what it reaches, as a share of its limit" font ",18"
stats file using 1 nooutput name "RUNG" # the last is there where the processor has it
stats file using ($2 == 128 ? 100 * ($4 > $5 ? $4 : $5) : NaN) nooutput name "SHARE" # where dot products pay, it is beyond the FMA peak
set yrange [RUNG_max + 0.6:-0.7]
set xrange [0:SHARE_max * 1.16]
set xtics 0, 50, 200 format "%g %%"
unset grid
set grid xtics linecolor rgb faint linewidth 0.7
unset key
set label 1 "grey: predicted" at graph -0.02, 1.045 textcolor rgb grey
set label 2 "blue: measured" at graph 0.42, 1.045 textcolor rgb blue
set xlabel "128 rows, of the FMA peak"
do for [n = 0:int(RUNG_max)] { set ytics add (name(n) n) }
rows = 128
plot file using ($2 == rows ? 50 * $4 : NaN):1:(50 * $4):(0.36) with boxxyerror fillstyle solid linecolor rgb faint, \
     file using ($2 == rows ? 50 * $5 : NaN):1:(50 * $5):(0.2) with boxxyerror fillstyle solid linecolor rgb blue, \
     file using ($2 == rows ? 100 * $5 + 1.5 : NaN):1:($5 < 0.1 ? sprintf("%.1f", 100 * $5) : sprintf("%.0f", 100 * $5)) with labels left textcolor rgb black
unset label 1
unset label 2
unset ytics
set xlabel "1 row, of the read bandwidth"
set xrange [0:122]
rows = 1
plot file using ($2 == rows ? 50 * $6 : NaN):1:(50 * $6):(0.36) with boxxyerror fillstyle solid linecolor rgb faint, \
     file using ($2 == rows ? 50 * $7 : NaN):1:(50 * $7):(0.2) with boxxyerror fillstyle solid linecolor rgb blue, \
     file using ($2 == rows ? 100 * $7 + 1.5 : NaN):1:(sprintf("%.0f", 100 * $7)) with labels left textcolor rgb black
unset multiplot
