#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/study/scatter.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace scatter_test {

using namespace natten_sim;
using study::Context;
using study::GivenRows;
using study::ScatterAnswer;
using study::ScatterQuestion;
using natten_sim::test::shared_context;

/// Rows from memory.
class VectorStream final : public IndexStream {
 public:
  explicit VectorStream(std::vector<std::int64_t> rows) : rows_(std::move(rows)) {}
  std::size_t read(std::span<std::int64_t> out) override {
    const std::size_t count = std::min(out.size(), rows_.size() - next_);
    for (std::size_t i = 0; i < count; ++i) out[i] = rows_[next_ + i];
    next_ += count;
    return count;
  }

 private:
  std::vector<std::int64_t> rows_;
  std::size_t next_ = 0;
};

ScatterQuestion question_of(const std::vector<std::int64_t>& rows, std::int64_t table_rows) {
  ScatterQuestion question;
  question.rows = table_rows;
  question.source =
      GivenRows{"five rows", [rows](std::int64_t) { return std::make_unique<VectorStream>(rows); }};
  return question;
}

TEST_CASE("a scatter question without numbers is 65,536 bf16 rows of 256 into 32,768, and says so") {
  const ScatterAnswer answer = study::scatter({}, shared_context());
  CHECK(answer.question.updates == 65536);
  CHECK(answer.collisions.updates == 65536);
  CHECK(answer.cost.load.width == 256);
  CHECK(answer.cost.load.type == Dtype::kBf16);
  CHECK(answer.cost.load.path == InstructionPath::kCas);
  CHECK(answer.profile.device == "h200");
}

/// The remedies of a contended question, by name.
std::map<std::string, Remedy> remedies_of(const std::string& construct, Dtype type, const std::string& device) {
  ScatterQuestion question;
  question.source = IndexDistribution(ZipfRows{1.5});
  question.construct = construct;
  question.dtype = type;
  question.device = device;
  question.details = {.remedies = true, .calibration = true};
  const ScatterAnswer answer = study::scatter(question, shared_context());
  std::map<std::string, Remedy> remedies;
  for (const Remedy& remedy : *answer.cost.remedies) remedies[remedy.name] = remedy;
  return remedies;
}

TEST_CASE("the order of an atomic is a remedy only where it changes the instruction") {
  // A relaxed scalar addition of bf16 is a loop of compare-and-swap on an sm90 (SASS): no remedy for scatter_add.
  for (const Dtype type : {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16}) {
    CHECK_FALSE(remedies_of("torch-scatter-add", type, "h200").contains("relaxed-ordering"));
    CHECK(remedies_of("triton-atomic-acq-rel", type, "h200").contains("relaxed-ordering"));
  }
  for (const char* construct : {"cuda-atomicadd-bfloat16", "ptx-red-relaxed-bf16", "xla-scatter-add"})
    CHECK_FALSE(remedies_of(construct, Dtype::kBf16, "h200").contains("relaxed-ordering"));
}

TEST_CASE("scatter_add's first remedy in PyTorch is index_add, which is another call and no loop") {
  for (const char* device : {"h200", "h100", "b200", "a100-40gb"}) {
    CAPTURE(device);
    const auto remedies = remedies_of("torch-scatter-add", Dtype::kFp16, device);
    REQUIRE(remedies.contains("index-add"));
    CHECK(remedies.at("index-add").effort == RemedyEffort::kOperator);
    CHECK(remedies.at("index-add").construct == "torch-index-add");
    CHECK(remedies.at("index-add").time_ns < remedies.at("as-is").time_ns / 5);
  }
  // Before sm_90 a pair of bf16 is a loop too.
  const auto a100 = remedies_of("torch-scatter-add", Dtype::kBf16, "a100-40gb");
  CHECK(a100.at("index-add").time_ns > a100.at("as-is").time_ns / 5);
  CHECK_FALSE(remedies_of("xla-scatter-add", Dtype::kBf16, "h200").contains("index-add"));
}

