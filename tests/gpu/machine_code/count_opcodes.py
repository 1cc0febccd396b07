#!/usr/bin/env python3
"""Counts machine instructions of a cubin by the low nine bits of their first word, which say the operation.

    count_opcodes.py CUBIN
    count_opcodes.py CUBIN HGMMA    of each kernel only what stands between its first and its last HGMMA

For where no disassembler is installed. sm_80 and sm_90: 16 bytes an instruction. The values below were read off cuobjdump.
"""
import collections
import struct
import sys

OPCODES = {0x1F0: "HGMMA", 0x1B4: "UTMALDG", 0x1B5: "UTMASTG", 0x1BA: "UBLKCP", 0x1BB: "UBLKRED",
           0x1A7: "SYNCS", 0x1B2: "SYNCS", 0x108: "MUFU",
           0x03C: "HMMA", 0x03B: "LDSM", 0x1AE: "LDGSTS", 0x187: "STL", 0x183: "LDL"}


def code_sections(elf):
    """Contents of the sections .text.* of a little-endian ELF64."""
    if elf[:6] != b"\x7fELF\x02\x01":
        sys.exit("not a little-endian ELF64 file")
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, length in headers:
        begin = strings + name
        if elf[begin:elf.index(b"\0", begin)].startswith(b".text."):
            yield elf[offset:offset + length]


def main():
    with open(sys.argv[1], "rb") as file:
        elf = file.read()
    counts = collections.Counter()
    for code in code_sections(elf):
        names = [OPCODES.get(word & 0x1FF, "other") for word, _ in struct.iter_unpack("<QQ", code)]
        if len(sys.argv) > 2:
            places = [place for place, name in enumerate(names) if name == sys.argv[2]]
            names = names[places[0]:places[-1]] if places else []
        counts.update(names)
    for name, count in sorted(counts.items()):
        print(name, count)


if __name__ == "__main__":
    main()
