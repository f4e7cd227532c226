# The probabilities of the next token side by side, at three temperatures, and the token that one random number chooses.
height = 330
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
