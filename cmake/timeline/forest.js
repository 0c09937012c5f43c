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
  eachSlice(lane, i, (sequence, from) => { if (found < 0 || share >= from) found = sequence; });
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
