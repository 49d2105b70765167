// Shows scenes as they come. Everything on the page is text from the scene, set as text.
"use strict";

const SIGNS = {
  story: "▶", arrived: "↓", refused: "✗", asked: "?", launched: "+", thwarted: "✗",
  ready: "✓", lost: "!", back: "↺", moved: "→", leaving: "−", gone: "·", settled: "★",
};
const PODS_SHOWN = 160;
const HAPPENINGS_SHOWN = 150;
const LEAVES_MS = 450;

const find = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/* Texts */

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const percent = (amount) => (amount.total > 0 ? Math.round((100 * amount.requested) / amount.total) : 0);
const trimmed = (number, digits) => String(Number(number.toFixed(digits)));
const cores = (number) => trimmed(number, number < 1 ? 2 : number < 10 ? 1 : 0);
const price = (number) => number.toFixed(number < 10 ? 3 : 2);

function bytes(number) {
  const gib = number / 2 ** 30;
  return gib < 1 ? `${Math.round(number / 2 ** 20)}Mi` : `${trimmed(gib, gib < 10 ? 1 : 0)}Gi`;
}

function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const pad = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const rest = `${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

/* Whether a scene was shown before. */
let shown = false;

/* Elements that are kept as long as what they show is there */

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setData(element, name, value) {
  if (element.dataset[name] !== value) element.dataset[name] = value;
}

/** Makes the children of `parent` those of `items`, in their order, each known by its key. */
function keep(parent, items, keyOf, create, update, leaves = 0) {
  const known = (parent.kept ??= new Map());
  const wanted = new Set();
  let before = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    wanted.add(key);
    let element = known.get(key);
    if (!element) {
      element = create(item);
      // What is there from the first frame on does not come in.
      if (shown) element.classList.add("enter");
      known.set(key, element);
    }
    update(element, item);
    while (before && before.leaving) before = before.nextElementSibling;
    if (before === element) before = before.nextElementSibling;
    else parent.insertBefore(element, before);
  }
  for (const [key, element] of known) {
    if (wanted.has(key)) continue;
    known.delete(key);
    element.leaving = true;
    element.classList.add("exit");
    if (leaves > 0) setTimeout(() => element.remove(), leaves);
    else element.remove();
  }
}

/* Parts of the page */

function showStage(stage, scene) {
  setText(find("title"), stage.title);
  setText(find("clock"), clock(scene.now));
  // The cluster's time never passes the computer's.
  const pace = stage.caughtUp ? Math.min(stage.speed, 1) : stage.speed;
  setText(find("speed"), `×${trimmed(pace, 2)}`);
  const hold = find("hold");
  setText(hold, stage.held ? "Resume" : "Pause");
  hold.setAttribute("aria-pressed", String(stage.held));
  find("story").hidden = !stage.chapter && !stage.summary;
  if (stage.chapter) {
    const { number, of, title, text } = stage.chapter;
    const steps = Array.from({ length: of }, (_, index) => index + 1);
    keep(find("steps"), steps, (step) => step, () => make("li"), (element, step) => {
      element.classList.toggle("done", step <= number || Boolean(stage.summary));
    });
    setText(find("chapter"), stage.summary ? "The story is over." : `${title}.`);
    setText(find("chapter-text"), stage.summary ?? text);
  }
  find("try").hidden = !stage.kubectl;
  const commands = [
    stage.kubectl, "kubectl get nodeclaims", "kubectl get pods -A -o wide",
    "kubectl -n shop scale deployment web --replicas 60",
  ];
  if (stage.vcenter) commands.push("", `# ${stage.vcenter}`, ...stage.govc, "govc find / -type m");
  setText(find("kubectl"), commands.join("\n"));
}

