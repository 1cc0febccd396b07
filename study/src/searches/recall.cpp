#include <algorithm>
#include <map>
#include <set>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>

#include "searches/recall_candidates.hpp"

namespace natten_sim::study {
namespace {

constexpr std::size_t kMostMoves = 64;  // of single heads, after the steps
constexpr std::size_t kMostRounds = 32;  // after which a bound rests on some costs that are too low

std::string number_text(double value) {
  std::string text = std::to_string(value);
  while (text.back() == '0') text.pop_back();
  return text.back() == '.' ? text + "0" : text;
}

void require_valid(const SearchQuestion& question) {
  const RecallQuestion& wish = question.recall;
  if (!wish.table) throw InvalidParameter("recall", "none", "a file of attention by offset, with a wish");
  if (wish.least_recall && wish.budget_ms)
    throw InvalidParameter("budget_ms", number_text(*wish.budget_ms), "either a budget or a least recall");
  if (question.kind != SearchKind::kBest || question.top)
    throw InvalidParameter("recall", "with a wish", "a search without " + mention("ladder") + ", " + mention("pareto") +
                                                        " and " + mention("top") + ", or no wish");
}

/// Before anything is searched: a file that does not fit the question is refused at once.
OffsetTables tables_of(const SearchQuestion& question, const RecallQuestion& wish) {
  if (question.setting.input.empty())
    throw InvalidParameter("input", "none", mention("input") + " with one size an axis, or " + mention("preset"));
  OffsetTables tables("recall", *wish.table, question.setting.input);
  if (static_cast<std::int64_t>(tables.heads()) != *question.setting.heads)
    throw InvalidParameter(
        "recall", std::to_string(tables.heads()) + " heads",
        "a table of as many heads as attention has, " + std::to_string(*question.setting.heads));
  return tables;
}

/// A table's heads, and what each may have.
class Chooser {
 public:
  Chooser(SearchQuestion question, const RecallQuestion& wish, const Context& context)
      : question_(std::move(question)),
        wish_(wish),
        context_(context),
        tables_(tables_of(question_, wish_)),
        candidates_(question_, context_),
        recalls_(recalls_of(std::move(tables_), question_.setting.input, candidates_.masks(), context)) {
    context_.progress = {};
  }

  SearchAnswer choose() {
    RecallChoice choice{.layers = recalls_.layers, .heads = recalls_.heads};
    const RecallPer per = wish_.per.value_or(RecallPer::kHead);
    std::optional<Heads> best;
    // Launches of few heads fill no wave: one window for a layer may take less than one for each of its heads.
    if (per == RecallPer::kHead) best = heads_of(units_by(RecallPer::kLayer));
    const RecallTrade trade = units_by(per);
    for (const TradePoint& point : trade.points())
      choice.front.push_back({point.cost, point.recall / static_cast<double>(units())});
    if (std::optional<Heads> own = heads_of(trade); own && (!best || better(*own, *best))) best = std::move(own);
    if (!best) refuse(trade, choice.front.back().recall);
    add_bound(choice);
    add_launches(best->candidates, choice);
    return answer_with(std::move(choice));
  }

 private:
  /// A candidate for each head of each layer, and what they take and keep.
  struct Heads {
    std::vector<std::size_t> candidates;
    double ms = 0, recall = 0;
  };

  /// Steps of units of one kind, which the other functions then are about. Launches are timed of the candidates that
  /// steps lead to; of all others a bound is not on the hull.
  RecallTrade units_by(RecallPer per) {
    per_ = per;
    unit_recalls_ = unit_recalls();
    unit_costs_ = least_unit_costs();
    asked_.clear();
    for (;;) {
      RecallTrade trade(unit_recalls_, unit_costs_);
      bool changed = false;
      for (const std::size_t candidate : trade.candidates()) changed = ask(candidate) || changed;
      if (!changed) return trade;
    }
  }

  /// Whether the cost was a bound.
  bool ask(std::size_t candidate) {
    poll_now();
    if (!asked_.insert(candidate).second) return false;
    unit_costs_[candidate] = unit_cost(ms_of(candidate));
    return true;
  }

  /// None: no steps do what is wished.
  std::optional<Heads> heads_of(const RecallTrade& trade) {
    const std::optional<std::size_t> steps =
        wish_.budget_ms ? steps_within(trade) : trade.steps_to(least_recall_of_units());
    if (!steps) return std::nullopt;
    std::vector<std::size_t> chosen = trade.chosen(*steps);
    for (std::size_t moves = 0;
         moves < kMostMoves && (wish_.budget_ms ? moved_up(chosen) : moved_down(chosen)); ++moves)
      poll_now();
    return Heads{of_heads(chosen), ms_of(chosen), recall_of(chosen) / static_cast<double>(units())};
  }

