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
function showControls({plan, kind}) {
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
