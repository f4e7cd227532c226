# How many positions each pair of a head of 128 needs for one turn, beside the lengths of contexts.
height = 500
load "figures/style.gp"

set title "A larger theta keeps more pairs from ever coming round"
set xlabel "pair i"
set ylabel "positions in one turn"
set xrange [0:79]
set xtics add ("63" 63) 0, 16, 48
set yrange [4:6e6]
set logscale y
set ytics ("10" 10, "100" 100, "1000" 1000, "10⁴" 1e4, "10⁵" 1e5, "10⁶" 1e6)
set grid noxtics noytics
array context[4] = [2048, 4096, 8192, 131072]
array model[4] = ["Llama 1: 2048", "Llama 2: 4096", "Llama 3: 8192", "Llama 3.1: 131072"]
do for [n = 1:4] {
    set arrow n from 0, context[n] to 63, context[n] nohead linecolor rgb grey linewidth 1 dashtype 2
    set label n model[n] at 64, context[n] textcolor rgb black
}
set label 5 "theta 500000" at 50, 4e5 right textcolor rgb vermillion
set label 6 "theta 10000" at 44, 900 left textcolor rgb blue front
file = data."/04_wavelengths.dat"
plot file using 1:3 with lines linetype 2, file using 1:2 with lines linetype 1
