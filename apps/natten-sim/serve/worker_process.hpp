#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <natten_sim/io/file_access.hpp>

#include "cli/command.hpp"
#include "serve/watched.hpp"

namespace natten_sim::cli {

/// What a worker process may do.
struct WorkerRules {
  const std::vector<Command>* commands = nullptr;
  std::optional<double> answer_s;  ///< each answer, by its own clock
  std::int64_t memory_bytes = 0;   ///< the system refuses more; 0: as this process
  FileAccess files;
};

/// A forked process that answers requests, one at a time, as Server does. It ends with this process, reads no file that
/// the rules forbid and writes none. Whatever becomes of it, this process learns it at the other end of a socket.
class WorkerProcess final : public Watched {
 public:
  using Answered = std::function<void(std::string answer)>;
  using Ended = std::function<void(const std::string& how)>;

  /// Null: the system starts no more processes.
  [[nodiscard]] static std::unique_ptr<WorkerProcess> start(const WorkerRules& rules);
  /// Kills it.
  ~WorkerProcess() override;

  /// Until the answer or the end nothing else may be asked.
  void ask(std::string_view request, Answered answered, Ended ended);
  /// Kills it; nobody is told.
  void drop();
  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] bool has_ended() const { return process_ == 0; }

  [[nodiscard]] int descriptor() const override { return socket_; }
  [[nodiscard]] int wanted() const override;
  void ready(short events) override;

 private:
  WorkerProcess(pid_t process, int socket) : process_(process), socket_(socket) {}
  void send();
  void receive();
  void end();
  /// How it ended, as wait() says it.
  int kill_and_wait();

  pid_t process_;  // 0: it has ended
  int socket_;
  std::string out_, in_;
  std::size_t sent_ = 0;
  Answered answered_;
  Ended ended_;
};

}  // namespace natten_sim::cli
