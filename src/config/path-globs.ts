import { label } from './scalar-shapes.ts';
import { list, mapped } from './shape.ts';

/** Patterns of paths, as `#adapters/path-glob.ts` reads them. */
export const pathGlobs = list(
  mapped(
    label({
      type: 'glob',
      example: '"restconf/data/**"',
      atMost: 1024,
      refuse: (glob) =>
        /[?#]/u.test(glob) ? 'has a "?" or "#"; a glob has only * and **, and matches the path before its "?"' : undefined,
    }),
    (glob, place) => {
      if (/^[a-z][a-z0-9+.-]*:\/\//iu.test(glob))
        place.reading.warning(place, 'begins with a scheme, and no path does: write the path alone, such as restconf/data/**');
      return glob;
    },
  ),
);
