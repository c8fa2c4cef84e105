"""What tasks become: named numbers, levels, a step that solves a program in C, and the same as a library."""
