# Which scores, keys and values each call computes: a prompt of 4, a chunk of 3, two single tokens.
height = 540
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
