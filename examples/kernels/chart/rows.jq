# Out of the report's JSON, what the chart shows, as lines of tab-separated columns.
#   --arg part levels    name of a level, peak in f32
#   --arg part kernels   label; GFLOP/s on each of four levels, then of the plain loop; at the best level the share of
#                        the peak, or of the bandwidth (then 1 follows, else 0), KiB of the unit and seconds to compile it

def column: if . == null then "?" else tostring end;

[.levels[].level] as $levels
| if $part == "levels" then
    .levels[] | [.level, .peak_f32 / 1e9]
  else
    .kernels[]
    | (.units | map({key: .level, value: .}) | from_entries) as $on
    | ([$levels[] | $on[.] | select(.seconds != null)] | last) as $best
    | [if .type == "f32" then .kernel else "\(.kernel), \(.type)" end]
      + [range(4) | $on[$levels[.] // ""] | .gflops?]
      + [range(4) | $on[$levels[.] // ""] | .plain_gflops?]
      + [$best.of_bandwidth? // $best.of_peak?, (if $best.of_bandwidth? then 1 else 0 end), $best.text? / 1024, $best.compile_seconds?]
  end
| map(column) | join("\t")
