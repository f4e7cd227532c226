# The score of one query with one key, wherever the text begins: with the positions added to them, and with both rotated.
figure = "05_place"; height = 380
load "figures/style.gp"

file = data."/05_place.dat"
stats file using 3 nooutput name "ROTATED"
set multiplot layout 1, 2 margins 0.12, 0.98, 0.21, 0.77 spacing 0.1 \
    title "With the position added, a score depends on where the text begins; rotated, it does not" font ",18"
set title font ",16" offset 0, -0.3
set xrange [0:400]
set xtics 100
set xlabel "position at which the text begins"
set ylabel "score"
set title "position added to query and key" textcolor rgb vermillion
set yrange [0:6e6]
set ytics ("0" 0, "2 million" 2e6, "4 million" 4e6, "6 million" 6e6)
plot file using 1:2 with lines linetype 2
unset ylabel
set title "query and key rotated" textcolor rgb blue
set yrange [0:1.4 * ROTATED_max]
set ytics autofreq 50
plot file using 1:3 with lines linetype 1
unset multiplot


# Three pairs of a head of 32 at positions 0 to 15, each on its unit circle.
figure = "05_circle"; height = 380
load "figures/style.gp"

set title font ",16"
set multiplot layout 1, 3 margins 0.01, 0.99, 0.02, 0.78 spacing 0.02 \
    title "Sixteen positions: fast pairs separate neighbours, slow pairs separate far positions" font ",18"
set size ratio -1
set xrange [-1.32:1.32]
set yrange [-1.32:1.32]
unset tics
unset border
unset grid
file = data."/05_circle.dat"
cosine(n) = column(2 * n)
sine(n) = column(2 * n + 1)
array says[3] = ["pair 0: 57° a step", "pair 3: 10° a step", "pair 8: 0.6° a step"]
array labelled[3] = [1, 1, 15]
do for [n = 1:3] {
    set title says[n]
    plot file using (0):(0):(cosine(n)):(sine(n)) with vectors nohead linecolor rgb faint linewidth 1, \
         file using (cosine(n)):(sine(n)) with points linetype n pointtype 7, \
         file using (1.17 * cosine(n)):(1.17 * sine(n)):(sprintf("%d", $1)) every labelled[n] \
             with labels textcolor rgb black
}
unset multiplot


# Between which distances each of the 64 pairs of a head of 128, theta 10000, has turned by an eighth and by a whole turn.
figure = "05_table"; height = 460
load "figures/style.gp"

set title "Fast pairs distinguish near tokens, slow pairs distinguish far ones"
set xlabel "pair i, from the fastest to the slowest"
set ylabel "how far apart two tokens are, in tokens"
set xrange [0:63]
set yrange [0.5:100000]
set xtics ("0" 0, "16" 16, "32" 32, "48" 48, "63" 63)
set logscale y
set ytics ("1" 1, "10" 10, "100" 100, "1000" 1000, "10⁴" 1e4)
unset grid
set arrow 1 from 0, 1 to 63, 1 nohead linecolor rgb grey linewidth 1 dashtype 2 front
set arrow 2 from 0, 1000 to 63, 1000 nohead linecolor rgb grey linewidth 1 dashtype 2 front
set label 1 "more than one rotation: ambiguous" at 14, 12000 center textcolor rgb black
set label 2 "hardly rotated: no difference" at 47, 10 center textcolor rgb black
set label 3 "rotated, less than once: told apart" at 27, 95 center rotate by 17.5 textcolor rgb "#ffffff" front
set label 4 "tokens 3 and 4" at 62.5, 1.4 right textcolor rgb grey front
set label 5 "tokens 3000 and 4000" at 0.6, 1400 left textcolor rgb grey front
plot data."/05_table.dat" using 1:2:3 with filledcurves linecolor rgb blue


# Which pairs make the scores of two heads of the course's model: one that attends to the previous token, one that finds the owner.
figure = "05_heads"; height = 380
load "figures/style.gp"

file = data."/05_heads.dat"
stats file using ($2 > $3 ? $2 : $3) nooutput name "SHARE" # the largest of either head
set title "The previous-token head uses fast pairs; the name-finding head uses slow ones"
set xlabel "pair i, from the fastest to the slowest"
set ylabel "share in the head's scores, %"
set xrange [-0.7:15.7]
set yrange [0:1.35 * SHARE_max] # above the bars is room for their names
set xtics 0, 1, 15
set ytics 0, 10
set grid noxtics
set style fill solid 1 noborder
set boxwidth 0.38
set key right top Right noreverse
plot file using ($1 - 0.2):2 with boxes linecolor rgb blue title "the head that attends to the previous token", \
     file using ($1 + 0.2):3 with boxes linecolor rgb orange title "the head that finds the owner's name"


