# Bytes per token with Llama 2's and with Llama 3's own vocabulary, and how many tokens one story takes in nine languages.
height = 490
load "figures/style.gp"

# Two sections of a committed run. A language is one word; the names of the others are two or three.
story = "< sed -n '/^== One story/,/^$/p' tests/golden/vocabularies.txt | sed 1,2d"
prose = "< sed -n '/^== Prose/,/^$/p' tests/golden/vocabularies.txt | sed -n '3,5{s/English prose/English/;s/Chinese prose/Chinese/;s/C and Python/code/;s/   *\\([0-9]*\\)   *\\([0-9]*\\)   *488/ \\1 \\2/;p}'"
set style data histograms
set style histogram clustered gap 1
set style fill solid
set boxwidth 0.92
set grid noxtics
set xtics scale 0
set multiplot title "Llama 3's vocabulary saves little in English, and more than half of the tokens in Hindi or Korean" font ",18"
set title font ",16" offset 0, -0.5
set tmargin at screen 0.82
set xtics font ",12"
set title "bytes per token (more is better)"
set lmargin at screen 0.055
set rmargin at screen 0.30
set xrange [-0.6:2.6]
set yrange [0:5]
set ytics 1
plot prose using 5:xtic(1) linecolor rgb blue, '' using 8 linecolor rgb orange, \
     '' using ($0 - 0.17):5:(sprintf("%.1f", $5)) with labels offset 0, 0.6 font ",13" textcolor rgb blue, \
     '' using ($0 + 0.17):8:(sprintf("%.1f", $8)) with labels offset 0, 0.6 font ",13" textcolor rgb '#a66f00'
set title "tokens of one story (fewer is better)"
set lmargin at screen 0.365
set rmargin at screen 0.99
set xrange [-0.6:8.6]
set yrange [0:200]
set ytics 50
set key top left
plot story using 3:xtic(1) linecolor rgb blue title "Llama 2's vocabulary", '' using 5 linecolor rgb orange title "Llama 3's", \
     '' using ($0 - 0.19):3:(sprintf("%d", $3)) with labels offset 0, 0.6 font ",13" textcolor rgb blue, \
     '' using ($0 + 0.19):5:(sprintf("%d", $5)) with labels offset 0, 0.6 font ",13" textcolor rgb '#a66f00'
unset multiplot
