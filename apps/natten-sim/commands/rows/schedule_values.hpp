#pragma once

#include <string>
#include <variant>
#include <vector>

#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "cli/options.hpp"

namespace natten_sim::cli {

/// An option that is one text with a grammar of its own: `parse` and `text` read and write it.
template <typename T, T (*parse)(const std::string& name, const std::string& text),
          std::string (*text)(const T&)>
struct GrammarValue {
  static constexpr int kMaxValues = 1;
  static T from_words(const std::string& name, const std::vector<std::string>& words, const About&) {
    return parse(name, words.front());
  }
  static Json schema(const About&) { return plain_schema("string"); }
  static bool to_json(const T& value, Json& out) {
    put_text(text(value), out);
    return true;
  }
};

/// A rule, or a file, which is read.
[[nodiscard]] ScheduleMask parse_mask(const std::string& name, const std::string& text);
/// `NEAR` or `NEAR,FAR`.
[[nodiscard]] study::Handoff parse_handoff(const std::string& name, const std::string& text);
[[nodiscard]] std::string handoff_text(const study::Handoff& handoff);

template <>
struct OptionValue<ScheduleMask> : GrammarValue<ScheduleMask, parse_mask, mask_text> {};
template <>
struct OptionValue<study::DqWriter>
    : GrammarValue<study::DqWriter, study::parse_dq_writer, study::to_string> {};
template <>
struct OptionValue<HeadSections>
    : GrammarValue<HeadSections, study::parse_head_sections, study::section_text> {};
template <>
struct OptionValue<study::Handoff> : GrammarValue<study::Handoff, parse_handoff, handoff_text> {};

}  // namespace natten_sim::cli
