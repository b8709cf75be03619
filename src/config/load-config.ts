import { dirname, resolve } from 'node:path';
import { locate } from '#yaml/located.ts';
import { parseYaml } from '#yaml/yaml-text.ts';
import type { Config } from './config.ts';
import { configShape, listening, outboundTimeouts } from './config-shape.ts';
import { SecretSources } from './secrets/secret-sources.ts';
import { adapterTimeouts } from './sections/adapter-section.ts';
import { storeSection } from './sections/store-section.ts';
import { ConfigReading } from './shapes/place.ts';
import { readRegularFile } from './shapes/regular-file.ts';
import { defaulted, list, mapping, optional, part, type Shape } from './shapes/shape.ts';

/** One problem of a configuration file. Line and column begin at 1. An empty `path` means the whole file. */
export interface ConfigProblem {
  /** The file name as the operator wrote it. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  /** Says what to do. Never holds the value of a secret. */
  readonly message: string;
}

/** One line in the format of compilers, which editors understand: `gateway.yaml:12:5: adapters[0].url: is missing`. */
export function formatConfigProblem({ file, line, column, path, message }: ConfigProblem): string {
  const where = `${file}:${line}:${column}`;
  return path === '' ? `${where}: ${message}` : `${where}: ${path}: ${message}`;
}

/** Thrown for an invalid configuration, with every problem in the order of the file. `message` has one line for each. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[], warnings: readonly ConfigProblem[] = []) {
    super(problems.map(formatConfigProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
    this.warnings = warnings;
  }
}

const configFileLimit = 1024 ** 2;

export interface LoadOptions {
  /** Relative to `cwd`. Problems name the file as it is written here. */
  readonly file: string;
  /** For `{ env: NAME }`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Of a gateway that loads again: those of its last load. A source that is away then keeps its last good value, with a warning. */
  readonly secrets?: SecretSources;
}

/** Deeply frozen. */
export type LoadedConfig = Loaded<Config>;

interface Loaded<Value> {
  readonly config: Value;
  readonly warnings: readonly ConfigProblem[];
  /** For the next load. */
  readonly secrets: SecretSources;
}

/** Reads a YAML file of at most 1 MiB and all files and variables that it names. Throws a ConfigError with every problem. */
export function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  return loadShape(configShape, options);
}

/** Reads only what `shape` names of a YAML file. */
async function loadShape<Value>(shape: Shape<Value>, options: LoadOptions): Promise<Loaded<Value>> {
  const reading = await openReading(options);
  const config = await shape.read(reading.root);
  const [problems, warnings] = [reading.problems, reading.warnings].map((found) =>
    found.map(({ pointer: path, detail: message, ...position }) => ({ file: options.file, path, message, ...position })),
  ) as [ConfigProblem[], ConfigProblem[]];
  if (config === undefined || problems.length > 0) throw new ConfigError(problems, warnings);
  return { config: deepFreeze(config), warnings, secrets: reading.sources };
}

async function openReading({ file, env, cwd, secrets = new SecretSources() }: LoadOptions): Promise<ConfigReading> {
  const wholeFile = (message: string) => new ConfigError([{ file, line: 1, column: 1, path: '', message }]);
  const read = await readRegularFile(resolve(cwd, file), configFileLimit);
  if ('fault' in read) throw wholeFile(`the file ${read.fault}`);
  const yaml = parseYaml(read.text);
  // After a syntax error the tree of values is unreliable, so its further problems would mislead.
  if (yaml.faults.length > 0) throw new ConfigError(yaml.faults.map((fault) => ({ file, path: '', ...fault })));
  if (yaml.root === null) throw wholeFile('the file is empty; at least "access" must be given');
  const { root, excess } = locate(yaml);
  if (excess !== undefined) throw wholeFile(excess);
  secrets.begin();
  return new ConfigReading({ directory: dirname(resolve(cwd, file)), env, sources: secrets, yaml, root });
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

type TimeLimits = Pick<Config['outbound'], 'timeouts'>;

/** For commands that open the store without a gateway: no secrets but those of the store. A `Config` is one, too. */
export interface StoredConfig {
  readonly store: Config['store'];
  readonly outbound: TimeLimits;
  readonly adapters: readonly TimeLimits[];
}

const unread: Shape<true> = { type: 'anything', read: async () => true };

const unreadSections = Object.fromEntries(Object.keys(configShape.members ?? {}).map((key) => [key, optional(unread, '')]));

/** The other sections may have any value. But an unknown section is a problem: a misspelt `store` would mean the default store. */
const storedShape: Shape<StoredConfig> = mapping({
  ...unreadSections,
  store: defaulted(storeSection, '{}', ''),
  outbound: defaulted(part({ timeouts: defaulted(outboundTimeouts, '{}', '') }), '{}', ''),
  adapters: defaulted(list(part({ timeouts: defaulted(adapterTimeouts, '{}', '') })), '[]', ''),
});

/** For a command that asks the gateway of a configuration whether it is well. */
interface AddressConfig {
  readonly server: Pick<Config['server'], 'host' | 'port'> & { readonly tls?: true };
}

const addressShape: Shape<AddressConfig> = mapping({
  ...unreadSections,
  server: defaulted(part({ ...listening, tls: optional(unread, '') }), '{}', ''),
});

/** Reads where a gateway listens, and no secret. */
export function loadAddress(options: LoadOptions): Promise<{ readonly config: AddressConfig }> {
  return loadShape(addressShape, options);
}

/** Other sections than those of a StoredConfig may have problems. */
export function loadStoredConfig(options: LoadOptions): Promise<{ readonly config: StoredConfig }> {
  return loadShape(storedShape, options);
}
