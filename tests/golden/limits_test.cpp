// What a run may take: bounds that are checked before anything is allocated, --max-memory and --max-time.
#include <filesystem>
#include <string>
#include <tuple>

#include "catch.hpp"
#include "program.hpp"
#include "sanitized.hpp"

namespace limits_test {

using namespace natten_sim::test;

TEST_CASE("what multiplies work has a bound that is checked first, and the error names the option") {
  check_refused("schedule --q-tiles 16 --kv-tiles 16 --heads 1048576", {"tasks", "134217728"});
  // A head: 64 chains of 96 bytes, 64 tasks of 14, a dQ tile of 72. 4 GiB, without 16 bytes a task of the
  // mask, hold (2^32 - 1,024) / 7,112 heads.
  check_refused("schedule --q-tiles 1 --kv-tiles 64 --heads 1048576 --algorithm spt --workers 1",
                {"heads", "1048576", "at most 603904", "7112 bytes"});
  check_refused("schedule --q-tiles 65537 --kv-tiles 4", {"q-tiles", "65537", "65536"});
  check_refused("schedule --q-tiles 65536 --kv-tiles 65536", {"4294967296 pairs", "268435456"});
  check_refused("reuse -i 4096 --device h200 --l2-bytes 1125899906842624 --fidelity timed",
                {"l2_bytes", "2199023255552"});  // 2^24 sets of 16 ways of 8 KiB, K of a tile
  check_refused("atomics --rows 268435457", {"rows", "268435456"});
  check_refused("atomics --updates 4294967296", {"updates", "4294967295"});
  check_refused("search -i 64 --threads 1025", {"threads", "1..1024"});
  check_refused("sweep count -i 64 -w 16 --q-tile 8 --kv-tile 4 --over stride=1:10000001:1",
                {"over", "at most 10000000 values"});
}

TEST_CASE("inputs without an end are refused at the limit of their kind") {
  check_refused("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch /dev/zero", {"batch", "67108864 bytes"});
  check_refused("count -i 64 --config /dev/zero", {"config", "1048576 bytes"});
  for (const std::string line :
       {"count -i 64 --preset-file /dev/zero", "list devices --device-file /dev/zero",
        "count -i 64 --costs /dev/zero", "schedule --q-tiles 4 --costs /dev/zero"}) {
    check_refused(line, {"/dev/zero", "67108864 bytes"});
  }
}

TEST_CASE("inputs without an end of hundreds of MiB are refused at the limit of their kind",
          "[.nightly][memory]") {
  check_refused("schedule --mask /dev/zero", {"mask", "/dev/zero", "536870912 bytes"});
  check_refused("schedule --table /dev/zero", {"table", "/dev/zero", "536870912 bytes"});
  check_refused("reuse -i 512 --order /dev/zero", {"order", "/dev/zero", "268435456 bytes"});
  check_refused("explain /dev/zero", {"profile", "/dev/zero", "268435456 bytes"});
}

TEST_CASE("a mask of 512 MiB of line breaks is refused without a row for each", "[.nightly][memory]") {
  if (kSanitized) return;
  const std::string line = "schedule --mask - --max-memory 1500";
  CHECK(shell_exit_code("head -c 536870912 /dev/zero | tr '\\0' '\\n' | \"$PROGRAM\" " + line) == 2);
}

TEST_CASE("a trace of more than 2^21 tasks is refused before the schedule is made") {
  const std::string folder = scratch_folder(), trace = " --perfetto " + folder + "/trace.json";
  // 1,024 x 2,048 tiles are 2^21 tasks of a head: a million iterations of a search would take hours.
  check_refused(
      "schedule --q-tiles 1024 --kv-tiles 2048 --heads 2 --algorithm best --effort 1000000 --max-time 60" +
          trace,
      {"perfetto", "4194304 tasks", "at most 2097152"});
  CHECK(std::filesystem::is_empty(folder));
}

TEST_CASE("a limit has to be a number in its range") {
  check_refused("list presets --max-memory 0", {"max-memory", "'0'", "1.."});
  check_refused("list presets --max-memory 1g", {"max-memory", "1g"});
  check_refused("list presets --max-time 0", {"max-time", "'0'", "0.001"});
  check_refused("list presets --max-time nan", {"max-time", "nan"});
}

TEST_CASE("what needs more memory than --max-memory is refused, and --max-memory is named") {
  if (kSanitized) return;
  const std::string large = "atomics --updates 1 --rows 268435456 --distribution zipf:1";  // 2 GiB of sums
  check_refused(large + " --max-memory 1000", {"max-memory", "1000 MiB", "smaller question"});
  const std::string config = scratch_folder() + "/limits.toml";
  write_text(config, "max-memory = 1000\n");
  check_refused(large + " --config " + config, {"max-memory", "1000 MiB"});
}

TEST_CASE("what would need more memory than --max-memory is refused at once, and the option at fault is named") {
  if (kSanitized) return;
  // Before anything is done: a time limit of a millisecond is not reached.
  for (const auto& [line, option, value] : {
           std::tuple{"atomics --updates 4294967295 --rows 268435456", "rows", "268435456"},
           std::tuple{"schedule --q-tiles 16 --heads 100000 --algorithm shift", "heads", "100000"},
           std::tuple{"schedule --q-tiles 2048 --heads 1 --algorithm shift", "q-tiles", "2048"},
           std::tuple{"msda --workload B64_1600x2666_d256_L4_h8_p4_q20000", "workload", "B64_1600x2666"},
           std::tuple{"reuse --stream-bytes 1073741824 --fidelity lru", "stream-bytes", "1073741824"},
           std::tuple{"reuse -i 1048576 --fidelity lru --granularity sector --device h200", "input", "1048576"},
       }) {
    INFO(line);
    check_refused(line + std::string(" --max-memory 100"), {option, value, "which takes about", "100 MiB"});
  }
}

TEST_CASE("a schedule of too many tasks is refused before its mask is made") {
  if (kSanitized) return;
  // The cells of this mask have 64 MiB, and the list of its tasks 1,024.
  for (const char* mask : {"causal", "full", "window:16383,0"})
    check_refused(std::string("schedule --q-tiles 16384 --heads 1 --algorithm spt --max-memory 100 --mask ") + mask,
                  {"tasks", "1 heads of", "134217728"});
}

TEST_CASE("what cannot be done in --max-time is refused at once, and the option at fault is named") {
  if (kSanitized) return;
  for (const auto& [line, option] : {
           std::pair{"count -i 16384 16384 -w 8192 8192 --q-tile 64 --kv-tile 64 --tiling single", "input"},
           std::pair{"reuse -i 16777216 --fidelity lru --device h200", "input"},
           std::pair{"atomics --updates 4294967295", "rows"},
       }) {
    INFO(line);
    check_refused(line + std::string(" --max-time 0.5"), {option, "steps", "0.5 s"});
  }
  check_refused("mask --mask causal --seqlen-q 1048576 --device h200 --max-memory 200",
                {"seqlen-q", "1048576", "which takes about", "200 MiB"});
}

TEST_CASE("every question has an estimate") {
  for (const char* line :
       {"count -i 64 64 -w 16 16", "mask --mask causal --seqlen-q 4096", "search -i 64 64 --pareto", "search -i 64 64",
        "advise -i 64 64 --device h200", "plan -i 64 64 --attention-share 0.5 --device h200"}) {
    INFO(line);
    const Json told = Json::parse(run(line + std::string(" --estimate --json")).out);
    CHECK(told["schema"] == "natten-sim.estimate/1");
    CHECK(told["result"]["steps"].get<double>() >= 0);
    CHECK(told["result"]["at_most"] == (line[0] == 's' || line[0] == 'a' || line[0] == 'p'));
  }
}

TEST_CASE("an estimate is told in place of the answer, as text, JSON and CSV") {
  const std::string line = "atomics --updates 4294967295 --rows 268435456 --estimate";
  const Json told = Json::parse(run(line + " --json").out);
  CHECK(told["schema"] == "natten-sim.estimate/1");
  CHECK(told["input"]["atomics"]["rows"] == 268435456);
  CHECK(told["result"]["steps"] == 4294967295.0);  // one an update
  CHECK(told["result"]["option"] == "rows");
  // 20 bytes per row, a bit for whether it receives something, and the table before the array: 2^27 entries of 24.
  CHECK(told["result"]["bytes"].get<double>() > 20.0 * 268435456);
  const std::string text = run(line).out;
  CHECK(text.find("steps   4.29e+09") != std::string::npos);
  CHECK(text.find("largest --rows 268435456") != std::string::npos);
  CHECK(run(line + " --csv").out.starts_with("steps,bytes,option,value,at_most\n"));
  check_refused("atomics --distribution file:/dev/zero --estimate", {"estimate", "before it is read"});
  check_refused("schedule -i 8192 --heads 16 --device h200 --kernel fa4 --estimate", {"estimate", "kernel"});
}

TEST_CASE("a schedule takes the memory that its bound counts, within a factor of two") {
  if (kSanitized) return;
  // 96 bytes a chain, 72 a dQ tile, 14 a task, and 16 a task of the mask: 182 MiB, and 120.
  for (const auto& [line, mib] : {std::pair{std::string("--q-tiles 1 --heads 1048576"), 182},
                                  std::pair{std::string("--q-tiles 2048 --heads 1"), 120}}) {
    const std::string schedule =
        "schedule --algorithm spt --workers 1 --no-conclusion --quiet " + line + " --max-memory ";
    INFO(line);
    CHECK(run(schedule + std::to_string(2 * mib)).exit_code == 0);
    check_refused(schedule + std::to_string(mib / 2), {"max-memory"});
  }
}

TEST_CASE("a schedule takes two bits a pair of tiles, and none of its plans a copy of them") {
  if (kSanitized) return;
  // A mask of 16,384 x 16,384 cells has 64 MiB, and two-pass needs its transpose, which the conclusion asks
  // for. A copy in each plan would take another 64; a byte a cell, 256.
  const auto done =
      run("schedule --q-tiles 16384 --mask window:0,0 --heads 1 --algorithm spt --max-memory 200");
  INFO(done.err);
  CHECK(done.exit_code == 0);
}

TEST_CASE("the memory of atomics follows the rows that receive something, not all rows") {
  if (kSanitized) return;
  const auto done = run("atomics --updates 100000 --rows 268435456 --max-memory 200");  // an array takes 5120
  INFO(done.err);
  CHECK(done.exit_code == 0);
}

TEST_CASE("threads that cannot start are done without, and the answer is the same") {
  if (kSanitized) return;
  const std::string search = "search -i 64 64 --top 3 --json --threads ";
  // 1,000 stacks of 8 MiB do not fit.
  const auto few = run(search + "1000 --max-memory 500");
  INFO(few.err);
  CHECK(few.exit_code == 0);
  CHECK(few.out == run(search + "1").out);
}

TEST_CASE("a run that takes longer than --max-time ends with an error, and leaves no file") {
  const std::string folder = scratch_folder();
  check_refused("search -i 4096 4096 --objective work --max-time 0.1 --output " + folder + "/out",
                {"max-time", "0.1 s are over"});
  CHECK(std::filesystem::is_empty(folder));
  CHECK(run("list presets --max-time 600").exit_code == 0);
}

TEST_CASE("a limit is one of the whole run, not of an answer among many") {
  const std::string input = R"({"command": "count", "options": {"input": 64, "max_time": 5}})";
  const auto served = run("serve", input + "\n");
  INFO(served.out << served.err);
  CHECK(served.out.find("max-time") != std::string::npos);
  CHECK(run("sweep count -i 64 --q-tile 8 --kv-tile 4 --over window=8,16 --max-time 600").exit_code == 0);
}

}  // namespace limits_test
