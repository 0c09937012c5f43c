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
  for (const k of [...inOrder.filter(isFollowed), ...inOrder.filter(k => !isFollowed(k))].slice(0, 8)) {
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
