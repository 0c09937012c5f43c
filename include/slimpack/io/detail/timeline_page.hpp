// Written by cmake/timeline/write_header.py from the files beside it: change those, and run it.
#ifndef SLIMPACK_IO_DETAIL_TIMELINE_PAGE_HPP
#define SLIMPACK_IO_DETAIL_TIMELINE_PAGE_HPP

#include <string_view>

namespace slimpack::io::detail {

/// What the page shows before its data: style and elements.
inline constexpr std::string_view timeline_page[] = {
    R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>slimpack timeline</title>
<style>
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --line: #dfe3e8; --text: #1b2027; --muted: #5f6975; --accent: #2468a8;
  --lane: #e9ecf0; --grid: rgba(20, 30, 45, .10);
  --forward: #5aa5dc; --forward2: #2f7fbe; --backward: #f2ae49; --backward2: #d98a1c;
  --weights: #83c37f; --weights2: #4f9a4b;
  --output: #cc79a7; --output2: #a9558a; --embedding: #ebc3d9; --embedding2: #dca6c6;
  --ink: #10161d; --halo: #ffffff; --reduce: #98a2ad;
  --memory: #7b62b3; --memory-fill: rgba(123, 98, 179, .26); --limit: #b01e5f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151a; --card: #1a1e25; --line: #2e343e; --text: #e6e9ee; --muted: #98a2b0; --accent: #6fb3ee;
    --lane: #262c35; --grid: rgba(230, 238, 250, .10);
    --forward: #56a3dd; --forward2: #2d77b3; --backward: #efa843; --backward2: #bf771a;
    --weights: #7dbb79; --weights2: #47853f;
    --output: #d084b0; --output2: #9f5183; --embedding: #e9c0d8; --embedding2: #d3a0bf;
    --ink: #ffffff; --halo: #0b0e12; --reduce: #707a86;
    --memory: #b49ae6; --memory-fill: rgba(180, 154, 230, .28); --limit: #ff6aa9;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; padding: 18px 22px 26px; background: var(--page); color: var(--text);
       font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 20px; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 13px; margin: 0 0 8px; }
.muted, header p { color: var(--muted); }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 14px; margin-bottom: 12px; }
header p { margin: 0; overflow-wrap: anywhere; }
code { font: 12px ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
#verdict { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 26px; padding: 8px 14px; margin-bottom: 10px; }
#verdict p { margin: 0; overflow-wrap: anywhere; }
#verdict strong { font-size: 19px; font-weight: 650; color: var(--accent); font-variant-numeric: tabular-nums; }
nav { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 12px; }
button, select { font: inherit; font-size: 13px; color: var(--text); background: var(--card);
                 border: 1px solid var(--line); border-radius: 6px; padding: 3px 9px; cursor: pointer; }
select { max-width: 100%; }
button:hover, select:hover { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
nav button { padding: 6px 14px; }
nav button[aria-selected=true] { border-color: var(--accent); box-shadow: inset 0 -2px 0 var(--accent); }
nav span { color: var(--muted); margin-left: 8px; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(158px, 1fr)); gap: 10px; margin: 0 0 12px; }
dl > div, section, article { background: var(--card); border: 1px solid var(--line); border-radius: 9px; }
dl > div { padding: 9px 13px 10px; }
dt { color: var(--muted); font-size: 12px; }
dd { margin: 0; font-size: 19px; font-weight: 620; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
dd + dd { font-size: 12px; font-weight: 400; color: var(--muted); letter-spacing: 0; }
dd small { font-size: 13px; font-weight: 500; }
.over dd { color: var(--limit); }
#chart { padding: 10px 14px 12px; position: relative; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 16px; margin-bottom: 8px; font-size: 13px; }
.bar label { display: inline-flex; align-items: center; gap: 5px; cursor: pointer; }
.bar .space { flex: 1; }
.bar .group { display: inline-flex; gap: 4px; }
.key { display: inline-flex; align-items: center; gap: 6px; color: var(--muted); }
.key i { width: 22px; height: 12px; border-radius: 2px; }
.key .forward { background: linear-gradient(90deg, var(--forward) 50%, var(--forward2) 50%); }
.key .backward { background: linear-gradient(90deg, var(--backward) 50%, var(--backward2) 50%); }
.key .weights { background: linear-gradient(90deg, var(--weights) 50%, var(--weights2) 50%); }
.key .output { background: linear-gradient(90deg, var(--output) 50%, var(--output2) 50%); }
.key .embedding { background: linear-gradient(90deg, var(--embedding) 50%, var(--embedding2) 50%); }
.key .idle { background: var(--lane); border: 1px solid var(--line); }
.key .path { background: var(--ink); height: 3px; }
.key .held { background: var(--memory-fill); border-top: 2px solid var(--memory); }
.key .dashes { height: 2px; background: repeating-linear-gradient(90deg, var(--limit) 0 5px, transparent 5px 9px); }
.key .sum { background: var(--reduce); }
.key .hues { background: linear-gradient(90deg, hsl(0, 75%, 53%), hsl(60, 75%, 53%), hsl(120, 75%, 53%), hsl(240, 75%, 53%)); height: 5px; }
.key .hatched { background: repeating-linear-gradient(135deg, var(--ink) 0 1.5px, hsl(120, 75%, 53%) 1.5px 5px); height: 7px; }
.key .shades { background: repeating-linear-gradient(90deg, var(--forward) 0 6px, var(--forward2) 6px 11px); }
canvas { display: block; width: 100%; touch-action: pan-y; }
#overview { height: 72px; cursor: ew-resize; }
#scroller { overflow-y: auto; position: relative; }
#lanes { position: sticky; top: 0; cursor: grab; }
#lanes:active { cursor: grabbing; }
#cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(390px, 100%), 1fr)); gap: 10px; margin-top: 12px;
         background: none; border: 0; }
article { padding: 11px 14px 12px; overflow-x: auto; }
#compared, #batches { grid-column: 1 / -1; }
#compared th:last-child, #compared td:last-child { text-align: left; padding-left: 26px; }
#compared td:last-child { white-space: normal; min-width: 190px; }
#batches p { margin: 0 0 6px; display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 13px; }
#batches text { font-size: 12px; fill: var(--muted); font-variant-numeric: tabular-nums; }
#batches .grid { stroke: var(--line); }
#batches .steps { fill: none; stroke-width: 1.5; }
.s0 { stroke: var(--forward2); fill: var(--forward2); background: var(--forward2); }
.s1 { stroke: var(--backward2); fill: var(--backward2); background: var(--backward2); }
.s2 { stroke: var(--weights2); fill: var(--weights2); background: var(--weights2); }
.s3 { stroke: var(--output2); fill: var(--output2); background: var(--output2); }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th { text-align: right; color: var(--muted); font-weight: 400; }
td { text-align: right; padding: 3px 0 3px 12px; border-top: 1px solid var(--line); white-space: nowrap; }
th { padding: 0 0 3px 12px; }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal; min-width: 84px; }
tr.main td { font-weight: 620; }
td.over { color: var(--limit); }
.share { display: flex; height: 14px; border-radius: 4px; overflow: hidden; margin-bottom: 8px; gap: 1px; }
td i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 7px; }
kbd { font: 12px ui-monospace, Menlo, Consolas, monospace; border: 1px solid var(--line); border-radius: 4px;
      padding: 0 5px; background: var(--page); }
#keys p { margin: 0 0 5px; font-size: 13px; }
#dock { border-top: 1px solid var(--line); margin-top: 8px; padding-top: 8px; height: 124px; overflow-y: auto;
        font-size: 12.5px; font-variant-numeric: tabular-nums; }
#hint { margin: 0; }
#dock:has(#tip:not([hidden])) #hint { display: none; }
#tip b { display: block; font-size: 13.5px; }
#tip div { columns: 350px; column-gap: 26px; margin-top: 4px; }
#tip p { display: grid; grid-template-columns: 92px 1fr; gap: 0 10px; margin: 0; break-inside: avoid; }
#tip p span:first-child { color: var(--muted); overflow-wrap: anywhere; }
input[type=search] { font: inherit; font-size: 13px; width: 84px; color: var(--text); background: var(--card);
                     border: 1px solid var(--line); border-radius: 6px; padding: 3px 7px; }
#range button { margin-top: 8px; }
@media (max-width: 600px) {
  body { padding: 12px 10px 18px; }
  #chart { padding: 10px 8px; }
  dl { grid-template-columns: repeat(2, 1fr); }
  .bar .space { display: none; }
}
@media print {
  body { padding: 0; background: none; }
  .bar .group, .bar label, #keys { display: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
</style>
</head>
<body>
<header><h1>slimpack</h1><p id="subtitle"></p></header>
<section id="verdict" aria-label="How much faster"></section>
<nav id="tabs" role="tablist" aria-label="Plans of this batch"></nav>
<dl id="figures"></dl>
<section id="chart">
  <div class="bar">
    <span class="key"><i class="forward"></i>forward</span>
    <span class="key"><i class="backward"></i>backward</span>
    <span class="key weights"><i class="weights"></i>weight gradients</span>
    <span class="key vocabulary"><i class="output"></i>output layer (V, U)</span>
    <span class="key vocabulary"><i class="embedding"></i>embedding (E, G)</span>
    <span class="key"><i class="idle"></i>idle</span>
    <span class="key critical"><i class="path"></i>critical path</span>
    <span class="key memory strips"><i class="held"></i><span id="held"></span></span>
    <span class="key limit strips"><i class="dashes"></i><span id="limit"></span></span>
    <span class="key reduce"><i class="sum"></i>weights and gradients between replicas</span>
    <span class="key forest"><i class="hues"></i>sequences of a pack, with hues near their parents&rsquo;; point at one to mark its path</span>
    <span class="key copies"><i class="hatched"></i>hatched: a copy of a path, which its replica computes again</span>
    <span class="key" id="shades"><i class="shades"></i>light and dark alternate from pack to pack; packs too thin to draw are dark</span>
    <span class="space"></span>
    <label>sequence <input type="search" id="sequence" inputmode="numeric" size="6" aria-label="Sequence to follow"
           title="Follow a sequence (/), Enter and n: its next pack"></label>
    <span class="muted" id="found" role="status"></span>
    <select id="replica" aria-label="Replicas shown"></select>
    <select id="below" aria-label="Plan shown below"></select>
    <label class="planned"><input type="checkbox" id="critical"> critical path</label>
    <label class="memory"><input type="checkbox" id="memory"> memory</label>
    <label class="several" title="So that lengths of steps compare; otherwise each plan fills the width"><input type="checkbox" id="same"> one time axis
      for all plans</label>
    <label class="tall" title="Higher lanes, with names and memory; they scroll (L)"><input type="checkbox" id="tall"> enlarge lanes</label>
    <span class="group">
      <button id="out" title="Zoom out (-)">&minus;</button>
      <button id="in" title="Zoom in (+)">+</button>
      <button id="fit" title="Show the whole step (0)">whole step</button>
    </span>
  </div>
  <canvas id="overview" role="img"></canvas>
  <div id="scroller"><canvas id="lanes" role="img"></canvas><div id="spacer"></div></div>
  <div id="dock"><p class="muted" id="hint">Point at a pack, at idle time or at memory. Shift and drag: totals of a range.</p>
    <div id="tip" role="status" hidden></div></div>
</section>
<section id="cards">
  <article id="range" hidden></article>
  <article id="batches" hidden></article>
  <article id="compared"></article>
  <article id="measured"></article>
  <article id="spent"></article>
  <article id="path"></article>
  <article id="bounds"></article>
  <article id="keys"><h2>Finding your way</h2>
    <p>Wheel, <kbd>+</kbd> <kbd>&minus;</kbd> or <kbd>W</kbd> <kbd>S</kbd> zooms, drag, <kbd>&larr;</kbd> <kbd>&rarr;</kbd> or
       <kbd>A</kbd> <kbd>D</kbd> moves, <kbd>0</kbd> shows the whole step.</p>
    <p><kbd>C</kbd> critical path, <kbd>M</kbd> memory, <kbd>L</kbd> higher lanes, <kbd>1</kbd> to <kbd>9</kbd> tabs,
       <kbd>Shift</kbd> + wheel, <kbd>&uarr;</kbd> <kbd>&darr;</kbd> scroll the lanes.</p>
    <p>Click a pack to keep its details. Then <kbd>&larr;</kbd> <kbd>&rarr;</kbd> go to what its stage runs before and after,
       <kbd>&uarr;</kbd> <kbd>&darr;</kbd> to where its message comes from and goes; <kbd>Esc</kbd> lets go.</p>
    <p><kbd>/</kbd> asks for a sequence to follow, <kbd>N</kbd> goes to its next pack. <kbd>Shift</kbd> + drag counts a range of
       time. The address holds the view: copy it to share.</p>
    <p class="muted">The light and the dark shade of a colour tell a pack from its neighbour and mean nothing else. Packs thinner
      than a pixel share it, in the dark shade: forward from the top, a spread vocabulary under it, backward from below, weight
      gradients over it, idle between.</p>
  </article>
</section>
<noscript>This page draws with JavaScript; it loads nothing from anywhere.</noscript>
)page"};

