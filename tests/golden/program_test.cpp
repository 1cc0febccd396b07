// The other tests call the program as a library, in this process: that answers as a process of its own does.
#include "program.hpp"

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace program_test {

using namespace natten_sim::test;

const std::string kCount = "count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4";

/// Lines and standard inputs. Most change something of a process that the next line would see: colours, a
/// picture on standard output, an input that ended, a time limit, a signal's action.
const std::vector<std::pair<std::string, std::string>> kRuns = {
    {"", ""},
    {"--help", ""},
    {"-V", ""},
    {kCount, ""},
    {kCount + " --color always", ""},
    {kCount + " --json", ""},
    {kCount + " --picture - --json", ""},
    {kCount + " --picture -", ""},
    {kCount + " --csv", ""},
    {"count -i 64 -w 65 --color always", ""},
    {"cuont -i 64", ""},
    {kCount + " --batch -", "{}\n{\"window\": [32]}\nnonsense"},
    {kCount + " --batch -", ""},
    {"serve", "{\"command\": \"count\", \"options\": {\"input\": 64, \"window\": 16}}\n{}\n"},
    {"serve --request-time 600", "{\"command\": \"count\", \"options\": {\"input\": 64}}\n"},
    {"reuse --trace - --l2-bytes 96 --json", "0\n0x20, 64\n\n0 1\n"},
    {"schedule --q-tiles 8 --heads 2 --mask causal", ""},
    {"schedule --mask - --algorithm spt", "11\n01\n"},
    {"sweep count -i 64 --q-tile 8 --kv-tile 4 --over window=8:64:8 --jobs 3", ""},
    {"search -i 64 64 --sparsity 0.5:0.9 --top 2 --threads 3", ""},
    {"atomics --updates 1000 --distribution zipf:1.5 --seed 7", ""},
    {"list presets --max-time 600 --max-memory 1000000", ""},
    {"list devices --csv --output /dev/full", ""},
    {"validate --check-only", ""},
    {kCount, ""},
};

TEST_CASE("the program answers the same as a library and as a process") {
  for (const auto& [line, input] : kRuns) {
    INFO("natten-sim " << line);
    const Run here = run(line, input), process = run_process(line, input);
    CHECK(here.exit_code == process.exit_code);
    CHECK(here.out == process.out);
    CHECK(here.err == process.err);
  }
}

}  // namespace program_test
