#ifndef SLIMPACK_IO_DETAIL_TIMELINE_SCRIPT_HPP
#define SLIMPACK_IO_DETAIL_TIMELINE_SCRIPT_HPP

namespace slimpack::io::detail {

/// The page's script, first part: the data unpacked, figures as text, what is shown and its address.
/// All times are nanoseconds. Text from the plan reaches the page as text nodes only.
inline constexpr char timeline_script[] = R"js('use strict';
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
const several = (n, word) => count(n) + ' ' + word + (n === 1 ? '' : 's');
const packName = (lane, i) =>
    'FB'[lane.unit[i] & 1] + lane.pack[i] + (plans[show.tab].chunks > 1 ? '.' + (lane.unit[i] >> 1) : '');

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
  const n = s.code.length, next = new Uint32Array(2 * plan.chunks);
  const lane = {r, stage, n, busy: 0, start: new Float64Array(n), end: new Float64Array(n), pack: new Uint32Array(n),
                unit: new Uint16Array(n), memory: s.memory && new Float64Array(n)};
  const scale = plan.bytes ? 2 ** 20 : 1;
  let t = 0, held = 0, gap = 0, due = s.gaps.length ? s.gaps[0] : -1;
  for (let i = 0; i < n; ++i) {
    if (i === due) {
      t += s.gaps[gap + 1];
      gap += 2;
      due = gap < s.gaps.length ? i + s.gaps[gap] : -1;
    }
    const pass = s.code[i] === 'F' ? 0 : 1, chunk = s.chunks ? s.chunks[i] : 0, unit = 2 * chunk + pass;
    const pack = next[unit]++, time = cell(replica.passes[pass].time, chunk * plan.stages + stage, pack);
    lane.start[i] = t;
    lane.end[i] = t += time;
    lane.busy += time;
    lane.pack[i] = pack;
    lane.unit[i] = unit;
    if (lane.memory) lane.memory[i] = scale * (held += s.memory[i]);
  }
  return lane;
}
const shownLanes = () => lanesOf(plans[show.tab]).filter(lane => show.replica < 0 || lane.r === show.replica);
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
function pathReplica() {
  if (show.replica >= 0) return show.replica;
  const makespans = plans[show.tab].replicas.map(r => r.makespan);
  return makespans.indexOf(Math.max(...makespans));
}