/// What draws the data.
inline constexpr std::string_view timeline_script[] = {
    R"page('use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const plans = data.plans;
const $ = id => document.getElementById(id);

// ---- figures as text
const digits = (x, n) => x.toLocaleString('en', {minimumFractionDigits: n, maximumFractionDigits: n});
const count = x => Math.round(x).toLocaleString('en');
const percent = x => digits(100 * x, 100 * x < 10 ? 2 : 1) + ' %';
const unitOf = ns => ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, '\u00b5s'] : [1, 'ns'];
function timeText(ns) {
  const [size, unit] = unitOf(ns), x = ns / size;
  return digits(x, size === 1 ? 0 : x >= 100 ? 1 : x >= 10 ? 2 : 3) + ' ' + unit;
}
// An instant, to the microsecond or finer: neighbouring packs must not look alike.
function instantText(ns) {
  if (ns >= 1e9) return digits(ns / 1e9, 6) + ' s';
  return ns >= 1e6 ? digits(ns / 1e6, 4) + ' ms' : digits(ns / 1e3, 3) + ' \u00b5s';
}
function memoryText(plan, held) {
  if (!plan.bytes) return count(held) + ' tokens';
  return held >= 2 ** 30 ? digits(held / 2 ** 30, 2) + ' GiB' : digits(held / 2 ** 20, 1) + ' MiB';
}
const ratioText = x => digits(x, 3) + ' \u00d7';
// What an instruction runs: forward 0, backward 1 or weight gradients 2, of a chunk; or of a spread vocabulary the embedding 3,
// the output layer 4, its weight gradients 5, or the gradients of the embedding 6.
const letters = 'FBWEVUG', E = 3, V = 4, U = 5, G = 6;
const unitNumber = (kind, chunk) => 8 * chunk + kind, kindOf = unit => unit & 7, chunkOf = unit => unit >> 3;
const passOf = unit => [1, 2, G].includes(kindOf(unit)) ? 1 : 0;
const callNames = ['embed', 'output', 'output_weights', 'embed_gradients'];  // from kind 3 on
const several = (n, word) => count(n) + ' ' + word + (n === 1 ? '' : 's');
const packName = (lane, i) =>
    letters[kindOf(lane.unit[i])] + lane.pack[i] + (lane.plan.chunks > 1 && kindOf(lane.unit[i]) < E ? '.' + chunkOf(lane.unit[i]) : '');

// ---- names of plans: as the caller says, otherwise the planner's, with its settings where plans share that name
const aboutOf = plan => data.facts.plans[plans.indexOf(plan)] || {};
const settingsOf = plan => aboutOf(plan).settings ||
    [['dp', plan.replicas.length], ['pp', plan.stages], ['tp', plan.tensor], ['cp', plan.context], ['ep', plan.expert], ['vpp', plan.chunks]]
        .filter(([name, n]) => n > 1 || ['dp', 'pp', 'tp'].includes(name)).map(words => words.join(' ')).join(' \u00d7 ') +
    (plan.recompute ? ', recompute ' + plan.recompute : '');
const labelOf = plan => aboutOf(plan).label || plan.planner +
    (plans.filter(p => p.planner === plan.planner).length > 1 ? ' (' + settingsOf(plan) + ')' : '');

// ---- views: each plan, and where its step was measured the run and both, lane under lane
const views = plans.flatMap(plan => (plan.measured ? ['predicted', 'measured', 'both'] : ['predicted'])
    .map(kind => ({plan, kind})));
const planShown = () => views[show.tab].plan, kindShown = () => views[show.tab].kind;
const stepOf = ({plan, kind}) => Math.max(kind === 'measured' ? 0 : plan.step,
                                          kind === 'predicted' ? 0 : plan.measured.step);
const viewName = ({plan, kind}) => labelOf(plan) + (plan.measured ? ', ' + kind : '');

// ---- data
function cell(table, part, pack) {
  const column = table.columns[table.of[part]];
  return column.length === 1 ? column[0] : column[pack];
}
function lanesOf(plan) {
  if (plan.lanes) return plan.lanes;
  for (const replica of plan.replicas) for (const pass of replica.passes) unpackPass(pass);
  plan.lanes = plan.replicas.flatMap((replica, r) =>
      replica.stages.map((s, stage) => unpackLane(plan, replica, r, s, stage)));
  if (plan.measured) plan.lanes.forEach((lane, rank) => unpackMeasured(plan, lane, rank));
  return plan.lanes;
}
function unpackPass(pass) {
  pass.first = [0];
  pass.tokens = pass.counts.map(n => {
    let sum = 0, at = pass.first[pass.first.length - 1];
    for (let k = 0; k < n; ++k, ++at) sum += pass.slices[3 * at + 2];
    pass.first.push(at);
    return sum;
  });
}
function unpackLane(plan, replica, r, s, stage) {
  const n = s.code.length, next = new Uint32Array(8 * plan.chunks);
  const lane = {plan, view: {plan, kind: 'predicted'}, r, stage, n, busy: 0, start: new Float64Array(n), end: new Float64Array(n), pack: new Uint32Array(n),
                unit: new Uint32Array(n), memory: s.memory && new Float64Array(n), measured: false, twin: null,
                step: plan.step, reduce: [plan.step - plan.reduce, plan.step], peak: replica.peak[stage],
                stream: plan.streams ? plan.streams[stage] : []};
  const scale = plan.bytes ? 2 ** 20 : 1;
  let t = 0, held = 0, gap = 0, due = s.gaps.length ? s.gaps[0] : -1;
  for (let i = 0; i < n; ++i) {
    if (i === due) {
      t += s.gaps[gap + 1];
      gap += 2;
      due = gap < s.gaps.length ? i + s.gaps[gap] : -1;
    }
    const kind = letters.indexOf(s.code[i]), chunk = s.chunks ? s.chunks[i] : 0, unit = unitNumber(kind, chunk);
    const pack = kind === 2 ? replica.weights.packs[next[unit]++] : next[unit]++;
    const times = kind >= E ? replica.vocabulary[callNames[kind - E]] : kind === 2 ? replica.weights.time : replica.passes[kind].time;
    const time = cell(times, chunk * plan.stages + stage, pack);
    lane.start[i] = t;
    lane.end[i] = t += time;
    lane.busy += time;
    lane.pack[i] = pack;
    lane.unit[i] = unit;
    if (lane.memory) lane.memory[i] = scale * (held += s.memory[i]);
  }
  return lane;
}
// The same program as it ran. What it holds follows from its order, not from its times.
function unpackMeasured(plan, lane, rank) {
  const {run, reduce, peak} = plan.measured.ranks[rank], n = lane.n;
  const twin = {...lane, view: {plan, kind: 'measured'}, busy: 0, start: new Float64Array(n), end: new Float64Array(n), measured: true, twin: lane,
                step: plan.measured.step, reduce, stream: []};
  for (let i = 0, t = 0; i < n; ++i) {
    twin.start[i] = t += run[2 * i];
    twin.end[i] = t += run[2 * i + 1];
    twin.busy += run[2 * i + 1];
  }
  if (!plan.bytes) twin.peak = peak;
  lane.twin = twin;
}
const ofReplica = lane => show.replica < 0 || lane.r === show.replica;
const lanesIn = ({plan, kind}) => kind === 'predicted' ? lanesOf(plan) :
    lanesOf(plan).flatMap(lane => kind === 'both' ? [lane, lane.twin] : [lane.twin]);
// The lanes of the tab, and those of the view that is shown below it.
const shownLanes = () => [show.tab, ...(show.below >= 0 ? [show.below] : [])].flatMap(k => lanesIn(views[k]).filter(ofReplica));
// Another view than the tab's, each with one lane a stage.
const canBeBelow = k => k >= 0 && k < views.length && k !== show.tab && views[k].kind !== 'both' && kindShown() !== 'both';
const indexOf = (lane, unit, pack) => lane.pack.findIndex((p, i) => p === pack && lane.unit[i] === unit);
// First instruction that ends after t.
function firstAfter(lane, t) {
  let low = 0, high = lane.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] > t) high = middle; else low = middle + 1;
  }
  return low;
}
// The replica whose critical path is shown: the one chosen, else the slowest, which sets the step time.
function pathReplica(plan = planShown()) {
  if (show.replica >= 0) return Math.min(show.replica, plan.replicas.length - 1);
  const makespans = plan.replicas.map(r => r.makespan);
  return makespans.indexOf(Math.max(...makespans));
}

// ---- what is shown, and its address
const show = {tab: 0, replica: -1, critical: false, memory: true, same: true, tall: false, t0: 0, t1: 0, pick: null,
              below: -1, sequence: -1, range: null};
const fullEnd = () => Math.max(1, show.same ? Math.max(...views.map(stepOf)) : stepOf(views[show.tab]),
                              show.below >= 0 ? stepOf(views[show.below]) : 0);
