#include "catch.hpp"
#include "program.hpp"

namespace errors_test {

using namespace natten_sim::test;

TEST_CASE("bad input names parameter, value and accepted range") {
  const std::string tiles = " --q-tile 8 --kv-tile 4";
  check_refused("count -i 0 -w 1" + tiles, {"input", "'0'", "1..", "nearest valid value is 1"});
  check_refused("count -i -3 -w 1" + tiles, {"input", "-3", "1.."});
  check_refused("count -i 64 -w -16" + tiles, {"window", "-16", "1.."});
  check_refused("count -i 64 -w 65" + tiles, {"window", "65", "1..64", "nearest valid value is 64"});
  check_refused("count -i 64 -w 16 -s 17" + tiles, {"stride", "17", "1..16", "nearest valid value is 16"});
  check_refused("count -i 64 -w 16 -s 0" + tiles, {"stride", "'0'", "1.."});
  check_refused("count -i 64 -w 33 --dilation 2" + tiles, {"window", "33", "1..32"});
  check_refused("count -i 64 -w 1 --dilation 65" + tiles, {"dilation", "65", "1..64"});
  check_refused("count -i 64 -w 16 --q-tile 0 --kv-tile 4", {"q-tile", "'0'", "1.."});
  check_refused("count -i 64 64 64 -w 16 16" + tiles, {"window", "3 values"});
  check_refused("count -i 64 64 -w 16 16" + tiles, {"q_tile", "2 values"});
  check_refused("count -i 64 -w 16 -s 1 1" + tiles, {"stride", "1 value"});
  check_refused("count -i 64 64 -w 16 16 -c true false true --q-tile 8 8 --kv-tile 8 8",
                {"causal", "2 values"});
  check_refused("count -i 64 -w 16 -c maybe" + tiles, {"causal", "maybe", "true"});
  check_refused("count -i 6.5 -w 1" + tiles, {"input", "6.5"});
  check_refused("count -i 64k -w 1" + tiles, {"input", "64k"});
  check_refused("count -i 30xx80 -w 1" + tiles, {"input", "30xx80"});
  check_refused("count -i 99999999999999999999999 -w 1" + tiles, {"input", "99999999999999999999999"});
  check_refused("count -i 1 2 3 4 5 -w 1" + tiles, {"input", "5 values", "1 to 4"});
  check_refused("count -i 64 -w 16" + tiles + " -- -s 3", {"--"});
  check_refused("count -w 16" + tiles, {"input", "--preset"});
  check_refused("count -i 64 -w 16 --tiling single --q-tile 8 8 --kv-tile 8", {"q_tile", "1 value"});
}

TEST_CASE("overflow is an error, not a number") {
  check_refused("count -i 1099511627776 --q-tile 256 --kv-tile 128", {"attended_pairs", "overflow"});
  check_refused("count -i 1048576 1048576 --q-tile 16 16 --kv-tile 16 8", {"attended_pairs", "overflow"});
  check_refused("count -i 64 -w 16 --q-tile 1099511627776 --kv-tile 1099511627776",
                {"mma_pairs", "overflow"});
}

TEST_CASE("misspelt names come with the nearest as a hint") {
  check_refused("count --preset hunyuan-vidoe", {"preset", "hunyuan-vidoe", "did you mean 'hunyuan-video'?"});
  check_refused("count -i 64 -w 8 --backend blackwel-fna", {"backend", "did you mean 'blackwell-fna'?"});
  check_refused("count -i 64 -w 8 --device hh100", {"device", "did you mean 'h100'?"});
  check_refused("count -i 64 -w 8 --dtype bf61", {"dtype", "did you mean 'bf16'?"});
  check_refused("count -i 64 -w 8 --kv-tiling dinamic", {"kv-tiling", "did you mean 'dynamic'?"});
  check_refused("search -i 64 --objective wrok", {"objective", "did you mean 'work'?"});
  check_refused("list device", {"did you mean 'devices'?"});
  check_refused("cuont -i 64", {"cuont", "did you mean 'count'?"});
  check_refused("count --widow 8", {"--widow", "did you mean '--window'?"});
  check_refused("search -i 64 --sparcity 0:1", {"--sparcity", "did you mean '--sparsity'?"});
}

TEST_CASE("usage errors are exit 2 too") {
  check_refused("count -i", {"--input", "required"});
  check_refused("count stray", {"stray", "unexpected"});
  check_refused("list preset", {"presets"});
  check_refused("completion tcsh", {"bash"});
  check_refused("count -i 64 -w 16 --dense-steps 1/2", {"dense-steps", "attention-share"});
  check_refused("count -i 64 -w 16 --attention-share 150", {"attention-share", "150", "0..1"});
  check_refused("count -i 64 -w 16 --attention-share 0.5 --dense-steps 3/2", {"dense-steps"});
  check_refused("count -i 64 -w 16 --attention-share 0.5 --dense-steps 3", {"dense-steps", "K/N"});
  check_refused("count -i 64 -w 16 -n 6 --heads-kv 4", {"heads-kv", "4", "divisor"});
  check_refused("count -i 64 -w 16 --backend hopper-fna -d 80", {"head_dim", "80", "32, 64, 128, 256"});
  check_refused("count -i 64 -w 16 --backend hopper-fna -d 64 --dtype fp32", {"dtype", "fp32", "bf16"});
  check_refused("count -i 64 -w 16 --backend blackwell-fna --dtype e5m2 --backprop",
                {"dtype", "e5m2", "bf16"});
  check_refused("count -i 4 4 4 4 -w 2 2 2 2", {"backend"});
}

TEST_CASE("an option given twice, or two outputs at once, are refused") {
  check_refused("count -i 64 -i 3 -w 1", {"input", "twice"});
  check_refused("count -i 64 -w 8 --window 9", {"window", "twice"});
  check_refused("count -i 64 -w 8 --json --csv", {"--csv", "--json"});
  check_refused("count -i 64 -w 8 --ascii --json", {"--ascii", "--json"});
  check_refused("search -i 64 --csv --emit natten", {"--emit", "--csv"});
  check_refused("count -i 64 -w 8 --picture x --batch -", {"--picture", "--batch"});
}

TEST_CASE("what cannot be enumerated in memory is refused, with the limit") {
  check_refused("count -i 100000000 -w 3 --dilation 2 --tiling single --q-tile 128 --kv-tile 128",
                {"input", "67108864"});
  check_refused("count -i 50000 50000 -w 3 3 --tiling single --q-tile 1 --kv-tile 128",
                {"q_tile", "134217728", "nearest valid value is 19"});
  check_refused("count -i 2147483648 -w 3 --q-tile 128 --kv-tile 128 --picture /tmp/never.svg",
                {"picture", "4096"});
}

TEST_CASE("search refuses contradictions and values out of range") {
  check_refused("search -i 64 --sparsity high", {"sparsity", "LO:HI"});
  check_refused("search -i 64 --sparsity 0.9:0.5", {"sparsity"});
  check_refused("search -i 64 --sparsity 0.9:1.5", {"sparsity"});
  check_refused("search -i 64 --sparsity nan:nan", {"sparsity"});
  check_refused("search -i 64 --window-range 8:65 8:8", {"window-range"});
  check_refused("search -i 64 64 --window-range 8:65 8:8", {"window-range", "1..64"});
  check_refused("search -i 64 --window-range 16:8", {"window-range", "LO <= HI"});
  check_refused("search -i 64 -w 8 --window-range 4:8", {"window-range"});
  check_refused("search -i 64 -s 8 --stride-max 8", {"stride-max"});
  check_refused("search -i 64 -w 8 -s 9", {"stride", "9", "1..8"});
  check_refused("search -i 64 -w 65", {"window", "65", "1..64", "nearest valid value is 64"});
  check_refused("search -i 64 --max-imbalance 0.5", {"max-imbalance"});
  check_refused("search -i 64 --top 0", {"top"});
  check_refused("search -i 64 --threads 0", {"threads"});
  check_refused("search -i 64 --dense-axes 1", {"dense-axes", "0..0"});
  check_refused("search -i 64 --dense-axes 0 --dilation 2", {"dense-axes"});
  check_refused("search -i 64 --dense-axes 0 -w 8", {"dense-axes"});
  check_refused("search -i 64 --objective e2e", {"objective", "attention-share"});
  check_refused("search -i 64 --ladder", {"window"});
  check_refused("search -i 64 --ladder --pareto -w 8", {"pareto"});
  check_refused("count -i 64 64 -w 1 8 --device h100 --emit natten", {"kernel_size", "1x8", "2 or more"});
  check_refused("count -i 64 64 -w 8 8 --device b200 --backend hopper-fna --emit natten",
                {"compute_capability", "100", "90"});
  check_refused("count -i 64 64 -w 8 8 --device h100 --q-tile 8 8 --kv-tile 8 8 --emit natten-profiler",
                {"q_tile_shape", "compiled"});
  check_refused("count -i 64 64 -w 8 8 --device h100 -d 256 --emit json", {"dim", "256", "128"});
  check_refused("count -i 64 -w 8 --dtype e4m3 --emit flex", {"dtype", "e4m3", "FlexAttention"});
  check_refused("count -i 64 -w 8 --tiling single --emit natten", {"emit", "natten"});
  check_refused("search -i 8 8 8 8 --q-tile 2 2 2 2 --kv-tile 2 2 2 2 --emit natten", {"1 to 3 axes"});
  check_refused("search -i 64 -w 16 -s 8 --q-tile 3 --kv-tile 5 --emit natten", {"q_tile_shape", "compiled"});
  check_refused("search -i 300000 --pareto", {"search space", "--window-range"});
}

}  // namespace errors_test
