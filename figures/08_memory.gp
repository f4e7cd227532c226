# Bytes that attention works in, for one head of 128, against the length of the text.
height = 480
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
