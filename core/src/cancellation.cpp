#include <utility>

#include <natten_sim/core/cancellation.hpp>

namespace natten_sim {

CancellationScope::CancellationScope(Cancellation* token) noexcept
    : outer_(std::exchange(detail::poll_state.token, token)) {
  detail::poll_state.until_check = 1;
}

CancellationScope::~CancellationScope() { detail::poll_state.token = outer_; }

Cancellation* current_cancellation() noexcept { return detail::poll_state.token; }

}  // namespace natten_sim
