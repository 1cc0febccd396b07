// How causal axes, an order of KV tiles and a sweep of lengths are read and written.
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/value_text.hpp>

#include "commands/rows/reuse_flags.hpp"

namespace natten_sim::cli {

using study::CausalAxes;
using study::ReuseOrder;
using study::SeqlenSweep;

ReuseOrder OptionValue<ReuseOrder>::from_words(const std::string& name, const std::vector<std::string>& words,
                                               const About&) {
  return study::parse_reuse_order(name, words.front());
}

bool OptionValue<ReuseOrder>::to_json(const ReuseOrder& order, Json& out) {
  put_text(study::name_of(order), out);
  return true;
}

CausalAxes OptionValue<CausalAxes>::from_words(const std::string& name, const std::vector<std::string>& words,
                                               const About& about) {
  return study::causal_axes(OptionValue<PerAxis<bool>>::from_words(name, words, about));
}

bool OptionValue<CausalAxes>::to_json(const CausalAxes& causal, Json& out) {
  if (const bool* every = std::get_if<bool>(&causal)) return OptionValue<bool>::to_json(*every, out);
  return OptionValue<PerAxis<bool>>::to_json(std::get<PerAxis<bool>>(causal), out);
}

Json OptionValue<CausalAxes>::schema(const About& about) {
  return {{"anyOf", Json::array({schema_of<bool>(about), schema_of<PerAxis<bool>>(about)})}};
}

SeqlenSweep OptionValue<SeqlenSweep>::from_words(const std::string& name,
                                                 const std::vector<std::string>& words, const About&) {
  constexpr std::string_view kPrefix = "seqlen=";
  const std::string& text = words.front();
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (!text.starts_with(kPrefix) || second == std::string::npos)
    throw InvalidParameter(name, text, "seqlen=LO:HI:STEP");
  const auto number = [&](std::size_t begin, std::size_t end) {
    return parse_integer(name, text.substr(begin, end - begin), 1, kMaxAxisLength);
  };
  const SeqlenSweep sweep{number(kPrefix.size(), first), number(first + 1, second),
                          number(second + 1, text.size())};
  study::require_valid(sweep);
  return sweep;
}

bool OptionValue<SeqlenSweep>::to_json(const SeqlenSweep& sweep, Json& out) {
  put_text(study::to_string(sweep), out);
  return true;
}

}  // namespace natten_sim::cli