const wholeStep = () => { show.t0 = 0; show.t1 = fullEnd(); };
function readAddress() {
  const at = new URLSearchParams(location.hash.slice(1));
  const number = (name, otherwise) => at.has(name) && isFinite(at.get(name)) ? Number(at.get(name)) : otherwise;
  show.tab = Math.min(views.length - 1, Math.max(0, Math.floor(number('tab', 0))));
  show.replica = Math.min(planShown().replicas.length - 1, Math.max(-1, Math.floor(number('replica', -1))));
  show.critical = number('critical', 0) > 0;
  show.memory = number('memory', 1) > 0;
  show.same = number('same', 1) > 0;
  show.tall = number('tall', 0) > 0;
  show.below = Math.floor(number('below', -1));
  if (!canBeBelow(show.below)) show.below = -1;
  show.sequence = number('sequence', -1);
  $('sequence').value = at.has('sequence') ? at.get('sequence') : '';
  const range = (at.get('range') || '').split(',').map(t => 1e9 * Number(t));
  show.range = range.length === 2 && range[0] < range[1] ? range : null;
  wholeStep();
  setRange(1e9 * number('t0', 0), 1e9 * number('t1', show.t1 / 1e9));
  show.pick = null;
  const pick = /^([FBWEVUG])(\d+)(?:\.(\d+))?@(\d+)\.(\d+)(m?)(b?)$/.exec(at.get('pick') || '');
  if (!pick) return;
  if (pick[7] && show.below < 0) return;
  const lane = lanesIn(views[pick[7] ? show.below : show.tab]).find(l =>
      l.r === Number(pick[4]) && l.stage === Number(pick[5]) && l.measured === (pick[6] === 'm'));
  const i = lane ? indexOf(lane, unitNumber(letters.indexOf(pick[1]), Number(pick[3] || 0)), Number(pick[2])) : -1;
  if (i >= 0) show.pick = {lane, i, what: 'pack'};
}
function writeAddress() {
  const at = [];
  if (show.tab > 0) at.push('tab=' + show.tab);
  if (show.t0 > 0 || show.t1 < fullEnd()) at.push('t0=' + show.t0 / 1e9, 't1=' + show.t1 / 1e9);
  if (show.replica >= 0) at.push('replica=' + show.replica);
  if (show.critical) at.push('critical=1');
  if (!show.memory) at.push('memory=0');
  if (!show.same) at.push('same=0');
  if (show.tall) at.push('tall=1');
  if (show.below >= 0) at.push('below=' + show.below);
  if (show.sequence >= 0) at.push('sequence=' + show.sequence);
  if (show.range) at.push('range=' + show.range.map(t => t / 1e9).join());
  if (show.pick) {
    const {lane, i} = show.pick;
    at.push('pick=' + packName(lane, i) + '@' + lane.r + '.' + lane.stage + (lane.measured ? 'm' : '') +
            (lanesIn(views[show.tab]).includes(lane) ? '' : 'b'));
  }
  history.replaceState(null, '', '#' + at.join('&'));
}
function setRange(t0, t1) {
  const end = fullEnd(), span = Math.min(end, Math.max(200, t1 - t0));
  show.t0 = Math.min(Math.max(0, t0), end - span);
  show.t1 = show.t0 + span;
}

// ---- samples that share beginnings: where a sequence is on its path, and the hue that its slices have
// The circle of hues is divided among the roots, by how many paths end below each, and the part of a node among those that go on behind
// it. Its own hue is in the middle of its part: near its parent's, and nearest to those of its closest relatives.
function huesOf(parents) {
  const behind = parents.map(() => []), roots = [], levels = [];  // what goes on behind each, and behind none
  parents.forEach((parent, s) => (parent < 0 ? roots : behind[parent]).push(s));
  const depthFirst = [], ends = parents.map(() => 0), begins = [], hues = [];
  for (const open = [...roots].reverse(); open.length > 0;) {
    const s = open.pop();
    depthFirst.push(s);
    levels[s] = parents[s] < 0 ? 0 : levels[parents[s]] + 1;
    open.push(...[...behind[s]].reverse());
  }
  for (const s of [...depthFirst].reverse()) {
    ends[s] = Math.max(1, ends[s]);
    if (parents[s] >= 0) ends[parents[s]] += ends[s];
  }
  const all = roots.reduce((sum, s) => sum + ends[s], 0);
  let root = 0;
  for (const s of depthFirst) {
    const parent = parents[s];
    begins[s] = parent < 0 ? root : begins[parent];
    hues[s] = 360 * (begins[s] + ends[s] / 2) / all;
    if (parent < 0) root += ends[s]; else begins[parent] += ends[s];
  }
  return [hues, levels];
}
// The sequences that a plan runs. Where a replica needs a path of another, it has a copy: a sequence of its own, or the first tokens of
// one. The nodes are the sequences before paths were copied: a copy has the hues, and the names, of the nodes that it is of.
function forestOf(plan) {
  if (plan.forest) return plan.forest;
  const {lengths, parents = [], copies = []} = plan.lengths ? plan : data;
  const copied = new Map(copies.map(([sequence, of, until]) => [sequence, {of, until}])), begins = [];
  for (const s of parents.keys())
    for (const open = [s]; open.length > 0;) {
      const at = open[open.length - 1], parent = parents[at];
      if (parent < 0 || parent in begins) begins[open.pop()] = parent < 0 ? 0 : begins[parent] + lengths[parent];
      else open.push(parent);
    }
  const begin = s => begins[s] || 0, end = s => begin(s) + lengths[s];
  const isCopy = s => copied.has(s) && copied.get(s).until === end(s);
  const nodeOf = s => isCopy(s) ? copied.get(s).of : s;  // that its last token is of
  const above = parents.flatMap((parent, s) => isCopy(s) ? [] : [copied.has(s) ? copied.get(s).of : parent < 0 ? -1 : nodeOf(parent)]);
  const [hues, levels] = huesOf(above);
  // Calls visit(node, from, to, whether it is a copy) for the runs of tokens of a slice that are of one node.
  const eachNode = (sequence, from, to, visit) => {
    const copy = copied.get(sequence), until = copy ? copy.until : 0;
    for (let node = nodeOf(sequence); to > from; node = above[node]) {
      const cut = Math.max(from, copied.has(node) ? copied.get(node).until : begin(node));
      if (cut < to) visit(node, cut, to, cut < until);
      to = Math.min(to, cut);
    }
  };
  const pathOf = node => {
    const path = [];
    for (let s = node; s >= 0; s = above[s]) path.unshift(s);
    return path;
  };
  // Where one node alone goes on behind another they have one hue, and differ in lightness.
  const inks = hues.map((hue, node) => 'hsl(' + hue.toFixed(1) + ', 75%, ' + (levels[node] % 2 ? 44 : 62) + '%)'), hueOf = node => inks[node];
  plan.forest = {lengths, parents, copied, above, hues, begin, end, isCopy, nodeOf, eachNode, pathOf, hueOf,
                 exists: parents.some(parent => parent >= 0) || copies.length > 0};
  return plan.forest;
}

// Calls visit(sequence, from, to, its tokens' begin and end) for each slice of an instruction's pack, with the share of the pack's tokens
// from which and to which it goes.
function eachSlice(lane, i, visit) {
  const {slices, first, tokens} = lane.plan.replicas[lane.r].passes[passOf(lane.unit[i])], pack = lane.pack[i];
  let ran = 0;
  for (let k = first[pack]; k < first[pack + 1]; ++k) {
    const begin = slices[3 * k + 1], length = slices[3 * k + 2];
    visit(slices[3 * k], ran / tokens[pack], (ran + length) / tokens[pack], begin, begin + length);
    ran += length;
  }
}
// Which sequence an instruction shows at a time, as if its tokens ran one after the other.
function sequenceAt(lane, i, t) {
  const share = (t - lane.start[i]) / (lane.end[i] - lane.start[i]);
  let found = -1;
)page",
    R"page(  eachSlice(lane, i, (sequence, from) => { if (found < 0 || share >= from) found = sequence; });
  return found;
}
// The nodes of the path that is marked in a plan: of the sequence under the pointer, or of the one that is followed.
function markedPath(plan) {
  const {exists, above, pathOf} = forestOf(plan), pointed = hover && hover.sequence >= 0;
  const node = pointed ? forestOf(hover.lane.plan).nodeOf(hover.sequence) : forestOf(planShown()).nodeOf(show.sequence);
  return new Set(exists && node in above ? pathOf(node) : []);
}
// A stripe along the top of a pack, [x0, x1) of its lane: its sequences, each as wide as its share of the tokens. Copies are hatched.
function drawSequences(c, lane, i, x0, x1, y, h, marked) {
  const {eachNode, hueOf} = forestOf(lane.plan), high = Math.max(3, Math.floor(.28 * h)), last = left + plotWidth();
  eachSlice(lane, i, (sequence, from, to, first, behind) => {
    const xAt = token => x0 + (from + (to - from) * (token - first) / (behind - first)) * (x1 - x0);
    if (xAt(behind) < left || xAt(first) > last) return;  // out of view
    eachNode(sequence, first, behind, (node, begin, end, isCopy) => {
      const x = xAt(begin), wide = Math.max(.5, xAt(end) - x), on = marked.has(node);
      c.globalAlpha = marked.size === 0 || on ? 1 : .2;
      c.fillStyle = hueOf(node);
      c.fillRect(x, y, wide, high);
      if (isCopy) hatch(c, x, y, wide, high);
      if (on) {
        c.fillStyle = colour.ink;
        c.fillRect(x, y + high, wide, 2);
      }
    });
  });
  c.globalAlpha = 1;
}
// Slanted lines, in view alone.
function hatch(c, x, y, wide, high) {
  const begin = Math.max(x, left - high), end = Math.min(x + wide, left + plotWidth());
  c.save();
  c.beginPath();
  c.rect(x, y, wide, high);
  c.clip();
  c.strokeStyle = colour.ink;
  c.lineWidth = 1.5;
  c.beginPath();
  for (let at = Math.floor((begin - high) / 5) * 5; at < end; at += 5) {
    c.moveTo(at, y + high);
    c.lineTo(at + high, y);
  }
  c.stroke();
  c.restore();
}

// ---- paths in words
function pathText(plan, sequence) {
  const {nodeOf, pathOf, end} = forestOf(plan);
  return pathOf(nodeOf(sequence)).join(' \u203a ') + ', ' + count(end(sequence)) + ' tokens';
}
function sequenceText(plan, sequence) {
  const {exists, lengths, parents, copied, begin, isCopy, nodeOf} = forestOf(plan), own = count(lengths[sequence]);
  if (!exists) return own;
  const {of, until} = copied.get(sequence) || {}, path = 'a copy of the path of sequence ' + of;
  return own + ' from token ' + count(begin(sequence)) + ' on' +
         (parents[sequence] >= 0 ? ', behind sequence ' + nodeOf(parents[sequence]) : '') +
         (of === undefined ? '' : isCopy(sequence) ? ', ' + path : ', of which ' + count(until - begin(sequence)) + ' are ' + path);
}

