#pragma once

#include <map>
#include <string>

#include "places.hpp"
#include "program.hpp"

namespace natten_sim::test {

/// A short question of each subcommand whose answer can be drawn or printed as a table. `picture`: of which kind.
inline std::string shown_answer(const std::string& command, const std::string& picture = "") {
  static const std::map<std::string, std::string> lines = {
      {"advise", "-i 24 24 -n 8 -d 128 --device h200 h100"},
      {"atomics", "--updates 900"},
      {"calibrate", std::string(natten_sim::test::kSourceDir) + "/data/kernel-runs/natten-h200.csv"},
      {"count", "-i 64 -w 16 -s 4 --q-tile 8 --kv-tile 4"},
      {"explain", std::string(natten_sim::test::kSourceDir) + "/tests/golden/ncu/attention-h200.csv --ncu-kernel fmha"},
      {"list", "devices"},
      {"mask", "--mask 'document:512,1536&causal' -n 16 -d 128 --device h200"},
      {"msda", "--workload B1_640_d256_L4 --phase backward"},
      {"plan", "-i 24 24 -n 8 -d 128 --device h200 -w 8 8"},
      {"reproduce", "gna --figure 4.5"},
      {"reuse", "-i 4096 -d 64 --tile 128 --l2-bytes 1000000 --workers 4 --fidelity lru"},
      {"reuse sweep", "--sweep seqlen=1024:4096:1024 -d 64 --tile 128 --l2-bytes 1000000 --workers 4"},
      {"schedule", "--q-tiles 4 --mask causal --algorithm spt"},
      {"search", "-i 24 24 -n 8 -d 128 --device h200 --top 3"},
      {"sweep", "count --over window=8,16 -i 64 --q-tile 8 --kv-tile 4 --y visited_tiles"},
      {"trust", "--kind time --device h100"},
      {"validate", "--recorded '" + shipped_recordings({"nvidia-h200-sawtooth"}) + "' --view misses"}};
  const auto of_kind = lines.find(command + " " + picture);
  const auto found = of_kind == lines.end() ? lines.find(command) : of_kind;
  return found == lines.end() ? "" : command + " " + found->second;
}

}  // namespace natten_sim::test
