"""xacro, the macro language of URDF: expanded by the library of that name, without its use of `eval`."""
