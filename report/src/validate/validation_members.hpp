#pragma once

#include <cmath>
#include <functional>
#include <optional>

#include <natten_sim/report/described.hpp>
#include <natten_sim/validate/compare/score.hpp>

namespace natten_sim::report {

// Members of scores, of recordings and of suites.

/// JSON knows no infinity: null.
template <typename Get>
auto finite(Get get) {
  return [get](const auto& value) {
    const std::optional<double> number = std::invoke(get, value);
    return number && std::isfinite(*number) ? number : std::nullopt;
  };
}

/// `of`: the member of a score in the value that is described.
template <typename Members, typename OfScore>
void put_score(Members& m, const OfScore& of) {
  using S = validate::Score;
  m.put("points", of(&S::points), "Points");
  m.put("within", of(&S::within), "Share of the points within the tolerance, 0..1");
  m.put("median", finite(of(&S::median)));
  m.put("p90", finite(of(&S::p90)), "90th percentile of the relative errors");
  m.put("rank", of(&S::rank), "Rank correlation of predicted and measured, -1..1");
  m.put("skill", finite(of(&S::skill)),
        "1 less the loss over that of a guess without a model; null: a guess is always right");
}

}  // namespace natten_sim::report
