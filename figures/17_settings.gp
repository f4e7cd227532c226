# The committed run: what the settings do to a small Llama, on the way and at the end.
height = 560
load "figures/style.gp"
ends = "< sed -n '/^== How it ends/,/^== On/p' tests/studies/hyperparameters.txt | awk 'NF > 7 && $NF + 0 { name = $1; " . \
       "for (i = 2; i <= NF - 7; i++) name = name \" \" $i; printf \"\\\"%s\\\" %s %s %s\\n\", name, $(NF - 5), $(NF - 4), $(NF - 3) }'"
curves = "< sed -n '/^# steps/,$p' tests/studies/hyperparameters.txt"
set multiplot title "One setting changed, in 600 steps of a small Llama: the rate matters most" font ",18"
set tmargin at screen 0.9
set bmargin at screen 0.17
set lmargin at screen 0.12
set rmargin at screen 0.36
set xlabel "step" font ",14"
set ylabel "loss of the batches" font ",14"
set logscale y
set yrange [0.47:1.6]
set ytics (0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5)
set xrange [0:600]
set xtics 0, 200, 600
set key off
ends_at(column, text, up) = sprintf("set label '%s' at 612, %g left offset 0, %g font ',13' textcolor ", text, \
    real(system("sed -n '/^# steps/,$p' tests/studies/hyperparameters.txt | awk 'NF { last = $".column." } END { print last }'")), up)
eval ends_at(5, "rate x 10", 0.3)."rgb '#a66f00'"
eval ends_at(4, "rate x 3", -0.2)."linetype 2"
eval ends_at(8, "stays at the peak", 0.3)."linetype 4"
eval ends_at(3, "rate / 10", -0.1)."linetype 3"
eval ends_at(2, "as in the papers", -0.2)."linetype 1"
plot curves using 1:5 with lines linetype 5, \
     "" using 1:4 with lines linetype 2, \
     "" using 1:3 with lines linetype 3, \
     "" using 1:8 with lines linetype 4, \
     "" using 1:2 with lines linetype 1
unset logscale y
unset label
set lmargin at screen 0.735
set rmargin at screen 0.97
set xlabel "loss at the end, over four seeds" font ",14"
unset ylabel
set xrange [0.48:0.66]
set xtics 0.5, 0.05, 0.65
set yrange [15.6:-0.6]
set ytics autofreq font ",13"
set arrow 1 from 0.497, -0.6 to 0.497, 15.6 nohead dashtype 2 linecolor rgb grey
plot ends using 2:0:3:4:ytic(1) with xerrorbars linetype 1
unset multiplot