TEST_CASE("releases are compared by asking for their constructs, and only the operator's releases exist") {
  ScatterQuestion question;
  question.source = IndexDistribution(ZipfRows{1.5});
  question.compare = {"main", "2.9"};
  question.details.calibration = true;
  const ScatterAnswer answer = study::scatter(question, shared_context());
  REQUIRE(answer.releases.size() == 2);
  for (const study::ReleaseCost& cost : answer.releases) {
    CHECK(cost.release.operator_name == "torch.scatter_add");
    ScatterQuestion again = question;
    again.compare.clear();
    again.construct = *cost.release.construct;
    const ScatterAnswer one = study::scatter(again, shared_context());
    CHECK(one.cost.prediction.time_ns == cost.prediction.time_ns);
    REQUIRE(cost.interval.has_value());
    CHECK(cost.interval->most_ns == one.calibration->interval->most_ns);
  }
  CHECK(answer.releases[0].path == InstructionPath::kRed);
  CHECK(answer.releases[1].path == InstructionPath::kCas);
  question.compare = {"2.1"};
  CHECK_THROWS_AS(study::scatter(question, shared_context()), UnknownName);
  question.compare = {"main"};
  question.construct = "cuda-atomicadd-bfloat16";
  CHECK_THROWS_AS(study::scatter(question, shared_context()), InvalidParameter);
}

TEST_CASE("every operator's release names a construct of the table, or none because it sorts") {
  std::set<std::pair<std::string, std::string>> seen;
  const std::vector<std::string> constructs = study::scatter_constructs();
  for (const OperatorRelease& row : builtin_operators()) {
    CAPTURE(row.operator_name, row.release);
    CHECK(seen.emplace(row.operator_name, row.release).second);
    CHECK_FALSE(row.source.empty());
    if (row.construct) CHECK(std::count(constructs.begin(), constructs.end(), *row.construct) == 1);
    const bool sorts = row.operator_name == "torch.index_put" || row.operator_name == "torch.embedding";
    CHECK(row.construct.has_value() != sorts);
  }
}

TEST_CASE("a remedy that is a construct takes what that construct's own question takes") {
  for (const char* rows : {"zipf:1.2", "uniform", "hot:5"}) {
    for (const Dtype type : {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16}) {
      ScatterQuestion question;
      question.source = parse_index_distribution(rows);
      question.dtype = type;
      question.width = 200;
      question.details.remedies = true;
      const ScatterAnswer answer = study::scatter(question, shared_context());
      int constructs = 0;
      for (const Remedy& remedy : *answer.cost.remedies) {
        if (!remedy.construct) continue;
        ++constructs;
        ScatterQuestion again = question;
        again.construct = *remedy.construct;
        again.details = {.calibration = true};
        const ScatterAnswer one = study::scatter(again, shared_context());
        CHECK(one.cost.prediction.time_ns == remedy.time_ns);
        REQUIRE(one.calibration->interval.has_value());
        CHECK(one.calibration->interval->most_ns == remedy.interval->most_ns);
        CHECK(one.calibration->unfitted_points == remedy.blind->points);
      }
      CHECK(constructs == (type == Dtype::kFp32 ? 2 : 3));
    }
  }
}

TEST_CASE("remedies that were timed state their score and interval, others state none") {
  const auto remedies = remedies_of("torch-scatter-add", Dtype::kBf16, "h200");
  for (const auto& [name, remedy] : remedies) {
    CAPTURE(name);
    const bool timed = name != "warp-pre-reduction" && name != "block-pre-reduction";
    CHECK(remedy.interval.has_value() == timed);
    CHECK(remedy.blind.has_value() == (timed && name != kAsIs));
    if (!remedy.interval) continue;
    CHECK(remedy.interval->least_ns < remedy.time_ns);
    CHECK(remedy.interval->most_ns > remedy.time_ns);
  }
}

TEST_CASE("a score is stated only of the device and the loads that it was made with") {
  const auto judged = [](const ScatterQuestion& question) {
    int count = 0;
    const ScatterAnswer answer = study::scatter(question, shared_context());
    for (const Remedy& remedy : *answer.cost.remedies) {
      CHECK((remedy.name == kAsIs || remedy.blind.has_value() == remedy.interval.has_value()));
      count += remedy.blind.has_value() ? 1 : 0;
    }
    return count;
  };
  ScatterQuestion question;
  question.details = {.remedies = true, .calibration = true};
  CHECK(judged(question) == 6);
  for (const char* device : {"h100", "b200", "a100-40gb"}) {
    question.device = device;
    CHECK(judged(question) == 0);
  }
  question.device = "h200";
  question.width = 8192;  // wider than what was swept
  CHECK(judged(question) == 0);
  question.construct = "torch-index-add";
  CHECK_FALSE(study::scatter(question, shared_context()).calibration->outside.empty());
}

