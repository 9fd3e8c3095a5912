"""The two things that pyproject.toml cannot say: the C library and the tag of its wheel."""

from setuptools import setup

setup(
    cffi_modules=["native/maxsim/build.py:ffibuilder"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
