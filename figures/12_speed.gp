# The roofline: what memory allows at so many operations per byte, what the multipliers allow, and the speed of each rung.
figure = "12_roofline"; height = 520
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


# Multiply-adds in time: with one accumulator each waits for the one before, with eight there is always one that need not.
figure = "12_accumulators"; height = 470
load "figures/style.gp"
set title "One accumulator waits for itself; eight keep both multipliers busy"
set xlabel "cycle"
set xrange [-4.4:16.2]
set yrange [15.4:-1.2]
set xtics ("0" 0, "4" 4, "8" 8, "12" 12, "16" 16)
unset ytics
unset grid
unset key
set border 1
set lmargin 1
set rmargin 1
n = 0
bar(x, y, fill, dim) = sprintf("n = n + 1; set object n rectangle from %g,%g to %g,%g front fillcolor rgb '%s' fillstyle solid %g border linecolor rgb '#ffffff' linewidth 1.5", x + 0.06, y + 0.06, x + 3.94, y + 0.94, fill, dim)
name(text, y) = sprintf("set label '%s' at -0.4,%g right front textcolor rgb black", text, y)
eval name("one accumulator", 1.5)
do for [i = 0:3] { eval bar(4 * i, 1, vermillion, 1) }
set label "4 multiply-adds in 16 cycles" at 0, 0.2 left textcolor rgb vermillion
set label "32 can begin in 16 cycles: two in each" at 0, 4 left textcolor rgb blue
do for [a = 0:7] {
    eval name(sprintf("%d", a + 1), 5.6 + 1.15 * a)
    start = floor(a / 2)
    do for [i = 0:3] { if (start + 4 * i + 4 < 16.5) { eval bar(start + 4 * i, 5.1 + 1.15 * a, i == 0 ? blue : sky, 1) } else { eval bar(start + 4 * i, 5.1 + 1.15 * a, sky, 1) } }
}
set object 200 rectangle from 16.02, -0.5 to 20, 15 front fillcolor rgb "#ffffff" fillstyle solid noborder
set label "eight" at -1.4, 5.6 right textcolor rgb black
plot NaN


# The sets of a first-level cache: where 16 lines go of rows that lie 8 KiB apart, and where the same 16 go once they are packed.
figure = "12_sets"; height = 440
load "figures/style.gp"
eval sheet("Rows that are 8 KiB apart crowd into one set of the L1 cache; packed, they spread")
SETS = 20; WAYS = 8; cell = 19 # of 64 sets, the ones in the middle of the picture
array left[2] = [20, 460]
array name[2] = ["in the matrix: 16 rows, 8 KiB apart", "packed: side by side"]
ground = 80
full = 2 # the set, or the first of the sets, that the lines want
line(x, y, fill, edge) = box(x + 1.5, y + 1.5, cell - 3, cell - 3, fill, edge)
do for [k = 1:2] {
    do for [s = 0:SETS - 1] {
        do for [w = 0:WAYS - 1] {
            taken = k == 1 ? s == full : s >= full && s < full + 16 && w == 0
            eval line(left[k] + s * cell, ground + w * cell, taken ? blue : pale, taken ? blue : faint)
        }
    }
    set label name[k] at left[k] + SETS * cell / 2, height - 62 center front
    set label "20 of the 64 sets" at left[k] + SETS * cell / 2, ground - 16 center front textcolor rgb grey font ",14"
    eval go(left[k] + SETS * cell / 2 + 75, ground - 16, left[k] + SETS * cell, ground - 16, grey)
    eval go(left[k] + SETS * cell / 2 - 75, ground - 16, left[k], ground - 16, grey)
}
do for [w = WAYS:15] { eval line(left[1] + full * cell, ground + w * cell, "#ffffff", vermillion) }
set label "a set has 8 places:\n8 of the 16 lines find none,\nand drive the others out" at left[1] + (full + 1.5) * cell, ground + 13.3 * cell left front textcolor rgb vermillion
set label "16 lines in 16 sets,\nand 7 places are left in each" at left[2] + full * cell, ground + 10.3 * cell left front textcolor rgb blue
set label "a square is a line of 64 bytes" at 430, 24 center front textcolor rgb grey font ",14"
plot NaN


