# How many bytes of text a token stands for, in two small vocabularies that were trained on the same text.
height = 400
load "figures/style.gp"

set title "A token is worth fewer bytes where the vocabulary has seen less"
set ylabel "bytes a token"
set xrange [-0.6:2.6]
set yrange [0:4]
set ytics 1
set grid noxtics
set xtics scale 0
set style data histograms
set style histogram clustered gap 1.2
set style fill solid
set boxwidth 0.9
set key top right
file = data."/10_bytes_per_token.dat"
plot file using 2:xtic(1) linecolor rgb blue title "SentencePiece, as Llama 2", \
     file using 3 linecolor rgb vermillion title "byte level, as Llama 3", \
     file using ($0 - 0.16):2:(sprintf("%.1f", $2)) with labels offset 0, 0.7 textcolor rgb blue, \
     file using ($0 + 0.16):3:(sprintf("%.1f", $3)) with labels offset 0, 0.7 textcolor rgb vermillion
