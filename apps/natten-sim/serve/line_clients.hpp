#pragma once

#include <cstdint>
#include <string>

#include "cli/line_buffer.hpp"
#include "cli/output.hpp"
#include "serve/client.hpp"

namespace natten_sim::cli {

/// A client that writes a request a line and reads an answer a line.
class LineClient : public Client {
 public:
  LineClient(WorkerPool& pool, std::uint64_t client, AnswerOrder order) : conversation_(pool, client, order) {}

  bool answered(std::uint64_t request, std::string& answer) final;
  [[nodiscard]] bool is_done() const override {
    return buffer_.ended() && !lines_left_ && conversation_.has_none_under_way();
  }

 protected:
  [[nodiscard]] bool wants_more() const { return !buffer_.ended() && !lines_left_ && conversation_.may_take(); }
  [[nodiscard]] LineBuffer& buffer() { return buffer_; }
  /// Asks what the buffer has, as far as more may be under way.
  void take_lines();
  virtual void write(std::string_view text) = 0;

 private:
  Conversation conversation_;
  LineBuffer buffer_;
  bool lines_left_ = false;  ///< in the buffer, perhaps
};

/// Standard input or a file of requests, answered where this run writes.
class InputClient final : public LineClient {
 public:
  InputClient(WorkerPool& pool, AnswerOrder order, const std::string& requests, OutputSink& sink);
  ~InputClient() override;
  [[nodiscard]] int descriptor() const override { return file_; }
  [[nodiscard]] int wanted() const override { return wants_more() ? POLLIN : -1; }
  void ready(short events) override;

 protected:
  void write(std::string_view text) override;

 private:
  std::string path_;
  int file_;
  OutputSink& sink_;
};

/// A program at the other end of a local socket.
class SocketClient final : public LineClient {
 public:
  SocketClient(WorkerPool& pool, std::uint64_t client, AnswerOrder order, int socket)
      : LineClient(pool, client, order), end_(socket) {}
  [[nodiscard]] int descriptor() const override { return end_.descriptor(); }
  [[nodiscard]] int wanted() const override;
  void ready(short events) override;
  [[nodiscard]] bool is_done() const override {
    return gone_ || end_.is_broken() || (LineClient::is_done() && end_.left() == 0);
  }

 protected:
  void write(std::string_view text) override { end_.write(text); }

 private:
  SocketEnd end_;
  bool gone_ = false;
};

}  // namespace natten_sim::cli
