# One layer of a Llama 3.2 1B on the last rung: decode against the context, prefill against the prompt, by threads and dtype.
# Where there is but one thread, so are the lines.
height = 460
load "figures/style.gp"

file = data."/12_decoder.dat"
stats file using 3 nooutput name "THREADS"
set multiplot layout 1, 2 margins 0.08, 0.97, 0.18, 0.8 spacing 0.1, 0 \
    title "A Llama 3.2 1B's layer: decode hardly minds the text before, prefill gains by a long prompt" font ",18"
set yrange [0:1.12]
set ytics ("0" 0, "50 %%" 0.5, "100 %%" 1)
set logscale x 2
set xrange [50:5000]
set xtics (64, 256, 1024, 4096)
set xlabel "tokens before"
set label 1 "decode, of the read bandwidth" at graph 0, 1.06
set key bottom left
plot file using ($1 == 0 && $2 == 0 && $3 == 1 ? $4 : NaN):5 with linespoints linetype 1 title "F32, one thread", \
     file using ($1 == 0 && $2 == 1 && $3 == 1 ? $4 : NaN):5 with linespoints linetype 2 title "BF16, one thread", \
     for [k = 1:THREADS_max > 1 ? 2 : 0] file using ($1 == 0 && $2 == k - 1 && $3 > 1 ? $4 : NaN):5 with linespoints linetype k dashtype 2 \
     title word("F32 BF16", k).", all threads"
set xrange [14:150]
set xtics (16, 32, 64, 128)
set xlabel "tokens of the prompt"
set label 1 "prefill, of the FMA peak" at graph 0, 1.06
unset key
plot for [k = 1:2] file using ($1 == 1 && $2 == k - 1 && $3 == 1 ? $4 : NaN):5 with linespoints linetype k, \
     for [k = 1:THREADS_max > 1 ? 2 : 0] file using ($1 == 1 && $2 == k - 1 && $3 > 1 ? $4 : NaN):5 with linespoints linetype k dashtype 2
unset multiplot
