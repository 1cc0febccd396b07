#pragma once

#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/study/schedule.hpp>

#include "python_value.hpp"

namespace natten_sim::python {

/// One latency, or (near, far): within an L2 partition and across.
struct Handoff {
  double near = 0;
  std::optional<double> far;
};

/// Buffers of an asynchronous dQ writer; none: serial.
struct Overlap {
  std::int32_t writer_stages = 0;
};

/// A rule as text, a file, or the tiles as a matrix: (Q tiles, KV tiles) with 0 skipped, 1 partial, 2 full,
/// or booleans (full where true).
template <>
struct PythonValue<ScheduleMask> {
  static std::string hint() { return "str | numpy.typing.NDArray[typing.Any]"; }
  static ScheduleMask read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const ScheduleMask& mask, Json& out) {
    out = mask_text(mask);
    return true;
  }
};

template <>
struct PythonValue<Handoff> {
  static std::string hint() { return "float | tuple[float, float]"; }
  static Handoff read(const std::string& name, nb::handle value, const Accepts& accepts);
  static bool write(const Handoff& handoff, Json& out) {
    out = handoff.near;
    return true;
  }
};

/// `serial` or `async:K`.
template <>
struct PythonValue<Overlap> {
  static std::string hint() { return "str"; }
  static Overlap read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const Overlap& overlap, Json& out) {
    out = overlap.writer_stages == 0 ? "serial" : "async:" + std::to_string(overlap.writer_stages);
    return true;
  }
};

/// `heads` or `sections:K`.
template <>
struct PythonValue<HeadSections> {
  static std::string hint() { return "str"; }
  static HeadSections read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const HeadSections& launch, Json& out) {
    out = "sections:" + std::to_string(launch.heads_per_section);
    return true;
  }
};

/// A schedule's table: the JSON text, the object that it parses to, or the path of a file.
template <>
struct PythonValue<ScheduleTable> {
  static std::string hint() { return "str | os.PathLike[str] | collections.abc.Mapping[str, typing.Any]"; }
  static ScheduleTable read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const ScheduleTable&, Json& out) {
    out = "table";
    return true;
  }
};

}  // namespace natten_sim::python
