#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace natten_sim::fuzz {

/// Inputs near those of a corpus: bytes changed, ranges removed, repeated or taken from another input, words
/// of the corpus put in, numbers replaced by those at which types end.
class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, std::uint64_t seed);
  [[nodiscard]] std::string next();
  /// An input that was accepted is worth changing further; old ones make room.
  void keep(const std::string& input);

 private:
  void change(std::string& input);
  [[nodiscard]] std::size_t below(std::size_t end);

  std::vector<std::string> corpus_;
  std::size_t given_;               ///< those that stay
  std::vector<std::string> words_;  ///< of the corpus
  std::mt19937_64 bits_;
};

}  // namespace natten_sim::fuzz