  [[nodiscard]] bool better(const Heads& one, const Heads& other) const {
    if (wish_.least_recall) return one.ms < other.ms;
    return one.recall != other.recall ? one.recall > other.recall : one.ms < other.ms;
  }

  [[noreturn]] void refuse(const RecallTrade& trade, double most_recall) {
    if (wish_.budget_ms)
      throw InvalidParameter("budget_ms", number_text(*wish_.budget_ms),
                             number_text(ms_of(trade.chosen(0))) + " or more, what the fastest windows take");
    throw InvalidParameter("least_recall", number_text(*wish_.least_recall),
                           number_text(most_recall) + " or less, what the windows keep");
  }

  [[nodiscard]] bool of_layer() const { return per_ == RecallPer::kLayer; }
  [[nodiscard]] std::size_t units() const { return recalls_.layers * (of_layer() ? 1 : recalls_.heads); }

  [[nodiscard]] std::vector<double> unit_recalls() const {
    if (!of_layer()) return recalls_.values;
    std::vector<double> means(recalls_.layers * recalls_.masks, 0.0);
    for (std::size_t layer = 0; layer < recalls_.layers; ++layer) {
      for (std::size_t head = 0; head < recalls_.heads; ++head) {
        for (std::size_t mask = 0; mask < recalls_.masks; ++mask)
          means[layer * recalls_.masks + mask] +=
              recalls_.at(layer, head, mask) / static_cast<double>(recalls_.heads);
      }
    }
    return means;
  }

  [[nodiscard]] double unit_cost(double ms) const {
    return ms / (of_layer() ? 1 : static_cast<double>(recalls_.heads));
  }

  [[nodiscard]] std::vector<double> least_unit_costs() const {
    std::vector<double> costs;
    for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate)
      costs.push_back(unit_cost(candidates_.least(candidate).ms));
    return costs;
  }

  [[nodiscard]] std::vector<std::size_t> of_heads(const std::vector<std::size_t>& chosen) const {
    if (!of_layer()) return chosen;
    std::vector<std::size_t> candidates;
    for (const std::size_t candidate : chosen) candidates.insert(candidates.end(), recalls_.heads, candidate);
    return candidates;
  }

  /// A candidate after what all heads take with it.
  using ByTime = std::pair<double, std::size_t>;
  ByTime by_time(std::size_t candidate) { return {ms_of(candidate), candidate}; }

  /// Heads of a layer by candidate, the fastest first.
  std::map<ByTime, std::vector<std::size_t>> groups_of(const std::vector<std::size_t>& candidates, std::size_t layer) {
    std::map<ByTime, std::vector<std::size_t>> groups;
    for (std::size_t head = 0; head < recalls_.heads; ++head)
      groups[by_time(candidates[layer * recalls_.heads + head])].push_back(head);
    return groups;
  }

  /// Of all heads.
  double ms_of(std::size_t candidate) {
    return candidates_.ms(candidate, *question_.setting.heads, *question_.setting.heads_kv);
  }

  double ms_of(std::size_t candidate, const std::vector<std::size_t>& heads) {
    const std::size_t kv_heads = kv_heads_of(heads, heads_per_kv_head()).size();
    return candidates_.ms(candidate, static_cast<std::int64_t>(heads.size()), static_cast<std::int64_t>(kv_heads));
  }

  [[nodiscard]] std::size_t heads_per_kv_head() const {
    return static_cast<std::size_t>(*question_.setting.heads / *question_.setting.heads_kv);
  }

  double ms_of(const std::vector<std::size_t>& chosen) {
    poll_now();
    const std::vector<std::size_t> candidates = of_heads(chosen);
    double ms = 0;
    for (std::size_t layer = 0; layer < recalls_.layers; ++layer) {
      for (const auto& [candidate, heads] : groups_of(candidates, layer)) ms += ms_of(candidate.second, heads);
    }
    return ms;
  }

