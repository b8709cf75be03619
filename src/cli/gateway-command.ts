import { visible } from '#base/text/visible.ts';
import { GatewayError } from '#client/gateway.ts';
import type { Command } from './command.ts';
import { CommandFailed, type GatewaySession, gatewayOptions, loginWords, withSession } from './gateway-session.ts';
import { print } from './output.ts';
import { type TextColumn, textTable } from './texts/text-table.ts';

/** A command that asks a running gateway, without what all of them have. */
type GatewayCommand = Pick<Command, 'name' | 'summary' | 'description'> &
  Partial<Pick<Command, 'options' | 'flags' | 'operands'>> & {
    /** Resolves with the exit code; undefined: 0. */
    readonly work: (session: GatewaySession) => Promise<number | undefined>;
  };

export function gatewayCommand({ description, options, flags, operands = [], work, ...named }: GatewayCommand): Command {
  return {
    ...named,
    description: [...description, '', ...loginWords],
    options: { ...options, ...gatewayOptions },
    ...(flags && { flags }),
    operands,
    run: (context, given) => withSession({ context, given, command: named.name }, async (session) => (await work(session)) ?? 0),
  };
}

interface Answer {
  /** With `--json`. */
  readonly value: unknown;
  /** Without `--json`. */
  readonly lines: readonly string[];
  /** For standard error. */
  readonly hint?: string | undefined;
  readonly exitCode?: number;
}

type AnsweringCommand = Omit<GatewayCommand, 'work'> & {
  readonly answer: (session: GatewaySession) => Promise<Answer>;
};

/** With `--json` the command prints one JSON value. */
export function answeringCommand({ answer, flags, ...command }: AnsweringCommand): Command {
  return gatewayCommand({
    ...command,
    flags: { ...flags, json: 'print one JSON value' },
    async work(session) {
      const { value, lines, hint, exitCode } = await answer(session);
      const { context, given } = session;
      const text = given.flag('json') ? JSON.stringify(value, undefined, 2) : lines.join('\n');
      if (text !== '') await print(context.stdout, `${text}\n`);
      if (hint !== undefined) context.stderr.write(`${hint}\n`);
      return exitCode;
    },
  });
}

/** Of lists that may be long. */
export const limitOption = { value: 'N', default: '50', meaning: 'only the newest N, or "all"' } as const;

type ListCommand<Row> = Omit<GatewayCommand, 'work' | 'flags'> & {
  /** Such as `runs`, for an empty list. */
  readonly what: string;
  readonly columns: readonly TextColumn<Row>[];
  readonly rows: (session: GatewaySession) => AsyncIterable<Row>;
};

/** A table on a terminal, otherwise NDJSON; with `--json` one array. The option `limit` ends the rows. */
export function listCommand<Row>({ what, columns, rows, description, ...command }: ListCommand<Row>): Command {
  return gatewayCommand({
    ...command,
    description: [...description, 'A table on a terminal, otherwise NDJSON.'],
    flags: { json: 'print one JSON array', ndjson: 'print NDJSON on a terminal too' },
    async work(session) {
      const { stdout, stderr, printsToTerminal, outputColumns } = session.context;
      const { flag, option } = session.given;
      const limited = first(rows(session), 'limit' in (command.options ?? {}) ? readLimit(option('limit')) : Infinity);
      if (!flag('json') && (!printsToTerminal || flag('ndjson'))) {
        for await (const row of limited) await print(stdout, `${JSON.stringify(row)}\n`);
        return;
      }
      const list = await Array.fromAsync(limited);
      if (flag('json')) await print(stdout, `${JSON.stringify(list, undefined, 2)}\n`);
      else if (list.length === 0) stderr.write(`no ${what}\n`);
      else await print(stdout, `${textTable(columns, list, outputColumns).join('\n')}\n`);
    },
  });
}

/** Of `limitOption`. */
export function readLimit(limit: string): number {
  if (limit === 'all') return Infinity;
  if (/^[1-9]\d{0,8}$/u.test(limit)) return Number(limit);
  throw new CommandFailed('--limit is neither a whole number of at least 1 nor "all"', 2);
}

async function* first<Row>(rows: AsyncIterable<Row>, limit: number): AsyncGenerator<Row, void, undefined> {
  let left = limit;
  for await (const row of rows) {
    yield row;
    left -= 1;
    if (left <= 0) return;
  }
}

/** The given options of these names, as query parameters. The gateway judges their values. */
export function givenOptions<Query extends object>(
  { option }: GatewaySession['given'],
  names: readonly (keyof Query & string)[],
): Query {
  return Object.fromEntries(names.flatMap((name) => (option(name) === '' ? [] : [[name, option(name)]]))) as Query;
}

/** Small enough for the bytes of a page, and at most what the command prints. */
export function pageSize({ option }: GatewaySession['given']): number {
  return Math.min(readLimit(option('limit')), 100);
}

interface Taking {
  /** For a refusal. */
  readonly name: string;
  /** Resolves with the names of what was taken. */
  readonly take: () => Promise<readonly string[]>;
}

type TakingCommand = Omit<Parameters<typeof answeringCommand>[0], 'answer'> & {
  /** All of them before the first is taken, which changes the pages. */
  readonly takings: (session: GatewaySession) => Promise<readonly Taking[]>;
};

/** Takes one after the other, and prints the names of what was taken. A refusal of one keeps none of the others from being taken. */
export function takingCommand({ takings, ...command }: TakingCommand): Command {
  return answeringCommand({
    ...command,
    async answer(session) {
      const { complain, wordsFor } = session;
      const taken: string[] = [];
      let exitCode = 0;
      for (const { name, take } of await takings(session)) {
        try {
          taken.push(...(await take()));
        } catch (error) {
          if (!(error instanceof GatewayError) || (error.status !== 403 && error.status !== 404)) throw error;
          complain(`${visible(name)}: ${wordsFor(error)}`);
          exitCode = 1;
        }
      }
      return { value: taken, lines: taken.map(visible), exitCode };
    },
  });
}