TEST_CASE("what a scatter question does not ask for is not in the answer") {
  ScatterQuestion question;
  question.updates = 10000;  // uniform: enough for the stream to take longer than two updates of a row
  const ScatterAnswer plain = study::scatter(question, shared_context());
  CHECK_FALSE(plain.cost.remedies.has_value());
  CHECK_FALSE(plain.cost.words.has_value());
  CHECK_FALSE(plain.calibration.has_value());
  question.details = {.addresses = true, .remedies = true, .calibration = true};
  const ScatterAnswer all = study::scatter(question, shared_context());
  CHECK(all.cost.words == all.collisions.rows_touched * 256 / 2);
  REQUIRE(all.cost.remedies.has_value());
  const auto fastest = std::min_element(all.cost.remedies->begin(), all.cost.remedies->end(),
                                        [](const Remedy& a, const Remedy& b) { return a.time_ns < b.time_ns; });
  CHECK(all.cost.remedies->front().time_ns <= 1.05 * fastest->time_ns);
  CHECK(all.cost.prediction.time_ns == plain.cost.prediction.time_ns);
  REQUIRE(all.calibration.has_value());
  // The H200 was swept: the error is that of this kind of scatter.
  CHECK(all.calibration->kind == ScatterKind::kStream);
  CHECK(all.calibration->outside.empty());
  REQUIRE(all.calibration->unfitted_worst_ratio.has_value());
  CHECK(*all.calibration->unfitted_worst_ratio >= *all.calibration->unfitted_mean_ratio);
  question.construct = "cuda-atomicadd-bfloat16";
  question.width = 8192;
  CHECK(study::scatter(question, shared_context()).calibration->outside ==
        std::vector<std::string>{"width", "construct"});
  // The A100 was not: it has the points of its own.
  question = {};
  question.updates = 1000;
  question.device = "a100-40gb";
  question.details.calibration = true;
  const ScatterAnswer other = study::scatter(question, shared_context());
  std::int64_t fitted = 0, others = 0;
  for (const ContentionPoint& point : contention_points()) {
    if (point.device == "a100-40gb") ++(point.fitted ? fitted : others);
  }
  CHECK_FALSE(other.calibration->kind.has_value());
  CHECK(other.calibration->fitted_points == fitted);
  CHECK(other.calibration->unfitted_points == others);
}

TEST_CASE("hot rows share updates evenly, and the hottest line serves each fp32 update once") {
  ScatterQuestion question;
  question.updates = 1000000;
  question.source = IndexDistribution(HotRows{2});
  question.dtype = Dtype::kFp32;
  const ScatterAnswer answer = study::scatter(question, shared_context());
  CHECK(answer.collisions.max_multiplicity == 500000);
  CHECK(answer.cost.prediction.bound == ContentionBound::kHottestAddress);
  CHECK(answer.cost.prediction.red_sectors == 1000000 * 256 * 4 / 32);
  // Rows of 1 KiB lie on two slices, 16 sectors on each; row 1 begins the next KiB.
  const double served = 500000 * 16 * answer.profile.sweep->constants.sector_ns;
  CHECK(std::abs(answer.cost.prediction.hottest_address_ns / served - 1) < 0.01);
}

TEST_CASE("rows of the caller's own are counted, all or the first") {
  ScatterQuestion question = question_of({1, 1, 2, 3, 1}, 4);
  for (int again = 0; again < 2; ++again) {  // a question may be asked twice
    const ScatterAnswer all = study::scatter(question, shared_context());
    CHECK(all.question.updates == 5);
    CHECK(all.collisions.max_multiplicity == 3);
    CHECK(all.collisions.hottest_row == 1);
    CHECK(all.collisions.rows_touched == 3);
  }
  question.updates = 2;
  CHECK(study::scatter(question, shared_context()).collisions.max_multiplicity == 2);
  question.updates = 6;
  CHECK_THROWS_AS(study::scatter(question, shared_context()), InvalidParameter);
  question = question_of({1, 1, 2, 3, 1}, 3);
  CHECK_THROWS_AS(study::scatter(question, shared_context()), InvalidParameter);
}

