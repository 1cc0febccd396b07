#pragma once

// What scripts/mutate.py writes in place of operators, constants and bounds: each takes the number of its mutant,
// and computes what the source says unless that mutant is the one that NATTEN_SIM_MUTANT names. One build so holds
// all mutants. Constant expressions are never changed.
#include <cstdlib>
#include <type_traits>

#pragma GCC diagnostic ignored "-Wnarrowing"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wparentheses"

#define NATTEN_SIM_MUTANT_INLINE [[gnu::always_inline]] constexpr

namespace natten_sim_mutant {

inline constexpr int kMost = 1 << 16;
inline const int active = std::getenv("NATTEN_SIM_MUTANT") ? std::atoi(std::getenv("NATTEN_SIM_MUTANT")) : -1;
alignas(kMost) inline unsigned char reached[kMost];  // by a test: see mutant_reached.cpp

NATTEN_SIM_MUTANT_INLINE bool on(int n) {
  if (std::is_constant_evaluated()) return false;
  reached[n] = 1;
  return active == n;
}

template <typename A>
inline constexpr bool kNumber = std::is_arithmetic_v<A> || std::is_enum_v<A> || std::is_pointer_v<A> ||
                                std::is_null_pointer_v<A> || std::is_same_v<A, __int128> || std::is_same_v<A, unsigned __int128>;
template <typename A, typename B>
inline constexpr bool kNumbers = kNumber<A> && kNumber<B>;

#define NATTEN_SIM_MUTANT_COMPARISON(name, op, first, second)            \
  template <typename A, typename B>                                      \
  NATTEN_SIM_MUTANT_INLINE auto name(int n, const A& a, const B& b) {    \
    if constexpr (kNumbers<A, B>) {                                      \
      if (on(n)) return a first b;                                       \
      if (on(n + 1)) return a second b;                                  \
    }                                                                    \
    return a op b;                                                       \
  }
NATTEN_SIM_MUTANT_COMPARISON(lt, <, <=, >)
NATTEN_SIM_MUTANT_COMPARISON(le, <=, <, >)
NATTEN_SIM_MUTANT_COMPARISON(gt, >, >=, <)
NATTEN_SIM_MUTANT_COMPARISON(ge, >=, >, <)

#define NATTEN_SIM_MUTANT_OPERATOR(name, op, other)                      \
  template <typename A, typename B>                                      \
  NATTEN_SIM_MUTANT_INLINE auto name(int n, const A& a, const B& b) {    \
    if constexpr (kNumbers<A, B> && requires { a other b; }) {           \
      if (on(n)) return static_cast<decltype(a op b)>(a other b);        \
    }                                                                    \
    return a op b;                                                       \
  }
NATTEN_SIM_MUTANT_OPERATOR(add, +, -)
NATTEN_SIM_MUTANT_OPERATOR(sub, -, +)
NATTEN_SIM_MUTANT_OPERATOR(mul, *, /)
NATTEN_SIM_MUTANT_OPERATOR(div, /, *)
NATTEN_SIM_MUTANT_OPERATOR(mod, %, /)

#define NATTEN_SIM_MUTANT_EQUALITY(name, op, other)                      \
  template <typename A, typename B>                                      \
  NATTEN_SIM_MUTANT_INLINE auto name(int n, const A& a, const B& b) {    \
    if constexpr (kNumbers<A, B>) {                                      \
      if (on(n)) return a other b;                                       \
    }                                                                    \
    return a op b;                                                       \
  }
NATTEN_SIM_MUTANT_EQUALITY(eq, ==, !=)
NATTEN_SIM_MUTANT_EQUALITY(ne, !=, ==)

template <typename A, typename B>
NATTEN_SIM_MUTANT_INLINE A& add_to(int n, A& a, const B& b) {
  if (on(n)) return a = static_cast<A>(a - b);
  if (on(n + 1)) return a = static_cast<A>(b);
  return a += b;
}
template <typename A, typename B>
NATTEN_SIM_MUTANT_INLINE A& sub_from(int n, A& a, const B& b) {
  if (on(n)) return a = static_cast<A>(a + b);
  return a -= b;
}
template <typename A>
NATTEN_SIM_MUTANT_INLINE A& pre_inc(int n, A& a) { return on(n) ? --a : ++a; }
template <typename A>
NATTEN_SIM_MUTANT_INLINE A& pre_dec(int n, A& a) { return on(n) ? ++a : --a; }
template <typename A>
NATTEN_SIM_MUTANT_INLINE A post_inc(int n, A& a) { return on(n) ? a-- : a++; }
template <typename A>
NATTEN_SIM_MUTANT_INLINE A post_dec(int n, A& a) { return on(n) ? a++ : a--; }

template <typename T>
NATTEN_SIM_MUTANT_INLINE T plus_one(int n, T value) { return on(n) ? static_cast<T>(value + 1) : value; }
template <typename T>
NATTEN_SIM_MUTANT_INLINE bool flip(int n, const T& value) { return static_cast<bool>(value) != on(n); }

// As values: std::min gives a reference, which none of these sources keeps.
template <typename T>
NATTEN_SIM_MUTANT_INLINE T smaller(int n, const T& a, const T& b) {
  const bool less = on(n) ? a < b : b < a;
  return less ? b : a;
}
template <typename T>
NATTEN_SIM_MUTANT_INLINE T larger(int n, const T& a, const T& b) {
  const bool less = on(n) ? b < a : a < b;
  return less ? b : a;
}

}  // namespace natten_sim_mutant
