# lit: one file a pass, a verifier or a verb; the folders mirror the sources.
import os
import sys

import lit.formats

config.name = "hocket"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "unit", "golden", "data", "fuzz"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.hocket_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.hocket_binary_dir, "bin"), config.llvm_tools_dir, config.environment["PATH"]]
)
# Messages must not depend on the terminal or the language of whoever runs the tests.
config.environment["TERM"] = "dumb"
config.environment["LC_ALL"] = "C.UTF-8"

config.substitutions.append(("%examples", os.path.join(config.hocket_source_dir, "examples")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%data", os.path.join(config.hocket_source_dir, "test", "data")))

# A test that needs a tool says REQUIRES: <tool>; missing ones are a failure in
# test.sh, which builds everything, and skipped when one folder is built alone.
for tool in ["hocket", "hocket-opt", "hocket-run"]:
    if os.path.exists(os.path.join(config.hocket_binary_dir, "bin", tool)):
        config.available_features.add(tool)
