// A window for each head: what the launches take and keep is asked again by itself.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/recall.hpp>

#include "catch.hpp"
#include "places.hpp"
#include "searches/recall_candidates.hpp"
#include "shared_context.hpp"

namespace recall_study_test {

using namespace natten_sim;
using study::RecallChoice;
using study::RecallPer;
using study::RecallQuestion;
using study::SearchAnswer;
using study::SearchCandidate;
using natten_sim::test::shared_context;

/// 64x64 tokens, two heads: one looks 2 tokens far, one 20.
const std::string kTable = std::string(natten_sim::test::kSourceDir) + "/tests/data/attention.npy";

study::SearchQuestion images() {
  study::SearchQuestion question;
  question.setting.input = {64, 64};
  question.setting.heads = 2;
  question.setting.head_dim = 128;
  question.setting.batch = 512;
  question.setting.device = "h200";
  return question;
}

SearchAnswer chosen(study::SearchQuestion question, const RecallQuestion& recall) {
  question.recall = recall;
  if (!question.recall.table) question.recall.table = kTable;
  return study::search(question, shared_context());
}

const NeighborhoodMask& mask_of(const SearchCandidate& candidate) { return candidate.counted.problem.mask; }

/// The time of so many heads with the candidate, by a search that may take nothing else.
double ms_of(const SearchCandidate& candidate, std::int64_t heads) {
  study::SearchQuestion again = images();
  again.setting.heads = heads;
  again.window = window_of(mask_of(candidate));
  again.stride = stride_of(mask_of(candidate));
  again.tiles = {candidate.tiles};
  again.top = 1;
  again.distinct = Distinct::kWindow;
  const SearchCandidate found = study::search(again, shared_context()).candidates.at(0);
  return candidate.dense_path ? found.speedup * found.total_ms() : found.total_ms();
}

void check_choice(const SearchAnswer& answer) {
  const RecallChoice& choice = *answer.choice;
  double ms = 0, recall = 0;
  std::vector<std::size_t> heads;
  for (const study::RecallLaunch& launch : choice.launches) {
    const SearchCandidate& candidate = answer.candidates.at(launch.candidate);
    const std::vector<NeighborhoodMask> mask = {mask_of(candidate)};
    const study::MaskRecalls recalls = study::recalls_of(kTable, {64, 64}, mask, shared_context());
    double kept = 0;
    for (const std::size_t head : launch.heads) kept += recalls.at(0, head, 0);
    CHECK(launch.recall == Approx(kept / static_cast<double>(launch.heads.size())));
    CHECK(launch.ms == Approx(ms_of(candidate, static_cast<std::int64_t>(launch.heads.size()))));
    heads.insert(heads.end(), launch.heads.begin(), launch.heads.end());
    ms += launch.ms;
    recall += kept / 2;
  }
  std::sort(heads.begin(), heads.end());
  CHECK(heads == std::vector<std::size_t>{0, 1});
  CHECK(choice.ms == Approx(ms));
  CHECK(choice.recall == Approx(recall));
}

TEST_CASE(
    "the head that looks far gets the larger window, and launches take and keep what asking again gives") {
  const SearchAnswer answer = chosen(images(), {.least_recall = 0.8});
  const RecallChoice& choice = *answer.choice;
  CHECK(choice.recall >= 0.8);
  CHECK(choice.ms < *choice.dense_ms);
  check_choice(answer);
  std::int64_t pairs[2] = {};
  for (const study::RecallLaunch& launch : choice.launches)
    for (const std::size_t head : launch.heads)
      pairs[head] = answer.candidates[launch.candidate].counted.count.attended_pairs;
  CHECK(pairs[0] < pairs[1]);
  // One window for both takes longer for as much.
  const SearchAnswer layer = chosen(images(), {.least_recall = 0.8, .per = RecallPer::kLayer});
  CHECK(layer.choice->launches.size() == 1);
  CHECK(layer.choice->recall >= 0.8);
  check_choice(layer);
}

/// What both heads take with these candidates: one launch if they are the same.
double ms_of_pair(study::RecallCandidates& candidates, std::size_t first, std::size_t second) {
  return first == second ? candidates.ms(first, 2, 2) : candidates.ms(first, 1, 1) + candidates.ms(second, 1, 1);
}

TEST_CASE("a choice takes no longer than steps along the hulls, and no less than the best of all pairs of windows") {
  study::SearchQuestion question = images();
  question.constraints.natten_fast_path = true;
  for (const double share : {0.5, 0.7, 0.8, 0.9}) {
    const SearchAnswer answer = chosen(question, {.least_recall = share});
    const RecallChoice& choice = *answer.choice;
    study::SearchQuestion full = answer.question;
    study::RecallCandidates all(full, shared_context());
    std::vector<double> costs, alone;
    for (std::size_t i = 0; i < all.size(); ++i) {
      costs.push_back(all.ms(i, 2, 2) / 2);
      alone.push_back(all.ms(i, 1, 1));
    }
    const study::MaskRecalls recalls = study::recalls_of(kTable, {64, 64}, all.masks(), shared_context());
    const RecallTrade trade(recalls.values, costs);
    std::size_t steps = 0;
    while (trade.points()[steps].recall < 2 * share) ++steps;
    const std::vector<std::size_t> hull = trade.chosen(steps);
    double best = 1e300;
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b = 0; b < all.size(); ++b) {
        if (recalls.at(0, 0, a) + recalls.at(0, 1, b) < 2 * share) continue;
        best = std::min(best, a == b ? ms_of_pair(all, a, a) : alone[a] + alone[b]);
      }
    }
    CAPTURE(share, all.size());
    CHECK(choice.ms <= ms_of_pair(all, hull[0], hull[1]) * (1 + 1e-9));
    CHECK(choice.ms >= best * (1 - 1e-9));
    CHECK(*choice.least_ms <= best * (1 + 1e-9));
    // The bound asks for launches of few windows; the same with those of all.
    for (std::size_t i = 0; i < all.size(); ++i) costs[i] = std::min(alone[i], costs[i]);
    CHECK(*choice.least_ms == Approx(*RecallTrade(recalls.values, costs).least_cost(2 * share)));
    const RecallChoice budget = *chosen(question, {.budget_ms = choice.ms}).choice;
    CHECK(*budget.most_recall == Approx(*RecallTrade(recalls.values, costs).most_recall(choice.ms) / 2));
    CHECK(*budget.most_recall >= budget.recall * (1 - 1e-9));
  }
}

