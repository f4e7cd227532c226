# The wavelength of each pair under each recipe, in multiples of the unscaled one. D = 128, theta 500000.
height = 480
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
