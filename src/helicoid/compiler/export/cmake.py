"""The CMakeLists.txt of a library that was written, and of the program that comes with it."""

from __future__ import annotations

from collections.abc import Sequence

_TEXT = """\
# {what}
cmake_minimum_required(VERSION 3.13)
project({name} C)

{settings}if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} STATIC
{sources})
set_target_properties({name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
{options}if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()

add_executable({name}_{program} main.c)
set_target_properties({name}_{program} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_link_libraries({name}_{program} PRIVATE {name})
enable_testing()
add_test(NAME {name}_{program} COMMAND {name}_{program})
"""


def cmake_lists(
    name: str,
    sources: Sequence[str],
    what: str = "A static library, and a program that compares it with recorded values.",
    program: str = "check",
    settings: str = "",
    options: str = "",
) -> str:
    """The file for a library of some sources, whose program is main.c; more settings and options as lines."""
    listed = "\n".join(f"  {source}" for source in sources)
    return _TEXT.format(
        name=name, what=what, program=program, sources=listed, settings=settings, options=options
    )
