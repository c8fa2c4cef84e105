"""An arm whose first joint is a ball: its coordinates are a unit quaternion."""

import helicoid as hc

_INERTIA = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def shoulder() -> hc.Robot:
    return hc.load(f"""<robot name="shoulder">
  <link name="base"/><link name="arm">{_INERTIA}</link><link name="hand">{_INERTIA}</link>
  <joint name="ball" type="spherical"><parent link="base"/><child link="arm"/></joint>
  <joint name="elbow" type="continuous"><parent link="arm"/><child link="hand"/><origin xyz="1 0 0"/>
    <axis xyz="0 1 0"/></joint>
</robot>""")
