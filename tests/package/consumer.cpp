// Asks every study of the installed package one question whose answer is known.
#include <cstdio>

#include <natten_sim/core/version.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/msda.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/study/schedule.hpp>
#include <natten_sim/study/search.hpp>

namespace {

using namespace natten_sim;

int failures = 0;

void expect(const char* what, bool right) {
  std::printf("%s: %s\n", what, right ? "works" : "is broken");
  failures += right ? 0 : 1;
}

/// Figure 4.5 of the dissertation on generalized neighborhood attention: 32 of 128 tiles.
bool counts(const study::Context& context) {
  study::CountQuestion question;
  question.setting.input = {64};
  question.window = {16};
  question.stride = {8};
  question.q_tile = {8};
  question.kv_tile = {4};
  const study::CountAnswer answer = study::count(question, context);
  const TilingProblem& problem = answer.forward.problem;
  return answer.forward.count.visited_tiles == 32 && count_tiles(problem) == walk_tiles(problem);
}

bool searches(const study::Context& context) {
  study::SearchQuestion question;
  question.setting.input = {64};
  question.q_tile = {8};
  question.kv_tile = {4};
  question.top = 3;
  question.any = true;  // no kernel of NATTEN has these tiles
  return study::search(question, context).candidates.size() == 3;
}

/// DASH's symmetric shift: heads * (tiles + 1) * (compute + reduce) / 2.
bool schedules(const study::Context& context) {
  study::ScheduleQuestion question;
  question.sizes = study::TileSizes{.q_tiles = 8, .kv_tiles = 8};
  question.mask = {CausalMask{}};
  question.heads = 2;
  question.algorithms = {"symmetric-shift"};
  question.costs.compute = 7;
  question.costs.reduce = 2;
  const study::ScheduleAnswer answer = study::schedule(question, context);
  const auto* finished = std::get_if<study::FinishedSchedule>(&answer.results.front().outcome);
  return finished != nullptr && finished->run.makespan == 2 * 9 * 9 / 2;
}

/// Table 2 of the Sawtooth paper, 32,768 tokens.
bool reuses(const study::Context& context) {
  study::ReuseQuestion question;
  question.subject = study::AttentionSubject{
      .seqlen = Extents{32768}, .q_tile = Extents{80}, .kv_tile = Extents{80}};
  return study::reuse(question, context).results.front().first.sectors.total == 107'741'184;
}

/// All updates go to one row.
bool scatters(const study::Context& context) {
  study::ScatterQuestion question;
  question.updates = 1000;
  question.source = IndexDistribution(HotRows{1});
  const study::ScatterAnswer answer = study::scatter(question, context);
  return answer.collisions.max_multiplicity == 1000 && answer.cost.prediction.time_ns > 0;
}

/// Four corners a sample, all of them inside the image.
bool deforms(const study::Context& context) {
  study::MsdaQuestion question;
  question.config = {.name = "small", .batch = 1, .height = 64, .width = 64, .strides = {8}, .queries = 10};
  question.config.channels = 32;
  question.config.heads = 1;
  question.config.points = 2;
  const study::MsdaAnswer answer = study::msda(question, context);
  return answer.passes.front().traffic.samples == 10 * 2 && answer.passes.front().time.time_ns > 0;
}

}  // namespace

int main() {
  const study::Context context = study::default_context();
  std::printf("natten_sim %s\n", version().c_str());
  expect("count", counts(context));
  expect("search", searches(context));
  expect("schedule", schedules(context));
  expect("reuse", reuses(context));
  expect("scatter", scatters(context));
  expect("msda", deforms(context));
  return failures;
}