// ---- elements around the chart
function element(name, parts, attributes) {
  const e = document.createElement(name);
  e.append(...[].concat(parts === undefined ? [] : parts));
  return Object.assign(e, attributes);
}
const swatch = colour => { const i = element('i'); i.style.background = 'var(--' + colour + ')'; return i; };
function table(head, rows) {
  const row = (cells, kind) => element('tr', cells.map(c => element(kind, c)));
  return element('table', [element('thead', row(head, 'th')), element('tbody', rows.map(cells => row(cells, 'td')))]);
}
const workOf = plan => plan.spent && plan.spent.useful + plan.spent.collectives > 0 ? plan.spent.useful / (plan.spent.useful + plan.spent.collectives) : 1;
const usefulOf = plan => (1 - plan.bubble) * workOf(plan);
const peakOf = plan => Math.max(...plan.replicas.flatMap(r => r.peak));
// A plan that was made without a limit, as one that does not fit, is held to that of the first plan.
const limitOf = plan => plan.limit === null && plan.bytes === plans[0].bytes ? plans[0].limit : plan.limit;
const overMemory = plan => limitOf(plan) !== null && peakOf(plan) > limitOf(plan);
// Height of the memory strips, of all plans shown. A limit far above the peak is left out of them: it would flatten the curves.
const topOf = plan => Math.max(1, Math.min(1.08 * Math.max(limitOf(plan) || 0, peakOf(plan)), 1.8 * peakOf(plan)));
const memoryTop = plan => Math.max(...[plan, planShown(), ...(show.below >= 0 ? [views[show.below].plan] : [])]
    .filter(p => p.bytes === plan.bytes).map(topOf));
const limitInStrips = plan => limitOf(plan) !== null && limitOf(plan) <= memoryTop(plan);
const bold = text => element('b', text);
const factor = x => digits(x, 2) + ' \u00d7';
// How much faster the first plan is than the fastest of the others that fit, and how far prices were off. Further plans of its own
// planner, on other layouts, are no rivals where there are plans of others.
function showVerdict() {
  const rivals = plans.filter(p => p.planner !== plans[0].planner), others = rivals.length > 0 ? rivals : plans.slice(1);
  const fitting = others.filter(p => !overMemory(p));
  const says = [];
  if (fitting.length > 0) {
    const rival = fitting.reduce((a, p) => p.step < a.step ? p : a), {asFast, speedUp} = aboutOf(rival);
    const ratio = factor(rival.step / plans[0].step);
    const which = fitting.length === 1 ? (others.length === 1 ? 'the other plan' : 'the only other plan that fits') :
        'the fastest of the ' + fitting.length + ' other plans that fit';
    const range = speedUp ? 'the error of prices puts it between ' + digits(speedUp[0], 2) + ' and ' + factor(speedUp[1]) : '';
    const sure = asFast ? [': ', ratio, range ? '; ' + range : ' is within the error of prices'] : range ? ['; ', range] : [];
    says.push(element('p', [bold(labelOf(plans[0])), ' is ', element('strong', asFast ? 'as fast' : ratio), asFast ? ' as ' : ' as fast as ',
                            bold(labelOf(rival)), ', ' + which + ' (' + settingsOf(rival) + ')', ...sure, '.']));
  } else if (others.length > 0)
    says.push(element('p', 'No other plan fits into ' + memoryText(plans[0], limitOf(plans[0])) + '.'));
  if (data.facts.prices) says.push(element('p', [bold('How sure? '), data.facts.prices + (/[.!?]$/.test(data.facts.prices) ? '' : '.')]));
  $('verdict').hidden = says.length === 0;
  $('verdict').replaceChildren(...says);
}
function showTabs() {
  $('tabs').hidden = views.length < 2;
  $('tabs').replaceChildren(...views.map(({plan, kind}, k) => {
    const step = kind === 'both' ? ratioText(plan.measured.step / plan.step) : timeText(stepOf(views[k]));
    const tab = element('button', [viewName({plan, kind}), element('span', step)], {onclick: () => choose({tab: k})});
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-selected', String(k === show.tab));
    return tab;
  }));
}
function showFigures({plan, kind}) {
  const about = [['planned by', plan.planner], ['for', plan.model], ['on', plan.gpu], ['with cost', plan.cost]];
  $('subtitle').textContent = about.filter(([, name]) => name).map(words => words.join(' ')).join(' ');
  document.title = labelOf(plan) + ' \u00b7 slimpack timeline';
  const {lengths, end, exists} = forestOf(plan);
  const total = lengths.reduce((a, b) => a + b, 0), longest = lengths.reduce((a, b, s) => Math.max(a, end(s)), 0);
  const packs = p => plan.replicas.reduce((sum, r) => sum + r.passes[p].counts.length, 0);
  const peak = peakOf(plan), m = kind === 'predicted' ? null : plan.measured;
  const batch = [
    ['Batch', several(lengths.length, 'sequence'), count(total) + ' tokens, longest ' + (exists ? 'path ' : '') + count(longest)],
    ['Shape', 'pp ' + plan.stages + ' \u00d7 dp ' + plan.replicas.length,
     'tp ' + plan.tensor + ', cp ' + plan.context + ', vpp ' + plan.chunks + (plan.expert ? ', ep ' + plan.expert : '') +
     (plan.vocabulary ? ', vocabulary ' + plan.vocabulary : '') +
     (plan.words ? ', words ' + plan.words.join(' ') : '') +
     (plan.layers ? ', layers ' + plan.layers.join(' ') : '')],
    ['Packs', count(packs(0) + packs(1)), count(packs(0)) + ' forward, ' + count(packs(1)) + ' backward'],
  ];
  const figures = m ? [
    ['Step measured', timeText(m.step), 'predicted ' + timeText(plan.step)],
    ['Measured / predicted', ratioText(m.step / plan.step), 'of the step'],
    ['Useful work measured', percent((1 - m.bubble) * workOf(plan)), 'predicted ' + percent(usefulOf(plan))],
    ['Instructions off by', percent(m.off), 'median |measured / predicted \u2212 1|'],
    ['Peak measured', count(Math.max(...m.ranks.map(rank => rank.peak))) + ' tokens',
     plan.bytes ? 'live on the fullest stage' : 'predicted ' + count(peak)],
    ...batch,
  ] : [
    ['Step time', timeText(plan.step),
     plan.reduce > 0 ? timeText(plan.reduce) + ' of it gradient reduction' : 'of the slowest replica'],
    ['Useful work', percent(usefulOf(plan)), 'of the stages\u2019 time' +
     (plan.mfu === undefined ? '' : '; ' + percent(plan.mfu) + ' MFU')],
    ['To gain', percent(1 - plan.efficiency), 'at most: no plan can take less than ' + timeText(plan.bound) +
     (plan.anyLayout === undefined ? '' : '; on any layout, less than ' + timeText(plan.anyLayout))],
    ['Peak memory', memoryText(plan, peak),
     limitOf(plan) === null ? 'no limit given' : percent(peak / limitOf(plan)) + ' of ' + memoryText(plan, limitOf(plan))],
    ...batch,
    ['Planned in', plan.planning > 0 ? timeText(1e9 * plan.planning) : '\u2013',
     element('code', plan.hash + (plan.truncated ? ', truncated' : ''))],
  ];
  $('figures').replaceChildren(...figures.map(([name, value, note]) => {
    const [, number, unit] = /^([^a-z\u00b5]+)( .+)$/i.exec(value) || [null, value, ''];
    return element('div', [element('dt', name), element('dd', [number, element('small', unit)]), element('dd', note)]);
  }));
  if (!m) $('figures').children[3].classList.toggle('over', overMemory(plan));
}
// Where the mean stage spent the step; the rows add up to it.
const backwardName = plan => plan.replicas.some(r => r.weights) ? 'backward, weight gradients' : 'backward';
const withCalls = (plan, name, calls) => plan.vocabulary ? name + ', ' + calls : name;
function showMeasured({plan, kind}) {
  $('measured').hidden = kind === 'predicted';
  if (kind === 'predicted') return;
  const lanes = lanesOf(plan).filter(ofReplica);
  const spent = (...shares) => lane => {
    let sum = 0;
    for (let i = 0; i < lane.n; ++i) if (shares.includes(shareOf(lane.unit[i]))) sum += lane.end[i] - lane.start[i];
    return sum;
  };
  const mean = f => [lanes, lanes.map(lane => lane.twin)].map(all => all.reduce((a, l) => a + f(l), 0) / all.length);
  const forward = mean(spent(0)), backward = mean(spent(1, 2)), words = mean(spent(E)), reduce = mean(lane => lane.reduce[1] - lane.reduce[0]);
  const step = mean(lane => lane.step), idle = step.map((s, k) => s - forward[k] - backward[k] - words[k] - reduce[k]);
  const rows = [['forward', forward, 'forward'], [backwardName(plan), backward, 'backward'],
                ...(plan.vocabulary ? [['vocabulary', words, 'output']] : []), ['idle', idle, 'lane'],
                ...(Math.max(...reduce) > 0 ? [['gradient reduction', reduce, 'reduce']] : []), ['step', step]];
  $('measured').replaceChildren(element('h2', 'Where a stage spent the step, on average'),
      table(['', 'predicted', 'measured', 'ratio', 'of step'], rows.map(([name, [p, m], colour]) =>
          [colour ? [swatch(colour), name] : name, timeText(p), timeText(m), p > 0 ? ratioText(m / p) : '\u2013',
           percent(m / step[1])])));
  $('measured').querySelector('tbody tr:last-child').className = 'main';
}
function showCards({plan, kind}) {
  showMeasured({plan, kind});
  const r = pathReplica(), replica = plan.replicas[r], c = replica.critical;
  const parts = [[withCalls(plan, 'forward', 'E, V'), c.forward, 'forward'],
                 [withCalls(plan, backwardName(plan), 'U, G'), c.backward, 'backward'], ['messages', c.messages, 'ink']];
  if (plan.reduce > 0 && show.replica < 0) parts.push(['gradient reduction', plan.reduce, 'reduce']);
  const sum = Math.max(1, parts.reduce((a, part) => a + part[1], 0));
  const share = element('div', parts.map(([name, time, colour]) => {
    const s = swatch(colour || name);
    s.style.width = 100 * time / sum + '%';
    return s;
  }), {className: 'share'});
  $('path').hidden = kind === 'measured';
  $('path').replaceChildren(
      element('h2', (kind === 'both' ? 'Predicted critical path' : 'Critical path') + (plan.replicas.length === 1 ? '' :
          ' of replica ' + r + (show.replica < 0 ? ', the slowest' : ''))),
      share, table(['spent on', 'time', 'share'], parts.map(([name, time, colour]) =>
          [[swatch(colour || name), name], timeText(time), percent(time / sum)])));
  $('spent').hidden = !plan.spent || kind !== 'predicted';
  if (plan.spent) {
    const names = {useful: 'useful work', collectives: 'collectives in stages', recomputation: 'recomputation', packs: 'packs and cuts',
                   communication: 'communication', imbalance: 'imbalance of stages', waiting: 'waiting', copies: 'copies of paths'};
    const all = Math.max(1e-300, Object.values(plan.spent).reduce((a, b) => a + b, 0)), stages = plan.stages * plan.replicas.length;
    $('spent').replaceChildren(element('h2', 'Where the time of a stage goes, on average'), table(['', 'time', 'of step'],
        Object.entries(names).filter(([key]) => key in plan.spent).map(([key, name]) => [name, timeText(1e9 * plan.spent[key] / stages), percent(plan.spent[key] / all)])));
  }
  $('bounds').hidden = plan.bounds.length === 0 || kind !== 'predicted';
  const bounds = [...plan.bounds].sort((a, b) => b[1] - a[1]);
  $('bounds').replaceChildren(element('h2', 'Why no plan is faster'), table(['argument', 'least time', 'of step'],
      bounds.map(([name, time]) => [name, timeText(time), percent(time / plan.step)])));
  const ran = plans.some(p => p.measured), none = '\u2013';
  const measured = p => !ran ? [] : !p.measured ? [none, none] :
      [timeText(p.measured.step), plans[0].measured ? ratioText(p.measured.step / plans[0].measured.step) : none];
  $('compared').hidden = plans.length < 2;
  const against = p => {
    const {asFast, speedUp} = aboutOf(p), ratio = p.step / plans[0].step;
    const range = speedUp ? ' (' + speedUp.map(x => digits(x, 2)).join(' to ') + ')' : '';
    return ratioText(ratio) + range + (asFast ? ', as fast' : '');
  };
  $('compared').replaceChildren(element('h2', 'The same batch, planned ' + plans.length + ' ways'),
      table(['plan', 'step', 'against first', ...(ran ? ['measured', 'against first'] : []), 'useful', 'to gain',
             'peak', 'settings'], plans.map(p =>
          [labelOf(p), timeText(p.step), against(p), ...measured(p), percent(usefulOf(p)), percent(1 - p.efficiency),
           memoryText(p, peakOf(p)) + (overMemory(p) ? ', over memory' : ''), settingsOf(p)])));
  const rows = $('compared').querySelectorAll('tbody tr');
  rows[plans.indexOf(plan)].className = 'main';
  plans.forEach((p, k) => rows[k].lastChild.previousSibling.classList.toggle('over', overMemory(p)));
}
)page",
    R"page(function showControls({plan, kind}) {
  const many = plan.replicas.length > 1;
  $('replica').hidden = !many;
  $('replica').replaceChildren(element('option', 'all replicas', {value: -1}), ...plan.replicas.map((r, k) =>
      element('option', 'replica ' + k + ', ' + timeText(r.makespan), {value: k})));
  $('replica').value = show.replica;
  for (const name of ['critical', 'same', 'tall']) $(name).checked = show[name];
  const others = views.flatMap((v, k) => canBeBelow(k) ? [[v, k]] : []);
  $('below').hidden = others.length === 0;
  $('below').replaceChildren(element('option', 'nothing below', {value: -1}), ...others.map(([v, k]) =>
      element('option', 'below: ' + viewName(v), {value: k})));
  $('below').value = show.below;
  const known = plan.replicas.some(r => r.stages.some(s => s.memory));
  const strips = known && kind !== 'both', path = kind !== 'measured';
  const visible = {planned: path, critical: path && show.critical, memory: strips,
                   limit: strips && show.memory && limitOf(plan) !== null, several: views.length > 1,
                   weights: plan.replicas.some(r => r.weights), vocabulary: plan.vocabulary, forest: forestOf(plan).exists, copies: forestOf(plan).copied.size > 0,
                   reduce: shownLanes().some(lane => lane.reduce[1] > lane.reduce[0] || lane.stream.length > 0)};
  for (const [name, yes] of Object.entries(visible))
    for (const e of document.querySelectorAll('.bar .' + name)) e.style.display = yes ? '' : 'none';
  $('held').textContent = 'memory, 0 to ' + memoryText(plan, memoryTop(plan));
  if (limitOf(plan) !== null)
    $('limit').textContent = 'limit ' + memoryText(plan, limitOf(plan)) + (limitInStrips(plan) ? '' : ', above the strips');
}

