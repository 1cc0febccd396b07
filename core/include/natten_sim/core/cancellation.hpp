#pragma once

namespace natten_sim {

/// Ends work before it is done: because its time is over, or nobody waits for it any more.
///
/// Whoever starts work that may take too long holds a token in a CancellationScope:
///
///     class Deadline : public Cancellation { void check() override { if (over()) throw LimitReached(..); }
///     }; Deadline deadline(..); const CancellationScope scope(deadline); study::schedule(question, context);
///     // throws what check() throws, soon after it would
///
/// Every loop whose bound is not a constant polls the token of its thread. run_tasks() hands it on to the
/// threads that it starts. Without a token polls cost next to nothing. What was asked is left as if it had
/// never been asked.
class Cancellation {
 public:
  Cancellation() = default;
  virtual ~Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  /// Throws when the work has to end. Called from any thread that works, several at a time.
  virtual void check() = 0;
};

/// While it lives, work of this thread polls `token`; a null pointer: none. The one before comes back with
/// its end.
class CancellationScope {
 public:
  explicit CancellationScope(Cancellation& token) noexcept : CancellationScope(&token) {}
  explicit CancellationScope(Cancellation* token) noexcept;
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  Cancellation* outer_;
};

/// The token of this thread; null: none.
[[nodiscard]] Cancellation* current_cancellation() noexcept;

namespace detail {

struct PollState {
  Cancellation* token = nullptr;
  unsigned until_check = 1;
};
inline constinit thread_local PollState poll_state{};
inline constexpr unsigned kPollsPerCheck = 64;

}  // namespace detail

/// Looks at the token, for loops whose steps take longer than a few microseconds. @throws what the token's
/// check() does.
inline void poll_now() {
  detail::PollState& state = detail::poll_state;
  if (state.token == nullptr) return;
  state.until_check = detail::kPollsPerCheck;
  state.token->check();
}

/// The same for loops with short steps: looks at the first call, then at every 64th.
inline void poll() {
  detail::PollState& state = detail::poll_state;
  if (state.token != nullptr && --state.until_check == 0) poll_now();
}

/// `less`, which has to outlive it, for sorts of what may be many elements: 1,024 comparisons are one step.
template <typename Less>
[[nodiscard]] auto polled(const Less& less) {
  constexpr unsigned kComparisonsPerPoll = 1024;
  return [&less, compared = 0U](const auto& a, const auto& b) mutable {
    if (++compared % kComparisonsPerPoll == 0) poll();
    return less(a, b);
  };
}

}  // namespace natten_sim
