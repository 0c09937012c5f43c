// ---- samples that share beginnings: where a sequence is on its path, and the hue that its slices have
const parents = data.parents || [], isForest = parents.some(parent => parent >= 0);
const behind = parents.map(() => []), roots = [];  // what goes on behind each sequence, and behind none
parents.forEach((parent, s) => (parent < 0 ? roots : behind[parent]).push(s));
const depthFirst = [];
for (const open = [...roots].reverse(); open.length > 0;) {
  depthFirst.push(open.pop());
  open.push(...[...behind[depthFirst[depthFirst.length - 1]]].reverse());
}
const depths = [], levels = [];  // of each sequence: the tokens and the sequences before it on its path
for (const s of depthFirst) {
  const parent = parents[s];
  depths[s] = parent < 0 ? 0 : depths[parent] + data.lengths[parent];
  levels[s] = parent < 0 ? 0 : levels[parent] + 1;
}
const depthOf = sequence => depths[sequence] || 0;
// From the root down to a sequence.
function pathOf(sequence) {
  const path = [];
  for (let s = sequence; s >= 0; s = parents[s]) path.unshift(s);
  return path;
}
// The circle of hues is divided among the roots, by how many paths end below each, and the part of a sequence among those that go on
// behind it. Its own hue is in the middle of its part: near its parent's, and nearest to those of its closest relatives.
const hues = (() => {
  const ends = parents.map(() => 0), begins = [], found = [];
  for (const s of [...depthFirst].reverse()) {
    ends[s] = Math.max(1, ends[s]);
    if (parents[s] >= 0) ends[parents[s]] += ends[s];
  }
  const all = roots.reduce((sum, s) => sum + ends[s], 0);
  let root = 0;
  for (const s of depthFirst) {
    const parent = parents[s];
    begins[s] = parent < 0 ? root : begins[parent];
    found[s] = 360 * (begins[s] + ends[s] / 2) / all;
    if (parent < 0) root += ends[s]; else begins[parent] += ends[s];
  }
  return found;
})();
// Where one sequence alone goes on behind another they have one hue, and differ in lightness.
const hueOf = sequence => 'hsl(' + hues[sequence].toFixed(1) + ', 75%, ' + (levels[sequence] % 2 ? 44 : 62) + '%)';

// Calls visit(sequence, from, to) for each slice of an instruction's pack, with the share of the pack's tokens from which and to which
// it goes.
function eachSlice(lane, i, visit) {
  const {slices, first, tokens} = lane.plan.replicas[lane.r].passes[passOf(lane.unit[i])], pack = lane.pack[i];
  let ran = 0;
  for (let k = first[pack]; k < first[pack + 1]; ++k) {
    visit(slices[3 * k], ran / tokens[pack], (ran + slices[3 * k + 2]) / tokens[pack]);
    ran += slices[3 * k + 2];
  }
}
// Which sequence an instruction shows at a time, as if its tokens ran one after the other.
function sequenceAt(lane, i, t) {
  const share = (t - lane.start[i]) / (lane.end[i] - lane.start[i]);
  let found = -1;
  eachSlice(lane, i, (sequence, from) => { if (found < 0 || share >= from) found = sequence; });
  return found;
}
// The path that is marked: of the sequence under the pointer, or of the one that is followed.
function markedPath() {
  const sequence = hover && hover.sequence >= 0 ? hover.sequence : show.sequence;
  return new Set(isForest && sequence >= 0 ? pathOf(sequence) : []);
}
// A stripe along the top of a pack, [x0, x1) of its lane: its sequences, each as wide as its share of the tokens.
function drawSequences(c, lane, i, x0, x1, y, h, marked) {
  const high = Math.max(3, Math.floor(.28 * h));
  eachSlice(lane, i, (sequence, from, to) => {
    const begin = x0 + from * (x1 - x0), wide = Math.max(.5, (to - from) * (x1 - x0)), on = marked.has(sequence);
    c.globalAlpha = marked.size === 0 || on ? 1 : .2;
    c.fillStyle = hueOf(sequence);
    c.fillRect(begin, y, wide, high);
    if (on) {
      c.fillStyle = colour.ink;
      c.fillRect(begin, y + high, wide, 2);
    }
  });
  c.globalAlpha = 1;
}

// ---- paths in words
const pathText = sequence => pathOf(sequence).join(' \u203a ') + ', ' + count(depthOf(sequence) + data.lengths[sequence]) + ' tokens';
function sequenceText(sequence) {
  const begin = depthOf(sequence), own = count(data.lengths[sequence]);
  if (!isForest) return own;
  return own + ' from token ' + count(begin) + ' on' + (parents[sequence] < 0 ? '' : ', behind sequence ' + parents[sequence]);
}