// ---- drawing
const small = '11.5px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';
let left = 66, right = 104, colour = {}, rows = [], hover = null, journey = [], followed = [];
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['text', 'muted', 'card', 'accent', 'lane', 'grid', 'forward', 'forward2', 'backward', 'backward2', 'weights', 'weights2',
                      'output', 'output2', 'embedding', 'embedding2', 'ink', 'halo', 'reduce', 'memory', 'memory-fill', 'limit'])
    colour[name] = style.getPropertyValue('--' + name).trim();
}
function context(canvas, height) {
  canvas.style.height = height + 'px';  // first: it may bring a scroll bar, which takes from the width
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = small;
  c.textBaseline = 'middle';
  return [c, width];
}
const plotWidth = () => Math.max(50, $('lanes').clientWidth - left - right);
const xOf = t => left + (t - show.t0) / (show.t1 - show.t0) * plotWidth();
const timeAt = x => show.t0 + (x - left) / plotWidth() * (show.t1 - show.t0);

// Adds the stretch [x0, x1) of pixels to the share of each pixel column that it covers.
function cover(share, x0, x1) {
  const last = Math.min(share.length - 1, Math.floor(x1));
  for (let column = Math.max(0, Math.floor(x0)); column <= last; ++column)
    share[column] += Math.min(x1, column + 1) - Math.max(x0, column);
}
// Forward from the top, a spread vocabulary under it, backward from below, weight gradients over it; what stays free between
// them is idle.
const noShares = columns => [0, 1, 2, 3].map(() => new Float32Array(columns)), shareOf = unit => Math.min(E, kindOf(unit));
function drawShares(c, [forward, backward, weights, words], x, y, h) {
  const draw = (share, name, above) => {
    c.fillStyle = colour[name];
    for (let k = 0; k < share.length; ++k) if (share[k] > 0) c.fillRect(x + k, y + h * above(k), 1, h * share[k]);
  };
  draw(forward, 'forward2', () => 0);
  draw(words, 'output2', k => forward[k]);
  draw(backward, 'backward2', k => 1 - backward[k]);
  draw(weights, 'weights2', k => 1 - backward[k] - weights[k]);
}
function drawPacks(c, lane, y, h) {
  const width = plotWidth(), scale = width / (show.t1 - show.t0);
  const shares = noShares(Math.ceil(width));
  const names = ['forward', 'backward', 'weights', 'embedding', 'output', 'output', 'embedding'], marked = markedPath(lane.plan), isForest = forestOf(lane.plan).exists;
  c.textAlign = 'center';
  for (let i = firstAfter(lane, show.t0); i < lane.n && lane.start[i] < show.t1; ++i) {
    const x0 = Math.max(0, (lane.start[i] - show.t0) * scale), x1 = Math.min(width, (lane.end[i] - show.t0) * scale);
    if (x1 - x0 < 1.5) {
      cover(shares[shareOf(lane.unit[i])], x0, x1);
      continue;
    }
    const fill = names[kindOf(lane.unit[i])];
    c.fillStyle = colour[lane.pack[i] & 1 ? fill + '2' : fill];
    c.fillRect(left + x0, y, x1 - x0, h);
    if (isForest) drawSequences(c, lane, i, xOf(lane.start[i]), xOf(lane.end[i]), y, h, marked);
    if (x1 - x0 < 24 || h < 12) continue;
    const name = packName(lane, i);
    if (x1 - x0 < 7 * name.length + 6) continue;
    c.fillStyle = lane.pack[i] & 1 && fill !== 'embedding' ? '#ffffff' : '#10161d';
    c.fillText(name, left + (x0 + x1) / 2, y + h / 2 + .5);
  }
  drawShares(c, shares, left, y, h);
}
// Between two instructions a stage holds no more than either says.
function drawMemory(c, plan, lane, y, h, top) {
  const width = plotWidth(), scale = width / (show.t1 - show.t0), most = new Float64Array(Math.ceil(width)).fill(-1);
  const raise = (x0, x1, held) => {
    const end = Math.min(most.length - 1, Math.floor(x1));
    for (let column = Math.max(0, Math.floor(x0)); column <= end; ++column) most[column] = Math.max(most[column], held);
  };
  for (let i = firstAfter(lane, show.t0); i < lane.n; ++i) {  // one beyond the right edge, for the gap before it
    const x0 = (lane.start[i] - show.t0) * scale;
    if (i > 0) raise((lane.end[i - 1] - show.t0) * scale, x0, Math.min(lane.memory[i - 1], lane.memory[i]));
    if (lane.start[i] >= show.t1) break;
    raise(x0, (lane.end[i] - show.t0) * scale, lane.memory[i]);
  }
  const known = held => held >= 0, first = most.findIndex(known);
  const end = most.length - most.slice().reverse().findIndex(known);
  if (first >= 0) {
    const at = column => y + h - h * Math.max(0, most[column]) / top;
    const curve = new Path2D();
    for (let k = first; k < end; ++k) {
      curve.lineTo(left + k, at(k));
      curve.lineTo(left + k + 1, at(k));
    }
    const area = new Path2D(curve);
    area.lineTo(left + end, y + h);
    area.lineTo(left + first, y + h);
    c.fillStyle = colour['memory-fill'];
    c.fill(area);
    c.strokeStyle = colour.memory;
    c.lineWidth = 1.2;
    c.stroke(curve);
  }
  if (!limitInStrips(plan)) return;
  c.setLineDash([5, 4]);
  c.strokeStyle = colour.limit;
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(left, y + h - h * limitOf(plan) / top);
  c.lineTo(xOf(lane.step), y + h - h * limitOf(plan) / top);
  c.stroke();
  c.setLineDash([]);
}
function axisTicks() {
  const wanted = (show.t1 - show.t0) / Math.max(2, plotWidth() / 110), power = 10 ** Math.floor(Math.log10(wanted));
  const step = Math.max(1, [1, 2, 5, 10].find(k => k * power >= wanted) * power);
  const [size, unit] = unitOf(show.t1);
  const places = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const ticks = [];
  for (let t = Math.ceil(show.t0 / step) * step; t <= show.t1; t += step)
    ticks.push([t, digits(t / size, places) + ' ' + unit]);
  return ticks;
}
// The whole step in one strip, or one predicted and one measured: how busy the shown stages are together, and the part
// of it in view.
let overviewShares = {};
function drawOverview() {
  const lanes = lanesIn(views[show.tab]).filter(ofReplica);
  const [c, width] = context($('overview'), 72), h = 40, columns = Math.ceil(plotWidth()), end = fullEnd();
  const kinds = kindShown() === 'both' ? [false, true] : [lanes[0].measured];
  const key = [show.tab, show.replica, show.same, show.below, columns].join();
  if (overviewShares.key !== key) {
    const scale = plotWidth() / end;
    overviewShares = {key, strips: kinds.map(measured => {
      const shares = noShares(columns);
      const part = lanes.filter(lane => lane.measured === measured);
      for (const lane of part)
        for (let i = 0; i < lane.n; ++i) cover(shares[shareOf(lane.unit[i])], lane.start[i] * scale, lane.end[i] * scale);
      return {step: part[0].step, shares: shares.map(s => s.map(x => x / part.length))};
    })};
  }
  const strip = (h - 2 * (kinds.length - 1)) / kinds.length;
  overviewShares.strips.forEach(({step, shares}, k) => {
    const y = 2 + k * (strip + 2);
    c.fillStyle = colour.lane;
    c.fillRect(left, y, plotWidth() * step / end, strip);
    drawShares(c, shares, left, y, strip);
  });
  const x0 = left + plotWidth() * show.t0 / end, x1 = left + plotWidth() * show.t1 / end;
  if (x1 - x0 < plotWidth() - .5) {
    c.globalAlpha = .72;
    c.fillStyle = colour.card;
    c.fillRect(left, 2, x0 - left, h);
    c.fillRect(x1, 2, left + plotWidth() - x1, h);
    c.globalAlpha = 1;
    c.strokeStyle = colour.accent;
    c.lineWidth = 2;
    c.strokeRect(x0, 2, Math.max(2, x1 - x0), h);
  }
  const [{view}] = lanes, free = left + plotWidth() * stepOf(view) / end + 8;  // where the blank begins
  const sayings = ['ends here, at ' + timeText(stepOf(view))];
  for (const [other, ratio] of endsAfter(view).slice(0, 1))
    sayings.push(factor(ratio) + ' as fast as ' + other, 'ends here: ' + factor(ratio) + ' as fast as ' + other);
  const said = kinds.length > 1 ? '' : sayings.filter(text => c.measureText(text).width < left + plotWidth() - free).pop();
  c.textAlign = 'left';
  c.fillStyle = colour.text;
  if (said) c.fillText(said, free, 2 + strip / 2);
  c.fillStyle = colour.muted;
  c.fillText('all stages', 0, 2 + strip / 2);
  if (kinds.length > 1)
    kinds.forEach((measured, k) => c.fillText(nameOf(measured), 62, 2 + k * (strip + 2) + strip / 2));
  c.textAlign = 'center';
  for (const [t, text] of axisTicks()) {
    if (xOf(t) > width - 30) continue;
    c.fillText(text, xOf(t), 58);
    c.fillRect(xOf(t), 67, 1, 5);
  }
}
// Plans that take longer than a view: their names, how many times as long, and their views; the longest last.
const endsAfter = view => views.filter(({plan, kind}) => kind === view.kind && plan !== view.plan)
    .map(other => [labelOf(other.plan), stepOf(other) / stepOf(view), other]).filter(([, ratio]) => ratio > 1)
    .sort((a, b) => a[1] - b[1]);
