// Questions of reuse and schedule taken apart, as options and keywords have them, and put together again.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/reuse_parts.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "catch.hpp"

namespace parts_test {

using namespace natten_sim;
using namespace natten_sim::study;

/// The sentence that the program prints when it refuses the parts; empty if it does not.
template <typename Parts>
std::string refused(const Parts& parts) {
  try {
    (void)question_of(parts);
  } catch (const Error& error) {
    return error.sentence("--");
  }
  return "";
}

ReuseParts attention(std::int64_t seqlen) {
  ReuseParts parts;
  parts.seqlen = Extents{seqlen};
  return parts;
}

TEST_CASE("reuse parts: one tile stands for both, unless a side has its own") {
  ReuseParts parts = attention(4096);
  parts.tile = Extents{80};
  parts.attention.kv_tile = Extents{64};
  parts.workers = 7;
  const auto subject = std::get<AttentionSubject>(question_of(parts).subject);
  CHECK(subject.q_tile == Extents{80});
  CHECK(subject.kv_tile == Extents{64});
  CHECK(subject.workers == 7);
  CHECK(std::get<Extents>(subject.seqlen) == Extents{4096});
}

TEST_CASE("reuse parts: a trace is replayed through an LRU, anything else answered in closed form") {
  ReuseParts trace;
  trace.trace = "accesses.txt";
  CHECK(std::holds_alternative<LruReplay>(*question_of(trace).method));
  CHECK(std::holds_alternative<ClosedForm>(*question_of(attention(64)).method));
  ReuseParts stream;
  stream.stream_bytes = 4096;
  stream.stream.passes = 3;
  stream.workers = 5;
  CHECK(std::holds_alternative<ClosedForm>(*question_of(stream).method));
  const auto subject = std::get<StreamSubject>(question_of(stream).subject);
  CHECK(subject.bytes == 4096);
  CHECK(subject.passes == 3);
  CHECK(subject.workers == 5);
}

TEST_CASE("reuse parts: parts of a method ask for it, and ways and a sample exclude each other") {
  ReuseParts parts = attention(64);
  parts.ways = 8;
  CHECK(refused(parts) == "ways: with --fidelity closed-form is not valid; accepted: --fidelity lru");
  parts.fidelity = Fidelity::kLru;
  parts.sets.index = SetIndex::kHashed;
  const auto replay = std::get<LruReplay>(*question_of(parts).method);
  CHECK(std::get<SetAssociative>(replay.cache).ways == 8);
  CHECK(std::get<SetAssociative>(replay.cache).index == SetIndex::kHashed);
  parts.sample = 0.5;
  CHECK(refused(parts) == "--sample cannot be combined with --ways");
  parts.ways.reset();
  parts.sample.reset();
  parts.jitter = 0.1;
  CHECK(refused(parts) == "jitter: with --fidelity lru is not valid; accepted: --fidelity timed");
  parts.fidelity = Fidelity::kTimed;
  CHECK(std::get<TimedRun>(*question_of(parts).method).jitter == 0.1);
}

TEST_CASE("reuse parts: there is one subject, no fewer and no more") {
  CHECK(refused(ReuseParts{}) ==
        "seqlen: not given is not valid; accepted: --seqlen N, --sweep, --stream-bytes or --trace");
  ReuseParts both = attention(64);
  both.sweep = SeqlenSweep{64, 128, 64};
  CHECK(refused(both) == "--sweep cannot be combined with --seqlen");
  both.seqlen.reset();
  CHECK(refused(both).empty());
  both.stream_bytes = 32;
  CHECK(refused(both) == "--stream-bytes cannot be combined with --sweep");
  both.sweep.reset();
  both.trace = "a";
  CHECK(refused(both) == "--trace cannot be combined with --stream-bytes");
}

TEST_CASE("reuse parts: the parts of an answered question ask it again") {
  const Context context = default_context();
  std::vector<ReuseParts> all(5, attention(2048));
  all[0].attention.causal = true;
  all[1].fidelity = Fidelity::kLru;
  all[1].granularity = Granularity::kSector;
  all[1].question.capacity_bytes = 65536;
  all[2].fidelity = Fidelity::kLru;
  all[2].ways = 4;
  all[2].sets.replacement = Replacement::kTreePlru;
  all[2].question.device = "h200";
  all[3].fidelity = Fidelity::kTimed;
  all[3].jitter = 0.02;
  all[3].question.device = "h200";
  all[4] = {};
  all[4].stream_bytes = 1 << 20;
  all[4].fidelity = Fidelity::kLru;
  all[4].sample = 0.5;
  for (const ReuseParts& parts : all) {
    const ReuseAnswer once = reuse(question_of(parts), context);
    const ReuseParts filled = parts_of(once.question);
    ReuseAnswer twice = reuse(question_of(filled), context);
    CHECK(twice.results.front().first.miss_sectors == once.results.front().first.miss_sectors);
    CHECK(twice.results.front().first.time_ns == once.results.front().first.time_ns);
    CHECK(filled.seqlen == parts.seqlen);
    CHECK(filled.stream_bytes == parts.stream_bytes);
    CHECK(filled.fidelity == parts.fidelity.value_or(Fidelity::kClosedForm));
    CHECK(filled.ways == parts.ways);
    CHECK(filled.sample == parts.sample);
    CHECK(filled.workers.has_value());
    CHECK(filled.question.line_bytes.has_value() == parts.ways.has_value());  // no other method reads lines
  }
}

TEST_CASE("an order of KV tiles is read by name or from a file, and a misspelt name finds the nearest") {
  CHECK(std::get<KvOrder>(parse_reuse_order("order", "sawtooth")) == KvOrder::kSawtooth);
  CHECK(std::holds_alternative<BestOrder>(parse_reuse_order("order", "best")));
  try {
    (void)parse_reuse_order("order", "cyclik");
    FAIL("read");
  } catch (const UnknownName& error) {
    CHECK(error.hint() == "cyclic");
    CHECK(error.parameter() == "order");
  }
}

TEST_CASE("row sources read back by their names, and a file is opened when it is read") {
  for (const char* text : {"uniform", "zipf:1.5", "hot:4", "file:/no/such.npy"})
    CHECK(name_of(parse_row_source("distribution", text)) == text);
  const auto missing = std::get<GivenRows>(parse_row_source("distribution", "file:/no/such.npy"));
  CHECK_THROWS_AS(missing.open(4), InvalidParameter);
  CHECK_THROWS_AS(parse_row_source("distribution", "file:"), InvalidParameter);
  const std::string path = (std::filesystem::temp_directory_path() / "natten-sim-rows-test.csv").string();
  std::ofstream(path) << "3 1,2\n";
  const auto given = std::get<GivenRows>(parse_row_source("distribution", "file:" + path));
  std::int64_t rows[4] = {};
  CHECK(given.open(4)->read(rows) == 3);
  CHECK(rows[0] == 3);
  CHECK(rows[2] == 2);
  std::filesystem::remove(path);
}

ScheduleParts tiles(std::int64_t count) {
  ScheduleParts parts;
  parts.q_tiles = count;
  return parts;
}

TEST_CASE("schedule parts: sizes are tiles or tokens, and none beside a mask that brings its own") {
  CHECK(std::get<TileSizes>(question_of(tiles(4)).sizes).q_tiles == 4);
  CHECK(refused(ScheduleParts{}) ==
        "--q-tiles: missing is not valid; accepted: --q-tiles and --kv-tiles, or --seqlen-q, or a mask of "
        "gna: or a file");
  ScheduleParts parts = tiles(4);
  parts.q_tile = 64;
  CHECK(refused(parts) ==
        "--q-tile cannot be combined with --q-tiles; accepted: tile sizes with --seqlen-q");
  parts.q_tiles.reset();
  parts.seqlen_q = 512;
  const auto tokens = std::get<TokenSizes>(question_of(parts).sizes);
  CHECK(tokens.q_tokens == 512);
  CHECK(tokens.q_tile == 64);
  CHECK(tokens.kv_tile == TokenSizes{}.kv_tile);
  parts.kv_tiles = 3;
  CHECK(refused(parts) ==
        "--q-tiles cannot be combined with --seqlen-q; accepted: sizes in tiles or in tokens");
  ScheduleParts gna;
  gna.question.mask = {GnaMask{.layout = Extents{8, 8}}};
  CHECK(std::holds_alternative<std::monostate>(question_of(gna).sizes));
  gna.kv_tile = 4;
  CHECK(refused(gna).starts_with("--kv-tile cannot be combined with --mask gna:i=8x8"));
}

TEST_CASE("schedule parts: workers are a number or a device's, not both") {
  ScheduleParts parts = tiles(4);
  CHECK(std::holds_alternative<std::monostate>(question_of(parts).workers));
  parts.device = "h200";
  parts.ctas_per_sm = 2;
  CHECK(std::get<WorkersOfDevice>(question_of(parts).workers).ctas_per_sm == 2);
  parts.workers = 3;
  CHECK(refused(parts) == "--device cannot be combined with --workers");
}

TEST_CASE("schedule parts: one algorithm asks for its plan, all of them without costs for the map of costs") {
  ScheduleParts parts = tiles(4);
  CHECK(question_of(parts).algorithms.empty());
  CHECK(question_of(parts).cost_map);
  CHECK_FALSE(question_of(parts).detail.plan);
  parts.handoff = {2, 3};
  parts.writer = {4};
  CHECK_FALSE(question_of(parts).cost_map);
  CHECK(question_of(parts).costs.handoff == 2);
  CHECK(question_of(parts).costs.handoff_far == 3);
  CHECK(question_of(parts).costs.writer_stages == 4);
  parts.algorithm = "spt";
  CHECK(question_of(parts).algorithms == std::vector<std::string>{"spt"});
  CHECK(question_of(parts).detail.plan);
}

TEST_CASE("schedule parts: what the answer filled in needs no device any more and asks the same again") {
  const Context context = default_context();
  ScheduleParts parts;
  parts.seqlen_q = 2048;
  parts.question.mask = {CausalMask{}};
  parts.question.heads = 4;
  parts.device = "h200";
  parts.algorithm = "spt";
  parts.handoff = {0.5, {}};
  const ScheduleAnswer once = schedule(question_of(parts), context);
  ScheduleParts filled = parts_of(parts, once);
  CHECK_FALSE(filled.device);
  CHECK(filled.workers == 132);
  CHECK(filled.q_tiles == 16);  // 2048 / 128
  CHECK(filled.seqlen_k == 2048);
  CHECK(filled.question.heads_kv == 4);
  CHECK(filled.handoff.far == 0.5);
  filled.q_tiles.reset(), filled.kv_tiles.reset();  // a question has tokens or tiles
  const ScheduleAnswer twice = schedule(question_of(filled), context);
  CHECK(require_finished(twice.results.front()).run.makespan ==
        require_finished(once.results.front()).run.makespan);
}

TEST_CASE("writers and sections read back from their texts") {
  for (const char* text : {"serial", "async:1", "async:64"})
    CHECK(study::to_string(parse_dq_writer("overlap", text)) == text);
  CHECK(section_text(parse_head_sections("launch-order", "sections:3")) == "sections:3");
  CHECK(parse_head_sections("launch-order", "heads").heads_per_section == 1);
  for (const char* text : {"async:0", "async:65", "async:", "async", "Serial"})
    CHECK_THROWS_AS(parse_dq_writer("overlap", text), InvalidParameter);
  for (const char* text : {"sections:0", "sections", "head"})
    CHECK_THROWS_AS(parse_head_sections("launch-order", text), InvalidParameter);
}

}  // namespace parts_test
