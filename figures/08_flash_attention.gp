# Bytes that attention works in, for one head of 128, against the length of the text.
figure = "08_memory"; height = 480
load "figures/style.gp"

set title "FlashAttention works in the same memory at 131072 tokens as at 512"
set xlabel "tokens of the text"
set ylabel "working memory of one head" offset -1
set logscale x 2
set logscale y 2
set xrange [512:131100]
set yrange [2.0**16:2.0**37]
set xtics ("512" 512, "2048" 2048, "8192" 8192, "32768" 32768, "131072" 131072)
set ytics ("128 KiB" 2.0**17, "1 MiB" 2.0**20, "16 MiB" 2.0**24, "256 MiB" 2.0**28, "4 GiB" 2.0**32, "64 GiB" 2.0**36)
set lmargin 14
set rmargin 24
unset key
file = data."/08_memory.dat"
right = 131072 * 1.15
set label "all T × T scores" at right, 2.0**36 textcolor rgb vermillion
set label "rows of 128 queries,\n128 × T" at right, 2.0**26.4 textcolor rgb purple
set label "FlashAttention,\n128 queries" at right, 2.0**17.4 textcolor rgb blue
plot file using 1:2 with linespoints linetype 2, \
     file using 1:3 with linespoints linetype 4, \
     file using 1:4 with linespoints linetype 1


# A block of queries stays in fast memory, while tiles of keys and values pass through it.
figure = "08_stream"; height = 430
load "figures/style.gp"
eval sheet("A block of queries stays in fast memory while tiles of keys and values stream past")
set xrange [0:100]; set yrange [0:49.45]
name(text, x, y, colour) = sprintf("set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'", text, x, y, colour)
now = 3
# Main memory: eight tiles of K and V, and beside them three blocks of Q.
do for [i = 0:2] { eval box(27, 14.5 - 4.3 * i, 8, 3.5, i == 0 ? blue : pale, i == 0 ? blue : grey) }
do for [i = 0:7] {
    y = 36 - 4.3 * i
    eval box(4, y, 8, 3.5, i == now ? vermillion : pale, i == now ? vermillion : grey)
    eval box(13, y, 8, 3.5, i == now ? orange : pale, i == now ? orange : grey)
}
eval name("Q", 31, 20.5, black)
eval name("K", 8, 42, black)
eval name("V", 17, 42, black)
set label "main memory: large and slow" at 19, 2 center front textcolor rgb grey
# Fast memory
set object 900 rectangle from 52, 5 to 97, 40 behind fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb grey linewidth 1.5 dashtype 2
set label "cache: small and fast" at 74.5, 2 center front textcolor rgb grey
eval box(56, 31, 9, 4, vermillion, vermillion)
eval name("K", 60.5, 33, "#ffffff")
eval box(71, 31, 9, 4, orange, orange)
eval name("V", 75.5, 33, "#ffffff")
eval box(56, 13, 9, 4, blue, blue)
eval name("Q", 60.5, 15, "#ffffff")
eval box(69, 13, 3.4, 4, "#ffffff", blue)
eval name("m", 70.7, 15, blue)
eval box(73, 13, 3.4, 4, "#ffffff", blue)
eval name("l", 74.7, 15, blue)
eval box(77, 13, 7, 4, "#ffffff", blue)
eval name("O", 80.5, 15, blue)
set label "one tile at a time; the next replaces it" at 56, 37.3 left front textcolor rgb vermillion font ",14"
set label "one block stays until every tile has passed" at 56, 9 left front textcolor rgb blue font ",14"
set arrow from 22, 24.9 to 55, 33 linewidth 2 linecolor rgb vermillion size 1.5, 25 filled back
set arrow from 36, 16.2 to 55, 15 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set label "once per block" at 31, 31 center front textcolor rgb vermillion font ",14"
set label "once" at 45.5, 17.8 center front textcolor rgb blue font ",14"
set arrow from 60.5, 30.3 to 60.5, 17.8 linewidth 1.5 linecolor rgb grey size 1, 25 filled front
set label "scores" at 61.3, 24 left front textcolor rgb grey font ",14"
set arrow from 75.5, 30.3 to 79.5, 17.8 linewidth 1.5 linecolor rgb grey size 1, 25 filled front
set label "weighted sum" at 78.7, 24 left front textcolor rgb grey font ",14"
set arrow from 84.6, 15 to 99.5, 15 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set label "O / l" at 90.5, 17.3 center front textcolor rgb blue font ",14"
plot NaN


# The scores of 128 queries and 128 keys in squares of 16 x 16: skipped, in part, whole.
figure = "08_tiles"; height = 600
load "figures/style.gp"

