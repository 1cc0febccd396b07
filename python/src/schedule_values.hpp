#pragma once

#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "python_value.hpp"

namespace natten_sim::python {

/// A rule as text, a file, or the tiles as a matrix: (Q tiles, KV tiles) with 0 skipped, 1 partial, 2 full,
/// or booleans (full where true).
template <>
struct PythonValue<ScheduleMask> {
  using Echoed = std::string;
  static constexpr const char* kAlso = ", or a matrix of tiles with 0 skipped, 1 partial, 2 full";
  static std::string hint() { return "str | numpy.typing.NDArray[typing.Any]"; }
  static ScheduleMask read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const ScheduleMask& mask, Json& out) {
    out = mask_text(mask);
    return true;
  }
};

/// A rule as text, a file, a BlockMask of FlexAttention or what its file holds as a mapping, or blocks as an array:
/// (Q, KV), or one of these for each head: (heads, Q, KV) or (batch, heads, Q, KV).
template <>
struct PythonValue<GivenMask> {
  using Echoed = std::string;
  static constexpr const char* kAlso = ", a BlockMask, or an array of blocks with 0 skipped, 1 partial, 2 full";
  static std::string hint() { return "str | os.PathLike[str] | collections.abc.Mapping[str, typing.Any] | numpy.typing.NDArray[typing.Any] | object"; }
  static GivenMask read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const GivenMask& mask, Json& out) {
    out = mask_text(mask.mask);
    return true;
  }
};

/// One latency, or (near, far).
template <>
struct PythonValue<study::Handoff> {
  using Echoed = AnyOf<double, std::vector<double>>;
  static constexpr const char* kAlso = ", as (near, far)";
  static std::string hint() { return "float | tuple[float, float]"; }
  static study::Handoff read(const std::string& name, nb::handle value, const Accepts& accepts);
  static bool write(const study::Handoff& handoff, Json& out) {
    out = handoff.near;
    return true;
  }
};

/// `serial` or `async:K`.
template <>
struct PythonValue<study::DqWriter> {
  using Echoed = std::string;
  static std::string hint() { return "str"; }
  static study::DqWriter read(const std::string& name, nb::handle value, const Accepts&) {
    return study::parse_dq_writer(name, text_of(name, value, "serial or async:K"));
  }
  static bool write(const study::DqWriter& writer, Json& out) {
    out = study::to_string(writer);
    return true;
  }
};

/// `heads` or `sections:K`.
template <>
struct PythonValue<HeadSections> {
  using Echoed = std::string;
  static std::string hint() { return "str"; }
  static HeadSections read(const std::string& name, nb::handle value, const Accepts&) {
    return study::parse_head_sections(name, text_of(name, value, "heads or sections:K"));
  }
  static bool write(const HeadSections& launch, Json& out) {
    out = study::section_text(launch);
    return true;
  }
};

/// A schedule's table: the JSON text, the object that it parses to, or the path of a file.
template <>
struct PythonValue<ScheduleTable> {
  using Echoed = std::string;
  static std::string hint() { return "str | os.PathLike[str] | collections.abc.Mapping[str, typing.Any]"; }
  static ScheduleTable read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const ScheduleTable&, Json& out) {
    out = "table";
    return true;
  }
};

}  // namespace natten_sim::python
