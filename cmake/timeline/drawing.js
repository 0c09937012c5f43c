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
    while (end < rows.length && joins(k, end)) ++end;
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
