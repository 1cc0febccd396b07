// What is advised is asked again: random questions over every kind of advice, each choice held against
// count(), NATTEN's rules, the wish, dense attention, and neighbours that attend to more.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/study/advise.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace asked_again_test {

using namespace natten_sim;
using study::AdviceChoice;
using study::AdviseQuestion;
using study::AdviseUse;
using study::DeviceAdvice;
using study::PassTime;
using natten_sim::test::shared_context;

/// Most tokens an axis, by the number of axes.
using MostTokens = std::array<std::int64_t, 3>;

/// A question of any kind: inference or training; nothing, a sparsity, a range of it, or a speedup wished
/// for.
AdviseQuestion random_question(std::mt19937& random, const MostTokens& most) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
  };
  const auto share = [&](double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(below(1000)) / 1000;
  };
  AdviseQuestion question;
  const std::int64_t rank = 1 + below(3);
  const std::int64_t least[] = {256, 16, 8}, up_to = most[static_cast<std::size_t>(rank) - 1];
  for (std::int64_t axis = 0; axis < rank; ++axis)
    question.setting.input.push_back(least[rank - 1] + below(up_to - least[rank - 1]));
  const std::int64_t heads[] = {1, 2, 8, 16, 24};
  question.setting.heads = heads[below(5)];
  const std::int64_t batches[] = {1, 4, 32};
  question.setting.batch = batches[below(3)];
  const std::int64_t head_dims[] = {128, 64, 128, 96, 32};
  question.setting.head_dim = head_dims[below(5)];
  if (*question.setting.heads % 8 == 0 && below(4) == 0) question.setting.heads_kv = *question.setting.heads / 8;
  const char* devices[] = {"h100", "h200", "b200", "a100", "rtx4090", "gb10"};
  question.devices = {devices[below(6)]};
  question.use = below(3) == 0 ? AdviseUse::kTraining : AdviseUse::kInference;
  question.setting.deterministic = below(4) == 0;
  switch (below(4)) {
    case 0:
      question.sparsity = SparsityRange{0, share(0.2, 0.97)};
      break;
    case 1:
      question.sparsity = SparsityRange{share(0.2, 0.5), share(0.5, 0.97)};
      break;
    case 2:
      question.speedup = share(1.1, 5);
      break;
    default:
      break;
  }
  return question;
}

double total_ms(const study::CountAnswer& answer) {
  double ms = std::get<PassTime>(answer.time.value()).total_ms;
  if (answer.backward) ms += std::get<PassTime>(answer.backward->time.value()).total_ms;
  return ms;
}

double imbalance_of(const Extents& input, const Extents& window) {
  double least = 1e300, most = 0;
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    const double ratio = static_cast<double>(input[axis]) / static_cast<double>(window[axis]);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  return most / least;
}

/// No window that contains the choice's, with its stride and tiles, takes as little, where all of them were
/// searched.
void check_not_dominated(const AdviseQuestion& question, const AdviceChoice& choice) {
  for (std::size_t axis = 0; axis < question.setting.input.rank(); ++axis) {
    for (const std::int64_t more : {1, 2, 8}) {
      study::CountQuestion wider = choice.count.question;
      wider.window = window_of(choice.count.forward.problem.mask);
      wider.window[axis] += more;
      const bool dense = std::equal(wider.window.begin(), wider.window.end(), question.setting.input.begin());
      if (wider.window[axis] > question.setting.input[axis] || dense) continue;
      if (imbalance_of(question.setting.input, wider.window) > question.max_imbalance) continue;
      const study::CountAnswer answer = study::count(wider, shared_context());
      const bool outside = question.sparsity && answer.forward.count.sparsity() < question.sparsity->lo;
      const bool more_pairs = answer.forward.count.attended_pairs > choice.count.forward.count.attended_pairs;
      if (outside || answer.kernel.refusal || !more_pairs) continue;
      CAPTURE(to_string(wider.window));
      CHECK(total_ms(answer) > choice.total_ms * (1 + 1e-12));
    }
  }
}