# The three pieces of a blocked GEMM, and where each of them stays: block, panel and tile.
figure = "12_panel"; height = 600
load "figures/style.gp"
eval sheet("A tile is summed in registers; its panel stays in a cache while rows of x pass")
set xrange [0:100]; set yrange [0:68.5714]
# weight, above y: transposed, so that an output is a column; x to the left of y
eval box(46, 34, 46, 26, pale, grey)
eval box(60, 47, 6, 13, orange, orange)
eval box(6, 6, 34, 24, pale, grey)
eval box(6, 6, 17, 24, "#c5e3f6", sky)
eval box(6, 21, 17, 3.4, blue, blue)
eval box(46, 6, 46, 24, pale, grey)
eval box(60, 21, 6, 3.4, vermillion, vermillion)
set label "x: one token per row" at 23, 4 center front textcolor rgb grey
set label "y" at 69, 4 center front textcolor rgb grey
set label "the weight, transposed: one output per column" at 69, 62 center front textcolor rgb grey
set label "panel KC × NR, packed:\n1024 × 32 weights,\n128 KiB, in L2\n(rung 6: 256 × 32, in L1)" at 68, 55.5 left front textcolor rgb black font ",15"
set label "block MC × KC: 512 rows of\n1024 numbers, 2 MB, in L2 and L3" at 6.8, 35.5 left front textcolor rgb black
set label "MR = 12 rows" at 7, 22.6 left front textcolor rgb "#ffffff"
set label "tile MR × NR:\n12 × 32 sums,\nin 24 registers" at 68, 24 left front textcolor rgb black
set arrow from 23.5, 22.7 to 59.3, 22.7 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set arrow from 63, 46.5 to 63, 25.2 linewidth 2 linecolor rgb orange size 1.5, 25 filled front
set arrow from 14.5, 20.4 to 14.5, 8 linewidth 2 linecolor rgb blue size 1.2, 25 filled front
set label "tile after tile,\ndown the block;\nthe panel stays" at 24.5, 17.5 left front textcolor rgb black font ",13"
plot NaN


# For each rung, the speed that the theory predicts and the speed that it reaches: on the left with many rows beside the FMA peak,
# on the right with one row beside the read bandwidth.
figure = "12_ladder"; height = 560
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


# Tokens per second of a whole model with the kernels of chapter 9 and with those of this chapter, beside the machine's limits.
# The run: a random Llama of 1.1 billion weights in BF16, one thread of an AMD EPYC (Zen 3, AVX2), 28 November 2026, a busy machine;
# processor time, the best of several runs. The limits are the bandwidth over the bytes of the weights that a token needs, and the
# FMA peak over the operations of a prompt's token.
figure = "12_decoder"; height = 400
load "figures/style.gp"

# chapter 9's kernels, this chapter's, the limit
array decode[3] = [1.5, 7.2, 10.1]
array prefill[3] = [3.8, 33.0, 50.0]
set multiplot layout 1, 2 margins 0.16, 0.95, 0.12, 0.76 spacing 0.08, 0 \
    title "Tokens per second of a 1.1B Llama on one core, before and after" font ",18"
set style fill solid
set yrange [-0.6:1.7]
unset grid
set grid xtics linecolor rgb faint linewidth 0.7
unset key
do for [panel = 1:2] {
    before = panel == 1 ? decode[1] : prefill[1]
    after = panel == 1 ? decode[2] : prefill[2]
    limit = panel == 1 ? decode[3] : prefill[3]
    set xrange [0:1.12 * limit]
    if (panel == 1) { set ytics ("chapter 9" 1, "this chapter" 0) } else { set ytics ("" 0) }
    set label 1 (panel == 1 ? "decode, after 64 tokens" : "prefill of 128 tokens") at graph 0, 1.12 textcolor rgb black
    set label 2 (panel == 1 ? "bandwidth" : "FMA peak") at limit, 1.55 right offset -0.6, 0 textcolor rgb grey
    set arrow 1 from limit, -0.6 to limit, 1.7 nohead linecolor rgb grey linewidth 2 dashtype 2
    plot "+" every ::0::0 using (before / 2):(1):(before / 2):(0.28) with boxxyerror linecolor rgb "#b0b0b0", \
         "+" every ::0::0 using (after / 2):(0):(after / 2):(0.28) with boxxyerror linecolor rgb blue, \
         "+" every ::0::0 using (before):(1):(sprintf("%g", before)) with labels left offset 0.8, 0 textcolor rgb black, \
         "+" every ::0::0 using (after):(0):(sprintf("%g", after)) with labels right offset -0.8, 0 textcolor rgb "#ffffff"
}
unset multiplot
