#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/client.hpp"

namespace natten_sim::cli {

/// Which pages may ask over HTTP.
struct HttpRules {
  std::vector<std::string> origins;  ///< "http://localhost:8000"; none: no page, only programs
};

/// A program or a page that asks over HTTP. POST has a request, or several, a line each, and gets a line for each; GET
/// says what answers here. A page of an origin that was not allowed, and a name that is not this machine's own, are
/// refused: what a browser's user visits must not ask here unseen.
///
///     POST / HTTP/1.1
///     {"command": "count", "options": {"input": 64, "window": 16}, "id": 1}
class HttpClient final : public Client {
 public:
  HttpClient(WorkerPool& pool, std::uint64_t client, AnswerOrder order, const HttpRules& rules, int socket);
  ~HttpClient() override;

  bool answered(std::uint64_t request, std::string& answer) override;
  [[nodiscard]] bool is_done() const override;
  [[nodiscard]] int descriptor() const override { return end_.descriptor(); }
  [[nodiscard]] int wanted() const override;
  void ready(short events) override;

 private:
  struct Parsing;

  void parse();
  void begin();
  void take_lines();
  void refuse(unsigned status, const std::string& message);
  void respond(unsigned status, std::string_view type, std::string body);

  Conversation conversation_;
  const HttpRules& rules_;
  SocketEnd end_;
  std::unique_ptr<Parsing> parsing_;
  std::string in_;             ///< read and not parsed
  std::string lines_, answers_;  ///< of the request that is being answered
  std::size_t taken_ = 0;      ///< of `lines_`
  bool answering_ = false, last_ = false, gone_ = false;
};

}  // namespace natten_sim::cli
