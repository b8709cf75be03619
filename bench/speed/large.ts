import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Owner } from '../../test/support/owner.ts';
import { median } from '../figures.ts';
import { mebibytes, processorSeconds, resetHighWaterMark } from '../process-tree.ts';
import { type Surroundings, startSurroundings } from './answering-upstream.ts';
import { table } from './report.ts';
import type { Section, SectionOptions } from './section.ts';
import { type Route, routes, type Subject, startBareRelay, startThisGateway } from './subjects.ts';

/** MiB over idle; ratios of processor time a byte to the streaming bare relay. */
const marks = { memory: 64, restCall: 2.5, restAction: 2.5, restQuery: 5 };
const rounds = 5;
/** First replies, whose processor time does not count, because V8 compiles during a GiB. For memory they count. */
const warmUps = 1;

interface Download {
  readonly calls: 1;
  readonly seconds: number;
  readonly firstByteMs: number;
  /** Seconds of processor time of the relay. */
  readonly cost: number;
}

/** Reads one large reply without pauses. Rejects where it is not whole. */
function download(subject: Subject, route: Route): Promise<Download> {
  const before = processorSeconds(subject.pid);
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const socket = connect(subject.port, '127.0.0.1', () => socket.write(subject.request(route)));
    let firstByteMs: number | undefined;
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      if (firstByteMs === undefined && !chunk.toString('latin1').startsWith('HTTP/1.1 200'))
        socket.destroy(new Error(chunk.toString()));
      firstByteMs ??= performance.now() - started;
      tail = (tail + chunk.subarray(-16).toString('latin1')).slice(-16);
      if (!/\]\}?\}?\r\n(?:[^]*\r\n)?0\r\n\r\n$/u.test(tail)) return;
      const seconds = (performance.now() - started) / 1000;
      socket.destroy();
      resolve({ calls: 1, seconds, firstByteMs, cost: processorSeconds(subject.pid) - before });
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`the reply was cut off after ${JSON.stringify(tail)}`)));
  });
}

interface Large {
  readonly own: readonly Download[];
  readonly bare: readonly Download[];
  readonly idle: number;
  readonly peak: number;
}

/** Measures a new gateway that has answered only one reply of 1 MiB, so that its first large reply counts for memory. */
async function measureRoute(owner: Owner, route: Route, surroundings: Surroundings, bytes: number): Promise<Large> {
  const path = `list/${bytes}`;
  const floor = await startBareRelay(owner, { ...surroundings, path }, 'stream');
  const gateway = await startThisGateway(owner, { ...surroundings, path });
  const small = gateway.request(route).replaceAll(path, `list/${1024 ** 2}`);
  const warm = { ...gateway, request: () => small.replace(/Content-Length: \d+/u, `Content-Length: ${bodyLength(small)}`) };
  await surroundings.exactly(() => download(warm, route));
  await sleep(3000);
  const idle = mebibytes(gateway.pid, 'VmRSS');
  resetHighWaterMark(gateway.pid);
  const [own, bare]: [Download[], Download[]] = [[], []];
  for (let round = 0; round < warmUps + rounds; round += 1) {
    own.push(await surroundings.exactly(() => download(gateway, route)));
    bare.push(await surroundings.exactly(() => download(floor, route)));
  }
  const peak = mebibytes(gateway.pid, 'VmHWM');
  await gateway.stop();
  return { own: own.slice(warmUps), bare: bare.slice(warmUps), idle, peak };
}

function bodyLength(request: string): number {
  return Buffer.byteLength(request.slice(request.indexOf('\r\n\r\n') + 4));
}

/** Measures the cost of a large reply in memory, time and processor time. */
export async function large(owner: Owner, { mebibytes: size }: SectionOptions): Promise<Section> {
  const surroundings = await startSurroundings(owner);
  const rows: string[][] = [];
  const missed: string[] = [];
  for (const route of routes) {
    const { own, bare, idle, peak } = await measureRoute(owner, route, surroundings, size * 1024 ** 2);
    const ratio = median(own.map(({ cost }, index) => cost / (bare[index]?.cost ?? Number.NaN)));
    const rate = (of: readonly Download[]): number => size / median(of.map(({ seconds }) => seconds));
    const nanoseconds = (of: readonly Download[]): number => (median(of.map(({ cost }) => cost)) / (size * 1024 ** 2)) * 1e9;
    if (ratio > marks[route]) missed.push(`${route}: ${ratio.toFixed(2)} times the processor time, mark ${marks[route]}`);
    if (peak - idle > marks.memory) missed.push(`${route}: ${(peak - idle).toFixed(0)} MiB over idle, mark ${marks.memory}`);
    rows.push([
      route,
      ...[idle, peak, peak - idle].map((value) => value.toFixed(0)),
      ...[own, bare].map((of) => median(of.map(({ firstByteMs }) => firstByteMs)).toFixed(0)),
      ...[rate(own), rate(bare)].map((value) => value.toFixed(0)),
      ...[nanoseconds(own), nanoseconds(bare), ratio].map((value) => value.toFixed(2)),
    ]);
  }
  const head = ['route', 'idle MiB', 'peak MiB', 'over idle MiB', 'first byte ms', 'bare relay', 'MiB/s', 'bare relay'];
  return {
    title: 'A large reply',
    text: [
      `${size} MiB from the upstream, ${rounds} times through each route of a new gateway, each followed by one through a bare relay that streams. Figures are medians. V8 compiles during one further reply before them, which counts only for memory. Memory is the greatest value.`,
      table([...head, 'processor time a byte, ns', 'bare relay', 'ratio'], rows),
      `Marks: ${marks.memory} MiB over idle; ${marks.restCall} times the processor time for restCall and restAction, ${marks.restQuery} for restQuery. ${missed.length === 0 ? 'Reached.' : `**Not reached**: ${missed.join('; ')}.`}`,
    ].join('\n\n'),
  };
}
