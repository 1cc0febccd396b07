#!/usr/bin/env python3
"""Puts Emscripten's MODULE.js and MODULE.wasm into one script: the second deflated, as base64 in the first.

usage: pack_module.py MODULE.js OUTPUT.js
"""
import base64
import sys
import zlib

WRAPPER = """
natten_sim_module = ((plain) => async () => {
  const packed = Uint8Array.from(atob("%s"), (each) => each.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return plain({ wasmBinary: await new Response(stream).arrayBuffer() });
})(natten_sim_module);
if (typeof module === "object") module.exports = natten_sim_module;
"""


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    script, output = sys.argv[1:]
    with open(script, encoding="utf-8") as file:
        text = file.read()
    with open(script.removesuffix(".js") + ".wasm", "rb") as file:
        module = file.read()
    packed = base64.b64encode(zlib.compress(module, 9)).decode()
    with open(output, "w", encoding="utf-8") as file:
        file.write(text + WRAPPER % packed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