// On one time axis with slower plans lanes end early. What is blank says where each of these ends.
function drawEnds(c, view, height) {
  const end = xOf(stepOf(view)) + 12;
  let y = rows[0].y - 4;  // below the first replica's title
  for (const [name, ratio, other] of endsAfter(view)) {
    const x = xOf(stepOf(other)), ends = name + ' ends at ' + timeText(stepOf(other));
    if (x > left + plotWidth() + 1) continue;
    c.strokeStyle = colour.muted;
    c.lineWidth = 1;
    c.setLineDash([2, 3]);
    c.beginPath();
    c.moveTo(x, 0);
    c.lineTo(x, height);
    c.stroke();
    c.setLineDash([]);
    if (y + 18 > height) continue;
    for (const text of [ends + ', ' + factor(ratio) + ' as long' + (overMemory(other.plan) ? ', and is over memory' : ''), ends, name]) {
      const width = c.measureText(text).width + 8, from = x - width > Math.max(end, left) ? x - width : x + 2;
      if (from + width > left + plotWidth() + 2) continue;
      c.fillStyle = colour.card;
      c.fillRect(from, y + 1, width - 2, 17);
      c.fillStyle = colour.text;
      c.textAlign = 'left';
      c.fillText(text, from + 3, y + 10);
      y += 18;
      break;
    }
  }
}
// Whether a lane is the first of its replica, or of the view below.
const isTitled = (lanes, k) => k === 0 || lanes[k].r !== lanes[k - 1].r ||
    (kindShown() !== 'both' && (lanes[k].plan !== lanes[k - 1].plan || lanes[k].measured !== lanes[k - 1].measured));
