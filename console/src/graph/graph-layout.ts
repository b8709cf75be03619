import {
  type Block,
  boxRight,
  type Drawing,
  gap,
  headHeight,
  inset,
  isNext,
  type Jump,
  lane,
  lineHeight,
  loop,
  margin,
  nameHeight,
  type Options,
  type Point,
  padding,
  retryLine,
  type Sink,
  stop,
  stopRoom,
  stopsOf,
  straight,
  turnsOf,
  wayMiddle,
  width,
} from './graph-geometry.ts';
import type { GraphContent, GraphTask, Part } from './graph-tasks.ts';

/** Each list from the top to the bottom, branches next to each other, jumps in lanes at the right: lines cross no box. */
export function layOut({ tasks, functions }: GraphContent, options: Options): Drawing {
  const main = mainBlock(tasks, options);
  const others = functions.map((task) => functionBlock(task, options));
  const sink: Sink = { boxes: [], lines: [] };
  let x = margin;
  for (const block of [main, ...others]) {
    block.draw(x + block.left, margin, sink);
    x += block.left + block.right + 3 * inset;
  }
  const height = Math.max(...[main, ...others].map((block) => block.height)) + 2 * margin;
  return { width: x - 3 * inset + margin, height, axis: margin + main.left, ...sink };
}

function mainBlock(tasks: readonly GraphTask[], options: Options): Block {
  const list = listBlock(tasks, options);
  const terminal = { width: 56, height: 26 };
  const half = terminal.width / 2;
  const goesOn = tasks.length === 0 || tasks.at(-1)?.goesOn === true;
  return {
    left: Math.max(half, list.left),
    right: Math.max(half, list.right),
    height: 2 * (terminal.height + gap) + list.height,
    draw(x, y, sink) {
      const end = y + terminal.height + 2 * gap + list.height;
      const place = { reference: '', left: x - half, ...terminal };
      sink.boxes.push({ ...place, kind: 'start', words: ['Start'], top: y });
      if (tasks.length > 0) sink.lines.push(straight(x, y + terminal.height, y + terminal.height + gap));
      list.draw(x, y + terminal.height + gap, sink);
      sink.boxes.push({ ...place, kind: 'start', words: ['End'], top: end });
      if (goesOn) sink.lines.push(straight(x, end - gap, end));
    },
  };
}

function functionBlock(task: GraphTask, options: Options): Block {
  const body = taskBlock(task, options);
  const title = nameHeight + padding;
  return {
    ...body,
    height: title + body.height,
    draw(x, y, sink) {
      const place = { reference: '', left: x - body.left, top: y, width: body.left + body.right, height: nameHeight };
      sink.boxes.push({ ...place, kind: 'title', words: [`Function ${task.name}`] });
      body.draw(x, y + title, sink);
    },
  };
}

function listBlock(tasks: readonly GraphTask[], options: Options): Block {
  let height = -gap;
  const items = tasks.map((task) => {
    const item = { task, block: taskBlock(task, options), top: height + gap };
    height = item.top + item.block.height;
    return item;
  });
  const blocks = items.map(({ block }) => block);
  const jumps = tasks.flatMap(({ ways }, from) =>
    ways.flatMap(({ to }, way): Jump[] => (typeof to === 'number' && !isNext(to, from, ways) ? [{ from, way, to }] : [])),
  );
  const turns = turnsOf(jumps, blocks);
  const left = Math.max(0, ...blocks.map((block) => block.left));
  const right = Math.max(0, ...blocks.map((block) => block.right), ...turns.map((turn) => turn + lane / 2));
  return {
    left,
    right,
    height: Math.max(0, height),
    draw(x, y, sink) {
      for (const [index, { task, block, top }] of items.entries()) {
        block.draw(x, y + top, sink);
        const next = items[index + 1];
        if (task.goesOn && next !== undefined) sink.lines.push(straight(x, y + top + block.height, y + next.top));
      }
      for (const [index, { from, way, to }] of jumps.entries()) {
        const [source, target] = [items[from], items[to]];
        if (source === undefined || target === undefined) continue;
        const begin = y + source.top + wayMiddle(source.task, way, options);
        const end = y + target.top + padding + nameHeight / 2;
        const turn = x + (turns[index] ?? 0);
        const points: Point[] = [
          [x + boxRight(source), begin],
          [turn, begin],
          [turn, end],
          [x + boxRight(target), end],
        ];
        sink.lines.push({ kind: 'jump', points, hasArrow: true });
      }
    },
  };
}

