#include "schedules/local_change.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace natten_sim::schedules {

void move_chain(Assignment& assignment, RandomSequence& random) {
  auto& workers = assignment.of_worker;
  auto& from = workers[random.below(workers.size())];
  auto& to = workers[random.below(workers.size())];
  if (from.empty()) return;
  std::int32_t& chain = from[random.below(from.size())];
  if (!to.empty() && random.below(2) == 0) {
    std::swap(chain, to[random.below(to.size())]);
  } else {
    const std::int32_t moved = chain;
    from.erase(from.begin() + (&chain - from.data()));
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(random.below(to.size() + 1)), moved);
  }
}

void move_tile(Assignment& assignment, const std::vector<std::int32_t>& chains, RandomSequence& random) {
  if (chains.empty()) return;
  std::vector<std::int32_t>& order =
      assignment.q_order[static_cast<std::size_t>(chains[random.below(chains.size())])];
  const auto a = static_cast<std::ptrdiff_t>(random.below(order.size()));
  const auto b = static_cast<std::ptrdiff_t>(random.below(order.size()));
  switch (random.below(3)) {
    case 0:
      std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
      break;
    case 1:
      std::rotate(order.begin(), order.begin() + a, order.end());
      break;
    default:
      if (a < b) std::rotate(order.begin() + a, order.begin() + a + 1, order.begin() + b + 1);
      if (b < a) std::rotate(order.begin() + b, order.begin() + a, order.begin() + a + 1);
  }
}

}  // namespace natten_sim::schedules
