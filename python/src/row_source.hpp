#pragma once

#include <natten_sim/study/scatter.hpp>

#include "python_value.hpp"

namespace natten_sim::python {

/// `uniform`, `zipf:S`, `hot:K`, `file:PATH` (.npy by its header, .csv and .txt as text, anything else as raw
/// 64-bit integers), or an array of integers, which is read where it lies.
template <>
struct PythonValue<study::RowSource> {
  using Echoed = std::string;
  static constexpr const char* kAlso = ", or the rows themselves: an array of integers, which is not copied";
  static std::string hint() { return "str | collections.abc.Sequence[int] | numpy.typing.NDArray[numpy.integer[typing.Any]]"; }
  static study::RowSource read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const study::RowSource& source, Json& out);
};

}  // namespace natten_sim::python
