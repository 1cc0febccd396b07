#include <natten_sim/validate/studies/regime_map.hpp>

#include <algorithm>
#include <map>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/attention.hpp>

namespace natten_sim::validate {
namespace {

constexpr std::int64_t kShortTokens = 2048;

using ProblemKey =
    std::tuple<bool, bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

/// Sorts as RegimeMap::cells says.
ProblemKey key_of(const kernels::AttentionProblem& p) {
  return {p.dtype == Dtype::kFp16, p.causal, p.head_dim, p.tokens, p.batch, p.heads, p.heads_kv};
}

double teraflops(const kernels::AttentionProblem& problem, double milliseconds) {
  return problem.operations() / milliseconds * 1e-9;
}

TilesThroughput own_of(const RecordedRow& row, const AttentionCase& point) {
  TilesThroughput own;
  own.tiles = point.tiles_text();
  own.throughput.tflops = validate::teraflops(row);
  own.throughput.status = row.status != kMeasured            ? row.status
                          : own.throughput.tflops.has_value() ? kMeasured
                                                              : "not timed";
  return own;
}

std::optional<std::size_t> fastest(const std::vector<TilesThroughput>& own) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].throughput.tflops && (!best || *own[i].throughput.tflops > *own[*best].throughput.tflops))
      best = i;
  }
  return best;
}

/// The fastest forced backend or own kernel of a cell, and its TFLOP/s; own wins ties.
struct Fastest {
  std::string name;
  double tflops = 0;
};
std::optional<Fastest> fastest_of(const RegimeCell& cell) {
  std::optional<Fastest> found;
  if (const Throughput own = cell.own_throughput(); own.tflops) found = Fastest{"natten-sim", *own.tflops};
  for (std::size_t b = 0; b < cell.backends.size(); ++b) {
    const std::string& name = sdpa_backends()[b];
    if (name == "auto" || !cell.backends[b].tflops) continue;
    if (!found || *cell.backends[b].tflops > found->tflops) found = Fastest{name, *cell.backends[b].tflops};
  }
  return found;
}

Decision decision_of(const RegimeCell& cell, const Fastest& winner) {
  Decision decision;
  decision.head_dim = cell.problem.head_dim;
  decision.dtype = cell.problem.dtype;
  decision.causal = cell.problem.causal;
  decision.from_tokens = decision.to_tokens = cell.problem.tokens;
  decision.fastest = winner.name;
  decision.fastest_tflops = winner.tflops;
  if (cell.backends.front().tflops) decision.of_auto = *cell.backends.front().tflops / winner.tflops;
  const Throughput own = cell.own_throughput();
  decision.tiles = cell.best ? cell.own[*cell.best].tiles : own.status;
  if (own.tflops) decision.own_least = decision.own_most = *own.tflops / winner.tflops;
  return decision;
}

bool same_answer(const Decision& a, const Decision& b) {
  return a.head_dim == b.head_dim && a.dtype == b.dtype && a.causal == b.causal && a.fastest == b.fastest &&
         a.tiles == b.tiles;
}

/// The smaller of two values; if one is empty, the other.
std::optional<double> least(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}
std::optional<double> most(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::max(*a, *b) : a ? a : b;
}

}  // namespace

std::optional<double> RegimeCell::ratio(std::size_t backend) const {
  const Throughput own_rate = own_throughput();
  if (!own_rate.tflops || !backends.at(backend).tflops) return std::nullopt;
  return *own_rate.tflops / *backends[backend].tflops;
}

Throughput RegimeCell::own_throughput() const {
  if (best) return own[*best].throughput;
  if (!own.empty()) return own.front().throughput;
  for (const kernels::AttentionTiles& tiles : kernels::attention_tiles()) {
    if (tiles.head_dim == problem.head_dim) return {std::nullopt, "not recorded"};
  }
  return {std::nullopt, "no kernel of this head dim"};
}

