"""Every function answers what the program prints with --json --no-conclusion, to the byte."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
import natten_sim
import pytest
from conftest import ROOT, Program
from hypothesis import given, settings

HUNYUAN = {"preset": "hunyuan-video", "window": (18, 24, 24)}
TILES = {"q_tile": (4, 8, 8), "kv_tile": (2, 8, 8)}

RECORDINGS = str(ROOT / "data" / "recordings")
RUNS = str(ROOT / "data" / "kernel-runs" / "natten-h200.csv")

# Function, keywords, the program's line.
SAME: list[tuple[str, dict[str, Any], str]] = [
    ("count", {**HUNYUAN, **TILES}, "count --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8"),
    (
        "count",
        {"input": (30, 48, 80), "window": (18, 24, 24), "device": "h100", "head_dim": 128, "backprop": True},
        "count -i 30x48x80 -w 18x24x24 --device h100 -d 128 --backprop",
    ),
    (
        "count",
        {"input": 4096, "window": 512, "causal": True, "add_kv": 77, "attention_share": 0.6, "dense_steps": (3, 9)},
        "count -i 4096 -w 512 -c true --add-kv 77 --attention-share 0.6 --dense-steps 3/9",
    ),
    ("count", {"input": (40, 40), "window": (8, 8), "dilation": (2, 3), "tiling": "single", "q_tile": 16, "kv_tile": 16},
     "count -i 40 40 -w 8 8 --dilation 2 3 --tiling single --q-tile 16 --kv-tile 16"),
    ("search", {"preset": "hunyuan-video", "sparsity": (0.9, 0.92), "top": 3},
     "search --preset hunyuan-video --sparsity 0.90:0.92 --top 3"),
    ("search", {**HUNYUAN, **TILES, "ladder": True},
     "search --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8 --ladder"),
    ("search", {"input": (64, 64), "device": ["h100", "b200"], "phase": "both", "window_range": (4, 16)},
     "search -i 64 64 --device h100 b200 --phase both --window-range 4:16"),
    ("advise", {"preset": "hunyuan-video", "device": "h200"}, "advise --preset hunyuan-video --device h200"),
    ("mask", {"mask": "document:512,1024&causal", "heads": 8, "head_dim": 128, "device": "h200", "backprop": True},
     "mask --mask document:512,1024&causal -n 8 -d 128 --device h200 --backprop"),
    ("plan", {"preset": "hunyuan-video", "device": "h100", "window": (18, 24, 24), "gpus": 8, "parallel": "sequence",
              "dollars_per_hour": 3},
     "plan --preset hunyuan-video --device h100 -w 18 24 24 --gpus 8 --parallel sequence --dollars-per-hour 3"),
    ("schedule", {"q_tiles": 8, "heads": 2, "mask": "causal", "compute": 7, "reduce": 2},
     "schedule --q-tiles 8 --heads 2 --mask causal --compute 7 --reduce 2"),
    (
        "schedule",
        {"seqlen_q": 8192, "q_tile": 64, "heads": 16, "batch_size": 2, "device": "h200", "mask": "causal",
         "algorithm": "spt", "critical_path": True, "handoff": (1, 2), "overlap": "async:2"},
        "schedule -i 8192 --q-tile 64 --heads 16 -b 2 --device h200 --mask causal --algorithm spt --critical-path "
        "--handoff 1,2 --overlap async:2",
    ),
    ("schedule", {"q_tiles": 4, "mask": "causal"}, "schedule --q-tiles 4 --mask causal"),
    ("schedule", {"q_tiles": 6, "mask": "window:2,0", "algorithm": "ascending", "walk": "partial-first", "prologue": 2,
                  "epilogue": 3},
     "schedule --q-tiles 6 --mask window:2,0 --algorithm ascending --walk partial-first --prologue 2 --epilogue 3"),
    ("schedule", {"kernel": "fa4", "device": "h200", "seqlen_q": 8192, "heads": 16, "heads_kv": 4, "mask": "window:1000,0"},
     "schedule --kernel fa4 --device h200 -i 8192 -n 16 --heads-kv 4 --mask window:1000,0"),
    ("schedule", {"seqlen_q": 8192, "q_tile": 64, "kv_tile": 128, "heads": 8, "device": "h200", "mask": "causal",
                  "algorithm": "spt", "costs": "fa4-h200-d128"},
     "schedule -i 8192 --q-tile 64 --kv-tile 128 -n 8 --device h200 --mask causal --algorithm spt --costs fa4-h200-d128"),
    ("calibrate", {"runs": RUNS, "suggestions": 1}, f"calibrate {RUNS} --suggestions 1"),
    ("reuse", {"seqlen": 32768, "head_dim": 64, "tile": 80}, "reuse -i 32768 -d 64 --tile 80"),
    ("reuse", {"seqlen": 131072, "tile": 128, "device": "h200", "fidelity": "lru", "compare": "sawtooth"},
     "reuse -i 131072 --tile 128 --device h200 --fidelity lru --compare sawtooth"),
    ("reuse", {"stream_bytes": 67108864, "passes": 8, "device": "h200", "order": "sawtooth"},
     "reuse --stream-bytes 67108864 --passes 8 --device h200 --order sawtooth"),
    ("reuse", {"sweep": (1024, 4096, 1024), "device": "h200"}, "reuse --sweep seqlen=1024:4096:1024 --device h200"),
    ("reuse", {"seqlen": 4096, "device": "h200", "fidelity": "lru", "ways": 8, "hashed": True},
     "reuse -i 4096 --device h200 --fidelity lru --ways 8 --hashed"),
    ("reuse", {"kernel": "fa2", "seqlen": 16384, "head_dim": 128, "causal": True, "device": "h200", "fidelity": "timed"},
     "reuse --kernel fa2 -i 16384 -d 128 --causal --device h200 --fidelity timed"),
    ("scatter", {"distribution": "hot:4", "dtype": "fp32", "device": "a100-40gb"},
     "atomics --distribution hot:4 --dtype fp32 --device a100-40gb"),
    ("scatter", {"distribution": "zipf:1.5", "updates": 10000, "path": "cas", "values": "constant"},
     "atomics --distribution zipf:1.5 --updates 10000 --path cas --values constant"),
    ("msda", {"config": "B4_800x1333_d256_L4", "phase": "backward", "accumulator": "fp32"},
     "msda --workload B4_800x1333_d256_L4 --phase backward --accumulator fp32"),
    ("compare", {"recorded": RECORDINGS, "suites": ["reuse"]}, f"validate reuse --recorded {RECORDINGS}"),
]


@pytest.mark.parametrize(("function", "keywords", "line"), SAME, ids=[line for _, _, line in SAME])
def test_an_answer_is_the_programs_json_to_the_byte(
    program: Program, function: str, keywords: dict[str, Any], line: str
) -> None:
    answer = getattr(natten_sim, function)(**keywords)
    printed = program.text(line)
    assert answer.to_json() == printed
    assert answer.to_dict() == json.loads(printed)


@pytest.mark.parametrize(("function", "keywords", "line"), SAME, ids=[line for _, _, line in SAME])
def test_a_conclusion_is_the_programs(program: Program, function: str, keywords: dict[str, Any], line: str) -> None:
    conclusion = getattr(natten_sim, function)(**keywords).conclusion
    printed = json.loads(program.run(*line.split(), "--json").stdout)["result"].get("conclusion")
    assert (None if conclusion is None else conclusion.to_dict()) == printed
    assert printed is not None


@pytest.mark.parametrize(("function", "keywords", "line"), SAME, ids=[line for _, _, line in SAME])
def test_tables_are_the_programs_csv(program: Program, function: str, keywords: dict[str, Any], line: str) -> None:
    assert getattr(natten_sim, function)(**keywords).to_csv() == program.run(*line.split(), "--csv").stdout


@pytest.mark.parametrize("table", ["presets", "backends", "devices", "kernels"])
def test_catalogs_are_the_programs_lists(program: Program, table: str) -> None:
    entries = getattr(natten_sim, table)()
    assert [entry.to_dict() for entry in entries] == program.json(f"list {table}")["result"][table]
    assert getattr(natten_sim.Catalog(), table)() == entries


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Questions of count, some of which make no sense."""
    rank = draw(st.integers(1, 4))
    sizes = st.integers(1, 40)
    axes = st.lists(sizes, min_size=rank, max_size=rank)
    question: dict[str, Any] = {"input": draw(axes), "window": draw(axes)}
    optional: dict[str, st.SearchStrategy[Any]] = {
        "stride": axes,
        "dilation": st.lists(st.integers(1, 3), min_size=rank, max_size=rank),
        "causal": st.lists(st.booleans(), min_size=rank, max_size=rank),
        "q_tile": st.lists(st.integers(1, 16), min_size=rank, max_size=rank),
        "kv_tile": st.lists(st.integers(1, 16), min_size=rank, max_size=rank),
        "kv_tiling": st.sampled_from(["static", "dynamic"]),
        "heads": st.integers(0, 8),
        "heads_kv": st.integers(0, 4),
        "head_dim": st.sampled_from([32, 64, 100, 128]),
        "dtype": st.sampled_from(["fp16", "bf16", "e4m3", "fp64"]),
        "backend": st.sampled_from(["hopper-fna", "cutlass-fna", "no-such"]),
        "device": st.sampled_from(["h200", "b200", "a100"]),
        "backprop": st.booleans(),
    }
    for name in draw(st.sets(st.sampled_from(sorted(optional)), max_size=6)):
        question[name] = draw(optional[name])
    return question


