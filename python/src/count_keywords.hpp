#pragma once

#include <natten_sim/study/count.hpp>

#include "keywords.hpp"

namespace natten_sim::python {

template <>
struct PythonValue<Walk> {
  using Echoed = std::string;
  static std::string hint() { return "typing.Literal['forward', 'backward']"; }
  static Walk read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(Walk pass, Json& out);
};

/// What count() asks of one pass.
struct AskedTime {
  study::CountQuestion count;
  Walk pass = Walk::kForward;
};

/// Of time(): those of count(), some of which have no default here, and the phase.
[[nodiscard]] Keywords<AskedTime> time_keywords();

/// Those of count() that say which tiles are visited.
[[nodiscard]] Keywords<study::CountQuestion> tile_keywords();

/// Of count_many(): those of count() that say which tiles are visited, and whose time.
[[nodiscard]] Keywords<AskedTime> many_keywords();

}  // namespace natten_sim::python
