import { spawn } from 'node:child_process';
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Rights, User } from './exchange.ts';

/** Whose assertions the demo orchestrator accepts. */
export interface AssertionOptions {
  /** Public keys, PEM. */
  readonly keys: readonly string[];
  readonly issuer: string;
  readonly audience: string;
}

export interface AssertionVerifier {
  /** Undefined: rejected. */
  byToken(token: string, source: Source): Promise<User | undefined>;
  /** Keeps a login for 10 s by name and password, as NSO does. */
  byPassword(name: string, password: string, source: Source): Promise<User | undefined>;
  close(): Promise<void>;
}

export interface Source {
  readonly address: string;
  readonly port: number;
}

const program = fileURLToPath(new URL('../../deploy/nso/verify-assertion', import.meta.url));
/** Milliseconds: `auth-cache-ttl`. */
const cached = 10_000;

/** Starts the program of `deploy/nso/` for each request, and speaks with it as NSO does. */
export async function createAssertionVerifier({ keys, issuer, audience }: AssertionOptions): Promise<AssertionVerifier> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-assertions-'));
  const executable = join(folder, 'verify-assertion');
  await copyFile(program, executable);
  await chmod(executable, 0o755);
  const files = keys.map((_, index) => `key-${String(index)}.pem`);
  await Promise.all(keys.map((key, index) => writeFile(join(folder, files[index] ?? ''), key)));
  const settings = { keys: files, issuer, audience, addresses: ['127.0.0.0/8', '::1/128'], log: 'verify-assertion.log' };
  await writeFile(join(folder, 'verify-assertion.json'), JSON.stringify(settings));
  const logins = new Map<string, { readonly at: number; readonly user: Promise<User | undefined> }>();
  return {
    byToken: async (token, { address, port }) => {
      const answer = await ask(executable, `[${token};${address};${String(port)};rest;http;]`);
      return answer === undefined ? undefined : userOf(answer.slice(0, -1), answer.at(-1) ?? '');
    },
    byPassword(name, password, { address, port }) {
      const key = JSON.stringify([name, password]);
      const known = logins.get(key);
      if (known !== undefined && Date.now() - known.at < cached) return known.user;
      const login = ask(executable, `[${name};${password};${address};${String(port)};rest;http;]`);
      const user = login.then((answer) => answer && userOf(answer, name));
      logins.set(key, { at: Date.now(), user });
      return user;
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The words after `accept`; undefined for any other answer. */
function ask(executable: string, line: string): Promise<readonly string[] | undefined> {
  // A second line would be another question.
  if (/[\r\n]/u.test(line)) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const child = spawn(executable, [], { stdio: ['pipe', 'pipe', 'ignore'] });
    let answer = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (answer += part));
    child.on('error', reject);
    child.on('close', () => {
      const [verdict, ...words] = answer.trim().split(' ');
      resolve(verdict === 'accept' ? words : undefined);
    });
    child.stdin.on('error', () => {
      // It ended without reading.
    });
    child.stdin.end(`${line}\n`);
  });
}

/** `words`: groups, then the account of the operating system. */
function userOf(words: readonly string[], name: string): User {
  const groups = words.slice(
    0,
    words.findIndex((word) => /^\d+$/u.test(word)),
  );
  return { name, rights: byGroup.find(([group]) => groups.includes(group))?.[1] ?? 'none' };
}

/** The access rules of the demo orchestrator, the strongest first. */
const byGroup: readonly (readonly [group: string, rights: Rights])[] = [
  ['ncsadmin', 'all'],
  ['ncsoper', 'operate'],
  ['ncsread', 'read'],
];
