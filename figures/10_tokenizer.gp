# The merges of two words, in the vocabulary of 512 that the lesson learns.
figure = "10_tree"; height = 440
load "figures/style.gp"

nodes = data."/10_nodes.dat"
edges = data."/10_edges.dat"
tokens = data."/10_tokens.dat"
set title "“Question” has been merged to one token; “▁umbrella” is still five"
unset border; unset tics; unset grid; unset key
set xrange [-0.7:20]
set yrange [-1.3:4.6]
set lmargin 1; set rmargin 1; set bmargin 0.5
set style textbox opaque noborder margins 1.2, 1.2
merge(n) = stringcolumn(n) eq "letter" ? "" : stringcolumn(n)
letter(n) = stringcolumn(n) eq "letter" ? stringcolumn(3) : ""
token(n) = stringcolumn(n) eq "letter" ? "" : stringcolumn(3)
set label "red number: which of the 384 merges it was, 1 the first" at 9.3, 4.25 left textcolor rgb vermillion font ",14"
set label "blue: what two parts have been merged to" at 9.3, 3.8 left textcolor rgb blue font ",14"
set label "green bar: a token, which merges no further" at 9.3, 3.35 left textcolor rgb green font ",14"
set label "1 token" at 3.5, -0.95 center textcolor rgb green font ",14"
set label "5 tokens, with the space ▁ before the word" at 14.5, -0.95 center textcolor rgb green font ",14"
plot tokens using ($1 - 0.36):(-0.5):($2 - $1 + 0.72):(0) with vectors nohead linecolor rgb green linewidth 5, \
     edges using 1:2 with lines linecolor rgb grey linewidth 1.6, \
     nodes using 1:2:(letter(4)) with labels center noenhanced font ",19" boxed textcolor rgb black, \
     nodes using 1:2:(token(4)) with labels center noenhanced font ",19" boxed textcolor rgb blue, \
     nodes using 1:2:(merge(4)) with labels center offset 0, 0.95 font ",13" boxed textcolor rgb vermillion


# Bytes per token while a vocabulary is learned: on the stories it is learned from, on unseen stories, on other English.
figure = "10_learning"; height = 420
load "figures/style.gp"

file = data."/10_learning.dat"
set title "A vocabulary fits texts like those that it was learned from"
set xlabel "merges"
set ylabel "bytes per token"
set xrange [0:515]
set yrange [0.8:4.2]
set ytics 1
set rmargin 24
unset key
set label "stories of the training text" at 522, 3.95 left textcolor linetype 1
set label "unseen stories" at 522, 3.62 left textcolor linetype 2
set label "other English" at 522, 2.05 left textcolor linetype 3
plot file using 1:2 with lines linetype 1, file using 1:3 with lines linetype 2, file using 1:4 with lines linetype 3


# Bytes per token with Llama 2's and with Llama 3's own vocabulary, and how many tokens one story takes in nine languages.
figure = "10_vocabularies"; height = 490
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
