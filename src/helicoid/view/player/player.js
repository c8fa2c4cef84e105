// Player of robot motions in WebGL 2: shaded triangles with shadows on a grid, camera by mouse or touch.
// Its data: "parts" are triangles fixed to a body, "motions" are times and body poses
// (x, y, z, qw, qx, qy, qz); every motion after the first is drawn as a transparent ghost.
(async (root) => {
  "use strict";
  const find = (name) => root.querySelector(name);
  const scene = JSON.parse(find("script[type='application/json']").textContent);
  const canvas = find("canvas");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const fail = (text) => root.insertAdjacentHTML("beforeend", `<div class="message">${text}</div>`);
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: true });
  if (!gl) return fail("3-D graphics need WebGL 2, which this browser does not provide.");

  const packed = Uint8Array.from(atob(scene.data), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = await new Response(stream).arrayBuffer();

  // Matrices are column-major, as in WebGL.
  const multiply = (a, b) => {
    const c = new Float32Array(16);
    for (let i = 0; i < 16; i++) for (let k = 0; k < 4; k++) c[i] += a[(i & 3) + 4 * k] * b[k + (i & ~3)];
    return c;
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => a.map((x) => x / (Math.hypot(...a) || 1));
  const lookAt = (eye, at, up) => {
    const z = unit(eye.map((x, i) => x - at[i])), x = unit(cross(up, z)), y = cross(z, x);
    return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
  };
  const perspective = (f, aspect, near, far) =>
    new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0]);
  const orthographic = (r, near, far) =>
    new Float32Array([1 / r, 0, 0, 0, 0, 1 / r, 0, 0, 0, 0, -2 / (far - near), 0, 0, 0, -(far + near) / (far - near), 1]);
  const placed = (p, shift) => {
    const [x, y, z, a, b, c, d] = p;
    return new Float32Array([
      1 - 2 * (c * c + d * d), 2 * (b * c + a * d), 2 * (b * d - a * c), 0,
      2 * (b * c - a * d), 1 - 2 * (b * b + d * d), 2 * (c * d + a * b), 0,
      2 * (b * d + a * c), 2 * (c * d - a * b), 1 - 2 * (b * b + c * c), 0, x, y + shift, z, 1]);
  };

  // Programs -------------------------------------------------------------------------------------------
  const SHADOW = `
    uniform highp sampler2DShadow shadowMap;
    float lit(vec4 p, float slope) {
      vec3 s = p.xyz * 0.5 + 0.5;
      if (any(greaterThan(abs(p.xyz), vec3(0.999)))) return 1.0;
      float sum = 0.0;
      for (int i = -2; i <= 2; i++) for (int j = -2; j <= 2; j++)
        sum += texture(shadowMap, vec3(s.xy + vec2(i, j) * 1.3 / 2048.0, s.z - 0.0012 - 0.004 * slope));
      return sum / 25.0;
    }`;
  const program = (vertex, fragment) => {
    const made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, `#version 300 es\nprecision highp float;\n${text}`);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.bindAttribLocation(made, 0, "position");
    gl.bindAttribLocation(made, 1, "normal");
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const where = {};
    for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
      const name = gl.getActiveUniform(made, i).name;
      where[name] = gl.getUniformLocation(made, name);
    }
    return { made, where };
  };
  const solid = program(
    `uniform mat4 view, model, light; uniform vec3 low, span;
     in vec3 position, normal; out vec3 world, n; out vec4 shadow;
     void main() {
       vec4 w = model * vec4(low + span * position, 1.0);
       world = w.xyz; n = mat3(model) * normal; shadow = light * w; gl_Position = view * w;
     }`,
    `uniform vec3 eye, sun; uniform vec4 color; in vec3 world, n; in vec4 shadow; out vec4 result; ${SHADOW}
     void main() {
       vec3 e = normalize(eye - world), m = normalize(n);
       if (dot(m, e) < 0.0) m = -m;
       vec3 base = pow(color.rgb, vec3(2.2));
       float key = max(dot(m, sun), 0.0);
       key *= lit(shadow, 1.0 - key);
       float sky = 0.5 + 0.5 * m.z, rim = pow(1.0 - max(dot(m, e), 0.0), 4.0);
       float fill = max(dot(m, normalize(vec3(-sun.y, sun.x, 0.25))), 0.0);
       vec3 light = mix(vec3(0.21, 0.20, 0.19), vec3(0.40, 0.43, 0.47), sky) + vec3(0.78, 0.75, 0.71) * key + vec3(0.10) * fill;
       float gloss = pow(max(dot(m, normalize(sun + e)), 0.0), 48.0) * 0.22 * step(0.001, key);
       vec3 seen = base * light + gloss + rim * 0.06;
       result = vec4(pow(1.0 - exp(-1.45 * seen), vec3(1.0 / 2.2)) * color.a, color.a); // exponential tone mapping, then gamma
     }`);
  const depth = program(
    `uniform mat4 light, model; uniform vec3 low, span; in vec3 position;
     void main() { gl_Position = light * model * vec4(low + span * position, 1.0); }`,
    `void main() {}`);
  const ground = program(
    `uniform mat4 view, light; uniform vec4 plane; in vec3 position; out vec3 world; out vec4 shadow;
     void main() {
       vec4 w = vec4(plane.xy + (position.xy * 2.0 - 1.0) * plane.w, plane.z, 1.0);
       world = w.xyz; shadow = light * w; gl_Position = view * w;
     }`,
    `uniform vec4 plane; uniform float cell, shade; uniform vec3 line; in vec3 world; in vec4 shadow; out vec4 result; ${SHADOW}
     float grid(vec2 p) {
       vec2 w = fwidth(p), d = abs(fract(p - 0.5) - 0.5) / max(w, vec2(1e-6));
       return (1.0 - min(min(d.x, d.y), 1.0)) * clamp(0.35 / max(w.x, w.y), 0.0, 1.0);
     }
     void main() {
       float fade = pow(max(1.0 - length(world.xy - plane.xy) / plane.w, 0.0), 1.6);
       float lines = max(0.22 * grid(world.xy / cell), 0.5 * grid(world.xy / (5.0 * cell))) * fade;
       float dim = (1.0 - lit(shadow, 0.0)) * shade * min(1.0, 2.0 * fade);
       result = vec4(line * lines * (1.0 - dim), lines + dim - lines * dim);
     }`);

  // Triangles ------------------------------------------------------------------------------------------
  const buffer = (target, values) => {
    const made = gl.createBuffer();
    gl.bindBuffer(target, made);
    gl.bufferData(target, values, gl.STATIC_DRAW);
  };
  const upload = (positions, normals, indices) => {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    buffer(gl.ARRAY_BUFFER, positions);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 0, 0);
    if (normals) {
      buffer(gl.ARRAY_BUFFER, normals);
      gl.enableVertexAttribArray(1);
      gl.vertexAttribPointer(1, 3, gl.BYTE, true, 0, 0);
    }
    buffer(gl.ELEMENT_ARRAY_BUFFER, indices);
    return array;
  };
  const shapes = scene.arrow ? [...scene.parts, scene.arrow.shaft, scene.arrow.head] : scene.parts;
  for (const part of shapes) {
    part.array = upload(
      new Uint16Array(data, part.positions, 3 * part.vertices),
      new Int8Array(data, part.normals, 3 * part.vertices),
      new Uint32Array(data, part.indices, 3 * part.faces));
  }
  const M = 65535;
  const quad = upload(new Uint16Array([0, 0, 0, M, 0, 0, M, M, 0, 0, M, 0]), null, new Uint32Array([0, 1, 2, 0, 2, 3]));
  for (const motion of scene.motions) {
    motion.t = new Float32Array(data, motion.times, motion.samples);
    motion.p = new Float32Array(data, motion.poses, motion.samples * scene.bodies * 7);
    motion.e = new Float32Array(data, motion.ends, motion.samples * motion.arrows * 6);
    motion.shown = true;
  }
  const depthMap = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, depthMap);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, 2048, 2048);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
  const depthFrame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, depthFrame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, depthMap, 0);

  // State and rendering --------------------------------------------------------------------------------
  const start = scene.motions[0].t[0];
  const end = Math.max(...scene.motions.map((m) => m.t[m.samples - 1]));
  const lens = () => 2.9 * Math.min(1, canvas.clientWidth / canvas.clientHeight); // focal length; portrait has the horizontal field of view of a square
  const home = (apart) => {
    // Initial camera: the smallest distance at which all of the motion is in view, with a margin, and in the middle.
    const row = apart ? scene.spacing * (scene.motions.length - 1) : 0, azimuth = -0.9, elevation = 0.36;
    const c = Math.cos(azimuth), s = Math.sin(azimuth), k = Math.cos(elevation), e = Math.sin(elevation);
    const right = [-s, c, 0], upward = [-c * e, -s * e, k];
    let at = [scene.center[0], scene.center[1] - row / 2, scene.center[2]], distance = 0;
    for (let pass = 0; pass < 8; pass++) {
      const seen = scene.outline.flatMap((point) => [0, row].map((shift) => {
        const p = [point[0] - at[0], point[1] - shift - at[1], point[2] - at[2]];
        return [dot(p, right), dot(p, upward), dot(p, [c * k, s * k, e])];
      }));
      const narrow = canvas.clientHeight / canvas.clientWidth / 0.9;
      distance = Math.max(...seen.map(([x, y, near]) => near + lens() * Math.max(Math.abs(y) / 0.74, Math.abs(x) * narrow)));
      const middle = (i) => { const at = seen.map((p) => p[i] / (distance - p[2])); return (Math.max(...at) + Math.min(...at)) / 2 * distance; };
      const x = middle(0), y = middle(1);
      if (pass < 7) at = at.map((a, i) => a + x * right[i] + y * upward[i]);
    }
    return { azimuth, elevation, distance, at };
  };
  const state = { time: start, playing: false, speed: 1, apart: false, dirty: true, camera: home(false) };

  const poses = (motion, time) => {
    const { t, p } = motion, size = scene.bodies * 7;
    let low = 0, high = t.length - 1;
    while (high - low > 1) { const k = (low + high) >> 1; if (t[k] <= time) low = k; else high = k; }
    const s = Math.min(1, Math.max(0, (time - t[low]) / (t[high] - t[low] || 1)));
    const found = [];
    for (let k = 0; k < size; k += 7) {
      const a = p.subarray(low * size + k, low * size + k + 7), b = p.subarray(high * size + k, high * size + k + 7);
      const sign = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
      const mixed = Array.from(a, (x, i) => x + s * ((i < 3 ? 1 : sign) * b[i] - x));
      const norm = Math.hypot(...mixed.slice(3)) || 1;
      found.push(mixed.map((x, i) => (i < 3 ? x : x / norm)));
    }
    return found;
  };
  // Horizontal displacement of the followed body, which the camera shares.
  const followed = () => {
    if (scene.follow < 0) return [0, 0, 0];
    const now = poses(scene.motions[0], state.time)[scene.follow], then = scene.motions[0].p.subarray(7 * scene.follow);
    return [now[0] - then[0], now[1] - then[1], 0];
  };
  // Force arrows: a shaft scaled along z, and a head at its end.
  const forces = (motion, m, shift) => {
    const found = [], { t, e, arrows } = motion;
    let k = 0;
    while (k + 1 < t.length && t[k + 1] <= state.time) k++;
    for (let c = 0; c < arrows; c++) {
      const a = e.subarray(6 * (k * arrows + c), 6 * (k * arrows + c) + 6), d = [a[3] - a[0], a[4] - a[1], a[5] - a[2]];
      const size = Math.hypot(...d);
      if (size < 1e-3 * scene.radius) continue;
      const z = unit(d), x = unit(cross(Math.abs(z[2]) > 0.7 ? [0, 1, 0] : [0, 0, 1], z)), y = cross(z, x);
      const at = (s, p) => new Float32Array([...x, 0, ...y, 0, ...z.map((v) => s * v), 0, p[0], p[1] + shift, p[2], 1]);
      const ghost = m > 0 && !state.apart;
      found.push({ part: scene.arrow.shaft, m, ghost, model: at(size, a) }, { part: scene.arrow.head, m, ghost, model: at(1, a.subarray(3)) });
    }
    return found;
  };
  const items = () => scene.motions.flatMap((motion, m) => {
    if (!motion.shown) return [];
    const at = poses(motion, state.time), shift = state.apart ? -m * scene.spacing : 0;
    const arrows = scene.arrow ? forces(motion, m, shift) : [];
    return arrows.concat(scene.parts
      .filter((q) => (q.motion < 0 ? q.body >= 0 || m === 0 || state.apart : q.motion === m))
      .filter((q) => state.time >= q.from && state.time <= q.until)
      .map((part) => ({ part, m, ghost: m > 0 && !state.apart, model: placed(part.body < 0 ? [0, 0, 0, 1, 0, 0, 0] : at[part.body], shift) })));
  });
  const paint = ({ where }, { part, model }) => {
    gl.uniformMatrix4fv(where.model, false, model);
    gl.uniform3fv(where.low, part.low);
    gl.uniform3fv(where.span, part.span);
    gl.bindVertexArray(part.array);
    gl.drawElements(gl.TRIANGLES, 3 * part.faces, gl.UNSIGNED_INT, 0);
  };
  const tinted = ({ part, m, ghost }) => {
    const c = part.color, g = scene.motions[m].color;
    if (!ghost) return c;
    return part.motion === m ? c : [0, 1, 2].map((i) => 0.35 * c[i] + 0.65 * g[i]).concat(0.42 * c[3]);
  };
  const draw = () => {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const { azimuth, elevation, distance } = state.camera, r = scene.radius, gone = followed();
    const at = state.camera.at.map((x, i) => x + gone[i]), center = scene.center.map((x, i) => x + gone[i]);
    const eye = [at[0] + distance * Math.cos(elevation) * Math.cos(azimuth), at[1] + distance * Math.cos(elevation) * Math.sin(azimuth), at[2] + distance * Math.sin(elevation)];
    const wide = r + (state.apart ? scene.spacing * (scene.motions.length - 1) : 0);
    const view = multiply(perspective(lens(), width / height, distance / 100, distance * 4 + 20 * r), lookAt(eye, at, [0, 0, 1]));
    const sun = unit([0.45, -0.35, 0.85]);
    const light = multiply(orthographic(1.5 * wide, 0.1 * wide, 8 * wide), lookAt(center.map((x, i) => x + 4 * wide * sun[i]), center, [0, 1, 0]));
    const list = items(), full = list.filter((i) => !i.ghost && i.part.color[3] > 0.99), clear = list.filter((i) => !full.includes(i));

    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.depthFunc(gl.LEQUAL);
    gl.bindFramebuffer(gl.FRAMEBUFFER, depthFrame);
    gl.viewport(0, 0, 2048, 2048);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.useProgram(depth.made);
    gl.uniformMatrix4fv(depth.where.light, false, light);
    full.filter((item) => item.part.motion < 0).forEach((item) => paint(depth, item)); // paths cast no shadow

    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(solid.made);
    gl.uniformMatrix4fv(solid.where.view, false, view);
    gl.uniformMatrix4fv(solid.where.light, false, light);
    gl.uniform3fv(solid.where.eye, eye);
    gl.uniform3fv(solid.where.sun, sun);
    for (const item of full) { gl.uniform4fv(solid.where.color, tinted(item)); paint(solid, item); }

    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const style = getComputedStyle(root);
    gl.useProgram(ground.made);
    gl.uniformMatrix4fv(ground.where.view, false, view);
    gl.uniformMatrix4fv(ground.where.light, false, light);
    gl.uniform4f(ground.where.plane, center[0], center[1], scene.floor, 6 * wide);
    gl.uniform1f(ground.where.cell, scene.cell);
    gl.uniform1f(ground.where.shade, parseFloat(style.getPropertyValue("--shade")));
    gl.uniform3fv(ground.where.line, style.getPropertyValue("--line").split(",").map((x) => parseFloat(x) / 255));
    gl.depthMask(false);
    gl.bindVertexArray(quad);
    gl.drawElements(gl.TRIANGLES, 6, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);

    // Transparent parts: a depth pass, then a colour pass, so that only their front faces are visible.
    // The polygon offset keeps a ghost that coincides with the robot behind it.
    gl.useProgram(solid.made);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 8);
    for (let m = 0; m < scene.motions.length; m++) {
      const mine = clear.filter((item) => item.m === m);
      gl.colorMask(false, false, false, false);
      mine.forEach((item) => paint(solid, item));
      gl.colorMask(true, true, true, true);
      for (const item of mine) { gl.uniform4fv(solid.where.color, tinted(item)); paint(solid, item); }
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
  };

  // Controls -------------------------------------------------------------------------------------------
  const slider = find(".bar input"), output = find(".bar output"), button = find(".bar .play");
  const change = (what) => { Object.assign(state, what); state.dirty = true; };
  const play = (on) => {
    if (on && state.time >= end) state.time = start;
    change({ playing: on });
    if (button) button.innerHTML = `<svg viewBox="0 0 16 16"><path d="${on ? "M3 2h4v12H3zM9 2h4v12H9z" : "M3 1.5l11 6.5-11 6.5z"}"/></svg>`;
  };
  if (slider) {
    slider.oninput = () => { play(false); change({ time: start + (end - start) * slider.value }); };
    button.onclick = () => play(!state.playing);
    find(".bar select").onchange = (event) => change({ speed: Number(event.target.value) });
  }
  const apart = find(".bar .apart");
  if (apart) apart.onclick = () => {
    change({ apart: !state.apart, camera: home(!state.apart) });
    apart.textContent = state.apart ? "overlaid" : "side by side";
  };
  root.querySelectorAll(".legend button").forEach((item, m) => {
    item.onclick = () => { scene.motions[m].shown = !scene.motions[m].shown; item.classList.toggle("off"); change({}); };
  });
  const orbit = (dx, dy) => {
    state.camera.azimuth -= dx * 0.008;
    state.camera.elevation = Math.min(1.55, Math.max(-0.6, state.camera.elevation + dy * 0.008));
  };
  const pan = (dx, dy) => {
    const c = state.camera, step = c.distance / canvas.clientHeight / 1.4, s = Math.sin(c.azimuth), k = Math.cos(c.azimuth), e = Math.sin(c.elevation);
    c.at = [c.at[0] + step * (s * dx - k * e * dy), c.at[1] + step * (-k * dx - s * e * dy), c.at[2] + step * Math.cos(c.elevation) * dy];
  };
  const zoom = (factor) => { state.camera.distance = Math.min(20, Math.max(0.4, (state.camera.distance * factor) / scene.radius)) * scene.radius; };
  const fingers = new Map();
  canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, event); };
  canvas.onpointerup = canvas.onpointercancel = (event) => fingers.delete(event.pointerId);
  canvas.onpointermove = (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    const other = [...fingers.entries()].find(([id]) => id !== event.pointerId);
    if (other) {
      const gap = (e) => Math.hypot(e.clientX - other[1].clientX, e.clientY - other[1].clientY) || 1;
      zoom(gap(before) / gap(event));
      pan(dx / 2, dy / 2);
    } else if (event.shiftKey || event.buttons > 1) pan(dx, dy);
    else orbit(dx, dy);
    fingers.set(event.pointerId, event);
    change({});
  };
  canvas.oncontextmenu = (event) => event.preventDefault();
  canvas.ondblclick = () => change({ camera: home(state.apart) });
  canvas.addEventListener("wheel", (event) => {
    // In a page that scrolls, the wheel zooms only after the canvas has the focus.
    if (document.activeElement !== canvas && document.scrollingElement.scrollHeight > innerHeight) return;
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.001));
    change({});
  }, { passive: false });
  canvas.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === " ") play(!state.playing);
    else if (step) { play(false); change({ time: Math.min(end, Math.max(start, state.time + (step * (end - start)) / 50)) }); }
    else return;
    event.preventDefault();
  };

  // Animation loop: draws if the state has changed and the canvas is visible -----------------------------
  const theme = () => { root.classList.toggle("dark", scene.theme === "dark" || (scene.theme === "auto" && dark.matches)); change({}); };
  theme();
  dark.addEventListener("change", theme);
  new ResizeObserver(() => change({})).observe(canvas);
  let seen = true, last = 0;
  new IntersectionObserver((entries) => { seen = entries[entries.length - 1].isIntersecting; }).observe(canvas);
  if (slider && !matchMedia("(prefers-reduced-motion: reduce)").matches) play(true); else play(false);
  const tick = (now) => {
    const dt = Math.min(0.1, (now - last) / 1000);
    last = now;
    if (seen && state.playing) {
      change({ time: state.time + state.speed * dt });
      if (state.time > end + 0.6) state.time = start; // pause of 0.6 s before the motion repeats
    }
    if (seen && state.dirty) {
      state.dirty = false;
      draw();
      const shown = Math.min(state.time, end);
      if (slider) { slider.value = (shown - start) / (end - start); output.textContent = `${shown.toFixed(2)} / ${end.toFixed(2)} s`; }
      root.dataset.time = shown.toFixed(3);
    }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})(document.currentScript.parentElement).catch((error) => console.error("helicoid player:", error));
