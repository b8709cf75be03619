import { execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lapse } from '../lapse.ts';
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

/** Runs a program to its end, within five minutes: a busy machine takes two for a Debian. Never rejects. */
export async function runTool(
  program: string,
  parameters: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'> = {},
): Promise<Ended> {
  const limits = { timeout: 300_000, maxBuffer: 64 * 1024 ** 2, ...options, cwd: options.cwd?.toString() };
  try {
    const { stdout, stderr } = await execute(program, [...parameters], limits);
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: number | string; stdout?: string; stderr?: string };
    return { code: typeof code === 'number' ? code : -1, output: `${stdout}${stderr}` };
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

/** A minimal Debian with systemd and without libatomic. The first test that asks makes it, from the packages that this machine's apt names. */
async function debianMaster(): Promise<string> {
  const release = /^VERSION_CODENAME=(.+)$/mu.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';
  const name = createHash('sha256').update(release).digest('hex').slice(0, 8);
  const cache = join('node_modules', '.cache', 'package-tests');
  mkdirSync(cache, { recursive: true });
  const [root, lock] = [join(cache, `debian-${name}`), join(cache, `debian-${name}.lock`)];
  for (let patience = 600; !existsSync(root); patience -= 1) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      if (patience === 0) throw new Error(`${lock} stays: no other test makes the Debian`);
      await lapse(500, 'another test makes the Debian');
    }
  }
  if (existsSync(root)) return root;
  try {
    const draft = `${root}.draft`;
    rmSync(draft, { recursive: true, force: true });
    // Without the waits of dpkg for the disk, which take most of the time: the tests do not survive a loss of power.
    const how = [
      '--variant=minbase',
      '--include=systemd,systemd-sysv',
      '--aptopt=Acquire::Languages "none"',
      '--dpkgopt=force-unsafe-io',
    ];
    await mustRun('mmdebstrap', [...how, release, draft]);
    renameSync(draft, root);
  } finally {
    rmSync(lock, { recursive: true, force: true });
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

/** Starts a program whose standard output and error go to `lines`. The owner ends it. */
export function startTool(
  owner: Owner,
  program: string,
  parameters: readonly string[],
): { readonly lines: string[]; readonly ended: Promise<number | null>; readonly pid: number } {
  const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
  owner.after(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) =>
      lines.push(
        ...text
          .toString()
          .split('\n')
          .filter((line) => line !== ''),
      ),
    );
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('exit', (code) => resolve(code));
  return { lines, ended: promise, pid: child.pid ?? 0 };
}
