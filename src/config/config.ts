import type { configShape } from './config-shape.ts';
import type { Shape } from './shapes/shape.ts';

/**
 * The configuration as the gateway uses it: frozen, with every default, durations in milliseconds, sizes in bytes,
 * the contents of files, and resolved secrets. Key names are those of the YAML file (docs/reference/configuration.md).
 */
export type Config = typeof configShape extends Shape<infer Value> ? Value : never;

export type AdapterConfig = Config['adapters'][number];