/// A file of heads over 64x64 tokens that look so many tokens far, as products.
std::string heads_that_reach(const std::string& name, const std::vector<double>& reaches) {
  const std::string path = (std::filesystem::temp_directory_path() / ("natten_sim_" + name + ".npy")).string();
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(reaches.size()) + ", 254), }";
  header.resize(117, ' ');
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << '\x76' << '\0' << header << '\n';
  for (const double reach : reaches) {
    for (int axis = 0; axis < 2; ++axis) {
      for (int offset = -63; offset <= 63; ++offset) {
        const double mass = std::exp(-std::abs(offset) / reach);
        file.write(reinterpret_cast<const char*>(&mass), sizeof mass);
      }
    }
  }
  return path;
}

std::string three_heads() { return heads_that_reach("three_heads", {1, 4, 12}); }

/// The choice of three heads that takes least.
struct Best {
  double ms = 1e300;
  std::vector<std::size_t> chosen;
};

Best best_of_all(const std::vector<std::vector<double>>& launches, const study::MaskRecalls& recalls, double share) {
  Best best;
  const std::size_t all = recalls.masks;
  for (std::size_t code = 0; code < all * all * all; ++code) {
    const std::vector<std::size_t> chosen = {code % all, code / all % all, code / all / all};
    double kept = 0, ms = 0;
    for (std::size_t head = 0; head < 3; ++head) {
      kept += recalls.at(0, head, chosen[head]);
      const auto together = static_cast<std::size_t>(std::count(chosen.begin(), chosen.end(), chosen[head]));
      ms += launches[chosen[head]][together - 1] / static_cast<double>(together);
    }
    if (kept >= 3 * share && ms < best.ms) best = {ms, chosen};
  }
  return best;
}

TEST_CASE("launches that are never timed take no less than their bounds, and those that are have the fastest tiles") {
  study::SearchQuestion question = images();
  for (const std::int64_t batch : {1, 7}) {
    for (const SearchPhase phase : {SearchPhase::kForward, SearchPhase::kBoth}) {
      question.setting.batch = batch;
      question.phase = phase;
      study::SearchQuestion full = chosen(question, {.least_recall = 0.5}).question;
      study::RecallCandidates all(full, shared_context());
      for (std::size_t i = 0; i < all.size(); i += 7) {
        CAPTURE(batch, phase == SearchPhase::kBoth, i, to_string(window_of(all.masks()[i])));
        for (const std::int64_t heads : {1, 2}) {
          CHECK(all.least(i).head_ms * static_cast<double>(heads) <= all.ms(i, heads, heads));
        }
        CHECK(all.least(i).ms <= all.ms(i, 2, 2));
        if (all.at(i).dense) continue;
        // A search of this window and stride alone, with any tiles.
        study::SearchQuestion alone = question;
        alone.window = window_of(all.masks()[i]);
        alone.stride = stride_of(all.masks()[i]);
        alone.top = 1;
        alone.distinct = Distinct::kWindow;
        CHECK(study::search(alone, shared_context()).candidates.at(0).total_ms() <= all.ms(i, 2, 2) * (1 + 1e-9));
      }
    }
  }
}

