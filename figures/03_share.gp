# Where the weights of each Llama are.
height = 460
load "figures/style.gp"

set title "Most weights of a Llama are in its feed-forward layers"
set xrange [0:100]
set yrange [9.7:-0.7]
set xtics format "%g %%" 0, 25, 100
set ytics scale 0
set border 1
set grid noytics
set lmargin 18
set style fill solid
set boxwidth 0.7
file = data."/03_llamas.dat"
share(part) = 100.0 * part / (column(3) + column(4) + column(5))
set label "feed-forward" at 2, 0 front textcolor rgb "#ffffff"
set label "attention" at 80, 0 center front textcolor rgb black
set label "embeddings" at 89, 8 center front textcolor rgb black
plot file using (50):0:(0):(100):($0 - 0.35):($0 + 0.35):ytic(6) with boxxyerror linecolor rgb faint, \
     file using (50):0:(0):(share($3 + $4)):($0 - 0.35):($0 + 0.35) with boxxyerror linecolor rgb sky, \
     file using (50):0:(0):(share($3)):($0 - 0.35):($0 + 0.35) with boxxyerror linecolor rgb blue, \
     file using (share($3) - 1):0:(sprintf("%.0f %%", share($3))) with labels right textcolor rgb "#ffffff"
