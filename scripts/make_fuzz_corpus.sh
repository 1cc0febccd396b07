#!/usr/bin/env bash
# Writes the seeds of the fuzz targets, tests/fuzz/corpus/TARGET/seed-*, from what the program itself writes and
# from the heads of the data that ships. Other files there (inputs that once were bugs) stay.
#   scripts/make_fuzz_corpus.sh PROGRAM
set -euo pipefail
program=$(readlink -f -- "${1:?usage: scripts/make_fuzz_corpus.sh PROGRAM}")
cd -- "$(dirname -- "$0")/.."
corpus=$PWD/tests/fuzz/corpus
rm -f "$corpus"/*/seed-*
seed() {  # target name: standard input becomes a seed
  mkdir -p "$corpus/$1"
  cat >"$corpus/$1/seed-$2"
}

"$program" count -i 30,48,80 -w 18,24,24 -s 1,8,8 --json --quiet | tee >(seed json answer) |
  python3 -c 'import json,sys; print(json.dumps(json.load(sys.stdin)))' | seed batch answer
printf '%s\n' '{"id":1,"input":[64,64],"window":[9,9],"stride":[4,4]}' '{"input":{"input":[100],"window":[31],"causal":[true]}}' \
  '{"id":"a","preset":"hunyuan-video","q_tile":[4,8,8],"kv_tile":[2,8,8]}' | seed batch lines
printf '%s' '[1,-2.5e3,true,null,"a\u00e9\n",{"b":[]}]' | seed json kinds

table() {  # name option...
  local file
  file=$(mktemp)
  "$program" schedule --quiet --emit-table "$file" "${@:2}" >/dev/null
  seed schedule_table "$1" <"$file"
  rm "$file"
}
table causal --q-tiles 4 --kv-tiles 4 --mask causal --heads 2 --workers 3 --algorithm spt
table shift --q-tiles 3 --kv-tiles 3 --mask full --heads 1 --workers 3 --algorithm shift
table merged --q-tiles 3 --kv-tiles 3 --mask causal --heads 4 --heads-kv 2 --gqa-chains kv-heads --workers 3 --algorithm descending
checkpoint=$(mktemp -d)
"$program" schedule --quiet --q-tiles 3 --mask causal --heads 2 --algorithm best --effort 4 \
  --checkpoint "$checkpoint/best.json" >/dev/null
seed schedule_table checkpoint <"$checkpoint/best.json"
rm -r "$checkpoint"
printf '##+.\n.+##\n####\n' | seed block_mask signs
printf '1 0 1\r\n0 1 1\r\n' | seed block_mask digits
n=0
for mask in full causal window:3,0 window:2,5 document:5,7,4 gna:i=30x48x80,w=18x24x24,s=1x8x8,q-tile=4x8x8,kv-tile=2x8x8 \
  gna:i=64x64,w=9x9,dilation=2x1,c=0x1; do
  n=$((n + 1))
  printf %s "$mask" | seed mask_text "$n"
done
printf '\0\x93NUMPY\x01\0v\0{"descr": "<i4", "fortran_order": False, "shape": (3,), }' |
  python3 -c 'import struct,sys
head=sys.stdin.buffer.read(); text=head[11:].replace(b"\"",b"\x27"); text+=b" "*(117-len(text))+b"\n"
sys.stdout.buffer.write(head[:11]+text+struct.pack("<3i",1,2,999))' | seed index_file npy
printf '\x011,2;3 4\n999' | seed index_file csv
printf '\x02\x05\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0' | seed index_file raw
printf '# addresses\n0x1000 128\n4096,32\n\n8192\n' | seed trace kinds
printf '# a line a Q tile\n0 1 2\n2 1 0\n' | seed permutations two

heads_of() {  # recording rows: its first rows
  python3 - "$1" "$2" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
for name, value in document.items():
    if isinstance(value, list):
        document[name] = value[: int(sys.argv[2])]
json.dump(document, sys.stdout, indent=1)
PY
}
for name in reuse scatter forward schedules backward natten; do
  heads_of data/recordings/nvidia-h200-$name.json 2 | seed recording $name
done
heads_of data/recordings/nvidia-h200-sdpa.json 2 | seed sdpa_recording sdpa
heads_of data/recordings/nvidia-h200-sdpa-times.json 2 | seed recording sdpa-times
for name in reuse gna natten msda; do heads_of data/suites/$name.json 2 | seed suite $name; done
seed ncu_csv report <tests/golden/ncu/attention-h200.ncu-rep
head -12 tests/golden/ncu/attention-h200.csv | seed ncu_csv attention-h200
printf '%s\n' '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"' \
  '"0","attention","dram__bytes_read.sum","Mbyte","1,024.5"' '"0","attention","gpu__time_duration.sum","us","12"' | seed ncu_csv details
printf '%s\n' '==PROF== done' '"ID","Kernel Name","dram__bytes_read.sum","gpu__time_duration.sum"' '"","","Mbyte","us"' \
  '"0","attention","1.5","12"' | seed ncu_csv raw
printf '%s\n' 'ID;Kernel Name;Metric Name;Metric Unit;Metric Value;Rule Name' '0;attention;Duration;ms;7,90' \
  '0;attention;dram__sectors_read.sum;sector;537.395.400 (1; 2; 3)' '0;attention;;;;Occupancy' 'bye' | seed ncu_csv european
printf '%s\n' '"a,b","say ""x""",1,234.5,"1.234,5",0.084,351.328,"1 234"' | seed csv_text numbers
head -4 "$(find data/kernel-runs -type f | sort | head -1)" | seed kernel_runs shipped
printf '%s\n' 'input,window,stride,q_tile,kv_tile,ms' '30x48x80,18x24x24,1x8x8,4x8x8,2x8x8,12.5' | seed kernel_runs plain
head -5 docs/backward-run-spt.csv | seed recorded_run spt
for name in a100 h200; do seed catalog "device-$name" <data/devices/$name.json; done
heads_of data/presets.json 2 | seed catalog presets
heads_of data/kernel-times.json 2 | seed catalog kernel-times
heads_of data/msda-configs.json 2 | seed catalog msda-configs
find data/schedule-costs -type f | sort | head -1 | while read -r file; do seed catalog schedule-costs <"$file"; done

printf '%s\n' '# options' 'device = "h200"' '[count]' 'input = [64, 64]' 'window = [9, 9]' 'json = true' '[schedule]' \
  'q-tiles = 4' 'kv-tiles = 4' 'mask = "causal"' 'reduce = 0.5' | seed options_file kinds
printf '%s\n' '[reuse]' 'seqlen = 4096' 'device = "h200"' 'fidelity = "lockstep"' | seed options_file reuse
line() { local name=$1; shift; printf '%s\n' "$@" | seed command_line "$name"; }
line count count -i 30,48,80 -w 18,24,24 -s 1,8,8 --q-tile 4,8,8 --kv-tile 2,8,8 --device h200
line count-json count -i 64 64 -w 9 9 -c 0 1 --backprop --json --picture tiles.svg
line search search --preset hunyuan-video --sparsity 0.9:0.92 --top 5 --device h200
line schedule schedule --q-tiles 4 --kv-tiles 4 --mask causal --algorithm spt --json
line reuse reuse -i 16384 -d 128 -n 16 --device h200 --causal --fidelity timed
line atomics atomics --rows 1000 --width 32 --updates 10000 --distribution zipf:1.2 --device h200
line msda msda --workload B4_800x1333_d256_L4_enc --tiling point --dtype fp16 --phase backward --device h200
printf '%s\n' '# ......................... a comment has no keys' "input = [64] # a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r" \
  'window = [9]' | seed options_file comments
line sweep sweep count --over window=3,5,7 -i 64
line validate validate --list
line help count --help

# Questions out of bytes: numbers of those, of twelve drawn for each subcommand, that are answered.
answers() {  # subcommand number...
  local number
  for number in "${@:2}"; do
    python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(sys.argv[1]).randbytes(40))' "$1 $number" |
      seed "answers_$1" "$number"
  done
}
answers count 0 3 4 10
answers search 2 3 6
answers schedule 1 2 3 5
answers reuse 0 2 3 4
answers atomics 0 1 2 3
answers msda 1 2 3 4
answers mask 0 1 2 3
answers advise 0 1 2 3
answers plan 0 2 4 8
answers calibrate 0 1 4 5
answers diff 0 1 2 3
answers explain 0 1 2 3
answers trust 0 1
answers reproduce 0 1 2 3
answers validate 0 1 2 3
answers list 0 1 3 4
