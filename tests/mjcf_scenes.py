"""Scenes in MJCF that state tendons, actuators and gravity compensation."""

from __future__ import annotations

SCENE = """<mujoco><option gravity="0 1 -9" integrator="RK4" timestep=".001"><flag contact="disable"/>
</option><worldbody><site name="at_world" pos="0 .2 .3" euler="10 20 30"/>
<geom name="post" type="cylinder" size=".08 .3" pos=".3 .1 .3" euler="80 10 5"/>
<body name="a" gravcomp=".7"><joint name="j1" axis="0 1 0" ref="10"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><site name="on_a" pos=".1 .1 .1" euler="5 6 7"/>
  <body name="b" pos=".3 0 0" gravcomp="1.2">
    <joint name="j2" axis="0 1 0" ref="5"/><joint name="s" type="slide" axis="0 .2 1"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><site name="on_b" pos=".3 0 .1" euler="10 20 30"/>
    <geom name="knob" size=".07"/></body></body>
<body name="c" pos=".2 .1 0"><joint name="ball" type="ball"/><geom size=".1" pos=".2 0 0"/>
  <site name="on_c" pos=".4 -.1 0" euler="10 20 30"/></body>
<body name="d" pos=".5 .3 0"><joint name="roll"/><geom name="bead" size=".05" pos="0 0 .1"/>
  <geom name="drum" type="cylinder" size=".06 .2" euler="5 9 3"/>
  <site name="left" pos=".2 .1 0"/><site name="right" pos="-.2 -.1 0"/></body>
<body name="f" pos="1 0 0"><freejoint name="free"/><geom size=".1" mass="2"/>
  <site name="on_f" pos=".4 -.1 0" euler="10 20 30"/></body>
</worldbody>{}</mujoco>"""

TENDONS = {
    "fixed": '<fixed name="t" {}><joint joint="j1" coef=".7"/><joint joint="s" coef="-1.3"/></fixed>',
    "spatial": '<spatial name="t" {}><site site="at_world"/><site site="on_a"/><pulley divisor="2"/>'
    '<site site="on_a"/><site site="on_b"/><site site="on_c"/></spatial>',
    "sphere": '<spatial name="t" {}><site site="on_a"/><geom geom="knob"/><site site="on_b"/></spatial>',
    "left": '<spatial name="t" {}><site site="on_a"/><geom geom="drum" sidesite="left"/>'
    '<site site="on_f"/></spatial>',
    "right": '<spatial name="t" {}><site site="on_a"/><geom geom="drum" sidesite="right"/>'
    '<site site="on_f"/></spatial>',
    "side of a sphere": '<spatial name="t" {}><site site="on_f"/><geom geom="bead" sidesite="right"/>'
    '<site site="at_world"/></spatial>',
    "cylinder": '<spatial name="t" {}><site site="on_a"/><geom geom="post"/><site site="on_f"/></spatial>',
}
NUMBERS = 'stiffness="50" damping="3" springlength=".1 .3"'
SERVO = '<position tendon="t" kp="20" kv="2" gear="1.5"/>'

ACTUATORS = {
    "motor": '<motor joint="j1" gear="3" ctrlrange="-1 1"/>',
    "limited servo": '<position joint="s" kp="30" kv="3" forcerange="-5 7"/>',
    "velocity servo": '<velocity joint="j2" kv="7"/>',
    "affine": '<general joint="j2" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm=".1 .2 .3"/>',
    "ball": '<motor joint="ball" gear="1 2 3"/><position jointinparent="ball" gear="1 2 3" kp="4"/>',
    "free": '<motor joint="free" gear="1 2 3 4 5 6"/><motor jointinparent="free" gear="1 2 3 4 5 6"/>',
    "site": '<motor site="on_f" gear="1 2 3 4 5 6"/>',
    "site on site": '<position site="on_b" refsite="on_a" gear="1 2 3 4 5 6" kp="3" kv="1"/>',
    "armature and damping": '<motor joint="j1" armature="2" damping="3" gear="2"/>',
    "integrator": '<intvelocity joint="j1" kp="5" actrange="-1 1"/>',
    "filter": '<position joint="j1" kp="5" timeconst=".1"/>',
}
