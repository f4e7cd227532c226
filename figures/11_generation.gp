# Generation on the sentence: prefill, then decode steps. What goes through the decoder, what the KV cache holds, what is chosen.
figure = "11_loop"; height = 490
load "figures/style.gp"
eval sheet("Prefill processes the prompt at once; each decode step processes one token")

# A row at y: positions first .. last go through the decoder, the cache then holds 0 .. last.
cell = 9.2
left = 138
tile(x, y, fill, edge) = sprintf("n = n + 1; set object n rectangle from %g,%g to %g,%g front fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 0.8", \
    x, y, x + cell - 1.6, y + 20, fill, edge)
array step[4] = ["prefill", "decode", "decode", "decode"]
array what[4] = ["the 29 tokens of the prompt", "Anna", "has", "the"]
array chosen[4] = ["Anna", "has", "the", "red"]
array first[4] = [0, 29, 30, 31]
array last[4] = [28, 29, 30, 31]
do for [r = 1:4] {
    y = 474 - 100 * r
    set label step[r] at 16, y + 12 left front font ",16"
    set label sprintf("%s", r == 1 ? "1 call" : sprintf("step %d", r - 1)) at 16, y - 8 left front font ",13" textcolor rgb grey
    do for [p = 0:35] {
        eval tile(left + p * cell, y, p > last[r] ? "#ffffff" : p >= first[r] ? blue : "#bcd9ec", p > last[r] ? faint : p >= first[r] ? blue : "#bcd9ec")
    }
    set label what[r] at left + (r == 1 ? 14.5 : first[r] + 0.5) * cell, y + 34 center front font ",14" textcolor rgb blue
    set label sprintf("position%s", r == 1 ? "s 0 to 28" : sprintf(" %d", last[r])) at left + (r == 1 ? 14.5 : first[r] + 0.5) * cell, y - 12 center front font ",13" textcolor rgb grey
    eval go(left + 36 * cell + 6, y + 10, 540, y + 10, grey)
    set label "1024 logits" at 546, y + 12 left front font ",15"
    eval go(642, y + 10, 704, y + 10, grey)
    set label "choose" at 672, y + 24 center front font ",13" textcolor rgb vermillion
    n = n + 1
    set object n rectangle from 710, y - 6 to 790, y + 27 front fillcolor rgb vermillion fillstyle solid noborder
    set label chosen[r] at 750, y + 11 center front font ",16" textcolor rgb "#ffffff"
    if (r < 4) {
        set arrow from 750, y - 6 to 750, y - 46 nohead linecolor rgb grey linewidth 1.5 front
        set arrow from 750, y - 46 to left + (last[r] + 1.5) * cell + 48, y - 46 nohead linecolor rgb grey linewidth 1.5 front
        set arrow from left + (last[r] + 1.5) * cell + 48, y - 46 to left + (last[r] + 1.5) * cell + 24, y - 64 linecolor rgb grey linewidth 1.5 size screen 0.01, 25 filled front
    }
}
eval tile(140, 8, blue, blue)
set label "goes through the decoder" at 156, 17 left front font ",14"
eval tile(370, 8, "#bcd9ec", "#bcd9ec")
set label "keys and values are in the KV cache already" at 386, 17 left front font ",14"
plot NaN


# The probabilities of the next token side by side, at three temperatures, and the token that one random number chooses.
figure = "11_draw"; height = 330
load "figures/style.gp"
file = data."/11_next.dat"
set title "The random number u = 0.5 chooses another token at each temperature"
set lmargin 17; set rmargin 3; set tmargin 3; set bmargin 4
unset grid; set border 1; unset key
set xtics 0.1
set ytics ("temperature 0.5" 3, "1, as the model says" 2, "temperature 2" 1) scale 0
set xlabel "u"
array colour[6] = [blue, vermillion, green, purple, orange, "#d9d9d9"]
names = system("awk '/^[1-5] / { print $8 == \"\\\"\" ? \"quote\" : $8 }' '" . file . "'") # word() takes a quotation mark for the beginning of a text
name(i) = word(names, i) eq "quote" ? "\"" : word(names, i)
array row[3] = [3, 2, 1]
u = 0.5
beside(a, b, room) = u <= a || u >= b || abs((a + b) / 2 - u) > room ? (a + b) / 2 : u - a > b - u ? (a + u) / 2 : (u + b) / 2 # the arrow
n = 0
do for [k = 1:3] {
    start = 0.0
    do for [i = 1:6] {
        stop = 1.0
        if (i < 6) { stats file using (column(2 * k + 1)) every ::(i - 1)::(i - 1) nooutput; stop = STATS_max }
        n = n + 1
        set object n rectangle from start, row[k] - 0.33 to stop, row[k] + 0.33 fillcolor rgb colour[i] fillstyle solid 0.85 border linecolor rgb "#ffffff" linewidth 1
        if (stop - start > (i < 6 ? 0.049 : 0.14)) { set label (i < 6 ? name(i) : "all others") at beside(start, stop, i < 6 ? 0.04 : 0.07), row[k] center front textcolor rgb (i < 4 ? "#ffffff" : black) font (i == 5 ? ",12" : ",14") }
        start = stop
    }
}
set arrow from u, 3.6 to u, 0.42 front linewidth 2 linecolor rgb black dashtype 2 size 0.012, 25 filled
set xrange [0:1]; set yrange [0.4:3.75]
plot NaN


