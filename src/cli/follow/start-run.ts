import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '#base/text/visible.ts';
import { GatewayError, type RepeatedRun, type Run } from '#client/gateway.ts';
import { neverReached } from '../gateway-fault.ts';
import { exact, type GatewaySession } from '../gateway-session.ts';
import { shellWord } from '../invocation.ts';
import { print } from '../output.ts';
import { followToEnd } from './follow-to-end.ts';

/** Of the commands that start a run. */
export const startFlags = {
  follow: 'print the tasks of the run as they end, and wait for the end of the run',
  json: 'print the run as one JSON value; with --follow as it ended',
} as const;

export const inputOption = {
  value: 'FILE',
  default: '',
  meaning: 'the input of the run: an object in YAML or JSON; "-" is standard input',
} as const;

/** For the descriptions of those commands. */
export const followWords: readonly string[] = [
  'With --follow the command prints each task as it ends, each approval that the run waits for with its',
  'link, and then the output of the run. The exit code is 0 if it is completed, 1 if it is faulted or',
  'cancelled, 3 if it is suspended. Ctrl-C ends the command and not the run.',
];

/** Members of the request as JSON text; those that are undefined are left out. */
type StartMembers = Readonly<Partial<Record<'input' | 'items' | 'notBefore' | 'version', string | undefined>>>;

const maxAttempts = 3;

/** `operation`: with the id of an automation, or of the run to repeat. The idempotency key makes a repetition safe: two requests start one run. */
export async function startRun(
  { gateway }: Pick<GatewaySession, 'gateway'>,
  operation: 'rerunRun' | 'runAutomation',
  { id, members }: { readonly id: string; readonly members: StartMembers },
): Promise<RepeatedRun | Run> {
  const idempotencyKey = randomUUID();
  const given = Object.entries(members).flatMap(([name, text]) => (text === undefined ? [] : [`"${name}":${text}`]));
  const rawBody = `{${given.join(',')}}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return exact(await gateway[operation]({ path: { id }, rawBody, idempotencyKey }));
    } catch (error) {
      const brokeOff = error instanceof GatewayError && error.code === 'no-reply' && !neverReached(error);
      if (!brokeOff || attempt === maxAttempts) throw error;
      await sleep(500);
    }
  }
}

/** Prints the id of a run that started, or follows it. Resolves with the exit code. `name`: of its automation. */
export async function tellStarted(session: GatewaySession, run: Run, name: string | undefined): Promise<number> {
  const { context, given } = session;
  if (given.flag('follow')) return await followToEnd({ session, run, name });
  await print(context.stdout, given.flag('json') ? `${JSON.stringify(run, undefined, 2)}\n` : `${visible(run.id)}\n`);
  context.stderr.write(`The run has started. See it: ${context.invocation} runs show ${shellWord(run.id)}\n`);
  return 0;
}
