#include "serve/supervisor.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>

#include "serve/line_clients.hpp"

namespace natten_sim::cli {
namespace {

constexpr int kWaitingToConnect = 64;

/// Whether a process accepts connections there.
bool is_answered(const sockaddr_un& address) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool answered = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  (void)::close(probe);
  return answered;
}

bool is_socket(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

int milliseconds_to(const std::optional<std::chrono::steady_clock::time_point>& time) {
  if (!time) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*time - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

}  // namespace

/// A socket to which clients connect.
class Supervisor::Listener final : public Watched {
 public:
  using Accepted = std::function<std::unique_ptr<Client>(int socket)>;

  Listener(Supervisor& supervisor, int socket, Accepted accepted, std::unique_ptr<GuardedPath> path = nullptr)
      : supervisor_(supervisor), socket_(socket), accepted_(std::move(accepted)), path_(std::move(path)) {}
  ~Listener() override { (void)::close(socket_); }

  [[nodiscard]] int descriptor() const override { return socket_; }
  [[nodiscard]] int wanted() const override { return supervisor_.clients_.size() < kMostClients ? POLLIN : -1; }
  void ready(short) override {
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) supervisor_.clients_.push_back(accepted_(client));
  }

 private:
  Supervisor& supervisor_;
  int socket_;
  Accepted accepted_;
  std::unique_ptr<GuardedPath> path_;
};

Supervisor::Supervisor(const SupervisorRules& rules)
    : rules_(rules),
      pool_(rules_.worker, rules_.workers,
            [this](std::uint64_t request, std::string answer) { deliver(request, std::move(answer)); }) {}

Supervisor::~Supervisor() = default;

void Supervisor::take_requests(const std::string& path, OutputSink& sink) {
  clients_.push_back(std::make_unique<InputClient>(pool_, rules_.order, path, sink));
}

void Supervisor::listen_at(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    throw InvalidParameter("socket", "'" + path + "'",
                           "a path of 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  std::memcpy(address.sun_path, path.data(), path.size());
  if (is_socket(path) && !is_answered(address)) (void)::unlink(path.c_str());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const mode_t before = ::umask(0077);
  const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const std::string reason = std::strerror(errno);
  ::umask(before);
  std::unique_ptr<GuardedPath> guarded = bound ? std::make_unique<GuardedPath>(path) : nullptr;
  if (!bound || ::listen(socket, kWaitingToConnect) != 0) {
    (void)::close(socket);
    throw InvalidParameter("socket", path + " (" + reason + ")", "a path where a socket can be made");
  }
  listeners_.push_back(std::make_unique<Listener>(
      *this, socket,
      [this](int client) { return std::make_unique<SocketClient>(pool_, ++last_client_, rules_.order, client); },
      std::move(guarded)));
}

std::uint16_t Supervisor::listen_http(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int again = 1;  // the port of a server that has just ended
  (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket, kWaitingToConnect) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string reason = std::strerror(errno);
    (void)::close(socket);
    throw InvalidParameter("http", std::to_string(port) + " (" + reason + ")", "a port that is free");
  }
  listeners_.push_back(std::make_unique<Listener>(*this, socket, [this](int client) {
    return std::make_unique<HttpClient>(pool_, ++last_client_, rules_.order, rules_.http, client);
  }));
  return ntohs(address.sin_port);
}

void Supervisor::deliver(std::uint64_t request, std::string answer) {
  for (const auto& client : clients_) {
    if (client->answered(request, answer)) return;
  }
}

void Supervisor::run() {
  while (!clients_.empty() || !listeners_.empty()) {
    pool_.step();
    std::erase_if(clients_, [](const auto& client) { return client->is_done(); });
    std::vector<Watched*> watched = pool_.watched();
    for (const auto& client : clients_) watched.push_back(client.get());
    for (const auto& listener : listeners_) watched.push_back(listener.get());
    if (!clients_.empty() || !listeners_.empty()) wait(watched);
  }
}

void Supervisor::wait(const std::vector<Watched*>& watched) {
  std::vector<pollfd> polled;
  for (const Watched* each : watched) {
    const int wanted = each->wanted();
    // A negative descriptor is passed over.
    polled.push_back({wanted < 0 ? -1 : each->descriptor(), static_cast<short>(std::max(wanted, 0)), 0});
  }
  if (::poll(polled.data(), polled.size(), milliseconds_to(pool_.deadline())) <= 0) return;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents != 0) watched[i]->ready(polled[i].revents);
  }
}

}  // namespace natten_sim::cli