@settings(max_examples=12)
@given(st.lists(questions(), min_size=20, max_size=40))
def test_random_questions_get_the_programs_answers_and_errors(program: Program, asked: list[dict[str, Any]]) -> None:
    for question, line in zip(asked, program.batch(asked), strict=True):
        try:
            result = natten_sim.count(**question).to_dict()["result"]
        except natten_sim.Error as error:
            assert "error" in line, (question, error)
            assert line["error"]["parameter"].replace("-", "_") == error.parameter, (question, line)
        else:
            assert {key: line[key] for key in result if key in line} == result, (question, line)


def test_input_reproduces_the_answer() -> None:
    answer = natten_sim.count(preset="flux1-dev-4k", window=(80, 80), stride=(16, 16))
    keywords = {name: value for name, value in answer.input.to_dict().items() if value is not None}
    assert natten_sim.count(**keywords).result == answer.result


def test_input_lists_the_tile_pairs_of_a_search() -> None:
    answer = natten_sim.search(preset="hunyuan-video", device="h200", kernel=["flexattention", "hopper-fna"], top=2)
    assert {choice.kernel for choice in answer.input.tiles if "kernel" in choice} == {"flexattention", "hopper-fna"}
    keywords = {name: value for name, value in answer.input.to_dict().items() if value is not None}
    assert natten_sim.search(**keywords).candidates == answer.candidates
    with pytest.raises(natten_sim.Error, match="backend and kernel"):
        natten_sim.search(preset="hunyuan-video", tiles=[{"q_tile": (2, 8, 8), "kv_tile": (2, 8, 8), "device": "h200"}])


