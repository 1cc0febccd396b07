#include "serve/conversation.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>

#include "cli/server.hpp"

namespace natten_sim::cli {
namespace {

std::uint64_t next_request() {
  static std::uint64_t last = 0;
  return ++last;
}

}  // namespace

Conversation::Conversation(WorkerPool& pool, std::uint64_t client, AnswerOrder order)
    : pool_(pool), client_(client), order_(order) {}

Conversation::~Conversation() { pool_.forget(client_); }

void Conversation::take(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos || take_cancel(line)) return;
  const std::uint64_t request = next_request();
  under_way_.push_back({request, std::nullopt});
  pool_.ask(request, client_, std::string(line));
}

bool Conversation::take_cancel(std::string_view line) {
  const std::optional<CancelRequest> cancel = Server::cancel_of(line);
  if (!cancel) return false;
  std::vector<std::uint64_t> meant;
  for (const Slot& slot : under_way_) {
    const std::string* const text = slot.answer || slot.request == 0 ? nullptr : pool_.waiting(slot.request);
    if (text != nullptr && Server::id_of(*text) == cancel->cancelled) meant.push_back(slot.request);
  }
  put(Server::cancelled(cancel->id, !meant.empty()));
  for (const std::uint64_t request : meant) pool_.cancel(request);
  return true;
}

void Conversation::put(std::string answer) { under_way_.push_back({0, std::move(answer)}); }

bool Conversation::answered(std::uint64_t request, std::string& answer) {
  const auto slot = std::find_if(under_way_.begin(), under_way_.end(),
                                 [&](const Slot& each) { return each.request == request; });
  if (slot == under_way_.end()) return false;
  slot->answer = std::move(answer);
  return true;
}

std::string Conversation::ready() {
  std::string text;
  if (order_ == AnswerOrder::kAsReady) {
    for (Slot& slot : under_way_) text += slot.answer.value_or("");
    std::erase_if(under_way_, [](const Slot& slot) { return slot.answer.has_value(); });
    return text;
  }
  for (; !under_way_.empty() && under_way_.front().answer; under_way_.pop_front()) text += *under_way_.front().answer;
  return text;
}

}  // namespace natten_sim::cli