# Which elements of a head of 8 turn together, as the kernels do it, and the permutation between the two layouts.
figure = "05_pairs"; height = 400
load "figures/style.gp"

set style circle nowedge
set style fill empty
set size ratio -1
unset tics
unset border
unset grid
file = data."/05_pairs.dat"
set multiplot layout 1, 2 margins 0.01, 0.99, 0.02, 0.84 spacing 0.02 \
    title "Permuted, half-split rotates the same pairs; not permuted, it rotates others" font ",18"
set xrange [-0.7:7.7]
set yrange [-3.4:4.4]
pair(j) = int(j) / 2 + 1
array sits[8]
stats file index 2 using (sits[int($2) + 1] = $1) nooutput
set label 1 "interleaved" at 3.5, 4.1 center
set label 2 "permuted, half-split" at 3.5, -2.9 center
plot file index 0 using (($1 + $2) / 2):(2.9):(($2 - $1) / 2):(0):(180):(pair($1)) with circles linecolor variable linewidth 2.4, \
     file index 2 using 2:(2.6):($1 - $2):(-2.4):(pair($2)) with vectors nohead linewidth 1.2 linecolor variable, \
     file index 1 using (($1 + $2) / 2):(-0.1):(($2 - $1) / 2):(180):(360):($1 + 1) with circles linecolor variable linewidth 2.4, \
     file index 2 using 2:(2.75):(pair($2)) with points pointtype 7 pointsize 2.4 linecolor variable, \
     file index 2 using 2:(2.75):(sprintf("%d", $2)) with labels textcolor rgb "#ffffff" font ",14", \
     file index 2 using 1:(0.05):(pair($2)) with points pointtype 7 pointsize 2.4 linecolor variable, \
     file index 2 using 1:(0.05):(sprintf("%d", $2)) with labels textcolor rgb "#ffffff" font ",14"
set label 1 "not permuted, half-split" at 3.5, -2.9 center
unset label 2
plot file index 1 using (($1 + $2) / 2):(-0.1):(($2 - $1) / 2):(180):(360) with circles linecolor rgb grey linewidth 1.8, \
     file index 2 using 2:(0.05):(pair($2)) with points pointtype 7 pointsize 2.4 linecolor variable, \
     file index 2 using 2:(0.05):(sprintf("%d", $2)) with labels textcolor rgb "#ffffff" font ",14"
unset multiplot


# What is left of a score that is computed with the other pairing.
figure = "05_mixed"; height = 400
load "figures/style.gp"

set title "The wrong pairing is right at distance 0, and its scores drift away with distance"
set xlabel "distance between query and key"
set ylabel "correlation with the right score"
set xrange [-1:122]
set yrange [0:1.05]
set xtics 0, 20
set ytics 0.25
file = data."/05_mixed.dat"
says(d, r) = sprintf("%.2f at %d", r, d)
plot file using 1:2 with lines linetype 2, \
     file using ($1 == 0 || $1 == 5 || $1 == 20 || $1 == 100 ? $1 : NaN):2 with points linetype 2 pointtype 7 pointsize 0.9, \
     file using ($1 == 0 || $1 == 5 || $1 == 20 || $1 == 100 ? $1 + 1.8 : NaN):($2 + 0.045):(says($1, $2)) \
         with labels left textcolor rgb black


# How many positions each pair of a head of 128 needs for one turn, beside the lengths of contexts.
figure = "05_wavelengths"; height = 500
load "figures/style.gp"

set title "Right of its dot, a model's pairs never make a full turn in its context"
set xlabel "pair i"
set ylabel "positions per rotation"
set xrange [0:79]
set xtics add ("63" 63) 0, 16, 48
set yrange [4:4e7]
set logscale y
set ytics ("10" 10, "100" 100, "1000" 1000, "10⁴" 1e4, "10⁵" 1e5, "10⁶" 1e6, "10⁷" 1e7)
set grid noxtics noytics
file = data."/05_wavelengths.dat"
array context[4] = [2048, 4096, 8192, 131072]
array model[4] = ["Llama 1: 2048", "Llama 2: 4096", "Llama 3: 8192", "Llama 3.1: 131072"]
array curve[4] = [2, 2, 3, 4]   # the column of its wavelengths
array first[4]                  # the first pair that does not come round
do for [n = 1:4] {
    stats file using (column(curve[n]) > context[n] ? $1 : NaN) name "longer" nooutput
    first[n] = longer_min
    set arrow n from 0, context[n] to 63, context[n] nohead linecolor rgb "#bbbbbb" linewidth 1 dashtype 2
    set label n model[n] at 64, context[n] textcolor rgb black font ",14"
}
set label 5 "theta 500000" at 57, 3.6e5 left textcolor rgb vermillion
set label 6 "theta 10000" at 50, 950 left textcolor rgb blue front
set label 7 "theta 500000, slowed as in Llama 3.1" at 52, 6e6 right textcolor rgb green
plot file using 1:3 with lines linetype 2, file using 1:4 with lines linetype 3, \
     file using 1:2 with lines linetype 1, \
     for [n = 1:4] file using ($1 == first[n] ? $1 : NaN):(context[n]) with points linetype 7 pointtype 7 pointsize 0.9