TEST_CASE("words are counted once where rows share them") {
  ScatterQuestion question = question_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 10);
  question.details.addresses = true;
  // Ten rows of so many bf16, in 32-bit words: 20, 40 and 60 bytes.
  for (const auto& [width, words] : {std::pair<std::int64_t, std::int64_t>{1, 5}, {2, 10}, {3, 15}}) {
    question.width = width;
    CHECK(study::scatter(question, shared_context()).cost.words == words);
  }
}

TEST_CASE("constructs choose a path, and a path can be forced") {
  ScatterQuestion question;
  question.updates = 2000;
  const auto load = [&] { return study::scatter(question, shared_context()).cost.load; };
  CHECK(load().path == InstructionPath::kCas);
  question.path = InstructionPath::kRed;
  CHECK(load().path == InstructionPath::kRed);
  CHECK(load().vector_width == 2);  // there is no scalar native form of 16 bits
  CHECK_FALSE(study::scatter(question, shared_context()).cost.instruction.has_value());
  question.path.reset();
  question.construct = "triton-atomic-relaxed";
  CHECK(load().vector_width == 8);
  question.device = "a100-40gb";
  CHECK(load().path == InstructionPath::kCas);
  question.device = "h200";
  question.width = 12;
  CHECK_THROWS_AS(load(), InvalidParameter);
  question.construct = "torch-scater-add";
  CHECK_THROWS_AS(load(), UnknownName);
}

TEST_CASE("an operator reads an index an element, a kernel of one's own one a row") {
  ScatterQuestion question;
  question.updates = 1000;
  question.dtype = Dtype::kFp32;
  const double values = 1000.0 * 256 * 4;
  CHECK(study::scatter(question, shared_context()).cost.load.streamed_bytes == values + 1000.0 * 256 * 8);
  question.construct = "cuda-atomicadd-float";
  const ScatterAnswer own = study::scatter(question, shared_context());
  CHECK(own.cost.load.streamed_bytes == values + 1000.0 * 8);
  CHECK(own.cost.load.issue_ns == own.profile.issue_bare_ns);
}

TEST_CASE("a device of the caller's own is asked about like one that ships, once it has what is needed") {
  Context context = study::default_context();
  Device own = context.catalog.device("a100-40gb");
  own.name = "own";
  context.catalog.devices.push_back(own);
  ScatterQuestion question;
  question.updates = 3000;
  question.device = "a100-40gb";
  const double shipped = study::scatter(question, context).cost.prediction.time_ns;
  question.device = "own";
  question.details.calibration = true;
  const ScatterAnswer answer = study::scatter(question, context);
  CHECK(answer.cost.prediction.time_ns == shipped);
  CHECK(answer.calibration->fitted_points == 0);  // those of the A100 are not its own
  CHECK_FALSE(answer.calibration->unfitted_mean_ratio.has_value());

  context.catalog.devices.back().atomics.reset();
  std::string message;
  try {
    (void)study::scatter(question, context);
  } catch (const InvalidParameter& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(message.find("'own'") != std::string::npos);
  CHECK(message.find("a device with atomics") != std::string::npos);
  question.device = "h2000";
  CHECK_THROWS_AS(study::scatter(question, context), UnknownName);
}

TEST_CASE(
    "the devices that can be asked about are those with measured contention, the smaller A100 among them") {
  CHECK(study::scatter_devices(shared_context()) == std::vector<std::string>{"a100-40gb", "b200", "h100", "h200"});
}

TEST_CASE("progress of a scatter question goes from above 0 to 1") {
  Context context = study::default_context();
  std::vector<double> heard;
  context.progress = [&](double fraction) { heard.push_back(fraction); };
  ScatterQuestion question;
  question.updates = 200000;
  (void)study::scatter(question, context);
  REQUIRE(heard.size() > 1);
  CHECK(std::is_sorted(heard.begin(), heard.end()));
  CHECK(heard.front() > 0);
  CHECK(heard.back() == 1);
}

}  // namespace scatter_test
