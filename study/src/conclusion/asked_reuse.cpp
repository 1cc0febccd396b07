#include "asked_reuse.hpp"

#include <natten_sim/core/parallel.hpp>

namespace natten_sim::study {

std::vector<ReuseResult> ask_each(const std::vector<ReuseQuestion>& questions, const Context& context) {
  Context each = context;
  each.progress = {};
  each.threads = 1;
  std::vector<ReuseResult> results(questions.size());
  run_tasks(questions.size(), {.threads = context.threads, .progress = context.progress},
            [&](std::size_t index, std::size_t) {
              results[index] = std::move(reuse(questions[index], each).results.front().first);
            });
  return results;
}

}  // namespace natten_sim::study