  /// Steps whose launches, asked one by one, are within the budget, where one more is not; none: not even the first.
  std::optional<std::size_t> steps_within(const RecallTrade& trade) {
    const auto fits = [&](std::size_t steps) {
      return ms_of(trade.chosen(steps)) <= *wish_.budget_ms * (1 + 1e-12);
    };
    if (!fits(0)) return std::nullopt;
    std::size_t within = 0, beyond = trade.points().size();
    while (beyond - within > 1) {
      const std::size_t middle = within + (beyond - within) / 2;
      (fits(middle) ? within : beyond) = middle;
    }
    return within;
  }

  /// A candidate for one unit instead of the one it has.
  struct Move {
    std::size_t unit = 0, candidate = 0;
    double gain = 0;
  };

  /// The move with the largest gain(cost saved, recall won), which grows with both; none: no gain is above 0.
  template <typename Gain>
  std::optional<Move> best_move(const std::vector<std::size_t>& chosen, const Gain& gain) {
    std::optional<Move> best;
    do best = best_by_bounds(chosen, gain);
    while (best && ask(best->candidate));
    return best;
  }

  template <typename Gain>
  [[nodiscard]] std::optional<Move> best_by_bounds(const std::vector<std::size_t>& chosen, const Gain& gain) const {
    std::optional<Move> best;
    for (std::size_t unit = 0; unit < chosen.size(); ++unit) {
      const double* recalls = unit_recalls_.data() + unit * candidates_.size();
      for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
        const double gained = gain(unit_costs_[chosen[unit]] - unit_costs_[candidate],
                                   recalls[candidate] - recalls[chosen[unit]]);
        if (gained > (best ? best->gain : 0)) best = Move{unit, candidate, gained};
      }
    }
    return best;
  }

  [[nodiscard]] double recall_of(const std::vector<std::size_t>& chosen) const {
    double sum = 0;
    for (std::size_t unit = 0; unit < chosen.size(); ++unit)
      sum += unit_recalls_[unit * candidates_.size() + chosen[unit]];
    return sum;
  }

  /// Steps go past the share by up to one of them: another candidate of one unit may be quicker and keep
  /// enough. A head that leaves its launch for one of its own may cost more than its share saved.
  bool moved_down(std::vector<std::size_t>& chosen) {
    const double spare = recall_of(chosen) - *wish_.least_recall * static_cast<double>(units());
    const auto saved = [&](double cost, double recall) { return recall >= -spare ? cost : 0; };
    const std::optional<Move> move = best_move(chosen, saved);
    if (!move) return false;
    std::vector<std::size_t> moved = chosen;
    moved[move->unit] = move->candidate;
    if (ms_of(moved) >= ms_of(chosen)) return false;
    chosen = std::move(moved);
    return true;
  }

  /// Steps end before the budget by up to one of them: another candidate of one unit may keep more within it.
  bool moved_up(std::vector<std::size_t>& chosen) {
    const double spare = *wish_.budget_ms - ms_of(chosen);
    const auto won = [&](double cost, double recall) { return cost >= -spare ? recall : 0; };
    const std::optional<Move> move = best_move(chosen, won);
    if (!move) return false;
    std::vector<std::size_t> moved = chosen;
    moved[move->unit] = move->candidate;
    if (ms_of(moved) > *wish_.budget_ms * (1 + 1e-12)) return false;
    chosen = std::move(moved);
    return true;
  }

  /// The least that a head takes in any launch of the candidate.
  double least_head_ms(std::size_t candidate) {
    double least = ms_of(candidate) / static_cast<double>(recalls_.heads);
    for (std::int64_t heads = 1; heads < *question_.setting.heads; ++heads) {
      for (std::int64_t heads_kv = 1; heads_kv <= heads; ++heads_kv) {
        const bool grouped = heads_kv <= *question_.setting.heads_kv && heads % heads_kv == 0 &&
                             heads / heads_kv <= static_cast<std::int64_t>(heads_per_kv_head());
        if (heads_kv < heads && !grouped) continue;
        least = std::min(least, candidates_.ms(candidate, heads, heads_kv) / static_cast<double>(heads));
      }
    }
    return least;
  }

