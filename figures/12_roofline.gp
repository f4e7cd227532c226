# The roofline: what memory allows at so many operations per byte, what the multipliers allow, and the speed of each rung.
height = 520
load "figures/style.gp"

file = data."/12_ladder.dat"
stats file using ($1 == 7 && $2 == 1 ? $5 / $7 / $3 : NaN) nooutput name "SLOPE" # read bandwidth over FMA peak, one thread
slope = SLOPE_max
set title "Few operations per byte: memory-bound. Many: compute-bound"
set xlabel "arithmetic intensity: operations per byte of weights that is read"
set ylabel "fraction of the FMA peak"
set logscale xy
set xrange [0.35:220]
set yrange [0.003:1.7]
set xtics ("0.5" 0.5, "1" 1, "4" 4, "16" 16, "64" 64, "128" 128)
set ytics ("1 %%" 0.01, "10 %%" 0.1, "100 %%" 1)
set key off
set rmargin 4
roof(x) = slope * x < 1 ? slope * x : 1
one = system("awk '$1 == 0 && $2 == 128 { print $4 }' ".file) + 0
two = system("awk '$1 == 3 && $2 == 128 { print $4 }' ".file) + 0
set label "1 row (decode)" at 0.42, 0.02 left textcolor rgb vermillion
set label "128 rows (prefill)" at 64, 0.045 center textcolor rgb blue
set label "bandwidth" at 0.9, slope * 0.9 * 1.45 rotate by 31 textcolor rgb black
set label "the FMA peak" at 215, 1.2 right textcolor rgb black
set label "all lanes, one accumulator" at 4, two * 1.25 left textcolor rgb grey
set label "one lane, one accumulator" at 4, one * 0.74 left textcolor rgb grey
# One row: its height is its fraction of the bandwidth.
height_of(ops, rows, of_peak, of_reading) = rows == 1 ? roof(ops) * of_reading : of_peak
plot roof(x) with lines linecolor rgb black linewidth 2, \
     two with lines linecolor rgb grey dashtype 2 linewidth 1.2, \
     one with lines linecolor rgb grey dashtype 2 linewidth 1.2, \
     file using ($1 > 0 && $1 < 8 && $2 == 128 ? $3 : NaN):5 with points pointtype 7 pointsize 1 linecolor rgb blue, \
     file using ($1 > 1 && $1 < 8 && $2 == 128 ? $3 * ($1 == 4 || $1 == 6 ? 0.82 : 1.15) : NaN):5:($1 == 2 ? "1, 2" : sprintf("%d", $1)) with labels left textcolor rgb blue, \
     file using ($2 == 1 && ($1 == 2 || $1 == 7) ? $3 * 1.17 : NaN):(height_of($3, $2, $5, $7)):($1 == 2 ? "0 to 2" : "3 to 7") with labels left textcolor rgb vermillion, \
     file using ($1 < 8 && $2 == 1 ? $3 : NaN):(height_of($3, $2, $5, $7)) with points pointtype 5 pointsize 1 linecolor rgb vermillion