set title "Causal attention skips the squares above the diagonal and computes only a part of those on it"
set xlabel "key"
set ylabel "query"
set xrange [-1:215]
set yrange [129:-1]
set xtics 0, 16, 128
set ytics 16
set size ratio -1
set border 0
unset grid
unset key
set style fill solid noborder
file = data."/08_tiles.dat"
left(kind) = column(3) == kind ? column(2) + 0.4 : NaN
do for [i = 0:7] {
    a = 16 * i + 0.4
    b = a + 15.2
    set object i + 1 polygon from a, a to b, a to b, b to a, a fillcolor rgb "#c5e3f6" fillstyle solid noborder front
}
# The names, beside the picture.
do for [i = 0:2] {
    y = 30 + 22 * i
    set object 10 + i rectangle from 140, y - 5 to 150, y + 5 front fillcolor rgb (i == 0 ? blue : i == 1 ? sky : "#eeeeee") fillstyle solid noborder
}
set object 20 polygon from 140, 47 to 150, 47 to 150, 57 to 140, 47 fillcolor rgb "#c5e3f6" fillstyle solid noborder front
set label "28 squares computed whole" at 153, 30 left front textcolor rgb black
set label "8 squares computed in part" at 153, 52 left front textcolor rgb black
set label "28 squares skipped" at 153, 74 left front textcolor rgb black
box = 15.2
plot file using (left(0)):($1 + 0.4):(left(0)):(left(0) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb "#eeeeee", \
     file using (left(1)):($1 + 0.4):(left(1)):(left(1) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb sky, \
     file using (left(2)):($1 + 0.4):(left(2)):(left(2) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb blue


# The last query of the sentence reads its keys, four a tile: the scores with the largest so far; and under them the sum l.
figure = "08_online"; height = 640
load "figures/style.gp"

file = data."/08_online.dat"
stats file index 0 using 2 nooutput name "SCORE" # the largest score, and the least
stats file index 1 using 6 nooutput name "SUM"   # the largest sum
span = SCORE_max - SCORE_min
set multiplot layout 2, 1 margins 0.105, 0.98, 0.15, 0.9 spacing 0, 0.05 \
    title "When a tile brings a larger score, the sums so far are scaled down" font ",18"
set xrange [-0.7:28.7]
unset key
do for [i = 0:3] { set object i + 1 rectangle from 8 * i - 0.5, graph 0 to 8 * i + 3.5, graph 1 fillcolor rgb "#f4f4f4" fillstyle solid noborder behind }
left(x) = x - 0.5

set xtics 4 format ""
set xtics scale 0
set yrange [SCORE_min - 0.08 * span:SCORE_max + 0.14 * span]
set ylabel "score" offset 1
set label 1 "m, the largest so far" at 28.4, SCORE_max + 0.07 * span right textcolor rgb blue
set label 2 "the score of each key" at 28.4, SCORE_max - 0.3 * span right textcolor rgb grey
plot file index 1 using (left($1)):3:($2):(0) with vectors nohead linetype 1, \
     file index 0 using 1:2 with points pointtype 7 pointsize 0.6 linecolor rgb grey, \
     file index 0 using 1:($0 == SCORE_index_max ? $2 + 0.07 * span : NaN):3 with labels textcolor rgb black

set xtics rotate by 60 right format "%s" font ",14"
set yrange [0:1.35 * SUM_max]
set ylabel "l, the sum so far" offset 1
set style fill solid noborder
set label 1 "kept" at 14, 1.17 * SUM_max left textcolor rgb grey
set label 2 "this tile's" at 17, 1.17 * SUM_max left textcolor rgb grey
set object 5 rectangle center 13.5, 1.17 * SUM_max size 0.5, 0.08 * SUM_max fillcolor rgb blue fillstyle solid noborder front
set object 6 rectangle center 16.5, 1.17 * SUM_max size 0.5, 0.08 * SUM_max fillcolor rgb sky fillstyle solid noborder front
plot file index 1 using (left($1) + $2 / 2.):($5 / 2):($2 / 2. - 0.25):($5 / 2) with boxxyerror linecolor rgb blue, \
     file index 1 using (left($1) + $2 / 2.):(($5 + $6) / 2):($2 / 2. - 0.25):(($6 - $5) / 2) with boxxyerror linecolor rgb sky, \
     file index 1 using (left($1) + 0.25):($4 > $5 + 0.1 ? $4 : NaN):($2 - 0.5):(0) with vectors nohead linecolor rgb vermillion linewidth 2 dashtype 2, \
     file index 1 using (left($1) + $2 / 2.):($4 > $5 + 0.1 ? ($4 > $6 ? $4 : $6) + 0.2 * SUM_max : NaN):(sprintf("%.2f rescaled\nto %.2f", $4, $5)) \
         with labels textcolor rgb vermillion, \
     file index 0 using 1:(NaN):xtic(3) with points
unset multiplot