  /// What candidates cost a unit at least: of those that the bound rests on as launches take it, of others less.
  [[nodiscard]] std::vector<double> least_costs() {
    if (of_layer()) return unit_costs_;
    std::vector<double> costs;
    for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate)
      costs.push_back(candidates_.least(candidate).head_ms);
    std::vector<bool> asked(costs.size(), false);
    for (std::size_t round = 0, changed = 1; round < kMostRounds && changed > 0; ++round) {
      poll_now();
      changed = 0;
      const RecallTrade trade(unit_recalls_, costs);
      const std::size_t last = trade.points().size() - 1;
      const std::size_t steps = wish_.budget_ms ? std::min(last, trade.steps_within(*wish_.budget_ms).value_or(0) + 1)
                                                : trade.steps_to(least_recall_of_units()).value_or(last);
      for (const std::size_t end : {steps, steps - std::min<std::size_t>(steps, 1)}) {
        for (const std::size_t candidate : trade.chosen(end)) {
          if (asked[candidate]) continue;
          asked[candidate] = true;
          costs[candidate] = least_head_ms(candidate);
          ++changed;
        }
      }
    }
    return costs;
  }

  [[nodiscard]] double least_recall_of_units() const { return *wish_.least_recall * static_cast<double>(units()); }

  void add_bound(RecallChoice& choice) {
    const RecallTrade trade(unit_recalls_, least_costs());
    if (wish_.least_recall) {
      choice.least_ms = trade.least_cost(least_recall_of_units());
    } else if (const std::optional<double> most = trade.most_recall(*wish_.budget_ms)) {
      choice.most_recall = *most / static_cast<double>(units());
    }
  }

  void add_launches(const std::vector<std::size_t>& candidates, RecallChoice& choice) {
    for (std::size_t layer = 0; layer < recalls_.layers; ++layer) {
      for (const auto& [by_time, heads] : groups_of(candidates, layer)) {
        const std::size_t candidate = by_time.second;
        double kept = 0;
        for (const std::size_t head : heads) kept += recalls_.at(layer, head, candidate);
        const double ms = ms_of(candidate, heads);
        choice.launches.push_back({layer, heads, kv_heads_of(heads, heads_per_kv_head()), candidate,
                                   kept / static_cast<double>(heads.size()), ms});
        choice.recall += kept / static_cast<double>(recalls_.layers * recalls_.heads);
        choice.ms += ms;
      }
    }
    choice.recall = std::min(choice.recall, 1.0);  // rounding
  }

  /// With the candidates that launches have, as a search for each alone answers; launches then name their places.
  [[nodiscard]] SearchAnswer answer_with(RecallChoice choice) {
    std::map<ByTime, std::size_t> places;
    for (const RecallLaunch& launch : choice.launches) places.emplace(by_time(launch.candidate), 0);
    SearchAnswer answer{.question = question_};
    answer.question.recall = wish_;
    answer.question.objective = Objective::kTime;
    for (auto& [candidate, place] : places) {
      SearchAnswer one = search(question_of(question_, candidates_.at(candidate.second)), context_);
      place = answer.candidates.size();
      const SearchCandidate& found = one.candidates.at(0);
      choice.dense_ms = found.speedup * found.total_ms() * static_cast<double>(recalls_.layers);
      answer.candidates.push_back(std::move(one.candidates.front()));
    }
    if (choice.dense_ms && question_.phase == SearchPhase::kForward && question_.setting.attention_share)
      choice.end_to_end_speedup = end_to_end_speedup(*share_of(question_.setting), *choice.dense_ms / choice.ms);
    answer.evaluated = answer.space_size = static_cast<std::int64_t>(candidates_.size());
    for (RecallLaunch& launch : choice.launches) launch.candidate = places.at(by_time(launch.candidate));
    answer.choice = std::move(choice);
    return answer;
  }

  SearchQuestion question_;
  RecallQuestion wish_;
  RecallPer per_ = RecallPer::kHead;  ///< of the units
  Context context_;
  OffsetTables tables_;  ///< until they are read
  RecallCandidates candidates_;
  MaskRecalls recalls_;
  std::vector<double> unit_recalls_;  // (units, candidates)
  std::vector<double> unit_costs_;    // (candidates)
  std::set<std::size_t> asked_;       // candidates whose cost is not a bound
};

}  // namespace

SearchAnswer choose_by_recall(const SearchQuestion& question, const Context& context) {
  require_valid(question);
  SearchQuestion full = question;
  full.setting = resolved(full.setting, context.catalog, has_pass(question.phase, Walk::kBackward));
  if (!full.setting.device) throw InvalidParameter("device", "none", "a device, for times");
  const bool any_tiles = full.tiles.empty() && full.q_tile.empty() && full.kv_tile.empty() &&
                         full.backward_q_tile.empty() && full.backward_kv_tile.empty() &&
                         !question.setting.backend;
  if (full.kernels.empty() && any_tiles)
    full.kernels = {effective_backend(full.setting, context.catalog).name};
  return Chooser(std::move(full), question.recall, context).choose();
}

}  // namespace natten_sim::study
