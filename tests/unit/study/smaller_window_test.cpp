// The smaller window that count ends with: no window around it is as fast, with its stride and tiles.
#include <random>

#include <natten_sim/study/conclusion/count.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace smaller_window_test {

using namespace natten_sim;
using study::CountQuestion;
using study::PassTime;
using natten_sim::test::shared_context;

double total_ms(const study::CountAnswer& answer) {
  double ms = std::get<PassTime>(*answer.time).total_ms;
  if (answer.backward) ms += std::get<PassTime>(*answer.backward->time).total_ms;
  return ms;
}

/// Calls function(window) for every window of two axes or one from `least` on.
template <typename Function>
void for_each_window_around(const Extents& least, const Extents& input, const Function& function) {
  for (std::int64_t first = least[0]; first <= input[0]; ++first) {
    if (least.rank() == 1) {
      function(Extents{first});
      continue;
    }
    for (std::int64_t second = least[1]; second <= input[1]; ++second) function(Extents{first, second});
  }
}

/// Whether a smaller window is advised.
bool check_smaller_window(const CountQuestion& question) {
  const study::CountAnswer answer = study::count(question, shared_context());
  if (answer.kernel.refusal) return false;
  const study::CountConclusion end = study::conclude(answer, shared_context());
  if (!end.change || end.change->lever != study::CountLever::kWindow) return false;
  CountQuestion with = question;
  with.stride = end.change->stride;
  with.q_tile = end.change->tiles.q_tile;
  with.kv_tile = end.change->tiles.kv_tile;
  if (end.change->backward_tiles) {
    with.backward_q_tile = end.change->backward_tiles->q_tile;
    with.backward_kv_tile = end.change->backward_tiles->kv_tile;
  }
  with.window = end.change->window;
  const study::CountAnswer changed = study::count(with, shared_context());
  CHECK(total_ms(changed) == Approx(end.change->after));
  CHECK(changed.forward.count.attended_pairs < answer.forward.count.attended_pairs);
  for_each_window_around(end.change->window, question.setting.input, [&](const Extents& window) {
    with.window = window;
    const study::CountAnswer wider = study::count(with, shared_context());
    if (wider.forward.count.attended_pairs <= changed.forward.count.attended_pairs) return;
    if (wider.forward.count.attended_pairs >= answer.forward.count.attended_pairs) return;
    CAPTURE(to_string(end.change->window), to_string(window), end.change->after);
    CHECK(total_ms(wider) > end.change->after * (1 + 1e-12));
  });
  return true;
}

TEST_CASE("no window around the smaller one that count advises is as fast with more context") {
  std::mt19937 random(4120);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  int smaller = 0;
  for (int number = 0; number < 60; ++number) {
    CountQuestion question;
    const std::int64_t rank = 1 + below(2), least = rank == 1 ? 200 : 16, most = rank == 1 ? 900 : 64;
    const char* devices[] = {"h200", "a100", "b200", "gb10"};
    question.setting.device = devices[below(4)];
    question.setting.heads = 4 + 4 * below(4);
    question.setting.head_dim = 128;
    question.setting.batch = 4;
    question.backward = below(4) == 0;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      const std::int64_t length = least + below(most - least), window = length / 3 + below(length / 2);
      question.setting.input.push_back(length);
      question.window.push_back(window);
      question.stride.push_back(std::max<std::int64_t>(1, std::min(window, (1 + below(3)) * (rank == 1 ? 128 : 16))));
    }
    CAPTURE(number, to_string(question.setting.input), to_string(question.window), to_string(question.stride),
            *question.setting.device, question.backward);
    smaller += check_smaller_window(question) ? 1 : 0;
  }
  CHECK(smaller >= 5);
}

}  // namespace smaller_window_test
