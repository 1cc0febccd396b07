// Advice and searches by time against plain enumeration: every window, stride and pair of tiles of small layouts, on every
// device with advice, each pass timed by count().
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/study/advise.hpp>

#include "catch.hpp"
#include "random.hpp"
#include "shared_context.hpp"

namespace advise_enumeration_test {

using namespace natten_sim;
using study::AdviseQuestion;
using study::AdviseUse;
using study::PassTime;
using natten_sim::test::shared_context;

/// Windows of two tokens or more, or strides up to a window, of all axes.
std::vector<Extents> combinations(const Extents& most, std::int64_t least) {
  std::vector<Extents> all = {{}};
  for (const std::int64_t hi : most) {
    std::vector<Extents> longer;
    for (const Extents& each : all) {
      for (std::int64_t size = least; size <= hi; ++size) {
        longer.push_back(each);
        longer.back().push_back(size);
      }
    }
    all = std::move(longer);
  }
  return all;
}

struct Configuration {
  std::int64_t attended = 0;
  double ms = 0, imbalance = 1;
};

/// What one pass takes with its fastest pair of tiles that NATTEN accepts, one question a pair; none: no pair has a time.
std::optional<double> fastest_ms(const study::CountQuestion& question, Walk walk) {
  const Backend& backend = study::effective_backend(question.setting, shared_context().catalog);
  const bool forward = walk == Walk::kForward;
  std::optional<double> least;
  std::set<std::pair<Extents, Extents>> asked_before;
  for (const BackendTiles& entry : forward ? backend.forward : backend.backward) {
    if (entry.tiles.q_tile.rank() != question.window.rank()) continue;
    if (entry.head_dim && *entry.head_dim != *question.setting.head_dim) continue;
    if (!asked_before.insert({entry.tiles.q_tile, entry.tiles.kv_tile}).second) continue;
    study::CountQuestion asked = question;
    asked.backward = !forward;
    (forward ? asked.q_tile : asked.backward_q_tile) = entry.tiles.q_tile;
    (forward ? asked.kv_tile : asked.backward_kv_tile) = entry.tiles.kv_tile;
    const study::CountAnswer answer = study::count(asked, shared_context());
    const auto& time = forward ? answer.time : answer.backward->time;
    const auto* passed = time ? std::get_if<PassTime>(&*time) : nullptr;
    if (!answer.kernel.refusal && passed != nullptr) least = std::min(least.value_or(passed->total_ms), passed->total_ms);
  }
  return least;
}

/// Every window but the whole layout, with every stride.
std::vector<Configuration> all_of(const AdviseQuestion& asked) {
  study::CountQuestion question;
  question.setting = asked.setting;
  question.setting.device = asked.devices.front();
  const bool trains = asked.use == AdviseUse::kTraining;
  question.setting = study::resolved(question.setting, shared_context().catalog, trains);
  const Extents& input = question.setting.input;
  std::vector<Configuration> all;
  for (const Extents& window : combinations(input, 2)) {
    if (window == input) continue;
    for (const Extents& stride : combinations(window, 1)) {
      question.window = window;
      question.stride = stride;
      const std::optional<double> forward = fastest_ms(question, Walk::kForward);
      const std::optional<double> backward = trains ? fastest_ms(question, Walk::kBackward) : std::optional(0.0);
      if (!forward || !backward) continue;
      Configuration found{.attended = 1, .ms = *forward + *backward};
      double least = 1e300, most = 0;
      for (const AxisMask& axis : make_mask(input, window, stride)) {
        found.attended *= attended_pairs(axis);
        const double ratio = static_cast<double>(axis.length) / static_cast<double>(axis.window);
        least = std::min(least, ratio);
        most = std::max(most, ratio);
      }
      found.imbalance = most / least;
      all.push_back(found);
    }
  }
  return all;
}

double dense_pairs(const Extents& input) {
  double pairs = 1;
  for (const std::int64_t length : input) pairs *= static_cast<double>(length * length);
  return pairs;
}

/// None of them attends to as much as a choice in less time, or to more in the same; the first is the fastest within the
/// wish. Returns the number of choices.
std::size_t check_against(const std::vector<Configuration>& all, const AdviseQuestion& question) {
  const study::DeviceAdvice advice = study::advise(question, shared_context()).devices.front();
  CAPTURE(advice.missing);
  double fastest = 1e300;
  const double least_pairs = (1 - question.sparsity->hi) * dense_pairs(question.setting.input) * (1 - 1e-12);
  for (const Configuration& each : all) {
    const bool wished = each.imbalance <= question.max_imbalance + 1e-12 && static_cast<double>(each.attended) >= least_pairs;
    if (wished) fastest = std::min(fastest, each.ms);
  }
  CHECK(advice.choices.empty() == (fastest > 1e299));
  if (!advice.choices.empty()) CHECK(advice.choices.front().total_ms == Approx(fastest).epsilon(1e-9));
  for (const study::AdviceChoice& choice : advice.choices) {
    const std::int64_t pairs = choice.count.forward.count.attended_pairs;
    const bool dominated = std::any_of(all.begin(), all.end(), [&](const Configuration& each) {
      if (each.imbalance > question.max_imbalance + 1e-12 || each.attended < pairs) return false;
      return each.ms < choice.total_ms * (1 - 1e-9) || (each.attended > pairs && each.ms <= choice.total_ms);
    });
    CAPTURE(to_string(window_of(choice.count.forward.problem.mask)), choice.total_ms);
    CHECK_FALSE(dominated);
  }
  return advice.choices.size();
}

/// Small layouts, on which a few windows fill a tile and others do not.
AdviseQuestion random_question(std::mt19937& random, const std::string& device, AdviseUse use, bool small) {
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  AdviseQuestion question;
  const std::int64_t rank = 1 + below(small ? 2 : 3), most[] = {small ? 9 : 40, small ? 4 : 6, 4};
  for (std::int64_t axis = 0; axis < rank; ++axis) question.setting.input.push_back(2 + below(most[rank - 1] - 1));
  const std::int64_t heads[] = {1, 3, 24}, batches[] = {1, 64}, head_dims[] = {128, 64, 32};
  question.setting.heads = heads[below(3)];
  question.setting.batch = batches[below(2)];
  question.setting.head_dim = head_dims[below(3)];
  question.devices = {device};
  question.use = use;
  question.sparsity = SparsityRange{0, 0.2 + 0.75 * static_cast<double>(below(1000)) / 1000};
  return question;
}

/// Devices that anybody asks advice for, with advice of every backend among them.
std::vector<std::string> devices() { return {"h100", "h200", "b200", "a100", "rtx4090", "rtx5090", "gb10"}; }

void ask_all(int rounds, unsigned seed, bool small) {
  std::mt19937 random(seed);
  std::size_t choices = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& device : devices()) {
      for (const AdviseUse use : {AdviseUse::kInference, AdviseUse::kTraining}) {
        const AdviseQuestion question = random_question(random, device, use, small);
        CAPTURE(seed, round, device, use == AdviseUse::kTraining, to_string(question.setting.input),
                *question.setting.heads, question.setting.batch, *question.setting.head_dim, question.sparsity->hi);
        choices += check_against(all_of(question), question);
      }
    }
  }
  CHECK(choices >= static_cast<std::size_t>(rounds));
}

