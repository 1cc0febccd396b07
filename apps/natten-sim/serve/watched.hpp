#pragma once

#include <poll.h>

namespace natten_sim::cli {

/// A descriptor that one loop over poll() watches, with others.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  virtual ~Watched() = default;

  [[nodiscard]] virtual int descriptor() const = 0;
  /// POLLIN, POLLOUT; 0: hang-ups alone; negative: nothing now, not even these.
  [[nodiscard]] virtual int wanted() const = 0;
  virtual void ready(short events) = 0;
};

}  // namespace natten_sim::cli
