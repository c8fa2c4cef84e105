// Chart cursors follow the player's time; clicking or dragging in a chart seeks the player.
(() => {
  const slider = document.querySelector(".helicoid-player .bar input");
  if (!slider) return;
  const charts = [...document.querySelectorAll(".chart > svg")].map((svg) => ({
    svg, cursor: svg.querySelector(".cursor"), left: +svg.dataset.left, right: +svg.dataset.right, width: svg.viewBox.baseVal.width,
  }));
  const follow = () => {
    for (const { cursor, left, right, width } of charts) {
      const x = (left + (right - left) * slider.value) * width;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
    requestAnimationFrame(follow);
  };
  for (const { svg, left, right } of charts) {
    const seek = (event) => {
      if (event.type === "pointermove" && !event.buttons) return;
      const box = svg.getBoundingClientRect();
      const part = ((event.clientX - box.left) / box.width - left) / (right - left);
      slider.value = Math.min(1, Math.max(0, part));
      slider.dispatchEvent(new Event("input"));
    };
    svg.addEventListener("pointerdown", seek);
    svg.addEventListener("pointermove", seek);
  }
  follow();
})();