TEST_CASE("the best of all choices of windows for three heads lies between the bound and the choice") {
  study::SearchQuestion question = images();
  question.setting.batch = 1;
  question.setting.heads = 3;
  question.window_range = {IntRange{8, 40}};
  question.constraints.natten_fast_path = true;
  const std::string table = three_heads();
  for (const double share : {0.3, 0.5, 0.6, 0.7, 0.8, 0.85}) {
    const SearchAnswer answer = chosen(question, {.table = table, .least_recall = share});
    const RecallChoice& choice = *answer.choice;
    study::SearchQuestion full = answer.question;
    study::RecallCandidates all(full, shared_context());
    std::vector<std::vector<double>> launches(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::int64_t heads = 1; heads <= 3; ++heads) launches[i].push_back(all.ms(i, heads, heads));
    }
    const study::MaskRecalls recalls = study::recalls_of(table, {64, 64}, all.masks(), shared_context());
    const Best best = best_of_all(launches, recalls, share);
    CAPTURE(share, all.size(), best.ms, *choice.least_ms, choice.ms);
    CHECK(*choice.least_ms <= best.ms * (1 + 1e-9));
    CHECK(best.ms <= choice.ms * (1 + 1e-9));
  }
}

TEST_CASE(
    "launches are within a budget, of which a larger one keeps no less, and dense attention keeps all") {
  double before = 0;
  const double dense = *chosen(images(), {.least_recall = 0.5}).choice->dense_ms;
  for (const double share : {0.6, 0.8, 1.1}) {
    const SearchAnswer answer = chosen(images(), {.budget_ms = share * dense});
    const RecallChoice& choice = *answer.choice;
    CAPTURE(share);
    CHECK(choice.ms <= share * dense * (1 + 1e-9));
    CHECK(choice.recall >= before);
    before = choice.recall;
    check_choice(answer);
  }
  CHECK(before == Approx(1));
}

TEST_CASE("a choice keeps to the ranges, the sparsity and the fast path of the question") {
  study::SearchQuestion question = images();
  question.constraints.natten_fast_path = true;
  question.constraints.sparsity = SparsityRange{0.2, 0.95};
  question.window_range = {IntRange{16, 40}};
  for (const SearchCandidate& each : chosen(question, {.least_recall = 0.3}).candidates) {
    CHECK(each.fast_path);
    CHECK(each.counted.count.sparsity() >= 0.2);
    for (const std::int64_t size : window_of(mask_of(each))) CHECK((size >= 16 && size <= 40));
  }
}

TEST_CASE("where launches of few heads fill no wave, no window for all heads does better, nor dense attention") {
  study::SearchQuestion question = images();
  question.setting.batch = 1;
  for (const double share : {0.3, 0.5, 0.8, 0.95}) {
    const SearchAnswer answer = chosen(question, {.least_recall = share});
    study::SearchQuestion full = answer.question;
    study::RecallCandidates all(full, shared_context());
    const study::MaskRecalls recalls = study::recalls_of(kTable, {64, 64}, all.masks(), shared_context());
    CAPTURE(share, all.size());
    CHECK(answer.choice->ms <= *answer.choice->dense_ms * (1 + 1e-9));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((recalls.at(0, 0, i) + recalls.at(0, 1, i)) / 2 >= share) CHECK(answer.choice->ms <= all.ms(i, 2, 2) * (1 + 1e-9));
    }
    const SearchAnswer budget = chosen(question, {.budget_ms = *answer.choice->dense_ms});
    CHECK(budget.choice->recall == Approx(1));
  }
}

TEST_CASE("a launch of all heads has the question's KV heads, whose copies take their time") {
  study::SearchQuestion question = images();
  double before = 0;
  for (const std::int64_t heads_kv : {1, 2}) {
    question.setting.heads_kv = heads_kv;
    const SearchAnswer answer = chosen(question, {.least_recall = 0.8, .per = RecallPer::kLayer});
    REQUIRE(answer.choice->launches.size() == 1);
    CHECK(answer.choice->ms == Approx(answer.candidates.at(0).total_ms()));  // as it is found alone
    CHECK(answer.choice->ms != Approx(before));
    before = answer.choice->ms;
  }
}