def test_files_add_to_the_catalog(program: Program, root: Any, tmp_path: Any) -> None:
    presets = tmp_path / "mine.json"
    shipped_file = json.loads((root / "data" / "presets.json").read_text())
    mine = {**shipped_file["presets"][0], "name": "mine", "layout": [16, 16, 16], "windows": []}
    presets.write_text(json.dumps({**shipped_file, "presets": [mine]}))
    shipped = natten_sim.presets()
    catalog = natten_sim.Catalog(preset_file=presets)
    assert [entry.name for entry in catalog.presets()] == [*(entry.name for entry in shipped), "mine"]
    answer = natten_sim.count(preset="mine", window=(8, 8, 8), catalog=catalog)
    done = program.run("count", "--preset", "mine", "-w", 8, 8, 8, "--preset-file", presets, "--json",
                       "--no-conclusion")
    assert answer.to_json() == done.stdout


def test_a_profile_is_explained_as_the_program_does(program: Program, root: Any) -> None:
    profile = root / "tests" / "golden" / "ncu" / "attention-h200.csv"
    answer = natten_sim.explain(profile, ncu_kernel="cudnn", seqlen=131072)
    line = ("explain", profile, "--ncu-kernel", "cudnn", "-i", 131072, "--json")
    assert answer.to_json() == program.run(*line).stdout
    # Measured is the sum of its parts; the counter of sectors has settled the mask.
    kernel = next(kernel for kernel in answer.kernels if kernel.problem.causal)
    read = kernel.read
    assert read is not None and read.unexplained_bytes is not None
    assert read.measured_bytes == pytest.approx(
        read.compulsory_bytes + read.lockstep_bytes + read.drift_bytes + read.unexplained_bytes)
    assert "In short: " in str(answer)
    with pytest.raises(natten_sim.Error, match="profile"):
        natten_sim.explain()


@pytest.mark.parametrize("page", ["details", "raw"])
def test_a_profile_of_ones_own_kernel_is_compared(program: Program, tmp_path: Any, page: str) -> None:
    # 4096 tokens, head dim 64, two bytes, sectors of 32 bytes: Q once, K and V once for each of 32 Q tiles of 128.
    sectors = 4096 * 64 * 2 * (1 + 32 * 2) // 32
    metric, launches = "l1tex__m_xbar2l1tex_read_sectors.sum", ((0, "my_attention", sectors), (1, "other", 7))
    if page == "details":  # a row a metric
        header = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
        rows = [f'"{number}","{kernel}","{metric}","sector","{value:,}"' for number, kernel, value in launches]
    else:  # ncu --page raw: a column a metric, and a row of units
        header = f'"ID","Kernel Name","{metric}","gpu__time_duration.sum"\n"","","sector","us"'
        rows = [f'"{number}","{kernel}","{value}","12.5"' for number, kernel, value in launches]
    profile = tmp_path / "profile.csv"
    profile.write_text("\n".join(["==PROF== Connected to process 7", header, *rows]) + "\n")
    point = {"tokens": 4096, "head_dim": 64, "q_tile": 128, "kv_tile": 64, "ctas_per_sm": 1, "schedule": "grid",
             "order": "cyclic"}
    answer = natten_sim.compare_profile(profile, point=point, ncu_kernel="my_attention")
    row = next(row for row in answer.rows if row.counter == "l2_read_sectors")
    assert row.predicted == row.measured == sectors
    words = [f"{name}={value}" for name, value in point.items()]
    line = ("validate", "--ncu-csv", profile, "--ncu-kernel", "my_attention", "--point", *words, "--json",
            "--no-conclusion")
    assert answer.to_json() == program.run(*line).stdout
    assert "l2_read_sectors" in answer.pictures and answer.svg("l2_read_sectors").startswith("<svg ")
    with pytest.raises(natten_sim.Error, match="tokens"):
        natten_sim.compare_profile(profile)
    with pytest.raises(natten_sim.Error, match="my_attention"):
        natten_sim.compare_profile(profile, point=point, ncu_kernel="no such")
    with pytest.raises(natten_sim.Error, match="absent"):
        natten_sim.compare_profile(tmp_path / "absent.csv", point=point)
