// ---- input
// What is under the mouse: a pack, idle time before one, or memory.
function thingAt(event) {
  const x = event.offsetX, y = event.offsetY + $('scroller').scrollTop, t = timeAt(x);
  const row = rows.find(r => y >= r.y && y < (r.strip ? r.memory + r.strip : r.y + r.h));
  if (!row || x < left || x > left + plotWidth() || t < 0 || t >= row.lane.step || row.lane.n === 0) return null;
  const {lane} = row, i = firstAfter(lane, t);
  if (y >= row.y + row.h) return lane.memory ? {lane, i, what: 'memory', t} : null;
  if (i === lane.n || lane.start[i] > timeAt(x + .5)) return {lane, i, what: 'idle', t};
  return {lane, i, what: 'pack', t, sequence: forestOf(lane.plan).exists ? sequenceAt(lane, i, t) : -1};
}
function select(found) {
  const same = found && hover ? found.lane === hover.lane && found.i === hover.i && found.what === hover.what && found.what !== 'memory' &&
      found.sequence === hover.sequence : found === hover;
  if (same) return;
  hover = found;
  journey = [];  // the pack on every stage
  if (found && found.what === 'pack')
    for (const lane of shownLanes().filter(l => l.plan === found.lane.plan && l.r === found.lane.r)) {
      const i = indexOf(lane, found.lane.unit[found.i], found.lane.pack[found.i]);
      if (i >= 0) journey.push({lane, i});
    }
  $('tip').hidden = !found;
  if (found) showDetails(found);
  redraw();
}
function choose(change) {
  const whole = show.t0 === 0 && show.t1 === fullEnd();
  Object.assign(show, change);
  if ('tab' in change || 'below' in change) show.pick = null;
  if (!canBeBelow(show.below)) show.below = -1;
  show.replica = Math.min(show.replica, planShown().replicas.length - 1);
  if (whole) wholeStep(); else setRange(show.t0, show.t1);
  refresh();
}
function refresh() {
  const shown = views[show.tab];
  showVerdict();
  showTabs();
  showFigures(shown);
  showControls(shown);
  showCards(shown);
  follow(show.sequence);
  showRange();
  select(show.pick);
  writeAddress();
  fitLanes();
}
// Lanes get the height that the window leaves. The controls say what of them that height leaves out.
function fitLanes() {
  measureRoom();
  const {low, memory} = heightsOf(shownLanes());
  $('memory').checked = memory;
  for (const e of document.querySelectorAll('.bar .strips')) e.hidden = !memory;
  document.querySelector('.bar .tall').hidden = !low;
  redraw();
}
// Memory is shown where lanes are high enough for it. Who asks for it gets such lanes.
function chooseMemory(yes) {
  choose({memory: yes});
  if (yes && !heightsOf(shownLanes()).memory) choose({tall: true});
}
let writing = 0;
function move(t0, t1) {
  setRange(t0, t1);
  redraw();
  clearTimeout(writing);
  writing = setTimeout(writeAddress, 200);
}
function zoom(factor, at) {
  const t = at === undefined ? (show.t0 + show.t1) / 2 : at;
  move(t - (t - show.t0) * factor, t + (show.t1 - t) * factor);
}
const lanesCanvas = $('lanes'), overview = $('overview');
lanesCanvas.addEventListener('wheel', event => {
  if (event.shiftKey) return;
  event.preventDefault();
  const span = show.t1 - show.t0;
  const sideways = event.deltaX / plotWidth() * span;
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(show.t0 + sideways, show.t1 + sideways);
  else zoom(Math.exp(.0015 * event.deltaY), timeAt(event.offsetX));
}, {passive: false});
let drag = null;
lanesCanvas.addEventListener('pointerdown', event => {
  drag = {x: event.clientX, y: event.clientY, t0: show.t0, t1: show.t1, scroll: $('scroller').scrollTop, far: false,
          from: event.shiftKey ? timeAt(event.offsetX) : null};
  lanesCanvas.setPointerCapture(event.pointerId);
});
lanesCanvas.addEventListener('pointermove', event => {
  if (!drag) {
    if (!show.pick) select(thingAt(event));
    return;
  }
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  drag.far = drag.far || Math.abs(dx) + Math.abs(dy) > 4;
  if (!drag.far) return;
  if (drag.from !== null) {
    const to = Math.min(fullEnd(), Math.max(0, timeAt(event.offsetX)));
    show.range = [Math.min(drag.from, to), Math.max(drag.from, to)];
    showRange();
    redraw();
    return;
  }
  const shift = dx / plotWidth() * (drag.t1 - drag.t0);
  $('scroller').scrollTop = drag.scroll - dy;
  move(drag.t0 - shift, drag.t1 - shift);
});
lanesCanvas.addEventListener('pointerup', event => {
  if (drag && !drag.far) {
    const found = thingAt(event);
    show.pick = found && found.what === 'pack' ? found : null;
    select(show.pick);
  }
  if (drag) writeAddress();
  drag = null;
});
lanesCanvas.addEventListener('pointerleave', () => { if (!show.pick) select(null); });
function centre(event) {
  const t = (event.offsetX - left) / plotWidth() * fullEnd(), half = (show.t1 - show.t0) / 2;
  move(t - half, t + half);
}
overview.addEventListener('pointerdown', event => { overview.setPointerCapture(event.pointerId); centre(event); });
overview.addEventListener('pointermove', event => { if (event.buttons) centre(event); });
$('scroller').addEventListener('scroll', redraw);
$('fit').onclick = () => move(0, fullEnd());
$('in').onclick = () => zoom(.5);
$('out').onclick = () => zoom(2);
$('replica').onchange = event => choose({replica: Number(event.target.value)});
$('below').onchange = event => choose({below: Number(event.target.value)});
$('sequence').oninput = event => {
  follow(event.target.value === '' ? -1 : Number(event.target.value));
  writeAddress();
  redraw();
};
$('sequence').onkeydown = event => { if (event.key === 'Enter') step(event.shiftKey ? -1 : 1); };
for (const name of ['critical', 'same', 'tall']) $(name).onchange = event => choose({[name]: event.target.checked});
$('memory').onchange = event => chooseMemory(event.target.checked);
window.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
  if (event.target.tagName === 'INPUT' && event.target.type !== 'checkbox') {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const span = show.t1 - show.t0, number = Number(event.key);
  if (event.key === '0' || event.key === 'Home') move(0, fullEnd());
  else if (number >= 1 && number <= views.length) choose({tab: number - 1});
  else if (event.key === '+' || event.key === '=' || event.key === 'w') zoom(.5);
  else if (event.key === '-' || event.key === 's') zoom(2);
  else if (show.pick && event.key.startsWith('Arrow')) pickBeside(event.key);
  else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') $('scroller').scrollTop += event.key === 'ArrowUp' ? -60 : 60;
  else if (event.key === '/') $('sequence').focus();
  else if (event.key === 'n' || event.key === 'N') step(event.key === 'n' ? 1 : -1);
  else if (event.key === 'a') move(show.t0 - .2 * span, show.t1 - .2 * span);
  else if (event.key === 'd') move(show.t0 + .2 * span, show.t1 + .2 * span);
  else if (event.key === 'ArrowLeft') move(show.t0 - .2 * span, show.t1 - .2 * span);
  else if (event.key === 'ArrowRight') move(show.t0 + .2 * span, show.t1 + .2 * span);
  else if (event.key === 'c' || event.key === 'C') choose({critical: !show.critical});
  else if (event.key === 'm' || event.key === 'M') chooseMemory(!$('memory').checked);
  else if (event.key === 'l' || event.key === 'L') choose({tall: !show.tall});
  else if (event.key === 'Escape') choose({pick: null, range: null});
  else return;
  event.preventDefault();
});
window.addEventListener('hashchange', () => { readAddress(); refresh(); });
window.addEventListener('resize', fitLanes);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); redraw(); });
readColours();
readAddress();
refresh();
