#include <concepts>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/io/value_text.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxLength = std::int64_t{1} << 39;

SlidingWindowMask parse_window(const std::string& text) {
  const std::vector<std::string> sides = split_text(text, ',');
  if (sides.size() != 2) {
    throw InvalidParameter("mask", "window:" + text,
                           "window:LEFT,RIGHT, tokens (or tiles) before and after the diagonal");
  }
  return {parse_integer("mask window", sides[0], 0, kMaxLength),
          parse_integer("mask window", sides[1], 0, kMaxLength)};
}

DocumentMask parse_documents(const std::string& text) {
  DocumentMask mask;
  for (const std::string& length : split_text(text, ','))
    mask.lengths.push_back(parse_integer("mask document", length, 1, kMaxLength));
  return mask;
}

constexpr const char* kRules = "full, causal, window:L,R, document:LEN,.., prefix:LEN or dilated:STEP";

/// One rule of a sequence; none: the text is something else.
std::optional<SequenceRule> parse_rule(const std::string& text) {
  const auto after = [&](const char* prefix) { return text.substr(std::string(prefix).size()); };
  if (text == "full") return FullMask{};
  if (text == "causal") return CausalMask{};
  if (text.starts_with("window:")) return parse_window(after("window:"));
  if (text.starts_with("document:")) return parse_documents(after("document:"));
  if (text.starts_with("prefix:"))
    return PrefixMask{parse_integer("mask prefix", after("prefix:"), 1, kMaxLength)};
  if (text.starts_with("dilated:"))
    return DilatedMask{parse_integer("mask dilated", after("dilated:"), 1, kMaxLength)};
  return std::nullopt;
}

ScheduleMask alone(SequenceRule rule) {
  return std::visit(
      [](auto& each) {
        if constexpr (requires { ScheduleMask{std::move(each)}; }) {
          return ScheduleMask{std::move(each)};
        } else {
          return ScheduleMask{JoinedMask{{{each}}}};
        }
      },
      rule);
}

/// `document:4,4&causal|prefix:2`: & binds stronger than |.
JoinedMask parse_joined(const std::string& text) {
  JoinedMask mask;
  for (const std::string& all : split_text(text, '|')) {
    mask.any.emplace_back();
    for (const std::string& word : split_text(all, '&')) {
      std::optional<SequenceRule> rule = parse_rule(word);
      if (!rule) throw InvalidParameter("mask", text, std::string("rules joined by & and |: ") + kRules);
      mask.any.back().push_back(*std::move(rule));
    }
  }
  return mask;
}

/// `LEN,QxK,..`, `causal:LEN,..` or `window:L,R:LEN,..`.
VarlenMask parse_varlen(const std::string& text) {
  VarlenMask mask;
  const std::size_t colon = text.rfind(':');
  const std::string rule = colon == std::string::npos ? "full" : text.substr(0, colon);
  if (rule == "causal") {
    mask.rule = CausalMask{};
  } else if (rule.starts_with("window:")) {
    mask.rule = parse_window(rule.substr(std::string("window:").size()));
  } else if (rule != "full") {
    throw InvalidParameter(
        "mask", "varlen:" + text,
        "varlen:LEN,.., varlen:causal:LEN,.. or varlen:window:L,R:LEN,.., with QxK for LEN "
        "where queries and keys differ");
  }
  for (const std::string& lengths :
       split_text(text.substr(colon == std::string::npos ? 0 : colon + 1), ',')) {
    const std::size_t cross = lengths.find('x');
    const std::int64_t q = parse_integer("mask varlen", lengths.substr(0, cross), 1, kMaxLength);
    const std::int64_t kv = cross == std::string::npos
                                ? q
                                : parse_integer("mask varlen", lengths.substr(cross + 1), 1, kMaxLength);
    mask.sequences.push_back({q, kv});
  }
  return mask;
}

