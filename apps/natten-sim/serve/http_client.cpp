#include "serve/http_client.hpp"

#include <algorithm>
#include <utility>

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>

#include <natten_sim/core/version.hpp>
#include <natten_sim/io/json_text.hpp>

#include "cli/invocation.hpp"
#include "commands.hpp"

namespace natten_sim::cli {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kMostBody = std::size_t{1} << 24, kMostHead = std::size_t{1} << 14;
/// Most bytes of answers to one POST.
constexpr std::size_t kMostAnswers = std::size_t{1} << 28;
constexpr const char* kJson = "application/json";

/// "localhost:8080", "127.0.0.1", "[::1]:80": the names by which this machine knows itself.
bool is_own_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) host = host.substr(0, colon);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

std::string what_answers_here() {
  const Json about = {{"program", "natten-sim"}, {"version", version()}, {"subcommands", names_with_json(commands())}};
  return json_text(about) + "\n";
}

}  // namespace

struct HttpClient::Parsing {
  http::request_parser<http::string_body> parser;
  http::request<http::string_body> request;
  std::string origin;

  Parsing() {
    parser.body_limit(kMostBody);
    parser.header_limit(kMostHead);
    parser.eager(true);
  }
};

HttpClient::HttpClient(WorkerPool& pool, std::uint64_t client, AnswerOrder order, const HttpRules& rules, int socket)
    : conversation_(pool, client, order), rules_(rules), end_(socket), parsing_(std::make_unique<Parsing>()) {}
HttpClient::~HttpClient() = default;

bool HttpClient::is_done() const { return gone_ || end_.is_broken() || (last_ && !answering_ && end_.left() == 0); }

int HttpClient::wanted() const { return (answering_ || last_ ? 0 : POLLIN) | (end_.left() > 0 ? POLLOUT : 0); }

void HttpClient::ready(short events) {
  gone_ = gone_ || (events & (POLLHUP | POLLERR)) != 0;
  if ((events & POLLOUT) != 0) end_.send();
  if ((events & POLLIN) == 0) return;
  char piece[1 << 16];
  const std::optional<std::size_t> got = end_.read(piece, sizeof piece);
  if (!got) return;
  if (*got == 0) last_ = true;
  in_.append(piece, *got);
  parse();
}

/// One request at a time; those behind it wait.
void HttpClient::parse() {
  while (!answering_ && !last_ && !in_.empty()) {
    boost::beast::error_code error;
    const std::size_t used = parsing_->parser.put(boost::asio::buffer(in_), error);
    in_.erase(0, used);
    if (error == http::error::need_more) return;
    if (error) {
      last_ = true;
      const bool large = error == http::error::body_limit || error == http::error::header_limit;
      return refuse(large ? 413 : 400, "request: " + error.message());
    }
    if (parsing_->parser.is_done()) begin();
  }
}

void HttpClient::begin() {
  parsing_->request = parsing_->parser.release();
  const auto& request = parsing_->request;
  last_ = !request.keep_alive();
  parsing_->origin = std::string(request[http::field::origin]);
  const std::string& origin = parsing_->origin;
  const auto host = request[http::field::host];
  if (!is_own_name({host.data(), host.size()}))
    return refuse(403, "host: '" + std::string(host) + "' is no name of this machine; accepted: localhost");
  if (!origin.empty() && std::find(rules_.origins.begin(), rules_.origins.end(), origin) == rules_.origins.end()) {
    parsing_->origin.clear();
    return refuse(403, "origin: pages of this one may not ask; accepted: those of serve --origin");
  }
  if (request.method() == http::verb::get) return respond(200, kJson, what_answers_here());
  if (request.method() == http::verb::options) return respond(204, kJson, "");
  if (request.method() != http::verb::post) return refuse(405, "method: accepted: POST, GET");
  answering_ = true;
  lines_ = std::move(parsing_->request.body());
  taken_ = 0;
  answers_.clear();
  take_lines();
}

void HttpClient::take_lines() {
  while (taken_ < lines_.size() && conversation_.may_take()) {
    const std::size_t end = std::min(lines_.find('\n', taken_), lines_.size());
    conversation_.take(std::string_view(lines_).substr(taken_, end - taken_));
    taken_ = end + 1;
  }
  answers_ += conversation_.ready();
  if (answers_.size() > kMostAnswers) {
    last_ = true;
    return refuse(413, "request: its answers are too large; accepted: fewer lines");
  }
  if (taken_ < lines_.size() || !conversation_.has_none_under_way()) return;
  const bool one = std::count(answers_.begin(), answers_.end(), '\n') == 1;
  respond(200, one ? kJson : "application/x-ndjson", std::exchange(answers_, {}));
}

bool HttpClient::answered(std::uint64_t request, std::string& answer) {
  if (!conversation_.answered(request, answer)) return false;
  if (answering_) take_lines();
  if (!answering_) parse();
  return true;
}

void HttpClient::refuse(unsigned status, const std::string& message) {
  respond(status, kJson, json_text(Json{{"error", {{"message", message}}}}) + "\n");
}

void HttpClient::respond(unsigned status, std::string_view type, std::string body) {
  http::response<http::string_body> response{http::int_to_status(status), 11};
  response.keep_alive(!last_);
  if (status != 204) response.set(http::field::content_type, {type.data(), type.size()});
  if (!parsing_->origin.empty()) {
    response.set(http::field::access_control_allow_origin, parsing_->origin);
    response.set(http::field::access_control_allow_headers, "content-type");
    response.set(http::field::vary, "Origin");
  }
  response.body() = std::move(body);
  response.prepare_payload();
  http::response_serializer<http::string_body> serializer(response);
  std::string text;
  for (boost::beast::error_code error; !serializer.is_done() && !error;) {
    serializer.next(error, [&](boost::beast::error_code&, const auto& buffers) {
      std::size_t bytes = 0;
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        text.append(static_cast<const char*>(buffer.data()), buffer.size());
        bytes += buffer.size();
      }
      serializer.consume(bytes);
    });
  }
  answering_ = false;
  parsing_ = std::make_unique<Parsing>();
  lines_.clear();
  end_.write(text);
}

}  // namespace natten_sim::cli
