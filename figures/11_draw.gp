# The probabilities of the next token side by side, at three temperatures, and where one throw of the dice falls.
height = 330
load "figures/style.gp"
file = data."/11_next.dat"
set title "One throw, u = 0.7, at three temperatures"
set lmargin 21; set rmargin 4; set tmargin 4; set bmargin 4
unset grid; set border 1; unset key
set xtics 0.1
set ytics ("temperature 0.5" 3, "1, as the model says" 2, "temperature 2" 1) scale 0
set xlabel "u"
array colour[6] = [blue, vermillion, green, purple, orange, "#d9d9d9"]
names = system("awk '/^[1-5] / { print $8 }' '" . file . "'")
array row[3] = [3, 2, 1]
n = 0
do for [k = 1:3] {
    start = 0.0
    do for [i = 1:6] {
        stop = 1.0
        if (i < 6) { stats file using (column(2 * k + 1)) every ::(i - 1)::(i - 1) nooutput; stop = STATS_max }
        n = n + 1
        set object n rectangle from start, row[k] - 0.33 to stop, row[k] + 0.33 fillcolor rgb colour[i] fillstyle solid 0.85 border linecolor rgb "#ffffff" linewidth 1
        if (stop - start > 0.052) { set label (i < 6 ? word(names, i) : "all others") at (i == 6 && k == 3 ? 0.85 : (start + stop) / 2), row[k] center front textcolor rgb (i < 6 ? "#ffffff" : black) font ",15" }
        start = stop
    }
}
set arrow from 0.7, 3.6 to 0.7, 0.42 front linewidth 2 linecolor rgb black dashtype 2 size 0.012, 25 filled
set xrange [0:1]; set yrange [0.4:3.75]
plot NaN