function showFigures({ totals }) {
  const listed = (pairs) => pairs.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`).join(", ");
  setText(find("running"), String(totals.running));
  setText(find("pods-more"), listed([[totals.starting, "starting"], [totals.unready, "not ready"]]));
  const waiting = find("waiting-count");
  setText(waiting, String(totals.waiting));
  waiting.classList.toggle("waits", totals.waiting > 0);
  setText(find("ready"), String(totals.ready));
  setText(find("nodes-more"), listed([[totals.coming, "coming"], [totals.lost, "lost"], [totals.leaving, "leaving"]]));
  setText(find("cpu"), `${percent(totals.cpu)}%`);
  setText(find("cpu-more"), `${cores(totals.cpu.requested)} of ${cores(totals.cpu.total)} cores`);
  setText(find("memory"), `${percent(totals.memory)}%`);
  setText(find("memory-more"), `${bytes(totals.memory.requested)} of ${bytes(totals.memory.total)}`);
  setText(find("price"), price(totals.price));
}

/** Pods that wait, by workload and reason. */
function queues(waiting) {
  const queues = new Map();
  for (const pod of waiting) {
    const key = `${pod.workload}\n${pod.why}`;
    if (!queues.has(key)) queues.set(key, { key, workload: pod.workload, why: pod.why, pods: [] });
    queues.get(key).pods.push(pod);
  }
  return [...queues.values()];
}

function podSquare(pod) {
  const square = make("span", "pod");
  square.tabIndex = -1;
  square.pod = pod;
  return square;
}

function showPods(parent, pods, stateOf, tipOf) {
  const drawn = pods.slice(0, PODS_SHOWN);
  keep(parent.firstElementChild, drawn, (pod) => `${pod.namespace}/${pod.name}`, podSquare, (square, pod) => {
    setData(square, "state", stateOf(pod));
    setData(square, "tip", tipOf(pod));
  });
  setText(parent.lastElementChild, pods.length > drawn.length ? `+${pods.length - drawn.length}` : "");
}

function podsRow() {
  const row = make("div");
  row.append(make("div", "pods"), make("span", "more"));
  return row;
}

function showWaiting({ waiting, now }) {
  const longest = waiting.length > 0 ? `longest for ${Math.round(now - waiting[0].since)} s` : "";
  setText(find("waiting-more"), longest);
  setText(find("waiting-note"), waiting.length > 0 ? count(waiting.length, "pod") : "nobody: every pod has a node");
  keep(find("waiting"), queues(waiting), (queue) => queue.key, () => {
    const element = make("div", "queue");
    element.append(make("span", "who"), podsRow(), make("p", "why"));
    return element;
  }, (element, queue) => {
    const [who, row, why] = element.children;
    const [first] = queue.pods;
    setText(who, `${queue.pods.length}× ${queue.workload}`);
    setData(who, "tip", `cpu ${cores(first.cpu)}, memory ${bytes(first.memory)} each`);
    const state = (pod) => (pod.why ? "refused" : pod.headedFor ? "headed" : "waiting");
    const tip = (pod) => {
      const size = `cpu ${cores(pod.cpu)}, memory ${bytes(pod.memory)}`;
      const to = pod.headedFor ? `\non its way to ${pod.headedFor}` : "";
      return `${pod.namespace}/${pod.name}\n${size}${to}`;
    };
    showPods(row, queue.pods, state, tip);
    setText(why, queue.why);
    why.hidden = !queue.why;
  });
}

function meter(name, className) {
  const row = make("div", "meter");
  const track = make("div", "track");
  track.append(make("i", className));
  row.append(make("span", "", name), track, make("span", "num"));
  return row;
}

function showMeter(row, amount, inWords) {
  const share = Math.min(100, percent(amount));
  row.querySelector("i").style.setProperty("width", `${share}%`);
  const text = amount.total > 0 ? `${inWords(amount.requested)} / ${inWords(amount.total)}` : inWords(amount.requested);
  setText(row.lastElementChild, text);
}

function newTile() {
  const tile = make("article", "tile");
  const head = make("div", "tile-head");
  head.append(make("span", "tile-name"), make("span", "phase"));
  tile.append(head, make("div", "tile-shape"), make("div", "tile-place"), meter("cpu", "cpu"), meter("mem", "memory"), podsRow(), make("p", "why"));
  return tile;
}

const COMING = new Set(["asked", "booting", "joining"]);

function showTile(tile, node, now) {
  const [head, shape, place, cpu, memory, row, why] = tile.children;
  const [name, phase] = head.children;
  const coming = COMING.has(node.phase);
  setData(tile, "phase", node.phase);
  tile.toggleAttribute("data-coming", coming);
  setText(name, node.name);
  setData(name, "tip", node.node && node.node !== node.name ? `${node.name}\nnode ${node.node}` : node.name);
  const busy = node.phase === "ready" ? "" : ` ${Math.max(0, Math.round(now - node.since))} s`;
  setText(phase, node.phase + busy);
  setData(phase, "phase", node.phase);
  const cost = node.price === null ? "" : `${price(node.price)}/h`;
  // Before the cloud has chosen, there is neither type nor place; the card says so.
  setText(shape, [node.instanceType, node.capacityType].filter(Boolean).join(" · ") || "type not chosen yet");
  setText(place, [node.zone, cost].filter(Boolean).join(" · ") || "place not chosen yet");
  showMeter(cpu, node.cpu, cores);
  showMeter(memory, node.memory, bytes);
  const state = (pod) => (pod.daemon ? "daemon" : pod.state);
  const tip = (pod) => {
    const state = pod.state === "unready" ? "not ready any more" : pod.state;
    const what = pod.daemon ? "on every node" : state;
    return `${pod.namespace}/${pod.name}\n${what}, cpu ${cores(pod.cpu)}, memory ${bytes(pod.memory)}`;
  };
  showPods(row, node.pods, state, tip);
  const text = coming && node.plannedPods > 0 ? `made for ${count(node.plannedPods, "pod")}` : node.why;
  setText(why, text);
  why.hidden = !text;
}

function showPools({ pools, nodes, now }) {
  keep(find("pools"), pools, (pool) => pool.name, () => {
    const section = make("section", "pool");
    const head = make("div", "pool-head");
    head.append(make("h2"), make("span", "note"));
    section.append(head, make("div", "tiles"));
    return section;
  }, (section, pool) => {
    const [head, tiles] = section.children;
    const [name, note] = head.children;
    setText(name, pool.name ? `Pool ${pool.name}` : "No pool");
    const limit = pool.cpuLimit === null ? "" : `limit ${cores(pool.cpuLimit)} cpu`;
    const figures = pool.nodes === 0 ? ["no nodes", limit] : [
      count(pool.nodes, "node"), count(pool.pods, "pod"),
      `cpu ${cores(pool.cpu.requested)} of ${cores(pool.cpu.total)}`,
      `memory ${bytes(pool.memory.requested)} of ${bytes(pool.memory.total)}`,
      `${price(pool.price)}/h`, limit,
    ];
    setText(note, figures.filter(Boolean).join(" · "));
    const own = nodes.filter((node) => node.pool === pool.name);
    keep(tiles, own, (node) => node.name, newTile, (tile, node) => showTile(tile, node, now), LEAVES_MS);
  });
}

/* A datastore with less room than this is as good as full. */
const LITTLE = 0.05;

function box(...meters) {
  const element = make("div", "host");
  const head = make("div", "host-head");
  head.append(make("span"), make("small"));
  element.append(head, ...meters);
  return element;
}

function showBox(element, name, note, bad) {
  const [head] = element.children;
  setText(head.firstElementChild, name);
  setText(head.lastElementChild, note);
  element.classList.toggle("bad", bad);
}

function showSite({ site }) {
  find("site").hidden = !site;
  if (!site) return;
  setText(find("site-name"), site.name);
  setText(find("site-note"), [count(site.hosts.length, "host"), count(site.datastores.length, "datastore"), count(site.instances.length, "VM")].join(" · "));
  keep(find("hosts"), site.hosts, (host) => host.name, () => box(meter("cpu", "cpu"), meter("mem", "memory")), (element, host) => {
    const note = host.up ? `${host.zone} · ${count(host.instances, "VM")}` : `${host.zone} · does not answer`;
    showBox(element, host.name, note, !host.up);
    showMeter(element.children[1], host.cpu, cores);
    showMeter(element.children[2], host.memory, bytes);
  });
  keep(find("datastores"), site.datastores, (own) => own.name, () => box(meter("used", "space")), (element, own) => {
    const free = Math.max(0, own.space.total - own.space.requested);
    const full = free < LITTLE * own.space.total;
    const note = own.usable ? `${full ? "full: " : ""}${bytes(free)} free` : "out of reach";
    showBox(element, own.name, note, full || !own.usable);
    showMeter(element.children[1], own.space, bytes);
  });
  keep(find("instances"), site.instances, (own) => own.name, () => {
    const row = make("div", "instance");
    row.append(make("span"), make("span", "power"), make("span", "place"));
    return row;
  }, (row, own) => {
    const [name, power, place] = row.children;
    setText(name, own.name);
    setText(power, own.power + (own.progress === null ? "" : ` ${own.progress}%`));
    setText(place, [own.host, own.datastore].filter(Boolean).join(" · "));
    setData(row, "power", own.power);
  }, LEAVES_MS);
}

function showHappenings({ happenings }) {
  const latest = happenings.slice(-HAPPENINGS_SHOWN).reverse();
  keep(find("happenings"), latest, (happening) => happening.number, (happening) => {
    const item = make("li", "happening");
    const told = make("span");
    told.append(make("span", "subject"), make("span", "what"));
    item.append(make("time"), make("span", "sign"), told, make("span", "because"));
    setData(item, "kind", happening.kind);
    return item;
  }, (item, happening) => {
    const [time, sign, told, because] = item.children;
    const [subject, what] = told.children;
    setText(time, clock(happening.at));
    setText(sign, SIGNS[happening.kind]);
    setText(subject, happening.subject);
    subject.hidden = !happening.subject;
    setText(what, happening.what);
    setText(because, happening.why);
  });
}

/* The timeline */

const LEFT = 34;
const TOP = 26;
const CPU_HEIGHT = 104;
const GAP = 14;
const WAITS_HEIGHT = 30;

function draw(parent, tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** A round number that is not below `least`. */
function round(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= least);
}

/** A line that stays where it is until the next sample, closed at the bottom for areas. */
function steps(samples, x, y, value, bottom) {
  let path = "";
  samples.forEach((sample, index) => {
    const [left, height] = [x(sample.at).toFixed(1), y(value(sample)).toFixed(1)];
    path += index === 0 ? `M${left} ${height}` : `H${left}V${height}`;
  });
  return bottom === undefined ? path : `${path}V${bottom}H${x(samples[0].at).toFixed(1)}Z`;
}

let chart = null;

function showChart(scene) {
  const svg = find("chart");
  const width = svg.clientWidth;
  const samples = scene.timeline;
  svg.replaceChildren();
  chart = null;
  if (samples.length < 2 || width === 0) return;
  const last = samples[samples.length - 1].at;
  const from = samples[0].at;
  const inner = width - LEFT - 6;
  const x = (at) => LEFT + (inner * (at - from)) / Math.max(1, last - from);
  const top = round(Math.max(1, ...samples.map((sample) => sample.cpu.total)));
  const y = (value) => TOP + CPU_HEIGHT * (1 - value / top);
  const bottom = TOP + CPU_HEIGHT;
  for (const value of [0, top / 2, top]) {
    draw(svg, "line", { class: "grid", x1: LEFT, x2: width - 6, y1: y(value), y2: y(value) });
    draw(svg, "text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, cores(value));
  }
  draw(svg, "path", { class: "there", d: steps(samples, x, y, (s) => s.cpu.total, bottom) });
  draw(svg, "path", { class: "asked", d: steps(samples, x, y, (s) => s.cpu.requested, bottom) });
  draw(svg, "path", { class: "there-line", d: steps(samples, x, y, (s) => s.cpu.total) });
  draw(svg, "path", { class: "asked-line", d: steps(samples, x, y, (s) => s.cpu.requested) });

  const floor = bottom + GAP + WAITS_HEIGHT;
  const most = Math.max(1, ...samples.map((sample) => sample.waiting));
  const waits = (value) => floor - (WAITS_HEIGHT * value) / most;
  draw(svg, "line", { class: "grid", x1: LEFT, x2: width - 6, y1: floor, y2: floor });
  draw(svg, "text", { x: LEFT - 6, y: waits(most) + 8, "text-anchor": "end" }, String(most));
  draw(svg, "path", { class: "waits-area", d: steps(samples, x, waits, (s) => s.waiting, floor) });

  const spans = [15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
  const span = spans.find((seconds) => inner / ((last - from) / seconds) > 70) ?? 86400;
  for (let at = Math.ceil(from / span) * span; at <= last; at += span) {
    draw(svg, "text", { x: x(at), y: floor + 16, "text-anchor": at === from ? "start" : "middle" }, clock(at));
  }
  let chapter = 0;
  for (const happening of scene.happenings) {
    if (happening.at < from) continue;
    const at = x(happening.at);
    if (happening.kind === "lost") draw(svg, "circle", { class: "lost-mark", cx: at, cy: bottom, r: 4.5 });
    if (happening.kind !== "story") continue;
    chapter += 1;
    draw(svg, "line", { class: "chapter-line", x1: at, x2: at, y1: TOP - 4, y2: floor });
    draw(svg, "circle", { class: "chapter-mark", cx: at, cy: 8, r: 8 });
    draw(svg, "text", { class: "chapter-number", x: at, y: 12 }, String(chapter));
  }
  const cross = draw(svg, "line", { class: "cross", y1: TOP - 4, y2: floor, visibility: "hidden" });
  chart = { samples, x, cross, happenings: scene.happenings };
  if (pointer) pointAt(pointer);
}

let pointer = null;

function pointAt(event) {
  if (!chart) return;
  const box = find("chart").getBoundingClientRect();
  const at = event.clientX - box.left;
  const near = chart.samples.reduce((best, sample) =>
    Math.abs(chart.x(sample.at) - at) < Math.abs(chart.x(best.at) - at) ? sample : best);
  for (const end of ["x1", "x2"]) chart.cross.setAttribute(end, chart.x(near.at));
  chart.cross.setAttribute("visibility", "visible");
  const chapter = chart.happenings.filter((own) => own.kind === "story" && own.at <= near.at).pop();
  const lines = [
    clock(near.at) + (chapter ? `  ${chapter.what}` : ""),
    `cpu ${cores(near.cpu.requested)} of ${cores(near.cpu.total)}`,
    `${near.running} running, ${near.starting} starting, ${near.waiting} waiting`,
    `${count(near.ready, "node")} ready, ${price(near.price)}/h`,
  ];
  showTip(lines.join("\n"), event.clientX, event.clientY);
}

/* Tips */

function showTip(text, x, y) {
  const tip = find("tip");
  setText(tip, text);
  tip.hidden = false;
  const right = Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8);
  const below = y + 18 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 12 : y + 18;
  tip.style.left = `${Math.max(8, right)}px`;
  tip.style.top = `${below}px`;
}

const hideTip = () => { find("tip").hidden = true; };

document.addEventListener("pointerover", (event) => {
  const tipped = event.target.closest?.("[data-tip]");
  if (tipped) showTip(tipped.dataset.tip, event.clientX, event.clientY);
  else if (!event.target.closest?.("#chart")) hideTip();
});
find("chart").addEventListener("pointermove", (event) => { pointer = event; pointAt(event); });
find("chart").addEventListener("pointerleave", () => { pointer = null; hideTip(); if (chart) chart.cross.setAttribute("visibility", "hidden"); });

/* Wishes and scenes */

for (const wish of ["hold", "slower", "faster"]) {
  find(wish).addEventListener("click", () => fetch("/wish", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(wish),
  }).catch(() => {}));
}

function show({ stage, scene }) {
  find("scene").hidden = false;
  showStage(stage, scene);
  showFigures(scene);
  showChart(scene);
  showWaiting(scene);
  showPools(scene);
  showSite(scene);
  showHappenings(scene);
  shown = true;
}

const scenes = new EventSource("/scenes");
scenes.onmessage = (event) => {
  setText(find("link"), "");
  if (event.data) show(JSON.parse(event.data));
};
scenes.onerror = () => setText(find("link"), "no connection: is joiner still running?");
