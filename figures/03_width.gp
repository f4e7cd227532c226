# Weights of one feed-forward layer against its hidden width, both in units of the model width C.
height = 480
load "figures/style.gp"

set title "A third matrix costs half as much again, so the width is cut to two thirds"
set xlabel "hidden width / C"
set ylabel "weights / C²"
set xrange [0:4.7]
set yrange [0:14]
set xtics ("1" 1, "2" 2, "8/3" 8.0 / 3, "3.25" 3.25, "3.5" 3.5, "4" 4)
set ytics 4
set label "a Llama: three matrices" at 1.45, 5.2 right textcolor rgb vermillion
set label "2017: two matrices" at 1.25, 1.6 left textcolor rgb blue
set label "the original layer's weights: 8 C²" at 0.06, 7.5 textcolor rgb grey
set label "ReLU, 4 C" at 4.08, 7.4 left textcolor rgb blue
set label "Llama 1, Llama 2 7B, 13B,\nLlama 3.2 3B" at 2.55, 9.7 right textcolor rgb black
set label "Llama 3.1 405B" at 3.33, 9.5 left textcolor rgb black
set label "Llama 2 70B, Llama 3 8B, 70B" at 3.42, 11.3 right textcolor rgb black
set label "Llama 3.2 1B" at 3.92, 12.6 right textcolor rgb black
set arrow from 8.0 / 3, 0 to 8.0 / 3, 8 nohead linecolor rgb grey dashtype 2
set arrow from 4, 0 to 4, 8 nohead linecolor rgb grey dashtype 2
plot 8 with lines linecolor rgb grey linewidth 1.5 dashtype 2, \
     2 * x with lines linetype 1, 3 * x with lines linetype 2, \
     "+" using (4):(8) every ::0::0 with points linetype 1 pointsize 1.2, \
     data."/03_llamas.dat" using 1:2 with points linetype 2 pointtype 7 pointsize 1
