# Which scores, keys and values each call computes: a prompt of 4, a chunk of 3, two single tokens.
figure = "07_steps"; height = 540
load "figures/style.gp"

file = data."/07_steps.dat"
array call_name[4] = ["prefill: 4 tokens", "a chunk: 3 tokens", "decode: 1 token", "decode: 1 token"]
array name[2] = ["with the cache", "without a cache"]
array old[2] = ["#cccccc", orange] # what an earlier call computed: with the cache it is left alone
array old_scores[2] = ["done before", "done again"]
array old_rows[2] = ["kept", "made again"]

set title font ",16"
set multiplot layout 2, 4 margins 0.175, 0.99, 0.03, 0.85 spacing 0.02, 0.05 \
    title "With the cache, a call computes only what is new" font ",18"
set xrange [-0.6:8.6]
set yrange [10.4:-0.6]
set size ratio -1
unset tics
unset border
unset grid
set style fill solid noborder
do for [way = 1:2] {
    do for [call = 0:3] {
        set title (way == 1 ? call_name[call + 1] : "")
        unset label
        if (call == 0) {
            set label name[way] at -1.2, 1.5 right textcolor rgb black
            set label "scores" at -1.2, 3.0 right textcolor rgb grey
            set label "K and V" at -1.2, 9.8 right textcolor rgb grey
            set label "new" at 3.2, 1 textcolor rgb blue
        }
        if (call == 1) {
            set label old_scores[way] at 2.4, 0.4 textcolor rgb (way == 1 ? grey : "#a66f00")
            set label old_rows[way] at -0.45, 8.4 textcolor rgb (way == 1 ? grey : "#a66f00")
        }
        plot for [new = 0:1] file using ($1 == call && $4 == new ? $3 : NaN):2:(0.44):(0.44) \
                 with boxxyerror linecolor rgb (new ? blue : old[way]), \
             for [new = 0:1] file using ($1 == call && $4 == new && $2 == $3 ? $3 : NaN):(9.8):(0.44):(0.44) \
                 with boxxyerror linecolor rgb (new ? blue : old[way])
    }
}
unset multiplot


# The operations of one more token in one layer of Llama 3 8B, and how many times more they are without a cache.
figure = "07_cost"; height = 460
load "figures/style.gp"

set title "Without a cache, every new token costs as much as the whole text so far"
set xlabel "tokens so far"
set ylabel "GFLOP for one more token"
set logscale xy
set xrange [1:2.2e6]
set yrange [0.1:1e6]
set xtics ("1" 1, "8" 8, "128" 128, "1024" 1024, "8192" 8192, "131072" 131072)
set ytics ("0.1" 0.1, "1" 1, "10" 10, "100" 100, "1000" 1000, "10⁴" 1e4, "10⁵" 1e5, "10⁶" 1e6)
set grid noxtics
file = data."/07_cost.dat"
chosen(n) = n == 8 || n == 128 || n == 8192 || n == 131072
set label "without a cache" at 1.7e5, 2e5 textcolor rgb vermillion
set label "with the cache" at 1.7e5, 2.6 textcolor rgb blue
plot file using (chosen($1) ? $1 : NaN):2:(0):($3 - $2) with vectors nohead linecolor rgb grey linewidth 1 dashtype 2, \
     file using 1:3 with lines linetype 2, file using 1:2 with lines linetype 1, \
     file using (chosen($1) ? $1 * 1.2 : NaN):(0.8 * sqrt($2 * $3)):(sprintf("%.0f times", $3 / $2)) with labels left textcolor rgb black


# Bytes per token in the KV cache of all layers, for the published models.
figure = "07_cache"; height = 470
load "figures/style.gp"

set title "With grouped queries, 405B stores less per token than 7B without"
set xlabel "KiB of keys and values per token, in bf16"
set xrange [0:2900]
set yrange [9.7:-0.7]
set xtics 512
set ytics scale 0
set border 1
set grid noytics
set lmargin 18
set style fill solid
set label "each query head has its own keys and values" at 1080, 0.5 left textcolor rgb blue
set label "3 to 16 query heads share one" at 1080, 6 left textcolor rgb vermillion
set arrow from 512, -0.6 to 512, 9.7 nohead linecolor rgb black linewidth 0.8 dashtype 2 front
file = data."/07_cache.dat"
plot file using (0):0:(0):($2 == 1 ? $1 : NaN):($0 - 0.34):($0 + 0.34):ytic(3) with boxxyerror linecolor rgb blue, \
     file using (0):0:(0):($2 > 1 ? $1 : NaN):($0 - 0.34):($0 + 0.34) with boxxyerror linecolor rgb vermillion, \
     file using ($1 + 20):0:(sprintf("%g", $1)) with labels left textcolor rgb black
