// The page of validate and its views: complete in themselves, escaped, with every cell and no excuse.
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/validation_page.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/stream.hpp>

#include "catch.hpp"
#include "places.hpp"
#include "shipped_recordings.hpp"

namespace validation_page_test {

using namespace natten_sim;
using namespace natten_sim::validate;
using report::RecordedData;

const std::string kRecordings = std::string(natten_sim::test::kSourceDir) + "/data/recordings";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Recording recorded_stream(double passes) {
  StreamCase point;
  point.buffer_mib = 64;
  const double bytes = passes * static_cast<double>(64 << 20);
  Recording recording;
  recording.head.suite = "stream";
  recording.head.device = {"NVIDIA H200", "h200", 132, 1, 1, "9.0"};
  recording.rows.push_back(
      {point, "measured", {{"dram_read_bytes", {{bytes, bytes, bytes, bytes}, 3}}}, {}});
  return recording;
}

std::string page_of(const Recording& recording) {
  Suite suite;
  suite.name = "stream";
  suite.counters = {"dram_read_bytes"};
  suite.tolerances = {{"dram_read_bytes", "", "", 0.05}};
  return report::validation_page({recording}, compare({recording}, {suite}, builtin_catalog().devices), {});
}

TEST_CASE("a page names its data, shows every view and loads no other file") {
  RecordedData data;
  data.recordings = test::shipped_recordings();
  data.sdpa = read_sdpa_recordings(kRecordings);
  data.devices = builtin_catalog().devices;
  for (const Suite& suite : builtin_suites()) data.suites.push_back(suite.name);
  std::vector<Recording> compared = test::quick_recordings();
  std::erase_if(compared, [](const Recording& each) {  // to compare all takes seconds
    return each.head.suite != "stream" && each.head.suite != "sawtooth";
  });
  const std::string html = report::validation_page(data.recordings, test::compare_closed(compared), data);
  CHECK(html.find("<svg") != std::string::npos);
  CHECK(html.find("NVIDIA H200") != std::string::npos);
  CHECK(html.find("src=") == std::string::npos);
  CHECK(count(html, "<figure>") > 10 + report::view_kinds().size() / 2);
  CHECK(html.find(">nan<") == std::string::npos);
  for (const report::ViewKind* kind : report::view_kinds()) {
    INFO(kind->name);
    CHECK(html.find(">" + kind->name + "<") != std::string::npos);
    const auto view = kind->make(data);
    REQUIRE(view.has_value());
    CHECK(view->picture.has_value() == kind->drawn);
    CHECK_FALSE(view->rows.empty());
    const report::Json header = report::header_of(kind->row_schema());
    for (const report::Json& row : view->rows) {
      for (const auto& [key, value] : row.items()) CHECK(header.contains(key));
    }
  }
}

TEST_CASE("a counter that saw nothing is said in words, not as infinity") {
  const std::string html = page_of(recorded_stream(0));
  CHECK(html.find("nothing measured") != std::string::npos);
  CHECK(html.find(">inf") == std::string::npos);
}

std::size_t scripts_in(const std::string& html) {
  std::size_t count = 0;
  for (std::size_t at = html.find("<script"); at != std::string::npos; at = html.find("<script", at + 1))
    ++count;
  return count;
}

TEST_CASE("what comes from files is escaped in a page") {
  Recording recording = recorded_stream(8);
  recording.head.device.name = "<script>alert('x')</script>&\"";
  recording.rows[0].status = "<b>";
  const std::string html = page_of(recording);
  CHECK(html.find("<script>alert") == std::string::npos);
  CHECK(scripts_in(html) == scripts_in(page_of(recorded_stream(8))));  // the page's own, and no other
  CHECK(html.find("<b>") == std::string::npos);
  CHECK(html.find("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;") != std::string::npos);
}

kernels::AttentionProblem problem_of(std::int64_t tokens, std::int64_t head_dim = 128) {
  kernels::AttentionProblem problem;
  problem.tokens = tokens;
  problem.head_dim = head_dim;
  problem.heads = problem.heads_kv = 16;
  return problem;
}

RecordedRow own_row(const kernels::AttentionProblem& problem, double tflops) {
  AttentionCase point;
  point.problem = problem;
  const double ms = problem.operations() / tflops * 1e-9;
  RecordedRow row;
  row.point = point;
  row.timing = Timing{};
  row.timing->milliseconds = {ms, ms, ms, ms};
  return row;
}

SdpaRow their_row(const kernels::AttentionProblem& problem, const std::string& backend, double tflops) {
  const double ms = problem.operations() / tflops * 1e-9;
  SdpaRow row;
  row.problem = problem;
  row.backend = backend;
  row.milliseconds = Spread{ms, ms, ms, ms};
  return row;
}

/// One recording of tiles and one of PyTorch, of one device.
RecordedData pair_of(std::vector<RecordedRow> ours, std::vector<SdpaRow> theirs) {
  RecordedData data;
  data.recordings.emplace_back();
  data.recordings[0].head.suite = "tiles";
  data.recordings[0].head.device.name = "GPU";
  data.recordings[0].head.driver = "1";
  data.recordings[0].rows = std::move(ours);
  data.sdpa.emplace_back();
  data.sdpa[0].device.name = "GPU";
  data.sdpa[0].driver = "1";
  data.sdpa[0].rows = std::move(theirs);
  return data;
}

TEST_CASE("the heat map shows every cell of every backend, and why one is empty") {
  SdpaRow failed = their_row(problem_of(512), "cudnn", 1);
  failed.status = "refused: <no> kernel";
  failed.milliseconds.reset();
  const RecordedData data =
      pair_of({own_row(problem_of(512), 100), own_row(problem_of(1024), 300)},
              {their_row(problem_of(512), "auto", 200), their_row(problem_of(512), "flash", 50), failed});
  const auto view = report::view_kind("heat-map").make(data);
  REQUIRE(view.has_value());
  REQUIRE(view->picture.has_value());
  const std::string& svg = view->picture->svg;
  CHECK(count(svg, ">50%</text>") >= 1);   // 100 of 200, besides a label of the ramp
  CHECK(count(svg, ">200%</text>") >= 1);  // 100 of 50
  CHECK(svg.find("refused: &lt;no&gt; kernel") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(view->rows.size() == 2);
}

TEST_CASE("a heat map that would hide a cell is refused, one without a cell is not there") {
  const report::ViewKind& kind = report::view_kind("heat-map");
  CHECK_FALSE(kind.make(pair_of({}, {})).has_value());
  CHECK_FALSE(kind.make({}).has_value());
  auto other = problem_of(512);
  other.batch = 2;
  CHECK_THROWS_AS(kind.make(pair_of({own_row(problem_of(512), 100), own_row(other, 100)}, {})),
                  InvalidParameter);
}

TEST_CASE("a misspelt view is answered with the closest") {
  CHECK_THROWS_AS(report::view_kind("heatmap"), UnknownName);
}

}  // namespace validation_page_test
