#ifndef SLIMPACK_IO_DETAIL_TIMELINE_INPUT_HPP
#define SLIMPACK_IO_DETAIL_TIMELINE_INPUT_HPP

namespace slimpack::io::detail {

/// The page's script, last part: details of a pack, mouse, keyboard and the controls.
inline constexpr char timeline_input[] = R"js(
// ---- details of a pack
// Whose messages a kind waits for at a place: kinds with their places, parts of the model or, of a vocabulary, stages.
function sendersTo(plan, kind, place) {
  const {stages} = plan, parts = stages * plan.chunks, last = place === stages - 1;
  if (kind === 0) return place > 0 ? [[0, place - 1]] : plan.vocabulary ? [[E, stages - 1]] : [];
  if (kind === 1) return place + 1 < parts ? [[1, place + 1]] : [];
  if (kind === E) return place > 0 ? [[E, place - 1]] : [];
  if (kind === V) return last ? Array.from({length: stages - 1}, (_, r) => [V, r]) : [[0, parts - 1]];
  if (kind === U) return last ? [] : [[V, stages - 1]];
  return kind === 2 ? [] : [last ? [1, 0] : [G, place + 1]];
}
// One of the places that get its message.
function receiverOf(plan, kind, place) {
  const {stages} = plan, parts = stages * plan.chunks;
  if (kind === 0) return place + 1 < parts ? [0, place + 1] : plan.vocabulary ? [V, 0] : null;
  if (kind === 1) return place > 0 ? [1, place - 1] : plan.vocabulary ? [G, stages - 1] : null;
  if (kind === E) return place + 1 < stages ? [E, place + 1] : [0, 0];
  if (kind === V) return place + 1 < stages ? [V, stages - 1] : [U, 0];
  return kind === G && place > 0 ? [G, place - 1] : null;
}
function messageTime(plan, r, [kind, place], [to, at], pack) {
  const {passes, vocabulary} = plan.replicas[r];
  if (to === V) return kind === 0 ? cell(vocabulary.hidden, at, pack) : cell(vocabulary.partial, place, pack);
  if (to === U) return cell(vocabulary.statistics, at, pack);
  if (kind >= E) return cell(kind === E ? vocabulary.embedded : vocabulary.gradients, place, pack);
  return cell(passes[kind].message, place, pack);
}
const placeOf = (plan, lane, i) => chunkOf(lane.unit[i]) * plan.stages + lane.stage;
function waitedFor(plan, lane, i) {
  const kind = kindOf(lane.unit[i]), pack = lane.pack[i], place = placeOf(plan, lane, i);
  const free = i > 0 ? lane.end[i - 1] : 0, idle = lane.start[i] - free;
  const after = i > 0 ? packName(lane, i - 1) + ' on this stage' : 'the start';
  let last = null;  // of several messages the last to come
  for (const [from, at] of sendersTo(plan, kind, place)) {
    const sender = lanesOf(plan).find(l => l.r === lane.r && l.stage === at % plan.stages);
    const ran = lane.measured ? sender.twin : sender;
    const k = indexOf(ran, unitNumber(from, from < E ? Math.floor(at / plan.stages) : 0), pack);
    // A run tells when packs began and ended, not when messages arrived.
    const time = ran.end[k] + (lane.measured ? 0 : messageTime(plan, lane.r, [from, at], [kind, place], pack));
    if (!last || time > last.time) last = {time, input: packName(ran, k) + ' from stage ' + ran.stage};
  }
  if (!last) return [idle, after, null];
  return [idle, last.time > free + (lane.measured ? 0 : 2) ? last.input : after,
          last.input + (lane.measured ? ' ended at ' : ' arrived at ') + instantText(last.time)];
}
function comparison(lane, i) {
  const duration = l => l.end[i] - l.start[i], {twin} = lane;
  const [predicted, measured] = lane.measured ? [twin, lane] : [lane, twin], least = duration(predicted);
  return [[nameOf(twin.measured), timeText(duration(twin)) + ', from ' + instantText(twin.start[i])],
          ['ratio', least > 0 ? ratioText(duration(measured) / least) + ' measured / predicted' : '\u2013']];
}
function details(lane, i) {
  const plan = planShown(), kind = kindOf(lane.unit[i]), pass = passOf(lane.unit[i]), pack = lane.pack[i];
  const all = plan.replicas[lane.r].passes[pass];
  const slices = [];
  for (let k = all.first[pack]; k < all.first[pack + 1] && slices.length < 8; ++k) {
    const [sequence, begin, length] = all.slices.slice(3 * k, 3 * k + 3);
    const range = '[' + count(begin) + ', ' + count(begin + length) + ')';
    const whole = ' of ' + count(data.lengths[sequence]);
    const shared = plan.merges.find(m => m.sequence === sequence);
    const sharers = shared ? ', shared by replicas ' + shared.replicas.join(', ') : '';
    slices.push(element('span', 'sequence ' + sequence), element('span', range + whole + sharers));
  }
  const place = placeOf(plan, lane, i), to = receiverOf(plan, kind, place);
  const [idle, waited, input] = waitedFor(plan, lane, i);
  const lines = [
    ['start', instantText(lane.start[i])], ['end', instantText(lane.end[i])],
    ['duration', timeText(lane.end[i] - lane.start[i])],
    ...(lane.twin ? comparison(lane, i) : []),
    ['waited', idle > 2 ? timeText(idle) + ' for ' + waited : 'not at all, after ' + waited],
    ...(input ? [['input', input]] : []),
    ...(!to || lane.measured ? [] : [['output', 'on its way for ' + timeText(messageTime(plan, lane.r, [kind, place], to, pack))]]),
    ...(lane.memory ? [['memory', memoryText(plan, lane.memory[i])]] : []),
    ['tokens', count(all.tokens[pack]) + ' in ' + several(all.counts[pack], 'slice')],
  ];
  const more = all.counts[pack] - slices.length / 2;
  if (more > 0) slices.push(element('span'), element('span', 'and ' + count(more) + ' more'));
  const does = ['forward', 'backward', 'weight gradients of backward', 'embedding of forward', 'output layer of forward',
                'weight gradients of the output layer of forward', 'gradients of the embedding of backward'];
  const title = [packName(lane, i), does[kind] + ' pack ' + pack,
                 'stage ' + lane.stage + (plan.replicas.length > 1 ? ' of replica ' + lane.r : ''),
                 ...(lane.twin ? [nameOf(lane.measured)] : [])];
  const words = lines.flatMap(([name, text]) => [element('span', name), element('span', text)]);
  return [element('b', title.join(' \u00b7 ')), element('div', [...words, ...slices])];
}
function select(found) {
  const same = found && hover ? found.lane === hover.lane && found.i === hover.i : found === hover;
  if (same) return;
  hover = found;
  journey = [];  // the pack on every stage
  if (found)
    for (const lane of lanesIn(views[show.tab]).filter(l => l.r === found.lane.r)) {
      const i = indexOf(lane, found.lane.unit[found.i], found.lane.pack[found.i]);
      if (i >= 0) journey.push({lane, i});
    }
  if (found) $('tip').replaceChildren(...details(found.lane, found.i));
  redraw();
}
// Under or over the pack, inside the chart; hidden while the pack is out of view.
function placeTip() {
  const row = hover && rows.find(x => x.lane === hover.lane), tip = $('tip'), scroller = $('scroller');
  const from = scroller.scrollTop;
  tip.hidden = !row || hover.lane.end[hover.i] <= show.t0 || hover.lane.start[hover.i] >= show.t1 ||
      row.y + row.h <= from || row.y >= from + scroller.clientHeight;
  if (tip.hidden) return;
  const chart = $('chart'), y = scroller.offsetTop + row.y - from;
  const x = xOf(Math.max(show.t0, hover.lane.start[hover.i]));
  const under = y + row.h + 10, over = y - tip.offsetHeight - 10;
  const fits = chart.getBoundingClientRect().top + under + tip.offsetHeight <= window.innerHeight;
  tip.style.left = Math.max(8, Math.min(x, chart.clientWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = (fits || over < -90 ? under : over) + 'px';
}
function packAt(event) {
  const x = event.offsetX, y = event.offsetY + $('scroller').scrollTop;
  const row = rows.find(r => y >= r.y && y < r.y + r.h);
  if (!row || x < left || x > left + plotWidth()) return null;
  const i = firstAfter(row.lane, timeAt(x));
  return i < row.lane.n && row.lane.start[i] <= timeAt(x + .5) ? {lane: row.lane, i} : null;
}

// ---- input
function choose(change) {
  const whole = show.t0 === 0 && show.t1 === fullEnd();
  Object.assign(show, change);
  if ('tab' in change) show.pick = null;
  show.replica = Math.min(show.replica, planShown().replicas.length - 1);
  if (whole) wholeStep(); else setRange(show.t0, show.t1);
  refresh();
}
function refresh() {
  const shown = views[show.tab];
  showTabs();
  showFigures(shown);
  showControls(shown);
  showCards(shown);
  select(show.pick);
  writeAddress();
  redraw();
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
  drag = {x: event.clientX, y: event.clientY, t0: show.t0, t1: show.t1, scroll: $('scroller').scrollTop, far: false};
  lanesCanvas.setPointerCapture(event.pointerId);
});
lanesCanvas.addEventListener('pointermove', event => {
  if (!drag) {
    if (!show.pick) select(packAt(event));
    return;
  }
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  drag.far = drag.far || Math.abs(dx) + Math.abs(dy) > 4;
  if (!drag.far) return;
  const shift = dx / plotWidth() * (drag.t1 - drag.t0);
  $('scroller').scrollTop = drag.scroll - dy;
  move(drag.t0 - shift, drag.t1 - shift);
});
lanesCanvas.addEventListener('pointerup', event => {
  if (drag && !drag.far) {
    show.pick = packAt(event);
    select(show.pick);
    writeAddress();
  }
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
for (const name of ['critical', 'memory', 'same']) $(name).onchange = event => choose({[name]: event.target.checked});
window.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
  const span = show.t1 - show.t0, number = Number(event.key);
  if (event.key === '0' || event.key === 'Home') move(0, fullEnd());
  else if (number >= 1 && number <= views.length) choose({tab: number - 1});
  else if (event.key === '+' || event.key === '=') zoom(.5);
  else if (event.key === '-') zoom(2);
  else if (event.key === 'ArrowLeft') move(show.t0 - .2 * span, show.t1 - .2 * span);
  else if (event.key === 'ArrowRight') move(show.t0 + .2 * span, show.t1 + .2 * span);
  else if (event.key === 'c' || event.key === 'C') choose({critical: !show.critical});
  else if (event.key === 'm' || event.key === 'M') choose({memory: !show.memory});
  else if (event.key === 'Escape') choose({pick: null});
  else return;
  event.preventDefault();
});
window.addEventListener('hashchange', () => { readAddress(); refresh(); });
window.addEventListener('resize', redraw);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); redraw(); });
readColours();
readAddress();
refresh();
)js";

}  // namespace slimpack::io::detail

#endif