void check_choice(const AdviseQuestion& question, const DeviceAdvice& advice, std::size_t index) {
  const AdviceChoice& choice = advice.choices[index];
  CAPTURE(index, to_string(window_of(choice.count.forward.problem.mask)),
          to_string(stride_of(choice.count.forward.problem.mask)));
  CHECK_FALSE(choice.count.kernel.refusal);
  const study::CountAnswer again = study::count(choice.count.question, shared_context());
  CHECK(std::abs(total_ms(again) - choice.total_ms) <= 1e-9 * choice.total_ms);
  CHECK(again.backward.has_value() == (question.use == AdviseUse::kTraining));
  const double sparsity = again.forward.count.sparsity();
  if (!question.speedup) {
    const SparsityRange range = question.sparsity.value_or(SparsityRange{0, study::kUsualSparsity});
    CHECK(sparsity <= range.hi + 1e-12);
    CHECK(sparsity >= range.lo - 1e-12);
  } else {
    CHECK(choice.speedup.value() >= *question.speedup);
  }
  // Only the one choice of a wish that nothing fulfils may be slower than dense; the closing sentence then
  // says so.
  if (choice.speedup && *choice.speedup <= 1) CHECK(advice.choices.size() == 1);
  if (!advice.sketched) check_not_dominated(question, choice);
}

/// Number of choices.
std::size_t ask(const AdviseQuestion& question) {
  const DeviceAdvice advice = study::advise(question, shared_context()).devices.front();
  CHECK(advice.choices.empty() != advice.missing.empty());
  // One token short of dense attention on each axis is within every sparsity that has no lower end.
  const bool always_has_one = !question.speedup && (!question.sparsity || question.sparsity->lo == 0);
  if (always_has_one && !advice.untimed) CHECK_FALSE(advice.choices.empty());
  for (std::size_t i = 0; i < advice.choices.size(); ++i) {
    check_choice(question, advice, i);
    if (i == 0) continue;
    CHECK(advice.choices[i - 1].total_ms < advice.choices[i].total_ms);
    CHECK(advice.choices[i - 1].count.forward.count.attended_pairs <
          advice.choices[i].count.forward.count.attended_pairs);
  }
  return advice.choices.size();
}

void ask(int questions, unsigned seed, const MostTokens& most) {
  std::mt19937 random(seed);
  for (int number = 0; number < questions; ++number) {
    const AdviseQuestion question = random_question(random, most);
    CAPTURE(seed, number, to_string(question.setting.input), *question.setting.heads, question.setting.batch,
            *question.setting.head_dim, question.devices.front(), question.use == AdviseUse::kTraining,
            question.speedup.value_or(0));
    ask(question);
  }
}

constexpr MostTokens kFewTokens = {1200, 48, 16}, kManyTokens = {6000, 140, 36};

TEST_CASE("40 random questions are advised what has the promised gain, is not dominated and is accepted by NATTEN") {
  ask(40, 41, kFewTokens);
}

TEST_CASE("windows of one time, which is summed in another order, are equal: the widest is advised") {
  // 3,490 tokens are 28 Q tiles of 128, each an SM of its own: a launch lasts as long as its longest CTA, however
  // much the others visit.
  AdviseQuestion question;
  question.setting.heads = 1;
  question.setting.head_dim = 128;
  question.devices = {"h200"};
  for (const std::int64_t tokens : {3490, 2361, 5000}) {
    for (const double sparsity : {0.7, 0.82, 0.9}) {
      question.setting.input = {tokens};
      question.sparsity = SparsityRange{0, sparsity};
      CAPTURE(tokens, sparsity);
      CHECK(ask(question) >= 1);
    }
  }
}

TEST_CASE("2,000 random questions are advised what has the promised gain, is not dominated and is accepted by NATTEN",
          "[.nightly][long]") {
  ask(1950, 4100, kFewTokens);
  ask(50, 4101, kManyTokens);
}

}  // namespace asked_again_test