/// The values of `i=30x48x80,w=18x24x24,..` by their long names.
std::map<std::string, std::string> gna_values(const std::string& text) {
  static const std::map<std::string, std::string> kLongNames = {
      {"i", "input"},           {"w", "window"},      {"s", "stride"},      {"d", "dilation"},
      {"c", "causal"},          {"input", "input"},   {"window", "window"}, {"stride", "stride"},
      {"dilation", "dilation"}, {"causal", "causal"}, {"q-tile", "q-tile"}, {"kv-tile", "kv-tile"}};
  std::map<std::string, std::string> values;
  for (const std::string& part : split_text(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto known = kLongNames.find(part.substr(0, equals));
    if (equals == std::string::npos || known == kLongNames.end()) {
      std::vector<std::string> names;
      for (const auto& [name, full] : kLongNames) names.push_back(name);
      throw UnknownName("mask gna", part, closest_name(part.substr(0, equals), names),
                        "i=, w=, s=, dilation=, c=, q-tile=, kv-tile=, each with a size an axis as 30x48x80");
    }
    if (!values.emplace(known->second, part.substr(equals + 1)).second)
      throw InvalidParameter("mask gna", known->second + " twice", "each key once");
  }
  return values;
}

GnaMask parse_gna(const std::string& text) {
  const std::map<std::string, std::string> values = gna_values(text);
  const auto extents = [&](const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? Extents{} : parse_extents(std::string("mask gna ") + key, {found->second});
  };
  if (!values.contains("input")) throw InvalidParameter("mask gna", text, "i= at least");
  GnaMask mask{.layout = extents("input")};
  if (values.contains("causal")) mask.causal = parse_booleans("mask gna causal", {values.at("causal")});
  mask.window = extents("window");
  mask.stride = extents("stride");
  mask.dilation = extents("dilation");
  if (values.contains("q-tile") != values.contains("kv-tile"))
    throw InvalidParameter("mask gna", text, "q-tile= and kv-tile= together, or neither");
  if (values.contains("q-tile")) mask.tiles = TilePair{extents("q-tile"), extents("kv-tile")};
  return mask;
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return joined(texts, ",");
}

std::string gna_text(const GnaMask& mask) {
  std::string text = "gna:i=" + to_string(mask.layout);
  const auto add = [&](const char* key, const Extents& extents) {
    if (!extents.empty()) text += std::string(",") + key + "=" + to_string(extents);
  };
  add("w", mask.window);
  add("s", mask.stride);
  add("dilation", mask.dilation);
  Extents causal;
  for (const bool axis : mask.causal) causal.push_back(axis ? 1 : 0);
  add("c", causal);
  if (mask.tiles) {
    add("q-tile", mask.tiles->q_tile);
    add("kv-tile", mask.tiles->kv_tile);
  }
  return text;
}

std::string varlen_text(const VarlenMask& mask) {
  std::vector<std::string> lengths;
  for (const auto& [q, kv] : mask.sequences)
    lengths.push_back(std::to_string(q) + (q == kv ? "" : "x" + std::to_string(kv)));
  std::string rule;
  if (std::holds_alternative<CausalMask>(mask.rule)) rule = "causal:";
  if (const auto* window = std::get_if<SlidingWindowMask>(&mask.rule))
    rule = "window:" + numbers_text({window->left, window->right}) + ":";
  return "varlen:" + rule + joined(lengths, ",");
}

std::string joined_text(const JoinedMask& mask);

struct MaskText {
  std::string operator()(const FullMask&) const { return "full"; }
  std::string operator()(const CausalMask&) const { return "causal"; }
  std::string operator()(const SlidingWindowMask& mask) const {
    return "window:" + numbers_text({mask.left, mask.right});
  }
  std::string operator()(const DocumentMask& mask) const { return "document:" + numbers_text(mask.lengths); }
  std::string operator()(const PrefixMask& mask) const { return "prefix:" + std::to_string(mask.length); }
  std::string operator()(const DilatedMask& mask) const { return "dilated:" + std::to_string(mask.step); }
  std::string operator()(const JoinedMask& mask) const { return joined_text(mask); }
  std::string operator()(const VarlenMask& mask) const { return varlen_text(mask); }
  std::string operator()(const GnaMask& mask) const { return gna_text(mask); }
  std::string operator()(const BlockMask& mask) const {
    return "a block mask of " + to_string(Extents{mask.q_tiles, mask.kv_tiles}) + " tiles";
  }
};

std::string joined_text(const JoinedMask& mask) {
  std::vector<std::string> any;
  for (const std::vector<SequenceRule>& rules : mask.any) {
    std::vector<std::string> all;
    for (const SequenceRule& rule : rules) all.push_back(std::visit(MaskText{}, rule));
    any.push_back(joined(all, "&"));
  }
  return joined(any, "|");
}

}  // namespace

std::string mask_text(const ScheduleMask& mask) {
  return mask.origin.empty() ? std::visit(MaskText{}, mask.rule) : mask.origin;
}

std::variant<ScheduleMask, MaskFile> parse_schedule_mask(const std::string& text) {
  const auto after = [&](const char* prefix) { return text.substr(std::string(prefix).size()); };
  std::error_code ignored;
  const bool joined_rules = text.find_first_of("&|") != std::string::npos;
  if (joined_rules && !std::filesystem::exists(text, ignored))
    return ScheduleMask{parse_joined(text)};
  if (std::optional<SequenceRule> rule = parse_rule(text)) return alone(*std::move(rule));
  if (text.starts_with("varlen:")) return ScheduleMask{parse_varlen(after("varlen:"))};
  if (text.starts_with("gna:")) return ScheduleMask{parse_gna(after("gna:"))};
  if (text == "-" || std::filesystem::exists(text, ignored)) return MaskFile{text};
  const std::vector<std::string> names = {"full", "causal", "window:", "document:", "prefix:", "dilated:", "varlen:", "gna:"};
  throw UnknownName(
      "mask", text, closest_name(text, names),
      "full, causal, window:L,R, document:LEN,LEN,.., prefix:LEN, dilated:STEP, these joined by & and |, varlen:RULE:LEN,.., "
      "gna:i=..,w=.. or a file that exists");
}

}  // namespace natten_sim