# The wavelength of each pair under each recipe, in multiples of the unscaled one. D = 128, theta 500000.
figure = "05_scaling"; height = 480
load "figures/style.gp"

set title "All recipes but linear keep the fastest pair and slow the slowest pairs most"
set xlabel "pair i"
set ylabel "wavelength is stretched by"
set xrange [0:72]
set xtics add ("63" 63) 0, 16, 48
set yrange [0.9:40]
set logscale y 2
set ytics ("1" 1, "2" 2, "4" 4, "8" 8, "16" 16, "32" 32)
set grid noxtics
set label "linear, 8" at 6, 9.3 textcolor rgb grey
set label "dynamic, at 8 × 8192" at 45, 3.6 textcolor rgb green
set label "yarn, 8" at 17, 1.18 right textcolor rgb orange
set label "llama3, 8 (Llama 3.1)" at 40, 9.3 textcolor rgb vermillion
set label "llama3, 32 (Llama 3.2)" at 40, 27.5 textcolor rgb blue
file = data."/05_scaling.dat"
plot file using 1:2 with lines linetype 7 linecolor rgb grey dashtype 2, \
     file using 1:3 with lines linetype 3, file using 1:4 with lines linetype 5, \
     file using 1:6 with lines linetype 1, file using 1:5 with lines linetype 2


# Between which numbers the scores of a query with a key like it lie, in each stretch of 256 distances: as trained, and
# with positions divided by 8.
figure = "05_decay"; height = 390
load "figures/style.gp"

set multiplot layout 1, 2 margins 0.12, 0.96, 0.21, 0.79 spacing 0.09 \
    title "Past the trained length, a perfect match can score lower than any did in training" font ",18"
set title font ",16" offset 0, -0.5
set xlabel "distance between query and key"
set xrange [0:32768]
set yrange [-0.4:1.05]
set xtics ("4096" 4096, "16384" 16384, "32768" 32768)
set ytics ("−0.25" -0.25, "0" 0, "0.5" 0.5, "1" 1)
set object 1 rectangle from 0, graph 0 to 4096, graph 1 fillcolor rgb "#e6e6e6" fillstyle solid noborder behind
set label 1 "trained" at 4600, 0.95 left textcolor rgb grey
file = data."/05_decay.dat"
stats file using ($1 < 4096 ? $2 : NaN) nooutput
least = STATS_min
set arrow 1 from 0, least to 32768, least nohead linecolor rgb black linewidth 1.2 dashtype 2 front
set title "theta 10000, as trained" textcolor rgb vermillion
set ylabel "score of a query with an equal key" offset 2, 0
set label 2 "dashed: the least inside" at 32000, -0.33 right textcolor rgb black
plot file using 1:2:3 with filledcurves fillcolor rgb vermillion fillstyle solid 0.6 noborder
unset ylabel
unset label 2
set title "positions divided by 8" textcolor rgb blue
plot file using 1:4:5 with filledcurves fillcolor rgb blue fillstyle solid 0.6 noborder
unset multiplot


# The largest error of a direction so far, over the 64 pairs of a head of 128, theta 10000.
figure = "05_error"; height = 440
load "figures/style.gp"

set title "Up to position 131071 a float32 table errs by half a degree, a bf16 table by any angle"
set xlabel "position"
set ylabel "largest error so far, degrees"
set logscale xy
set xrange [1:3e6]
set yrange [1e-7:1000]
set xtics ("1" 1, "10" 10, "100" 100, "1000" 1000, "10⁴" 1e4, "131071" 131071)
set ytics ("10⁻⁶" 1e-6, "10⁻⁴" 1e-4, "0.01" 0.01, "1°" 1, "180°" 180)
set grid noxtics
set label "table in bf16" at 1.7e5, 180 textcolor rgb orange
set label "table in float32" at 1.7e5, 0.55 textcolor rgb blue
set label "rotated step by step" at 1.7e5, 0.09 textcolor rgb vermillion
file = data."/05_error.dat"
plot file using 1:($3 > 0 ? $3 : NaN) with lines linetype 5, \
     file using 1:($2 > 0 ? $2 : NaN) with lines linetype 1, \
     file using 1:($4 > 0 ? $4 : NaN) with lines linetype 2
