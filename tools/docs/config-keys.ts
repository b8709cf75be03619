import { configShape } from '../../src/config/config-shape.ts';
import { memberPath } from '../../src/config/shapes/place.ts';
import type { Member, Shape } from '../../src/config/shapes/shape.ts';

/** One key of the configuration as the reference lists it. */
export interface ConfigKey {
  /** `adapters[].auth.token`. */
  readonly path: string;
  /** The one `type` that knows the key, where not all do. */
  readonly only?: string;
  readonly type: string;
  /** YAML text, "required" or "–" (absent). */
  readonly default: string;
  readonly meaning: string;
}

/** Every key, in the order of the file. */
export function configKeys(): readonly ConfigKey[] {
  return [...keysOf(configShape, '')];
}

function* keysOf(shape: Shape<unknown>, path: string): Generator<ConfigKey> {
  for (const [key, member] of Object.entries(shape.members ?? {})) {
    yield keyOf(memberPath(path, key), member);
    yield* keysOf(member.shape, memberPath(path, key));
  }
  if (shape.element !== undefined) yield* keysOf(shape.element, `${path}[]`);
  if (shape.entries !== undefined) yield* keysOf(shape.entries, `${path}.NAME`);
  if (shape.variants !== undefined) yield* variantKeys(shape.variants, path);
}

/** The tag once, with its words as type; then the keys that each variant adds. */
function* variantKeys({ tag, shapes }: NonNullable<Shape<unknown>['variants']>, path: string): Generator<ConfigKey> {
  const words = Object.keys(shapes);
  const tagMember = Object.values(shapes)[0]?.members?.[tag];
  if (tagMember !== undefined) yield { ...keyOf(memberPath(path, tag), tagMember), type: words.join(', ') };
  for (const [word, shape] of Object.entries(shapes)) {
    for (const [key, member] of Object.entries(shape.members ?? {})) {
      if (key !== tag) yield { ...keyOf(memberPath(path, key), member), only: word };
    }
  }
}

function keyOf(path: string, member: Member<unknown, boolean>): ConfigKey {
  const standard = member.default ?? (member.alwaysThere ? 'required' : '–');
  return { path, type: member.shape.type, default: standard, meaning: member.meaning };
}