# The probabilities of the next token, the most likely first, at three temperatures.
figure = "11_temperature"; height = 440
load "figures/style.gp"
file = data."/11_next.dat"
set title "The higher the temperature T, the flatter the line: all slopes are divided by T"
set ylabel "probability"
set logscale y
set grid noxtics
set mytics 1
set yrange [3e-9:1]
set format y "10^{%T}"
set xrange [0.5:40.5]
set xtics rotate by 60 right font ",14"
set bmargin 5
set key at graph 0.02, graph 0.06 left bottom
set arrow from 31.5, 3e-9 to 31.5, 1 nohead linewidth 1.2 linecolor rgb grey dashtype 2
set label "mostly invalid" at 31.9, 0.4 left textcolor rgb grey
set label "the 31 most likely tokens: as many as are valid" at 31.1, 0.4 right textcolor rgb grey
quote(name) = strlen(name) ? name : "\"" # gnuplot takes a quotation mark for the beginning of a text
plot file using 1:6:xtic(quote(strcol(8))) with linespoints linetype 2 title "temperature 2", \
     file using 1:4 with linespoints linetype 3 title "1, as the model says", \
     file using 1:2 with linespoints linetype 1 title "temperature 0.5"


# One distribution, and where three filters end it.
figure = "11_cuts"; height = 560
load "figures/style.gp"
file = data."/11_next.dat"

# How many tokens min-p 0.1 and top-p 0.9 keep.
stats file using 4 nooutput; largest = STATS_max
stats file using ($4 >= 0.1 * largest ? 1 : 0) nooutput; min_p = STATS_sum
stats file using ($5 - $4 < 0.9 ? 1 : 0) nooutput; top_p = STATS_sum
most = top_p + 6.6

set multiplot
set lmargin 11; set rmargin 3
set xrange [0.4:most]
unset key
set grid noxtics
set ytics 0.1
set style fill solid 0.85 noborder
set boxwidth 0.75
k = 5
beside = 0.05 # top-k and top-p may end at the same token: then their lines stand side by side
keep(x, text, at, side, y, colour) = sprintf("set arrow from %g, graph 0 to %g, graph 1 nohead linewidth 2 linecolor rgb '%s' dashtype 2; set label '%s' at %g, graph %g %s textcolor rgb '%s' font ',15'", x, x, colour, text, at, y, side, colour)

set title "Top-k counts, min-p compares with the most likely token, top-p adds up"
set origin 0, 0.45; set size 1, 0.55
set tmargin 3; set bmargin 0.6
set yrange [0:1.13 * largest]
set ylabel "probability"
set format x ""
eval keep(k + 0.5 - beside, "top-k 5", k + 0.3, "right", 0.84, purple)
eval keep(min_p + 0.5, "min-p 0.1", min_p + 0.32, "right", 0.84, vermillion)
eval keep(top_p + 0.5 + beside, "top-p 0.9", top_p + 0.68, "left", 0.84, green)
set arrow from 0.4, 0.1 * largest to most, 0.1 * largest nohead linewidth 1.5 linecolor rgb vermillion
set label "a tenth of the largest" at most - 0.1, 0.163 * largest right textcolor rgb vermillion
plot file using 1:4 with boxes linecolor rgb blue

unset arrow; unset label; unset title
set origin 0, 0; set size 1, 0.45
set tmargin 0.6; set bmargin 3.5
set yrange [0:1.08]
set ytics 0.2
set ylabel "cumulative sum"
set format x "%g"
set xtics rotate by 30 right
eval keep(k + 0.5 - beside, "", 0, "left", 0.5, purple)
eval keep(min_p + 0.5, "", 0, "left", 0.5, vermillion)
eval keep(top_p + 0.5 + beside, "", 0, "left", 0.5, green)
set arrow from 0.4, 0.9 to most, 0.9 nohead linewidth 1.5 linecolor rgb green
set label "0.9" at 0.5, 0.98 left textcolor rgb green
quote(name) = strlen(name) ? name : "\"" # gnuplot takes a quotation mark for the beginning of a text
plot file using 1:5:xtic(quote(strcol(8))) with boxes linecolor rgb sky
unset multiplot
