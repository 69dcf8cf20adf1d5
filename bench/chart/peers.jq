# Out of the benchmark's JSON, the main rows as a table in Markdown: milliseconds of fovea and of each peer that has one.
def shown: [
    ["dense, n 512, d 64",       "dense/f32/h:8/n:512/d:64"],
    ["dense, d 64",              "dense/f32/h:8/n:2048/d:64"],
    ["dense, d 128",             "dense/f32/h:8/n:2048/d:128"],
    ["dense, bfloat16, d 64",    "dense/bf16/h:8/n:2048/d:64"],
    ["dense, bfloat16, d 128",   "dense/bf16/h:8/n:2048/d:128"],
    ["dense, float16, d 64",     "dense/f16/h:8/n:2048/d:64"],
    ["causal, n 512, d 64",      "causal/f32/h:8/n:512/d:64"],
    ["causal, d 64",             "causal/f32/h:8/n:2048/d:64"],
    ["causal, d 128",            "causal/f32/h:8/n:2048/d:128"],
    ["causal, 32 heads over 8, n 1024, d 128", "causal/f32/h:32/kv:8/n:1024/d:128"],
    ["window of 256",            "window/f32/h:8/n:2048/d:64"],
    ["ALiBi",                    "alibi/f32/h:8/n:2048/d:64"],
    ["decode, 1 query, 32 heads over 8, 16384 keys, d 128",  "decode/f32/h:32/kv:8/n:1/k:16384/d:128"],
    ["the same in bfloat16",  "decode/bf16/h:32/kv:8/n:1/k:16384/d:128"],
    ["the same, 8 queries in float32",  "decode/f32/h:32/kv:8/n:8/k:16384/d:128"],
    ["GAT, 169343 nodes, d 8",  "gat/f32/h:8/n:169343/d:8"],
    ["GATv2",  "gatv2/f32/h:8/n:169343/d:8"],
    ["dense, d 64, forward and backward",  "train/dense/f32/h:8/n:2048/d:64"],
    ["dense, d 128, forward and backward",  "train/dense/f32/h:8/n:2048/d:128"],
    ["dense, bfloat16, d 64, forward and backward",  "train/dense/bf16/h:8/n:2048/d:64"],
    ["causal, d 64, forward and backward",  "train/causal/f32/h:8/n:2048/d:64"],
    ["causal, d 128, forward and backward",  "train/causal/f32/h:8/n:2048/d:128"],
    ["causal, 32 heads over 8, n 1024, d 128, forward and backward",  "train/causal/f32/h:32/kv:8/n:1024/d:128"],
    ["ALiBi, forward and backward",  "train/alibi/f32/h:8/n:2048/d:64"],
    ["softcap, forward and backward",  "train/softcap/f32/h:8/n:2048/d:64"]
];
# Three significant digits.
def short: if . == null then "" elif . >= 100 then round elif . >= 10 then (. * 10 | round / 10)
           elif . >= 1 then (. * 100 | round / 100) else (. * 1000 | round / 1000) end | tostring;
def line: "| " + join(" | ") + " |";

(.benchmarks | map(select(.aggregate_name == "median" or .run_type == "iteration")
                   | {key: (.run_name | sub("^train/"; "attend/train/")), value: .real_time}) | from_entries) as $rows
| ($rows | keys_unsorted | map(split("/")[0]) | unique | map(select(. != "attend"))) as $peers
| [shown[] | . as [$words, $name] | select([$rows | keys[] | sub("^[^/]*/"; "") == $name] | any)
   | [$words] + [("attend", $peers[]) as $who | $rows[$who + "/" + $name] | short]] as $lines
| .context.peers,
  if $lines == [] then "None of the main rows was measured."
  else
    "",
    (["n 2048, 8 heads, float32 if not said", "fovea"] + $peers | line),
    (["---", "---:"] + ($peers | map("---:")) | line),
    ($lines[] | line)
  end
