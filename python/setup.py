# SPDX-License-Identifier: MIT
"""Builds libtally with CMake, or takes an installed one, compiles the binding against its headers,
and puts both into the package.

TALLY_PREFIX=DIR takes the library, the headers and the program that are installed in DIR.
TALLY_CMAKE_ARGS has further arguments for CMake, "-DTALLY_CUDA_ARCHS=90", say.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

import setuptools
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import headers  # noqa: E402

# In a clone the library is the folder above; in a source distribution it lies in `library`.
LIBRARY_PARTS = [
    "CMakeLists.txt",
    "LICENSE",
    "cmake",
    "include",
    "src",
    "backends",
    "kernels",
    "kernels_cl",
    "oracle",
    "tools",
]
INSIDE = HERE / "library"
SOURCE = INSIDE if INSIDE.exists() else HERE.parent
# A Python without the global lock has no stable ABI.
STABLE_ABI = not sysconfig.get_config_var("Py_GIL_DISABLED")


def version() -> str:
    prefix = os.environ.get("TALLY_PREFIX")
    header = (pathlib.Path(prefix) if prefix else SOURCE) / "include" / "tally" / "core.h"
    if not header.exists():
        sys.exit(f"no {header}: " + ("install tally in TALLY_PREFIX, or unset it" if prefix else "build from a clone"))
    return re.search(r'#define TALLY_VERSION "(.*)"', header.read_text()).group(1)


class Build(build_ext):
    """Builds the library first, then the binding."""

    def run(self) -> None:
        prefix = os.environ.get("TALLY_PREFIX")
        self.prefix = pathlib.Path(prefix).resolve() if prefix else self.build_library()
        found = sorted(self.prefix.glob("lib*/**/libtally.so"))
        if not found:
            sys.exit(f"no libtally.so in {self.prefix}: install tally there, or unset TALLY_PREFIX to build it")
        self.library = found[0].resolve()
        # The name by which the loader looks for it: libtally.so.MAJOR, and before 1.0
        # libtally.so.0.MINOR.
        parts = self.library.name.split(".")
        self.soname = ".".join(parts[: 4 if parts[2:3] == ["0"] else 3])
        self.write_binding()
        super().run()
        self.copy_library()

    def build_library(self) -> pathlib.Path:
        build = pathlib.Path(self.build_temp).resolve() / "library"
        prefix = build / "prefix"
        cmake = shutil.which("cmake")
        if not cmake:
            sys.exit(
                "building tally needs CMake 3.25 and a C compiler (Debian: cmake build-essential libxxhash-dev "
                "opencl-headers); TALLY_PREFIX=DIR takes an installed tally instead"
            )
        json_c = (
            subprocess.run(["pkg-config", "--exists", "json-c"], check=False).returncode == 0
            if shutil.which("pkg-config")
            else False
        )
        # libtally_mpi and libtally_nccl are no part of the package.
        options = [f"-DTALLY_{part}=OFF" for part in ("TESTS", "BENCH", "EXAMPLES", "MPI", "NCCL")]
        options += [
            f"-DTALLY_TOOLS={'ON' if json_c else 'OFF'}",
            "-DTALLY_STATIC_JSON_C=ON",
            "-DCMAKE_BUILD_TYPE=Release",
        ]
        options += ["-DCMAKE_INSTALL_LIBDIR=lib", *shlex.split(os.environ.get("TALLY_CMAKE_ARGS", ""))]
        subprocess.run([cmake, "-S", SOURCE, "-B", build, *options], check=True)
        subprocess.run([cmake, "--build", build, "--parallel", str(os.cpu_count() or 2)], check=True)
        subprocess.run([cmake, "--install", build, "--prefix", prefix, "--strip"], check=True)
        return prefix

    def write_binding(self) -> None:
        """Writes the binding's C text: the compiler then checks the declarations against the
        headers."""
        import cffi

        include = self.prefix / "include"
        ffi = cffi.FFI()
        ffi.cdef(headers.declarations(include, ("cuda", "opencl")) + headers.plain((HERE / "shim/shim.h").read_text()))
        ffi.set_source(
            "tally._tally",
            '#include <tally/tally.h>\n#include <tally/cuda.h>\n#include <tally/opencl.h>\n#include "shim.h"\n',
        )
        folder = pathlib.Path(self.build_temp)
        folder.mkdir(parents=True, exist_ok=True)
        extension = self.extensions[0]
        ffi.emit_c_code(str(folder / "binding.c"))
        shim = sorted(str(part) for part in pathlib.Path("shim").glob("*.c"))
        extension.sources = [str(folder / "binding.c"), *shim]
        extension.include_dirs = [str(include), str(HERE / "shim")]
        extension.extra_compile_args = ["-std=c11", "-O2"]
        extension.extra_link_args = [str(self.library), "-Wl,-rpath,$ORIGIN"]

    def copy_library(self) -> None:
        package = pathlib.Path(self.get_ext_fullpath("tally._tally")).parent
        shutil.copyfile(self.library, package / self.soname)
        program = self.prefix / "bin" / "tally"
        if program.exists():
            shutil.copy(program, package / "tally")


class SourceDistribution(sdist):
    """Takes the library's sources along."""

    def make_release_tree(self, base_dir, files) -> None:
        super().make_release_tree(base_dir, files)
        for part in LIBRARY_PARTS:
            to = pathlib.Path(base_dir) / "library" / part
            if (SOURCE / part).is_dir():
                shutil.copytree(SOURCE / part, to)
            else:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(SOURCE / part, to)


setuptools.setup(
    version=version(),
    ext_modules=[setuptools.Extension("tally._tally", [], py_limited_api=STABLE_ABI)],
    cmdclass={"build_ext": Build, "sdist": SourceDistribution},
    options={"bdist_wheel": {"py_limited_api": "cp39"}} if STABLE_ABI else {},
)
