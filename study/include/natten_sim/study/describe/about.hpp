#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/mask.hpp>

namespace natten_sim::study {

/// Whether the `input` object of an answer shows a member.
enum class Echo {
  kAlways,   ///< an empty std::optional as null
  kWhenSet,  ///< an empty std::optional or PerAxis is left out
  kNever     ///< a matter of output, or said by another member
};

/// Bounds of whole numbers, and of the elements of Extents.
struct IntegerBounds {
  std::int64_t lo = 1, hi = kMaxAxisLength;
};
/// Bounds of numbers with a fraction.
struct NumberBounds {
  double lo = 0, hi = 1;
};

/// The part of the catalog that a member names an entry of.
enum class NamesOfCatalog { kNone, kPresets, kDevices, kBackends, kKernels, kNatten };

/// Members that make no sense together with this one, which is given.
struct RuledOut {
  std::vector<std::string> options = {};
  std::string accepted = {};  ///< what to give instead; empty: one of the two
};

/// Another spelling of an option: it is read, and help and completion do not list it.
struct OtherSpelling {
  std::string flag;  ///< "--kernel-size"
  bool old = false;  ///< of an earlier version: a note names the new one
  /// With values of which this holds; null: with all. The flag may then be another option's own.
  bool (*with)(const std::string& value) = nullptr;
  const char* bare = nullptr;  ///< the value where none follows; null: then it is missing
};

/// What a description says of a member besides its name, its place and its type. Every door reads it: the
/// program's options, files of options, lines of a batch, requests and Python's keywords. Members are given
/// in this order.
///
/// `help` is one sentence without a full stop. In it [default] stands for the value that the struct gives to
/// the member, any other text in brackets for a default in words, and {q_tile} for the name of that member as
/// the door spells it: --q-tile, q_tile.
///
/// `excludes`, `needs` and `rules_out` name other members.
struct About {
  std::string flags = {};  ///< of the program, if there are others than --name: "-w,--window,--window-size"
  std::string value = {};  ///< what help calls the value: "N", "FILE"; empty: by its type
  std::string help = {};
  IntegerBounds range = {};
  NumberBounds interval = {};  ///< `accepted` says it in words
  std::string accepted = {};   ///< instead of the words that the type finds by itself
  std::string choices = {};    ///< separated by spaces; empty: those of the type
  std::string key = {};        ///< in JSON; empty: the name, with underscores
  std::string within = {};     ///< in a line of a batch the value may be this member of an object
  Echo echo = Echo::kAlways;
  bool batch = false;                      ///< a line of a batch may hold it, although it is not echoed
  std::vector<std::string> excludes = {};  ///< members that may not be given too
  std::vector<std::string> needs = {};  ///< members that this one means nothing without
  RuledOut rules_out = {};
  std::vector<OtherSpelling> spellings = {};
  const char* bare = nullptr;  ///< what the flag alone means; null: a value has to follow
  std::vector<std::string> (*suggestions)() = nullptr;  ///< names that completion proposes
  NamesOfCatalog names = NamesOfCatalog::kNone;         ///< help says where they are listed
};

/// `help` with `more` before the brackets of its default: "Heads, 1..2^20 [1]".
[[nodiscard]] std::string before_default(const std::string& help, const std::string& more);

/// `help` with every {member} replaced by what `spell` makes of it.
[[nodiscard]] std::string with_members(const std::string& help,
                                       std::string (*spell)(const std::string& member));

}  // namespace natten_sim::study
