"""Connections of links beside the joints of the tree: loop joints, springs and dampers."""