TEST_CASE("a launch of some heads has their KV heads where these serve equally many, else one for each head") {
  using Heads = std::vector<std::size_t>;
  CHECK(study::kv_heads_of({0, 1, 2, 3}, 4) == Heads{0});
  CHECK(study::kv_heads_of({0, 1, 4, 5}, 4) == Heads{0, 1});     // two heads of each
  CHECK(study::kv_heads_of({2, 7}, 4) == Heads{0, 1});           // one of each
  CHECK(study::kv_heads_of({0, 1, 4}, 4) == Heads{0, 0, 1});     // grouped heads would be 3 / 2
  CHECK(study::kv_heads_of({1, 3, 5, 7}, 1) == Heads{1, 3, 5, 7});
}

/// Of eight heads these look 20 tokens far, the others 2.
std::string eight_heads(const std::vector<std::size_t>& far) {
  std::vector<double> reaches(8, 2.0);
  for (const std::size_t head : far) reaches[head] = 20;
  return heads_that_reach("eight_heads_" + std::to_string(far.size()), reaches);
}

TEST_CASE("launches of some heads take what as many heads and KV heads take alone, on backends that repeat KV heads too") {
  for (const char* device : {"h200", "a100"}) {
    int shared = 0, own = 0;  // launches of some heads with fewer KV heads, and with as many
    for (const std::vector<std::size_t>& far : {std::vector<std::size_t>{0, 1, 2, 3}, {0, 4}, {1, 2, 5}}) {
      study::SearchQuestion question = images();
      question.setting.device = device;
      question.setting.heads = 8;
      question.setting.heads_kv = 2;
      question.setting.batch = 128;
      const SearchAnswer answer = chosen(question, {.table = eight_heads(far), .least_recall = 0.8});
      CAPTURE(device, far.size());
      for (const study::RecallLaunch& launch : answer.choice->launches) {
        CHECK(launch.kv_heads == study::kv_heads_of(launch.heads, 4));
        if (launch.heads.size() < 8) ++(launch.kv_heads.size() < launch.heads.size() ? shared : own);
        study::SearchQuestion alone = question;
        alone.setting.heads = static_cast<std::int64_t>(launch.heads.size());
        alone.setting.heads_kv = static_cast<std::int64_t>(launch.kv_heads.size());
        const SearchCandidate& candidate = answer.candidates.at(launch.candidate);
        alone.window = window_of(mask_of(candidate));
        alone.stride = stride_of(mask_of(candidate));
        alone.tiles = {candidate.tiles};
        alone.top = 1;
        const SearchCandidate found = study::search(alone, shared_context()).candidates.at(0);
        CHECK(launch.ms == Approx(candidate.dense_path ? found.speedup * found.total_ms() : found.total_ms()));
      }
      CHECK(*answer.choice->least_ms <= answer.choice->ms * (1 + 1e-9));
    }
    CHECK(shared > 0);
    CHECK(own > 0);
  }
}

TEST_CASE("wishes that cannot be, and tables of other heads, are refused by name") {
  const auto refused = [](const study::SearchQuestion& question, const RecallQuestion& wish) -> std::string {
    try {
      (void)chosen(question, wish);
    } catch (const InvalidParameter& error) {
      return error.parameter();
    }
    return "";
  };
  study::SearchQuestion rows = images();
  rows.top = 3;
  CHECK(refused(rows, {.least_recall = 0.5}) == "recall");
  CHECK(refused(images(), {.least_recall = 0.5, .budget_ms = 1.0}) == "budget_ms");
  CHECK(refused(images(), {.budget_ms = 1e-6}) == "budget_ms");
  study::SearchQuestion other = images();
  other.setting.heads = 3;
  CHECK(refused(other, {.least_recall = 0.5}) == "recall");
  other = images();
  other.constraints.sparsity = SparsityRange{0.9, 0.99};
  CHECK(refused(other, {.least_recall = 0.999}) == "least_recall");
  other = images();
  other.setting.device.reset();
  CHECK(refused(other, {.least_recall = 0.5}) == "device");
  other = images();
  other.constraints.no_padding = true;
  CHECK(refused(other, {.least_recall = 0.5}) == "no_padding");
}

}  // namespace recall_study_test
