"""Edits: a model in, another model out: structure, numbers of joints, drives, flexible joints."""
