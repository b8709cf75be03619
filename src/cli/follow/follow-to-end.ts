import { visible } from '#base/text/visible.ts';
import { durationText, type GatewayError, type Run } from '#client/gateway.ts';
import type { CommandContext } from '../command.ts';
import type { GatewaySession } from '../gateway-session.ts';
import { shellWord } from '../invocation.ts';
import { print } from '../output.ts';
import { fitted } from '../texts/display-width.ts';
import { createRunTimeline, type LifecycleEvent } from '../texts/lifecycle-event.ts';
import { createProgressLine } from '../texts/progress-line.ts';
import { between, errorText } from '../texts/run-words.ts';
import { followRun } from './follow-run.ts';
import { tellApprovals } from './waiting-approvals.ts';

const exitCodes: Readonly<Partial<Record<Run['status'], number>>> = { completed: 0, faulted: 1, cancelled: 1, suspended: 3 };

interface Followed {
  readonly session: GatewaySession;
  readonly run: Run;
  /** Of its automation. */
  readonly name: string | undefined;
}

/** Prints what happens in a run until it has ended or is suspended. Resolves with the exit code. */
export async function followToEnd({ session, run: { id, workflow, version }, name }: Followed): Promise<number> {
  const { context, given, gateway, wordsFor, consoleLink, complain } = session;
  const { stdout, stderr, outputColumns } = context;
  const isJson = given.flag('json');
  const timeline = createRunTimeline();
  const progress = createProgressLine({ stderr, columns: context.progressColumns });
  const say = async (text: string): Promise<void> => {
    progress.clear();
    const line = visible(text);
    if (!isJson) await print(stdout, `${outputColumns === undefined ? line : fitted(line, outputColumns)}\n`);
  };
  await say(`run ${id}${name === undefined ? '' : ` of ${JSON.stringify(name)}`}: ${workflow} ${version}`);
  const show = async (event: LifecycleEvent): Promise<void> => {
    const line = timeline.line(event);
    if (line !== undefined) await say(line);
    const underWay = timeline.underWay();
    // Cleared, because a line that was shown a moment ago would otherwise stay for as long as the next task takes.
    progress.clear();
    if (underWay !== '') progress.show(() => visible(`under way: ${underWay}`));
  };
  const away = (error: GatewayError): void => {
    progress.clear();
    complain(`${wordsFor(error)}. The run goes on, and the command waits for the gateway.`);
  };
  // The link has to be whole, however narrow the terminal is.
  const tell = async (approval: string): Promise<void> => {
    progress.clear();
    const link = consoleLink(`approvals/${encodeURIComponent(approval)}`);
    const line = `waiting for approval ${visible(approval)}: ${link}\n`;
    if (isJson) stderr.write(line);
    else await print(stdout, line);
  };
  const ended = await context.untilInterrupted(async (interruption) => {
    const over = new AbortController();
    const signal = AbortSignal.any([interruption, over.signal]);
    const telling = tellApprovals({ gateway, run: id, signal, tell });
    try {
      return await followRun({ gateway, id, interruption, show, complain: away });
    } finally {
      over.abort();
      await telling;
    }
  });
  progress.clear();
  if (ended === undefined) {
    complain(`interrupted. The run goes on; see it: ${context.invocation} runs show ${shellWord(id)}`);
    return 1;
  }
  if (isJson) await print(stdout, `${JSON.stringify(ended, undefined, 2)}\n`);
  else await printEnd(context, ended);
  return exitCodes[ended.status] ?? 1;
}

async function printEnd({ stdout, stderr, invocation }: CommandContext, run: Run): Promise<void> {
  const took = between(run.startedAt, run.endedAt);
  await print(stdout, `${run.status}${took === undefined ? '' : ` after ${durationText(took)}`}\n`);
  // The whole error, however narrow the terminal is.
  if (run.error !== undefined) await print(stdout, `${visible(errorText(run.error))}\n`);
  if (run.output !== undefined) await print(stdout, `${jsonLines(run.output)}\n`);
  if (run.status === 'suspended') {
    stderr.write(`The run waits for people. See what for: ${invocation} runs show ${shellWord(run.id)}\n`);
  }
}

/** JSON in lines. Line breaks are its own: those inside strings are escaped. */
function jsonLines(value: unknown): string {
  return JSON.stringify(value, undefined, 2).split('\n').map(visible).join('\n');
}
