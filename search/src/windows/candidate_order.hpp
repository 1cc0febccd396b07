#pragma once

#include <cstdint>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/windows/search.hpp>

namespace natten_sim {

/// numerator / denominator, both positive; compared exactly.
struct Ratio {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  friend bool operator<(const Ratio& a, const Ratio& b) noexcept {
    return static_cast<UInt128>(a.numerator) * static_cast<UInt128>(b.denominator) <
           static_cast<UInt128>(b.numerator) * static_cast<UInt128>(a.denominator);
  }
  friend bool operator==(const Ratio& a, const Ratio& b) noexcept { return !(a < b) && !(b < a); }
};

/// How uneven windows are: the largest over the smallest L / window among the axes.
class Unevenness {
 public:
  void add_axis(std::int64_t length, std::int64_t window) noexcept {
    const Ratio ratio{length, window};
    if (empty_ || ratio < smallest_) smallest_ = ratio;
    if (empty_ || largest_ < ratio) largest_ = ratio;
    empty_ = false;
  }
  /// largest / smallest; each product is at most the square of the token count, which fits in 63 bits.
  [[nodiscard]] Ratio ratio() const noexcept {
    return {largest_.numerator * smallest_.denominator, largest_.denominator * smallest_.numerator};
  }

 private:
  Ratio smallest_{1, 1}, largest_{1, 1};
  bool empty_ = true;
};

/// One point of the space with everything that orders it.
struct RankedPoint {
  Ratio cost;              // 1 / objective
  bool fast_path = false;  // set where it breaks ties
  std::int64_t stride_product = 1;
  Ratio unevenness{1, 1};
  std::int64_t attended = 1;
  Extents window;
  Extents stride;
  std::size_t tile_choice = 0;
};

/// The order of `search_best`: a strict total order on distinct points.
class CandidateOrder {
 public:
  explicit CandidateOrder(const SearchSpace& space) : space_(&space) {}
  [[nodiscard]] bool operator()(const RankedPoint& a, const RankedPoint& b) const;

 private:
  const SearchSpace* space_;
};

/// The order of `search_fastest` among equal times: who attends to more comes first, then as in `search_best`.
class ContextOrder {
 public:
  explicit ContextOrder(const SearchSpace& space) : order_(space) {}
  [[nodiscard]] bool operator()(const RankedPoint& a, const RankedPoint& b) const {
    return a.attended != b.attended ? a.attended > b.attended : order_(a, b);
  }

 private:
  CandidateOrder order_;
};

/// Inclusive bounds on attended pairs that a sparsity range means; all when there is none.
struct AttendedBounds {
  std::int64_t lo = 0;
  std::int64_t hi = 0;

  [[nodiscard]] bool contains(std::int64_t attended) const noexcept { return lo <= attended && attended <= hi; }
};
[[nodiscard]] AttendedBounds attended_bounds(const SearchSpace& space, const SearchConstraints& constraints);

/// The cost that min_speedup allows; none when there is none.
[[nodiscard]] std::optional<Ratio> cost_limit(const SearchConstraints& constraints);

/// max_imbalance as an exact test.
class ImbalanceLimit {
 public:
  explicit ImbalanceLimit(const SearchConstraints& constraints);
  [[nodiscard]] bool allows(const Unevenness& unevenness) const;
  /// Whether some ratio of at least this is allowed; rounded, so that it may say yes once too often.
  [[nodiscard]] bool may_allow(double least_ratio) const noexcept {
    return !limited_ || least_ratio <= static_cast<double>(digits_) / static_cast<double>(scale_) * (1 + 1e-9);
  }

 private:
  bool limited_ = false;
  std::int64_t digits_ = 0;
  Int128 scale_ = 1;
};

/// Points, in order, as candidates with all their counts.
[[nodiscard]] std::vector<Candidate> to_candidates(const SearchSpace& space,
                                                   const std::vector<RankedPoint>& points);

}  // namespace natten_sim