TEST_CASE("on every device no configuration of a small layout is faster than advice, in inference and training") {
  ask_all(1, 4110, true);
}

TEST_CASE("on every device no configuration of 280 small layouts is faster than advice", "[.nightly][long]") {
  ask_all(test::cases(20), static_cast<unsigned>(test::stored_seed()), false);
}

TEST_CASE("advice on an A100 is what a search over all tiles of the backend finds, in inference and training") {
  AdviseQuestion question;
  question.setting.input = {7, 9};
  question.setting.heads = 1;
  question.setting.head_dim = 64;
  question.devices = {"a100"};
  question.sparsity = SparsityRange{0, 0.9};
  for (const AdviseUse use : {AdviseUse::kInference, AdviseUse::kTraining}) {
    question.use = use;
    study::SearchQuestion searched;
    searched.setting = question.setting;
    searched.setting.device = "a100";
    searched.phase = use == AdviseUse::kTraining ? SearchPhase::kBoth : SearchPhase::kForward;
    searched.constraints.sparsity = SparsityRange{0.001, question.sparsity->hi};  // the whole layout is dense attention
    searched.constraints.max_imbalance = question.max_imbalance;
    searched.top = 1;
    const study::SearchAnswer found = study::search(searched, shared_context());  // all tiles of the backend
    const auto choices = study::advise(question, shared_context()).devices.front().choices;
    CHECK(choices.at(0).total_ms == Approx(found.candidates.at(0).total_ms()));
  }
}

}  // namespace advise_enumeration_test
