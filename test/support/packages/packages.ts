import { type ExecFileException, execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Owner } from '../owner.ts';

/** `npm run test:packages` and `npm run test:all` make the packages, and name their folder here. */
const folder = process.env['TESTED_PACKAGES'];

export const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };

/** Why a test of packages cannot run; false where it can, and under CI=true, where it must. */
export function cannotRun(...tools: readonly (readonly [program: string, debianPackage: string])[]): string | false {
  if (process.env['CI'] === 'true') return false;
  if (folder === undefined) return 'npm run test:packages makes the packages';
  if (process.getuid?.() !== 0) return 'it needs root, for chroot';
  const missing = tools.find(([program]) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  return missing === undefined ? false : `${missing[0]} is not installed: apt-get install ${missing[1]}`;
}

/** The file of a package by the end of its name. */
export function packageFile(name: string): string {
  return join(folder ?? '', name);
}

const execute = promisify(execFile);

export interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Milliseconds: more than the slowest program takes on a busy machine of two processors. It ends only a program that hangs. */
const patience = 15 * 60_000;

/** For a test that makes a Debian, or runs one. It ends only a test that hangs. */
export const testLimit = 3 * patience;

/** Runs a program to its end. Where it could not, `output` ends with the reason. Never rejects. */
export async function runTool(
  program: string,
  parameters: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'> = {},
): Promise<Ended> {
  const limits = { timeout: patience, maxBuffer: 64 * 1024 ** 2, ...options, cwd: options.cwd?.toString() };
  try {
    const { stdout, stderr } = await execute(program, [...parameters], limits);
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '', killed } = error as Partial<ExecFileException> & { stdout?: string; stderr?: string };
    const output = stdout + stderr;
    if (typeof code === 'number') return { code, output };
    const reason = killed === true ? `it was ended after ${patience / 60_000} minutes` : (code ?? 'a signal ended it');
    return { code: -1, output: `${output}\n${program}: ${reason === 'ENOENT' ? 'it is not installed' : reason}` };
  }
}

/** As `runTool`. Rejects with the output where it fails. */
export async function mustRun(...run: Parameters<typeof runTool>): Promise<string> {
  const { code, output } = await runTool(...run);
  if (code !== 0) throw new Error(`${run[0]} ${run[1].join(' ')} ended with ${code}:\n${output}`);
  return output;
}

export function temporaryFolder(owner: Owner, name: string): string {
  const made = mkdtempSync(join(tmpdir(), `${name}-`));
  owner.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A minimal Debian with systemd and without libatomic. The first test that asks makes it, and a later run uses it again. */
async function debianMaster(): Promise<string> {
  const release = /^VERSION_CODENAME=(.+)$/mu.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';
  const cache = join('node_modules', '.cache', 'package-tests');
  mkdirSync(cache, { recursive: true });
  const root = join(cache, `debian-${release}`);
  if (existsSync(root)) return root;
  const draft = mkdtempSync(join(cache, 'draft-'));
  try {
    // The account that downloads for apt has to reach it.
    chmodSync(draft, 0o755);
    // Without the waits of dpkg for the disk, which take most of the time: the tests do not survive a loss of power.
    const how = [
      '--variant=minbase',
      '--include=systemd,systemd-sysv',
      '--aptopt=Acquire::Languages "none"',
      '--aptopt=Acquire::Retries "5"',
      '--dpkgopt=force-unsafe-io',
    ];
    await mustRun('mmdebstrap', [...how, release, join(draft, 'root')]);
    // A test at the same time may have made it, too.
    if (!existsSync(root)) renameSync(join(draft, 'root'), root);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return root;
}

/** A Debian of its own for one test. */
export async function debianRoot(owner: Owner): Promise<string> {
  const master = await debianMaster();
  const root = join(temporaryFolder(owner, 'debian'), 'root');
  await mustRun('cp', ['-a', '--reflink=auto', master, root]);
  return root;
}

/** Runs a line in a Debian without network. `user`: a name in that Debian. */
export function inRoot(root: string, line: string, user = 'root'): Promise<Ended> {
  const as = user === 'root' ? ['/bin/sh', '-c', line] : ['/usr/sbin/runuser', '-u', user, '--', '/bin/sh', '-c', line];
  return runTool('unshare', ['--net', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, 'sh', root, ...as]);
}

/** The new network has its loopback interface alone. */
const enter = `root=$1; shift; mount --bind "$root" "$root" && mount -t proc proc "$root/proc" &&
mount --bind /dev "$root/dev" && (ip link set lo up 2>/dev/null || python3 -c 'import socket,fcntl,struct
s=socket.socket();fcntl.ioctl(s,0x8914,struct.pack("16sh",b"lo",0x49))') && exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp "$@"`;

/** Puts packages of Debian into the folder: a test has no network, so they come from what this machine's apt names. */
export async function downloadDebs(folder: string, ...names: readonly string[]): Promise<void> {
  await mustRun('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', '-o', 'Acquire::Retries=5', ...names], {
    cwd: folder,
  });
}

export const firstQuery = fileURLToPath(new URL('first-query.mjs', import.meta.url));

/** Seconds from `begin` (since the epoch, in milliseconds) to the answer of which `firstQuery` told. */
export function secondsToFirstQuery(begin: number, output: string): string {
  const at = Number(/^query answered at (\d+)$/mu.exec(output)?.[1]);
  if (!(at > begin)) throw new Error(`no query was answered:\n${output}`);
  return ((at - begin) / 1000).toFixed(1);
}

/** Starts a program whose standard output and error go to `lines`. The owner ends it, with all that it started. */
export function startTool(
  owner: Owner,
  program: string,
  parameters: readonly string[],
): { readonly lines: string[]; readonly ended: Promise<number | null>; readonly pid: number } {
  const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  owner.after(() => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => void (line === '' || lines.push(line)));
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('exit', (code) => resolve(code));
  return { lines, ended: promise, pid: child.pid ?? 0 };
}
