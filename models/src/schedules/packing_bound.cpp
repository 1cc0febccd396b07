#include <algorithm>
#include <numeric>

#include <Eigen/LU>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/schedules/packing_bound.hpp>

namespace natten_sim {
namespace {

constexpr double kMargin = 1e-9;

/// How many chains of each length one worker takes.
using Pattern = Eigen::VectorXd;

struct BestPattern {
  Pattern copies;
  double value = 0;
};

/// The most valuable way to fill a worker: an unbounded knapsack.
BestPattern most_valuable(const std::vector<ChainCount>& chains, const Eigen::VectorXd& values,
                          std::int64_t limit) {
  constexpr std::int32_t kNothing = -1;
  std::vector<double> best(static_cast<std::size_t>(limit) + 1, 0.0);
  std::vector<std::int32_t> last(best.size(), kNothing);
  for (std::int64_t room = 1; room <= limit; ++room) {
    poll();
    const auto at = static_cast<std::size_t>(room);
    best[at] = best[at - 1];
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const auto before = static_cast<std::size_t>(room - chains[i].length);
      if (chains[i].length > room) continue;
      const double value = best[before] + values[static_cast<Eigen::Index>(i)];
      if (value <= best[at]) continue;
      best[at] = value;
      last[at] = static_cast<std::int32_t>(i);
    }
  }
  BestPattern found{Pattern::Zero(static_cast<Eigen::Index>(chains.size())), best.back()};
  for (std::int64_t room = limit; room > 0;) {
    poll();
    const std::int32_t item = last[static_cast<std::size_t>(room)];
    if (item == kNothing) {
      --room;
      continue;
    }
    ++found.copies[item];
    room -= chains[static_cast<std::size_t>(item)].length;
  }
  return found;
}

/// Whether the chains need more than `workers` workers of `limit` each. False: not shown.
class CuttingStock {
 public:
  CuttingStock(const std::vector<ChainCount>& chains, std::int64_t workers, std::int64_t limit)
      : chains_(chains), workers_(static_cast<double>(workers)), limit_(limit) {
    const auto sizes = static_cast<Eigen::Index>(chains.size());
    basis_ = Eigen::MatrixXd::Zero(sizes, sizes);
    demand_ = Eigen::VectorXd(sizes);
    for (Eigen::Index i = 0; i < sizes; ++i) {
      const ChainCount& chain = chains[static_cast<std::size_t>(i)];
      basis_(i, i) = static_cast<double>(limit / chain.length);
      demand_[i] = static_cast<double>(chain.count);
    }
  }

  [[nodiscard]] bool refuted() {
    constexpr int kMaxSteps = 1000;
    for (int step = 0; step < kMaxSteps; ++step) {
      poll();
      const Eigen::PartialPivLU<Eigen::MatrixXd> solver(basis_);
      const Eigen::VectorXd used = solver.solve(demand_);
      Eigen::VectorXd values = basis_.transpose().partialPivLu().solve(Eigen::VectorXd::Ones(demand_.size()));
      // A negative dual is no bound, and no chain is worth less than nothing.
      const BestPattern best = most_valuable(chains_, values.cwiseMax(0.0), limit_);
      const double bound = values.cwiseMax(0.0).dot(demand_) / std::max(best.value, 1.0);
      if (bound > workers_ * (1 + kMargin) + kMargin) return true;
      if (used.sum() <= workers_ * (1 + kMargin)) return false;  // workers suffice for the relaxation
      if (best.value <= 1 + kMargin || !exchange(solver, used, best.copies)) return false;
    }
    return false;
  }

 private:
  /// Takes a pattern into the basis for the one that runs out first.
  bool exchange(const Eigen::PartialPivLU<Eigen::MatrixXd>& solver, const Eigen::VectorXd& used,
                const Pattern& pattern) {
    const Eigen::VectorXd direction = solver.solve(pattern);
    Eigen::Index leaves = -1;
    double least = 0;
    for (Eigen::Index i = 0; i < direction.size(); ++i) {
      if (direction[i] <= kMargin) continue;
      const double ratio = used[i] / direction[i];
      if (leaves >= 0 && ratio >= least) continue;
      leaves = i;
      least = ratio;
    }
    if (leaves < 0) return false;
    basis_.col(leaves) = pattern;
    return true;
  }

  const std::vector<ChainCount>& chains_;
  double workers_;
  std::int64_t limit_;
  Eigen::MatrixXd basis_;
  Eigen::VectorXd demand_;
};

/// Chains one by one, longest first, each on the worker that has least. An upper bound of the same time.
std::int64_t longest_first(const std::vector<ChainCount>& chains, std::int64_t workers) {
  std::vector<std::int64_t> loads(static_cast<std::size_t>(workers), 0);
  const auto later = std::greater<std::int64_t>();
  std::int64_t most = 0;
  for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) {
    poll();
    for (std::int64_t i = 0; i < chain->count; ++i) {
      std::pop_heap(loads.begin(), loads.end(), later);
      loads.back() += chain->length;
      most = std::max(most, loads.back());
      std::push_heap(loads.begin(), loads.end(), later);
    }
  }
  return most;
}

/// Of equal lengths together, shortest first, in units of their greatest common divisor.
std::vector<ChainCount> merged(std::vector<ChainCount> chains, std::int64_t unit) {
  std::sort(chains.begin(), chains.end(),
            polled([](const ChainCount& a, const ChainCount& b) { return a.length < b.length; }));
  std::vector<ChainCount> distinct;
  for (const ChainCount& chain : chains) {
    const std::int64_t length = chain.length / unit;
    if (distinct.empty() || distinct.back().length != length) distinct.push_back({length, 0});
    distinct.back().count += chain.count;
  }
  return distinct;
}

}  // namespace

std::int64_t packing_bound(const std::vector<ChainCount>& chains, std::int64_t workers, std::int64_t least) {
  std::int64_t unit = 0;
  for (const ChainCount& chain : chains) unit = std::gcd(unit, chain.length);
  if (unit == 0) return least;
  const std::vector<ChainCount> distinct = merged(chains, unit);
  std::int64_t low = std::max(ceil_divide(least, unit), distinct.back().length);
  std::int64_t high = longest_first(distinct, workers);
  if (low >= high || static_cast<std::int64_t>(distinct.size()) > kMaxPackingCells / high)
    return std::max(least, low * unit);
  while (low < high) {  // invariant: below low refuted, high not
    const std::int64_t middle = low + (high - low) / 2;
    if (CuttingStock(distinct, workers, middle).refuted()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::max(least, low * unit);
}

}  // namespace natten_sim