// The height that all lanes have together: what the window leaves.
let room = 280;
function measureRoom() {
  const above = $('scroller').getBoundingClientRect().top + window.scrollY;
  room = Math.max(280, Math.min(.75 * window.innerHeight, window.innerHeight - above - 26 - $('dock').offsetHeight));
}
// Heights of lanes follow from their number, so that all are in view: a few fill the window, many have no memory, and where names
// of replicas and stages are higher than lanes, one name stands beside all lanes of a replica. Tall lanes scroll.
function heightsOf(lanes) {
  const titles = show.below >= 0 || planShown().replicas.length > 1 ? lanes.filter((lane, k) => isTitled(lanes, k)).length : 0;
  const pairs = kindShown() === 'both', known = !pairs && lanes.some(lane => lane.memory);
  const each = title => (room - 4 - title * titles) / lanes.length, least = show.memory && known ? 36 : 24;
  const low = each(24) < least;
  if (!low || show.tall) {
    const memory = show.memory && known, high = low ? (memory ? 64 : 32) : Math.min(96, each(24));
    const strip = memory ? Math.floor(Math.min(30, .36 * high)) : 0;
    return {low, title: 24, each: high, memory, strip, gap: memory ? 9 : pairs ? 7 : 6, beside: false};
  }
  if (each(24) >= 14) {
    const memory = show.memory && known && each(24) >= 26;
    const strip = memory ? Math.floor(.36 * each(24)) : 0;
    return {low, title: 24, each: Math.floor(each(24)), memory, strip, gap: memory ? 6 : 4, beside: false};
  }
  const high = Math.max(3, Math.floor(each(8)));
  return {low, title: 8, each: high, memory: false, strip: 0, gap: high > 8 ? 2 : 1, beside: true};
}
function layout(lanes) {
  const titled = planShown().replicas.length > 1 || show.below >= 0, pairs = kindShown() === 'both';
  const {title, each, strip, gap, beside} = heightsOf(lanes), h = Math.floor(Math.min(46, each - strip - gap));
  let y = 4;
  rows = lanes.map((lane, k) => {
    const named = titled && isTitled(lanes, k);
    if (named) y += title;
    const row = {lane, title: named && !beside ? y - 12 : -1, y, h, memory: y + h + 3, strip, beside};
    y += h + strip + (!pairs ? gap : beside ? (lane.measured ? gap : 0) : lane.measured ? 2 * gap - 2 : 2);
    return row;
  });
  const height = Math.min(y, room);
  $('spacer').style.height = y - height + 'px';
  $('scroller').style.height = height + 'px';
  return height;
}
// Where lanes are lower than text: a name for all lanes of a replica, or for as many stages as there is room for.
function drawNames(c, from, width) {
  const many = planShown().replicas.length > 1;
  const lanes = rows.map(row => row.lane);
  const joins = (k, end) => many || show.below >= 0 ? !isTitled(lanes, end) : rows[end].y < rows[k].y + 13;
  for (let k = 0; k < rows.length;) {
    let end = k + 1;
)page",
    R"page(    while (end < rows.length && joins(k, end)) ++end;
    const {lane, y} = rows[k], part = rows.slice(k, end), middle = (y + rows[end - 1].y + rows[end - 1].h) / 2 - from;
    const idle = part.reduce((sum, {lane}) => sum + 1 - lane.busy / lane.step, 0) / part.length;
    c.textAlign = 'left';
    c.fillStyle = colour.text;
    c.fillText(many ? 'replica ' + lane.r : show.below >= 0 ? labelOf(lane.plan) : 'stage ' + lane.stage, 0, middle);
    c.fillStyle = colour.muted;
    c.textAlign = 'right';
    if (right > 50) c.fillText('idle ' + percent(idle), width, middle);
    k = end;
  }
}
function drawPath(c, plan, r, from) {
  const row = new Map(rows.filter(x => x.lane.plan === plan && x.lane.r === r && !x.lane.measured).map(x => [x.lane.stage, x]));
  const {runs} = plan.replicas[r].critical;
  c.beginPath();
  for (let k = 0; k < runs.length; k += 3) {
    const {lane, y, h} = row.get(runs[k]), at = y - from + h - Math.min(2, h / 2);
    const x0 = xOf(lane.start[runs[k + 1]]), x1 = xOf(lane.end[runs[k + 1] + runs[k + 2] - 1]);
    if (k === 0) c.moveTo(x0, at); else c.lineTo(x0, at);
    c.lineTo(x1, at);
  }
  c.lineJoin = 'round';
  for (const [width, ink] of rows[0].beside ? [[2.5, colour.halo], [1.2, colour.ink]] : [[4.5, colour.halo], [2, colour.ink]]) {
    c.lineWidth = width;
    c.strokeStyle = ink;
    c.stroke();
  }
}
const nameOf = measured => measured ? 'measured' : 'predicted';
// From a place of one lane to a place of another, with a head at each end that it leads to.
function arrow(c, x0, y0, x1, y1, both) {
  const bend = Math.min(60, Math.max(12, Math.abs(x1 - x0) / 2));
  c.beginPath();
  c.moveTo(x0, y0);
  if (both) c.lineTo(x1, y1); else c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  const head = (x, y, dx, dy) => { c.moveTo(x + dx, y + dy); c.lineTo(x, y); c.lineTo(x + (dy ? -dx : dx), y + (dy ? dy : -3)); };
  const down = y1 > y0 ? 1 : -1;
  if (both) { head(x1, y1, 3, -5 * down); head(x0, y0, 3, 5 * down); } else { head(x1, y1, -5, 3); }
  for (const [width, ink] of [[3.5, colour.halo], [1.4, colour.ink]]) {
    c.lineWidth = width;
    c.strokeStyle = ink;
    c.stroke();
  }
}
// The messages that lead from marked instructions to marked ones, and the exchanges between marked packs of a row.
function drawArrows(c, marked, from) {
  const rowOf = new Map(rows.map(row => [row.lane, row]));
  const key = (lane, kind, place, pack) => [plans.indexOf(lane.plan), lane.measured, lane.r, kind, place, pack].join();
  const at = new Map(marked.map(m => [key(m.lane, kindOf(m.lane.unit[m.i]), placeOf(m.lane.plan, m.lane, m.i), m.lane.pack[m.i]), m]));
  const inView = ({lane, i}) => lane.end[i] >= show.t0 && lane.start[i] <= show.t1 && rowOf.has(lane);
  for (const {lane, i} of marked) {
    const to = receiverOf(lane.plan, kindOf(lane.unit[i]), placeOf(lane.plan, lane, i));
    const there = to && at.get(key(lane, to[0], to[1], lane.pack[i]));
    if (!there || !(inView({lane, i}) || inView(there)) || !rowOf.has(lane) || !rowOf.has(there.lane)) continue;
    const a = rowOf.get(lane), b = rowOf.get(there.lane);
    arrow(c, xOf(lane.end[i]), a.y - from + a.h / 2, xOf(there.lane.start[there.i]), b.y - from + b.h / 2, false);
  }
  for (const {lane, i} of marked) {
    const kind = kindOf(lane.unit[i]), place = placeOf(lane.plan, lane, i);
    if (kind > 1 || !inView({lane, i})) continue;
    for (const {replicas, rows: shared} of lane.plan.merges)
      for (const packs of shared[kind]) {
        const k = replicas.indexOf(lane.r);
        if (k < 0 || packs[k] !== lane.pack[i]) continue;
        for (let other = k + 1; other < packs.length; ++other) {
          const there = at.get(key({...lane, r: replicas[other]}, kind, place, packs[other]));
          if (!there || !rowOf.has(there.lane)) continue;
          const a = rowOf.get(lane), b = rowOf.get(there.lane), x = (Math.max(lane.start[i], there.lane.start[there.i]) +
              Math.min(lane.end[i], there.lane.end[there.i])) / 2;
          arrow(c, xOf(x), a.y - from + a.h, xOf(x), b.y - from, true);
        }
      }
  }
}
// How long a replica took, in words, as predicted, as measured or both.
function makespans({plan, kind}, r) {
  const predicted = timeText(plan.replicas[r].makespan);
  if (kind === 'predicted') return [predicted];
  const ends = lanesOf(plan).filter(lane => lane.r === r && lane.n > 0).map(({twin, n}) => twin.end[n - 1]);
  const measured = timeText(Math.max(0, ...ends));
  return kind === 'measured' ? [measured] : [predicted + ' predicted', measured + ' measured'];
}
function draw() {
  const kind = kindShown(), pairs = kind === 'both', lanes = shownLanes();
  const narrow = $('lanes').clientWidth < 560;  // then lanes keep the room of what stands at their right
  right = narrow ? 4 : 104;
  const height = layout(lanes), [{strip: high, beside}] = rows;
  const limit = lane => memoryText(lane.plan, limitOf(lane.plan)).replace(' tokens', '');
  const [c, width] = context($('lanes'), height), from = $('scroller').scrollTop;
  const most = of => Math.max(...lanes.map(of));
  const words = ['all stages', 'stage ' + most(lane => lane.stage), ...(beside ? ['replica ' + most(lane => lane.r)] : []),
                 ...(high >= 22 ? lanes.filter(lane => limitInStrips(lane.plan)).map(limit) : [])];
  const widths = [...new Set(words)].map(text => c.measureText(text).width + 6);
  left = pairs ? 128 : Math.ceil(Math.max(narrow ? 54 : 66, ...widths));
  const w = plotWidth();
  const inView = rows.filter(row => row.y - 30 < from + height && row.memory + row.strip > from);
  const ticks = axisTicks();
  for (const {lane, title, y, h, memory, strip} of inView) {
    const {plan} = lane, at = y - from, replica = plan.replicas[lane.r], top = memoryTop(plan);
    c.textAlign = 'left';
    if (title >= 0) {
      c.fillStyle = colour.text;
      const view = pairs ? {plan, kind} : lane.view;
      const words = [...(show.below >= 0 ? [viewName(view)] : []), 'replica ' + lane.r,
                     several(replica.sequences, 'sequence'), ...makespans(view, lane.r)];
      c.fillText(words.join(' \u00b7 '), 0, title - from);
    }
    c.fillStyle = colour.muted;
    if (pairs && !beside) c.fillText(nameOf(lane.measured), 62, at + h / 2);
    c.fillStyle = colour.text;
    if (!beside && (!pairs || !lane.measured)) c.fillText('stage ' + lane.stage, 0, at + h / 2);
    c.textAlign = 'right';
    if (!narrow && !beside) c.fillText('idle ' + percent(1 - lane.busy / lane.step), width, at + h / 2);
    c.save();
    c.beginPath();
    c.rect(left, 0, w, height);
    c.clip();
    c.fillStyle = colour.lane;
    c.fillRect(left, at, xOf(lane.step) - left, h);
    c.fillStyle = colour.reduce;
    c.fillRect(xOf(lane.reduce[0]), at, xOf(lane.reduce[1]) - xOf(lane.reduce[0]), h);
    c.fillStyle = colour.grid;
    for (const [t] of ticks) c.fillRect(Math.round(xOf(t)), at, 1, (strip ? memory + strip : y + h) - y);
    drawPacks(c, lane, at, h);
    c.fillStyle = colour.reduce;
    for (let k = 0; k < lane.stream.length; k += 2)
      c.fillRect(xOf(lane.stream[k]), at + h - Math.min(3, h / 3), Math.max(1, xOf(lane.stream[k + 1]) - xOf(lane.stream[k])), Math.min(3, h / 3));
    if (strip && lane.memory) drawMemory(c, plan, lane, memory - from, strip, top);
    c.restore();
    if (strip && lane.memory) {
      c.fillStyle = colour.muted;
      c.textAlign = 'right';
      if (!narrow) c.fillText('peak ' + memoryText(plan, lane.peak), width, memory - from + strip / 2);
      if (strip >= 22) {
        c.fillText('0', left - 4, memory - from + strip - 4);
        c.fillStyle = colour.limit;
        if (limitInStrips(plan))
          c.fillText(limit(lane), left - 4, memory - from + Math.min(strip - 16, Math.max(5, strip - strip * limitOf(plan) / top)));
      }
    }
  }
  if (beside) drawNames(c, from, width);
  c.save();
  c.beginPath();
  c.rect(left, 0, w, height);
  c.clip();
  if (show.below < 0 && !pairs) drawEnds(c, lanes[0].view, height);
  if (show.range) {
    c.fillStyle = colour['memory-fill'];
    c.fillRect(xOf(show.range[0]), 0, Math.max(1, xOf(show.range[1]) - xOf(show.range[0])), height);
  }
  if (show.critical)
    for (const plan of new Set(lanes.filter(lane => !lane.measured).map(lane => lane.plan))) drawPath(c, plan, pathReplica(plan), from);
  const rowOf = new Map(rows.map(row => [row.lane, row]));
  for (const [marks, width] of [[followed, 1.5], [journey, 2]]) {
    c.strokeStyle = colour.ink;
    c.lineWidth = width;
    for (const {lane, i} of marks) {
      const row = rowOf.get(lane);
      if (!row || lane.end[i] < show.t0 || lane.start[i] > show.t1) continue;
      c.strokeRect(xOf(lane.start[i]), row.y - from, Math.max(2, xOf(lane.end[i]) - xOf(lane.start[i])), row.h);
    }
  }
  drawArrows(c, followed.length > 0 ? followed : journey, from);
  if (hover && hover.what === 'idle') {
    const {lane, i} = hover, row = rowOf.get(lane), from0 = i > 0 ? lane.end[i - 1] : 0, to = i < lane.n ? lane.start[i] : lane.step;
    c.strokeStyle = colour.accent;
    c.setLineDash([4, 3]);
    if (row) c.strokeRect(xOf(from0), row.y - from + .5, xOf(to) - xOf(from0), row.h - 1);
    c.setLineDash([]);
  }
  c.restore();
  drawOverview();
  $('lanes').setAttribute('aria-label', 'Timeline of ' + several(lanes.length / (pairs ? 2 : 1), 'stage') +
      (pairs ? ', predicted and measured,' : '') + ' with ' +
      several(lanes.reduce((sum, lane) => sum + lane.n, 0), 'instruction'));
}
let due = false;
function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    draw();
  });
}

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
function loansOf(lane, i) {
  const {plan, stage} = lane, kind = kindOf(lane.unit[i]), here = [stage, lane.pack[i], chunkOf(lane.unit[i])].join();
  const found = [];
  for (const [pass, ...loan] of kind < 2 ? plan.replicas[lane.r].loans || [] : []) {
    const [lender, helper, [sequence, queries, keys]] = [loan.slice(0, 3), loan.slice(3, 6), loan.slice(6)];
    const what = 'attention of ' + count(queries) + ' queries to ' + count(keys) + ' keys of sequence ' + sequence;
    if (pass === kind && lender.join() === here) found.push(['lends', 'stage ' + helper[0] + ' ' + what]);
    if (pass === kind && helper.join() === here) found.push(['helps', 'stage ' + lender[0] + ' with ' + what]);
  }
  return found;
}
// What crosses between nodes over proxies while a pack runs, as its replica has to do with it.
function relaysOf(lane, i) {
  const {plan, r} = lane, kind = kindOf(lane.unit[i]), found = [];
  for (const {sequence, replicas, rows, relays} of kind < 2 ? plan.merges : [])
    for (const [out, into, segments] of rows[kind].some(packs => packs[replicas.indexOf(r)] === lane.pack[i]) ? relays || [] : []) {
      const way = 'rows of sequence ' + sequence + ' from replica ' + out[0] + ' to ' + into[0] + ', in ' + several(out.length, 'strand') +
                  ' of ' + several(segments, 'segment');
      if (r === out[0]) found.push(['relays', way + ' over replicas ' + out.slice(1).join(', ')]);
      else if (r === into[0]) found.push(['is relayed', way + ' over replicas ' + into.slice(1).join(', ')]);
      else if (out.includes(r) || into.includes(r)) found.push(['is proxy', way]);
    }
  return found;
}
function details(lane, i, pointed) {
  const {plan} = lane, kind = kindOf(lane.unit[i]), pass = passOf(lane.unit[i]), pack = lane.pack[i];
  const all = plan.replicas[lane.r].passes[pass];
  const slices = [], isFollowed = k => all.slices[3 * k] === show.sequence;
  const inOrder = Array.from({length: all.counts[pack]}, (_, k) => all.first[pack] + k);
)page",
    R"page(  for (const k of [...inOrder.filter(isFollowed), ...inOrder.filter(k => !isFollowed(k))].slice(0, 8)) {
    const [sequence, begin, length] = all.slices.slice(3 * k, 3 * k + 3);
    const range = '[' + count(begin) + ', ' + count(begin + length) + ')';
    const whole = ' of ' + sequenceText(plan, sequence);
    const shared = plan.merges.find(m => m.sequence === sequence);
    const sharers = shared ? ', shared by replicas ' + shared.replicas.join(', ') : '';
    slices.push(['sequence ' + sequence, range + whole + sharers]);
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
    ...loansOf(lane, i),
    ...relaysOf(lane, i),
    ['tokens', count(all.tokens[pack]) + ' in ' + several(all.counts[pack], 'slice')],
    ...(pointed >= 0 ? [['sequence', pointed + ', ' + sequenceText(plan, pointed)], ['path', pathText(plan, pointed)]] : []),
  ];
  const more = all.counts[pack] - slices.length;
  if (more > 0) slices.push(['', 'and ' + count(more) + ' more']);
  const does = ['forward', 'backward', 'weight gradients of backward', 'embedding of forward', 'output layer of forward',
                'weight gradients of the output layer of forward', 'gradients of the embedding of backward'];
  const title = [packName(lane, i), does[kind] + ' pack ' + pack, ...whereOf(lane)];
  return [title, lines, slices];
}
// What a stage waits for where it is idle: i is the instruction that comes next, or none is left.
function idleDetails(lane, i) {
  const {plan} = lane, from = i > 0 ? lane.end[i - 1] : 0, to = i < lane.n ? lane.start[i] : lane.step;
  const lines = [['from', instantText(from)], ['to', instantText(to)], ['idle for', timeText(to - from)]];
  if (i < lane.n) {
    const [, waited, input] = waitedFor(plan, lane, i);
    lines.push(['next', packName(lane, i)], ['waits for', waited]);
    if (input) lines.push(['input', input]);
  } else {
    const last = lanesIn(lane.view).reduce((a, l) => l.n > 0 && l.end[l.n - 1] > a.end[a.n - 1] ? l : a, lane);
    lines.push(['next', 'nothing: this stage has done its work of the step']);
    if (last !== lane)
      lines.push(['waits for', packName(last, last.n - 1) + ' on stage ' + last.stage +
                  (plan.replicas.length > 1 ? ' of replica ' + last.r : '') + ', the last of all']);
    if (lane.reduce[1] > lane.reduce[0]) lines.push(['then', 'gradients are summed for ' + timeText(lane.reduce[1] - lane.reduce[0])]);
  }
  return [['idle', ...whereOf(lane)], lines, []];
}
// What a stage holds at a time: the sequences that have run forward and not all backward, the longest first.
function memoryDetails(lane, i, t) {
  const {plan} = lane, replica = plan.replicas[lane.r], runs = i < lane.n && lane.start[i] <= t;
  const held = !runs && i > 0 ? Math.min(lane.memory[i - 1], lane.memory[Math.min(i, lane.n - 1)]) : lane.memory[Math.min(i, lane.n - 1)];
  const open = new Map();
  let tokens = 0;
  for (let k = 0; k < i + (runs ? 1 : 0); ++k) {
    const kind = kindOf(lane.unit[k]), frees = kind === 2 || (kind === 1 && !apart(replica, lane.pack[k]));
    if (kind !== 0 && (!frees || k === i)) continue;
    const {slices, first} = replica.passes[kind === 0 ? 0 : 1];
    for (let at = first[lane.pack[k]]; at < first[lane.pack[k] + 1]; ++at) {
      const change = kind === 0 ? slices[3 * at + 2] : -slices[3 * at + 2];
      open.set(slices[3 * at], (open.get(slices[3 * at]) || 0) + change);
      tokens += change;
    }
  }
  const most = [...open].filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
  const lines = [['at', instantText(t)], ['holds', memoryText(plan, held) + (limitOf(plan) === null ? '' : ', ' + percent(held / limitOf(plan)) + ' of the limit')],
                 ['while', runs ? packName(lane, i) + ' runs' : 'nothing runs'],
                 ['live tokens', count(tokens / plan.chunks) + ' of ' + several(most.length, 'sequence')],
                 ...most.slice(0, 6).map(([s, n]) => ['sequence ' + s, count(n / plan.chunks) + ' of ' + count(forestOf(plan).lengths[s]) + ' tokens'])];
  if (most.length > 6) lines.push(['', 'and ' + count(most.length - 6) + ' more']);
  return [['memory', ...whereOf(lane)], lines, []];
}
const whereOf = lane => ['stage ' + lane.stage + (lane.plan.replicas.length > 1 ? ' of replica ' + lane.r : ''),
                         ...(lane.twin ? [nameOf(lane.measured)] : []), ...(show.below >= 0 ? [labelOf(lane.plan)] : [])];
