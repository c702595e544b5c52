"""damage.py PLAN: writes damaged copies of a plan file beside it, and data and weights that do not fit."""
import struct
import sys

plan = open(sys.argv[1], "rb").read()


def write(name, content):
    with open(name, "wb") as out:
        out.write(content)


def changed(at, value):
    copy = bytearray(plan)
    copy[at] = value
    return bytes(copy)


write("empty.hkt", b"")
write("short.hkt", plan[:40])
write("cut.hkt", plan[: len(plan) - 64])
write("longer.hkt", plan + b"x")
write("random.hkt", bytes(i * 37 % 251 for i in range(5000)))
write("magic.hkt", changed(0, 0x58))
write("flip.hkt", changed(len(plan) // 2, plan[len(plan) // 2] ^ 4))
# The prefix keeps its form in all versions: what is newer is told apart from what is damaged.
write("major.hkt", changed(8, plan[8] + 1))
write("feature.hkt", changed(43, 0x80))

write("none.bin", b"")
write("two.bin", b"ab")
write("ok.bin", bytes(i * 11 % 256 for i in range(4096)))
write("beyond.u16", struct.pack("<4000H", *([5] * 3999 + [300])))
write("odd.u16", b"a" * 4001)
