import { dirname, resolve } from 'node:path';
import { parseYaml } from '#yaml/yaml-text.ts';
import type { Config } from './config.ts';
import { ConfigError, type ConfigProblem } from './config-problem.ts';
import { configShape } from './config-shape.ts';
import { Reading, TooManyValues } from './place.ts';
import { readRegularFile } from './regular-file.ts';
import type { Shape } from './shape.ts';

const configFileLimit = 1024 ** 2;

export interface LoadOptions {
  /** Relative to `cwd`. Problems name the file as it is written here. */
  readonly file: string;
  /** The variables for `{ env: NAME }`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** A valid configuration, deeply frozen, and warnings for the operator. */
export type LoadedConfig = Loaded<Config>;

interface Loaded<Value> {
  readonly config: Value;
  readonly warnings: readonly ConfigProblem[];
}

/** Reads a YAML file of at most 1 MiB and all files and variables that it names. Throws a ConfigError with every problem. */
export function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  return loadShape(configShape, options);
}

/** Reads only what `shape` names of a YAML file. */
export async function loadShape<Value>(shape: Shape<Value>, { file, env, cwd }: LoadOptions): Promise<Loaded<Value>> {
  const fileName = resolve(cwd, file);
  const read = await readRegularFile(fileName, configFileLimit);
  if ('fault' in read) throw new ConfigError([wholeFile(file, `the file ${read.fault}`)]);
  const yaml = parseYaml(read.text);
  // After a syntax error the tree of values is unreliable, so its further problems would mislead.
  if (yaml.faults.length > 0) throw new ConfigError(yaml.faults.map((fault) => ({ file, path: '', ...fault })));
  if (yaml.root === null) throw new ConfigError([wholeFile(file, 'the file is empty; at least "access" must be given')]);
  try {
    return await readConfig(shape, new Reading({ file, directory: dirname(fileName), env, yaml }));
  } catch (error) {
    if (error instanceof TooManyValues)
      throw new ConfigError([
        wholeFile(file, 'the file has more than 100,000 values; each alias (*name) counts with all values of its anchor'),
      ]);
    throw error;
  }
}

async function readConfig<Value>(shape: Shape<Value>, reading: Reading): Promise<Loaded<Value>> {
  const config = await shape.read(reading.root);
  const { problems, warnings } = reading;
  if (config === undefined || problems.length > 0) throw new ConfigError(problems, warnings);
  return { config: deepFreeze(config), warnings };
}

function wholeFile(file: string, message: string): ConfigProblem {
  return { file, line: 1, column: 1, path: '', message };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