const apart = (replica, pack) => replica.weights && replica.weights.packs.includes(pack);
function showDetails({lane, i, what, t, sequence}) {
  const [title, lines, more] = what === 'idle' ? idleDetails(lane, i) : what === 'memory' ? memoryDetails(lane, i, t) : details(lane, i, sequence);
  const words = [...lines, ...more].map(([name, text]) => element('p', [element('span', name), element('span', text)]));
  $('tip').replaceChildren(element('b', title.join(' \u00b7 ')), element('div', words));
}

// ---- a sequence through packs and stages
// Of each pass, the packs of a replica that hold some of it.
function packsWith(plan, sequence) {
  return plan.replicas.map(replica => replica.passes.map(pass => {
    const found = new Set();
    for (let pack = 0, at = 0; pack < pass.counts.length; ++pack)
      for (const end = at + pass.counts[pack]; at < end; ++at) if (pass.slices[3 * at] === sequence) found.add(pack);
    return found;
  }));
}
// Where the sequence runs on the lanes in view, in order of time.
function occurrences(sequence) {
  const found = [], known = new Map();
  if (sequence < 0) return found;
  for (const lane of shownLanes()) {
    if (!known.has(lane.plan)) known.set(lane.plan, packsWith(lane.plan, sequence));
    const packs = known.get(lane.plan)[lane.r];
    if (packs[0].size === 0) continue;
    for (let i = 0; i < lane.n; ++i) if (packs[passOf(lane.unit[i])].has(lane.pack[i])) found.push({lane, i});
  }
  return found.sort((a, b) => a.lane.start[a.i] - b.lane.start[b.i]);
}
function follow(sequence) {
  const {exists, lengths} = forestOf(planShown());
  show.sequence = sequence in lengths ? sequence : -1;
  followed = occurrences(show.sequence);
  const packs = pass => new Set(followed.filter(({lane, i}) => kindOf(lane.unit[i]) === pass).map(({lane, i}) => lane.r + '.' + lane.pack[i])).size;
  $('found').textContent = show.sequence < 0 ? (String($('sequence').value) === '' ? '' : 'sequences are 0 to ' + (lengths.length - 1)) :
      sequenceText(planShown(), show.sequence) + (exists ? ': ' : ' tokens in ') + packs(0) + ' forward and ' + several(packs(1), 'backward pack');
}
// The next or the previous of its packs after the one that is picked, brought into view.
function step(by) {
  if (followed.length === 0) return;
  const at = show.pick ? followed.findIndex(f => f.lane === show.pick.lane && f.i === show.pick.i) : by > 0 ? -1 : followed.length;
  pick(followed[Math.min(followed.length - 1, Math.max(0, at + by))]);
}
function pick(found) {
  show.pick = {...found, what: 'pack'};
  const {lane, i} = found, span = show.t1 - show.t0, row = rows.find(x => x.lane === lane), scroller = $('scroller');
  if (lane.end[i] < show.t0 || lane.start[i] > show.t1) setRange((lane.start[i] + lane.end[i] - span) / 2, (lane.start[i] + lane.end[i] + span) / 2);
  if (row && (row.y < scroller.scrollTop || row.y + row.h > scroller.scrollTop + scroller.clientHeight)) scroller.scrollTop = row.y - 40;
  select(show.pick);
  writeAddress();
  redraw();
}
// From a picked pack to what runs before or after it on its stage, or to the stage that its message comes from or goes to.
function pickBeside(key) {
  const {lane, i} = show.pick, {plan} = lane;
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const next = i + (key === 'ArrowLeft' ? -1 : 1);
    if (next >= 0 && next < lane.n) pick({lane, i: next});
    return;
  }
  const kind = kindOf(lane.unit[i]), place = placeOf(plan, lane, i);
  const to = key === 'ArrowDown' ? receiverOf(plan, kind, place) : sendersTo(plan, kind, place)[0];
  if (!to) return;
  const there = lanesIn(lane.view).find(l => l.r === lane.r && l.stage === to[1] % plan.stages && l.measured === lane.measured);
  const k = indexOf(there, unitNumber(to[0], to[0] < E ? Math.floor(to[1] / plan.stages) : 0), lane.pack[i]);
  if (k >= 0) pick({lane: there, i: k});
}

// ---- a range of time
// How long the lanes in view run each kind in the range.
function showRange() {
  $('range').hidden = !show.range;
  if (!show.range) return;
  const [t0, t1] = show.range, lanes = shownLanes(), sum = new Float64Array(letters.length);
  let idle = 0;
  for (const lane of lanes) {
    let busy = 0;
    for (let i = firstAfter(lane, t0); i < lane.n && lane.start[i] < t1; ++i) {
      const part = Math.min(t1, lane.end[i]) - Math.max(t0, lane.start[i]);
      sum[kindOf(lane.unit[i])] += part;
      busy += part;
    }
    idle += Math.max(0, Math.min(t1, lane.step) - t0) - busy;
  }
  const all = sum.reduce((a, b) => a + b, 0) + idle;
  const names = [['forward', 0, 'forward'], ['backward', 1, 'backward'], ['weight gradients', 2, 'weights'], ['embedding (E)', E, 'embedding'],
                 ['output layer (V)', V, 'output'], ['its weight gradients (U)', U, 'output2'], ['gradients of the embedding (G)', G, 'embedding2']];
  const lines = names.filter(([, kind]) => sum[kind] > 0).map(([name, kind, colour]) => [[swatch(colour), name], timeText(sum[kind]), percent(sum[kind] / all)]);
  lines.push([[swatch('lane'), 'idle, messages and reduction'], timeText(idle), percent(idle / all)], ['all', timeText(all), '100 %']);
  $('range').replaceChildren(element('h2', 'From ' + instantText(t0) + ' to ' + instantText(t1) + ', ' + timeText(t1 - t0) + ' of ' +
      several(lanes.length, 'lane')), table(['', 'time', 'share'], lines), element('button', 'clear', {onclick: () => choose({range: null})}));
  $('range').querySelector('tbody tr:last-child').className = 'main';
}

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
)page",
    R"page(lanesCanvas.addEventListener('pointerleave', () => { if (!show.pick) select(null); });
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

// ---- step times of several batches
const svgSpace = (() => {  // without an address in the page, which loads nothing
  const holder = document.createElement('div');
  holder.innerHTML = '<svg></svg>';
  return holder.firstChild.namespaceURI;
})();
function svg(name, attributes, parts) {
  const e = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...(parts || []));
  return e;
}
function plotOf(series, width) {
  const height = 210, left = 74, right = 10, top = 10, bottom = 40;
  const n = series[0].steps.length, most = Math.max(1, ...series.flatMap(s => s.steps));
  const unit = [1, 2, 2.5, 5, 10].map(f => f * 10 ** Math.floor(Math.log10(most / 4))).find(u => most / u <= 5);
  const end = unit * Math.ceil(most / unit);
  const x = b => left + (n > 1 ? b / (n - 1) : .5) * (width - left - right), y = t => top + (1 - t / end) * (height - top - bottom);
  const plot = svg('svg', {viewBox: '0 0 ' + width + ' ' + height, width, height, role: 'img', 'aria-label': 'Step time of each batch'});
  for (let t = 0; t <= end * 1.001; t += unit)
    plot.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(t), y2: y(t)}),
                svg('text', {x: left - 8, y: y(t) + 4, 'text-anchor': 'end'}, [t > 0 ? timeText(t) : '0']));
  const every = Math.max(1, Math.ceil(n / Math.max(2, Math.floor((width - left) / 60))));
  for (let b = 0; b < n; b += every) plot.append(svg('text', {x: x(b), y: height - bottom + 18, 'text-anchor': 'middle'}, [String(b)]));
  plot.append(svg('text', {x: (left + width - right) / 2, y: height - 4, 'text-anchor': 'middle'}, ['batch']));
  series.forEach(({planner, steps}, k) => {
    plot.append(svg('polyline', {class: 'steps s' + k % 4, points: steps.map((t, b) => x(b) + ',' + y(t)).join(' ')}));
    steps.forEach((t, b) => plot.append(svg('circle', {class: 's' + k % 4, cx: x(b), cy: y(t), r: n > 200 ? 1.5 : 3},
        [svg('title', {}, [planner + ', batch ' + b + ': ' + timeText(t)])])));
  });
  return plot;
}
function showBatches() {
  const all = data.batches;
  $('batches').hidden = !all;
  if (!all) return;
  const names = element('p', all.series.map(({planner}, k) => element('span', [element('i', [], {className: 's' + k % 4}), planner], {className: 'key'})));
  $('batches').replaceChildren(element('h2', 'Step time of ' + all.series[0].steps.length + ' batches; lanes are of batch ' + all.shown), names);
  $('batches').append(plotOf(all.series, Math.max(240, $('batches').clientWidth - 30)));
}
window.addEventListener('resize', showBatches);
showBatches();
)page"};

}  // namespace slimpack::io::detail

#endif