function taskBlock(task: GraphTask, options: Options): Block {
  const head = headHeight(task, options);
  const inside = insideOf(task, options);
  const half = width / 2;
  const left = Math.max(half, inside === undefined ? 0 : inside.left + inset);
  const right = Math.max(half, inside === undefined ? 0 : inside.right + inset);
  const height = inside === undefined ? head : head + gap + inside.height + inset;
  return {
    left,
    right: right + stopRoom(task),
    height,
    draw(x, y, sink) {
      const box = { reference: task.reference, left: x - left, top: y, width: left + right };
      if (inside !== undefined) sink.boxes.push({ ...box, kind: 'part', words: [], height });
      sink.boxes.push({ ...box, kind: 'task', task, words: task.words, height: head });
      for (const [way, word] of stopsOf(task)) {
        const middle = y + wayMiddle(task, way, options);
        const edge = x + right + stop.gap;
        sink.lines.push({
          kind: 'jump',
          points: [
            [x + right, middle],
            [edge, middle],
          ],
          hasArrow: true,
        });
        const place = { left: edge, top: middle - stop.height / 2, width: stop.width, height: stop.height };
        sink.boxes.push({ ...place, kind: 'stop', reference: task.reference, words: [word] });
      }
      if (inside === undefined) return;
      inside.draw(x, y + head + gap, sink);
      if (task.kind === 'for' || task.kind === 'listen') sink.lines.push(loop(x - left, y, height, head, x));
    },
  };
}

function insideOf(task: GraphTask, options: Options): Block | undefined {
  const [first, second] = task.parts;
  if (second?.kind === 'catch' && first !== undefined) return tryBlock(task, first, second, options);
  if (first === undefined || first.kind === 'catch') return undefined;
  if (first.kind === 'branches') return branchesBlock(first, options);
  const list = listBlock(first.tasks, options);
  return {
    ...list,
    draw(x, y, sink) {
      sink.lines.push(straight(x, y - gap, y));
      list.draw(x, y, sink);
      const bottom = y + list.height;
      const isLoop = task.kind === 'for' || task.kind === 'listen';
      if (first.tasks.at(-1)?.goesOn === true)
        sink.lines.push({ ...straight(x, bottom, bottom + inset / 2), hasArrow: false, kind: isLoop ? 'again' : 'next' });
    },
  };
}

function branchesBlock({ tasks }: Part, options: Options): Block {
  const blocks = tasks.map((task) => taskBlock(task, options));
  const total = blocks.reduce((sum, { left, right }) => sum + left + right + inset, -inset);
  const highest = Math.max(...blocks.map(({ height }) => height));
  return {
    left: total / 2,
    right: total / 2,
    height: highest + inset,
    draw(x, y, sink) {
      let edge = x - total / 2;
      for (const block of blocks) {
        const axis = edge + block.left;
        const split: Point[] = [
          [x, y - gap],
          [x, y - gap / 2],
          [axis, y - gap / 2],
          [axis, y],
        ];
        sink.lines.push({ kind: 'next', points: split, hasArrow: true });
        block.draw(axis, y, sink);
        const join: Point[] = [
          [axis, y + block.height],
          [axis, y + highest + inset / 2],
          [x, y + highest + inset / 2],
          [x, y + highest + 1.5 * inset],
        ];
        sink.lines.push({ kind: 'next', points: join, hasArrow: false });
        edge += block.left + block.right + inset;
      }
    },
  };
}

/** What is tried at the left, on the axis; what happens with errors at its right. */
function tryBlock(task: GraphTask, body: Part, clause: Part, options: Options): Block {
  const tried = listBlock(body.tasks, options);
  const head = 2 * padding + nameHeight + lineHeight * clause.words.length;
  const handler = clause.tasks.length === 0 ? undefined : listBlock(clause.tasks, options);
  const half = { left: Math.max(width / 2, handler?.left ?? 0), right: Math.max(width / 2, handler?.right ?? 0) };
  const handling = head + (handler === undefined ? 0 : gap + handler.height);
  const apart = 2 * inset + gap;
  const height = Math.max(tried.height + inset, handling) + inset;
  return {
    left: tried.left + inset / 2,
    right: tried.right + inset / 2 + apart + half.left + half.right,
    height,
    draw(x, y, sink) {
      const edge = x + tried.right + inset / 2;
      const axis = edge + apart + half.left;
      const place = { left: x - tried.left - inset / 2, top: y - inset / 2, width: tried.left + tried.right + inset };
      sink.lines.push(straight(x, y - gap, y));
      sink.boxes.push({ ...place, kind: 'part', reference: `${task.reference}/try`, words: [], height: tried.height + inset });
      tried.draw(x, y, sink);
      const left = axis - half.left;
      const error: Point[] = [
        [edge, y + padding + nameHeight / 2],
        [left, y + padding + nameHeight / 2],
      ];
      sink.lines.push({ kind: 'error', points: error, hasArrow: true });
      const box = { left, top: y, width: half.left + half.right, height: head };
      sink.boxes.push({ ...box, kind: 'catch', reference: `${task.reference}/catch`, task, words: clause.words });
      if (clause.retries) sink.lines.push(retryLine(axis, y, x));
      if (handler !== undefined) {
        sink.lines.push(straight(axis, y + head, y + head + gap));
        handler.draw(axis, y + head + gap, sink);
      }
      const end = y + height;
      const ends: readonly (readonly [goesOn: boolean, Point])[] = [
        [body.tasks.at(-1)?.goesOn !== false, [x, y + tried.height]],
        [!clause.retries || handler !== undefined ? clause.tasks.at(-1)?.goesOn !== false : false, [axis, y + handling]],
      ];
      for (const [goesOn, from] of ends) {
        const points: Point[] = [from, [from[0], end], [x, end], [x, end + inset]];
        if (goesOn) sink.lines.push({ kind: 'next', points, hasArrow: false });
      }
    },
  };
}
