'use strict';
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
