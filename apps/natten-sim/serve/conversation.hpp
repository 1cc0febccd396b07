#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "serve/worker_pool.hpp"

namespace natten_sim::cli {

enum class AnswerOrder {
  kAsAsked,
  kAsReady  ///< each as soon as it is there; its id tells whose it is
};

/// Requests of one client and their answers.
class Conversation {
 public:
  /// Requests that one client may have under way: it is read no further meanwhile.
  static constexpr std::size_t kMostUnderWay = 256;

  Conversation(WorkerPool& pool, std::uint64_t client, AnswerOrder order);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// A line: a request, {"cancel": ID}, or blank.
  void take(std::string_view line);
  /// An answer to what could not be read.
  void put(std::string answer);
  /// False: not one of its requests.
  bool answered(std::uint64_t request, std::string& answer);

  [[nodiscard]] bool may_take() const { return under_way_.size() < kMostUnderWay; }
  [[nodiscard]] bool has_none_under_way() const { return under_way_.empty(); }
  /// What is ready, in order; empty: nothing.
  [[nodiscard]] std::string ready();

 private:
  struct Slot {
    std::uint64_t request = 0;  ///< 0: none of the pool
    std::optional<std::string> answer;
  };

  /// Whether the line was a cancellation.
  bool take_cancel(std::string_view line);

  WorkerPool& pool_;
  std::uint64_t client_;
  AnswerOrder order_;
  std::deque<Slot> under_way_;
};

}  // namespace natten_sim::cli
