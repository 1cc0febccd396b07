#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <natten_sim/core/parallel.hpp>

#include "catch.hpp"

using namespace natten_sim;

namespace parallel_test {

TEST_CASE("each index is given to one worker, whatever the number of threads") {
  for (const unsigned threads : {0u, 1u, 2u, 7u}) {
    std::vector<std::atomic<int>> calls(100);
    std::atomic<bool> known_workers{true};
    const Parallel parallel{.threads = threads};
    run_tasks(calls.size(), parallel, [&](std::size_t index, std::size_t worker) {
      ++calls[index];
      if (worker >= worker_count(parallel)) known_workers = false;
    });
    for (const std::atomic<int>& count : calls) CHECK(count == 1);
    CHECK(known_workers);
  }
  run_tasks(0, {.threads = 4}, [](std::size_t, std::size_t) { FAIL("there is no task"); });
}

// Indices are handed out in order, so those below a failed one have begun, and their failures are known too.
TEST_CASE("of several failures that of the smallest index is thrown, whatever the number of threads") {
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::string thrown;
      try {
        run_tasks(40, {.threads = threads}, [](std::size_t index, std::size_t) {
          if (index % 10 == 7) throw std::runtime_error(std::to_string(index));
        });
      } catch (const std::runtime_error& error) {
        thrown = error.what();
      }
      CHECK(thrown == "7");
    }
  }
}

TEST_CASE("progress never goes back, and ends at 1") {
  for (const unsigned threads : {1u, 4u}) {
    std::vector<double> shown;
    run_tasks(10, {.threads = threads, .progress = [&](double fraction) { shown.push_back(fraction); }},
              [](std::size_t, std::size_t) {});
    REQUIRE(shown.size() == 10);
    for (std::size_t i = 0; i < shown.size(); ++i)
      CHECK(std::abs(shown[i] - (static_cast<double>(i) + 1) / 10) < 1e-12);
  }
}

TEST_CASE("parts that tell how far they are make the mean") {
  std::vector<double> shown;
  run_parts(2, {.threads = 1, .progress = [&](double fraction) { shown.push_back(fraction); }},
            [](std::size_t index, const ProgressFunction& progress) {
              progress(0.5);
              if (index == 0) progress(0.75);
            });
  // First part: 0.5, 0.75 and 1 of a half each; then the second.
  CHECK(shown == std::vector<double>{0.25, 0.375, 0.5, 0.75, 1.0});
  run_parts(2, {}, [](std::size_t, const ProgressFunction& progress) { CHECK_FALSE(progress); });
}

}  // namespace parallel_test
