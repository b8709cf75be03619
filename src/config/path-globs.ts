import { label } from './scalar-shapes.ts';
import { list } from './shape.ts';

/** Patterns of paths, as `#adapters/path-glob.ts` reads them. */
export const pathGlobs = list(
  label({
    type: 'glob',
    example: '"restconf/data/**"',
    atMost: 1024,
    refuse: (glob) =>
      /[?#]/u.test(glob) ? 'has a "?" or "#"; a glob has only * and **, and matches the path before its "?"' : undefined,
  }),
);
