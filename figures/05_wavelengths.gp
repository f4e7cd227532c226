# How many positions each pair of a head of 128 needs for one turn, beside the lengths of contexts.
height = 500
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