// ---- what is shown, and its address
const show = {tab: 0, replica: -1, critical: false, memory: true, same: true, t0: 0, t1: 0, pick: null};
const fullEnd = () => Math.max(1, show.same ? Math.max(...plans.map(p => p.step)) : plans[show.tab].step);
const wholeStep = () => { show.t0 = 0; show.t1 = fullEnd(); };
function readAddress() {
  const at = new URLSearchParams(location.hash.slice(1));
  const number = (name, otherwise) => at.has(name) && isFinite(at.get(name)) ? Number(at.get(name)) : otherwise;
  show.tab = Math.min(plans.length - 1, Math.max(0, Math.floor(number('tab', 0))));
  show.replica = Math.min(plans[show.tab].replicas.length - 1, Math.max(-1, Math.floor(number('replica', -1))));
  show.critical = number('critical', 0) > 0;
  show.memory = number('memory', 1) > 0;
  show.same = number('same', 1) > 0;
  wholeStep();
  setRange(1e9 * number('t0', 0), 1e9 * number('t1', show.t1 / 1e9));
  show.pick = null;
  const pick = /^([FB])(\d+)(?:\.(\d+))?@(\d+)\.(\d+)$/.exec(at.get('pick') || '');
  if (!pick) return;
  const lane = lanesOf(plans[show.tab]).find(l => l.r === Number(pick[4]) && l.stage === Number(pick[5]));
  const i = lane ? indexOf(lane, 2 * Number(pick[3] || 0) + (pick[1] === 'F' ? 0 : 1), Number(pick[2])) : -1;
  if (i >= 0) show.pick = {lane, i};
}
function writeAddress() {
  const at = [];
  if (show.tab > 0) at.push('tab=' + show.tab);
  if (show.t0 > 0 || show.t1 < fullEnd()) at.push('t0=' + show.t0 / 1e9, 't1=' + show.t1 / 1e9);
  if (show.replica >= 0) at.push('replica=' + show.replica);
  if (show.critical) at.push('critical=1');
  if (!show.memory) at.push('memory=0');
  if (!show.same) at.push('same=0');
  if (show.pick) {
    const {lane, i} = show.pick;
    at.push('pick=' + packName(lane, i) + '@' + lane.r + '.' + lane.stage);
  }
  history.replaceState(null, '', '#' + at.join('&'));
}
function setRange(t0, t1) {
  const end = fullEnd(), span = Math.min(end, Math.max(200, t1 - t0));
  show.t0 = Math.min(Math.max(0, t0), end - span);
  show.t1 = show.t0 + span;
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
const peakOf = plan => Math.max(...plan.replicas.flatMap(r => r.peak));
const overMemory = plan => plan.limit !== null && peakOf(plan) > plan.limit;
// Height of the memory strips. A limit far above the peak is left out of them: it would flatten the curves.
const memoryTop = plan => Math.max(1, Math.min(1.08 * Math.max(plan.limit || 0, peakOf(plan)), 1.8 * peakOf(plan)));
function showTabs() {
  $('tabs').hidden = plans.length < 2;
  $('tabs').replaceChildren(...plans.map((p, k) => {
    const tab = element('button', [p.planner, element('span', timeText(p.step))], {onclick: () => choose({tab: k})});
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-selected', String(k === show.tab));
    return tab;
  }));
}
function showFigures(plan) {
  const about = [['planned by', plan.planner], ['for', plan.model], ['on', plan.gpu], ['with cost', plan.cost]];
  $('subtitle').textContent = about.filter(([, name]) => name).map(words => words.join(' ')).join(' ');
  document.title = plan.planner + ' \u00b7 slimpack timeline';
  const total = data.lengths.reduce((a, b) => a + b, 0), longest = data.lengths.reduce((a, b) => Math.max(a, b), 0);
  const packs = p => plan.replicas.reduce((sum, r) => sum + r.passes[p].counts.length, 0);
  const peak = peakOf(plan);
  const figures = [
    ['Step time', timeText(plan.step),
     plan.reduce > 0 ? timeText(plan.reduce) + ' of it gradient reduction' : 'of the slowest replica'],
    ['Efficiency', percent(plan.efficiency), 'no plan can take less than ' + timeText(plan.bound)],
    ['Bubble', percent(plan.bubble), 'of the stages\u2019 time is not useful work'],
    ['Peak memory', memoryText(plan, peak),
     plan.limit === null ? 'no limit given' : percent(peak / plan.limit) + ' of ' + memoryText(plan, plan.limit)],
    ['Batch', several(data.lengths.length, 'sequence'), count(total) + ' tokens, longest ' + count(longest)],
    ['Shape', 'pp ' + plan.stages + ' \u00d7 dp ' + plan.replicas.length,
     'tp ' + plan.tensor + ', cp ' + plan.context + ', vpp ' + plan.chunks],
    ['Packs', count(packs(0) + packs(1)), count(packs(0)) + ' forward, ' + count(packs(1)) + ' backward'],
    ['Planned in', plan.planning > 0 ? timeText(1e9 * plan.planning) : '\u2013',
     element('code', plan.hash + (plan.truncated ? ', truncated' : ''))],
  ];
  $('figures').replaceChildren(...figures.map(([name, value, note]) => {
    const [, number, unit] = /^([^a-z\u00b5]+)( .+)$/i.exec(value) || [null, value, ''];
    return element('div', [element('dt', name), element('dd', [number, element('small', unit)]), element('dd', note)]);
  }));
  $('figures').children[3].classList.toggle('over', overMemory(plan));
}
function showCards(plan) {
  const r = pathReplica(), replica = plan.replicas[r], c = replica.critical;
  const parts = [['forward', c.forward], ['backward', c.backward], ['messages', c.messages, 'ink']];
  if (plan.reduce > 0 && show.replica < 0) parts.push(['gradient reduction', plan.reduce, 'reduce']);
  const sum = Math.max(1, parts.reduce((a, part) => a + part[1], 0));
  const share = element('div', parts.map(([name, time, colour]) => {
    const s = swatch(colour || name);
    s.style.width = 100 * time / sum + '%';
    return s;
  }), {className: 'share'});
  $('path').replaceChildren(
      element('h2', 'Critical path' + (plan.replicas.length === 1 ? '' :
          ' of replica ' + r + (show.replica < 0 ? ', the slowest' : ''))),
      share, table(['spent on', 'time', 'share'], parts.map(([name, time, colour]) =>
          [[swatch(colour || name), name], timeText(time), percent(time / sum)])));
  $('bounds').hidden = plan.bounds.length === 0;
  const bounds = [...plan.bounds].sort((a, b) => b[1] - a[1]);
  $('bounds').replaceChildren(element('h2', 'Why no plan is faster'), table(['argument', 'least time', 'of step'],
      bounds.map(([name, time]) => [name, timeText(time), percent(time / plan.step)])));
  $('compared').hidden = plans.length < 2;
  $('compared').replaceChildren(element('h2', 'The same batch, planned ' + plans.length + ' ways'),
      table(['planner', 'step', 'against first', 'bubble', 'efficiency', 'peak'], plans.map(p =>
          [p.planner, timeText(p.step), digits(p.step / plans[0].step, 3) + ' \u00d7', percent(p.bubble),
           percent(p.efficiency), memoryText(p, peakOf(p)) + (overMemory(p) ? ', over memory' : '')])));
  const rows = $('compared').querySelectorAll('tbody tr');
  rows[show.tab].className = 'main';
  plans.forEach((p, k) => rows[k].lastChild.classList.toggle('over', overMemory(p)));
}
function showControls(plan) {
  const many = plan.replicas.length > 1;
  $('replica').hidden = !many;
  $('replica').replaceChildren(element('option', 'all replicas', {value: -1}), ...plan.replicas.map((r, k) =>
      element('option', 'replica ' + k + ', ' + timeText(r.makespan), {value: k})));
  $('replica').value = show.replica;
  for (const name of ['critical', 'memory', 'same']) $(name).checked = show[name];
  const known = plan.replicas.some(r => r.stages.some(s => s.memory));
  const limited = plan.limit !== null && plan.limit < memoryTop(plan);
  const visible = {critical: show.critical, memory: known, limit: known && show.memory && limited,
                   reduce: plan.reduce > 0, several: plans.length > 1};
  for (const [name, yes] of Object.entries(visible))
    for (const e of document.querySelectorAll('.bar .' + name)) e.style.display = yes ? '' : 'none';
}
)js";

}  // namespace slimpack::io::detail

#endif
