"""Scenes: named objects around a robot."""

from helicoid.robot.collision.scene.scene import Scene, SceneObject

__all__ = ["Scene", "SceneObject"]