RegimeMap regime_map(const Recording& tiles, const SdpaRecording& sdpa) {
  const std::string ours = tiles.head.device.name + ", driver " + tiles.head.driver;
  const std::string theirs = sdpa.device.name + ", driver " + sdpa.driver;
  if (ours != theirs)
    throw InvalidParameter("times of PyTorch on", theirs, "recorded on " + ours + " as well");
  std::map<ProblemKey, RegimeCell> cells;
  const auto cell_of = [&](const kernels::AttentionProblem& problem) -> RegimeCell& {
    RegimeCell& cell = cells[key_of(problem)];
    cell.problem = problem;
    if (cell.backends.empty()) cell.backends.resize(sdpa_backends().size(), {std::nullopt, "not recorded"});
    return cell;
  };
  for (const RecordedRow& row : tiles.rows) {
    const auto* const point = row.point.as<AttentionCase>();
    if (point != nullptr) cell_of(point->problem).own.push_back(own_of(row, *point));
  }
  for (const SdpaRow& row : sdpa.rows) {
    const auto place = std::find(sdpa_backends().begin(), sdpa_backends().end(), row.backend);
    Throughput& backend =
        cell_of(row.problem).backends.at(static_cast<std::size_t>(place - sdpa_backends().begin()));
    backend.status = row.status;
    if (row.milliseconds) backend.tflops = teraflops(row.problem, row.milliseconds->median);
  }
  RegimeMap map{tiles.head.device.name, sdpa.framework, tiles.head.driver, {}};
  for (auto& [key, cell] : cells) {
    cell.best = fastest(cell.own);
    map.cells.push_back(std::move(cell));
  }
  return map;
}

std::vector<TilesSensitivity> tiles_sensitivity(const RegimeMap& map) {
  std::vector<TilesSensitivity> rows;
  const auto row_of = [&](const RegimeCell& cell, const std::string& tiles) -> TilesSensitivity& {
    const std::string band = cell.problem.tokens <= kShortTokens ? "short" : "long";
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const TilesSensitivity& row) {
      return row.head_dim == cell.problem.head_dim && row.causal == cell.problem.causal && row.band == band &&
             row.tiles == tiles;
    });
    if (found != rows.end()) return *found;
    TilesSensitivity row;
    row.head_dim = cell.problem.head_dim;
    row.causal = cell.problem.causal;
    row.band = band;
    row.tiles = tiles;
    return rows.emplace_back(row);
  };
  for (const RegimeCell& cell : map.cells) {
    if (!cell.best) continue;
    const double top = *cell.own[*cell.best].throughput.tflops;
    for (std::size_t i = 0; i < cell.own.size(); ++i) {
      if (!cell.own[i].throughput.tflops) continue;
      TilesSensitivity& row = row_of(cell, cell.own[i].tiles);
      const double loss = 1 - *cell.own[i].throughput.tflops / top;
      ++row.cells;
      row.best += i == *cell.best ? 1 : 0;
      row.mean_loss += loss;
      row.worst_loss = std::max(row.worst_loss, loss);
    }
  }
  for (TilesSensitivity& row : rows) row.mean_loss /= static_cast<double>(row.cells);
  std::stable_sort(rows.begin(), rows.end(), [](const TilesSensitivity& a, const TilesSensitivity& b) {
    return std::tuple(a.head_dim, a.causal, a.band == "long", a.mean_loss) <
           std::tuple(b.head_dim, b.causal, b.band == "long", b.mean_loss);
  });
  return rows;
}

std::vector<Decision> decisions(const RegimeMap& map) {
  std::vector<Decision> rows;
  for (const RegimeCell& cell : map.cells) {
    const std::optional<Fastest> winner = fastest_of(cell);
    if (!winner) continue;
    const Decision next = decision_of(cell, *winner);
    if (rows.empty() || !same_answer(rows.back(), next)) {
      rows.push_back(next);
      continue;
    }
    Decision& row = rows.back();
    row.to_tokens = next.to_tokens;
    row.fastest_tflops = next.fastest_tflops;
    row.of_auto = least(row.of_auto, next.of_auto);
    row.own_least = least(row.own_least, next.own_least);
    row.own_most = most(row.own_most, next.own_most);
  }
  return rows;
}

}  // namespace natten_sim::validate
