"""interrupt.py EXAMPLES: signals at six moments of `hocket plan` leave no file behind."""
import os
import signal
import subprocess
import sys
import time

examples = sys.argv[1]
for folder in ("temporary", "out"):
    os.mkdir(folder)
ENV = {**os.environ, "TMPDIR": os.path.abspath("temporary")}
COMMAND = ["hocket", "plan", os.path.join(examples, "job-gpt2-tiny.toml"), "--cluster", "laptop", "--strategy",
           "data=2,tensor=2", "-q", "-o", "out/x.hkt"]

begin = time.monotonic()
subprocess.run(COMMAND, env=ENV, check=True)
whole = time.monotonic() - begin
with open("out/x.hkt", "rb") as f:
    plan = f.read()

stopped = 0
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
    for part in range(6):
        with open("out/x.hkt", "wb") as f:
            f.write(b"old")
        child = subprocess.Popen(COMMAND, env=ENV, stderr=subprocess.PIPE)
        time.sleep(whole * part / 6)
        child.send_signal(number)
        said = child.communicate()[1]
        assert child.returncode in (-number, 0), (number, part, child.returncode, said)
        stopped += child.returncode != 0
        with open("out/x.hkt", "rb") as f:
            now = f.read()
        # A signal may come after the plan is in its place.
        assert now == plan or child.returncode and now == b"old", (number, part, child.returncode)
        left = os.listdir("temporary") + [name for name in os.listdir("out") if name != "x.hkt"]
        # Only SIGKILL may leave the output's own temporary, which lies beside it.
        assert not left or number == signal.SIGKILL and all(n.startswith("x.hkt.") for n in left), (number, part, left)
        for name in left:
            os.remove(os.path.join("out", name))
# A machine under load may be slow to send, never so slow that nothing was stopped.
assert stopped >= 6, stopped
