# Out of the benchmark's JSON, what the chart shows, as lines of tab-separated columns.
#   --arg part bars    label, share of the limit, 1 where the limit is memory, and the shares of the peers
#   --arg part lines   n, then dense, causal, window: milliseconds of fovea; then the same of the best peer

# The rows of the bars: label and name.
def shown: [
    ["dense, d 64",            "dense/f32/h:8/n:2048/d:64"],
    ["dense, d 128",           "dense/f32/h:8/n:2048/d:128"],
    ["dense, d 256",           "dense/f32/h:8/n:2048/d:256"],
    ["dense, float64",         "dense/f64/h:8/n:2048/d:64"],
    ["dense, bfloat16, d 64",  "dense/bf16/h:8/n:2048/d:64"],
    ["dense, bfloat16, d 128", "dense/bf16/h:8/n:2048/d:128"],
    ["causal, d 64",           "causal/f32/h:8/n:2048/d:64"],
    ["causal, d 128",          "causal/f32/h:8/n:2048/d:128"],
    ["causal, grouped heads",  "causal/f32/h:32/kv:8/n:1024/d:128"],
    ["window of 256",          "window/f32/h:8/n:2048/d:64"],
    ["documents",              "documents/f32/h:8/n:4096/d:64"],
    ["ALiBi",                  "alibi/f32/h:8/n:2048/d:64"],
    ["table of distances",     "table/f32/h:8/n:2048/d:64"],
    ["additive mask",          "mask_tensor/f32/h:8/n:2048/d:64"],
    ["softcap",                "softcap/f32/h:8/n:2048/d:64"],
    ["own score and mask",     "own/f32/h:8/n:2048/d:64"],
    ["sparsemax",              "sparsemax/f32/h:8/n:2048/d:64"],
    ["entmax 1.5",             "entmax15/f32/h:8/n:2048/d:64"],
    ["whole layer",            "layer/f32/h:8/n:512/d:512"],
    ["training, dense",        "train/dense/f32/h:8/n:2048/d:64"],
    ["training, causal",       "train/causal/f32/h:8/n:2048/d:64"],
    ["training, softcap",      "train/softcap/f32/h:8/n:2048/d:64"],
    ["training, bfloat16",     "train/dense/bf16/h:8/n:2048/d:64"],
    ["decode, 1 query",        "decode/f32/h:32/kv:8/n:1/k:16384/d:128"],
    ["decode, bfloat16",       "decode/bf16/h:32/kv:8/n:1/k:16384/d:128"]
];
def peers: ["eigen", "openblas", "onednn", "libtorch", "onnxruntime"];
def lengths: [256, 512, 1024, 2048, 4096, 8192];
def families: ["dense", "causal", "window"];

def shortest: map(select(. != null)) | min;
def column: if . == null then "?" else tostring end;

(.benchmarks | map(select(.aggregate_name == "median") | {key: (.run_name | sub("^train/"; "attend/train/")), value: .}) | from_entries) as $rows
| if $part == "bars" then
    shown[] | . as [$words, $name]
    | $rows["attend/" + $name] | select(. != null)
    | (if has("of_bandwidth") then "of_bandwidth" else "of_peak" end) as $limit
    | [$words, .[$limit], (if $limit == "of_peak" then 0 else 1 end)]
      + [peers[] as $peer | $rows[$peer + "/" + $name] | .[$limit]?]
  else
    lengths[] as $n
    | [families[] | "\(.)/f32/h:8/n:\($n)/d:64"] as $names
    | [$n] + [$names[] | $rows["attend/" + .] | .real_time?]
           + [$names[] as $name | [peers[] as $peer | $rows[$peer + "/" + $name] | .real_time?] | shortest]
  end
| map(column) | join("\t")
