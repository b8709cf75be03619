const patterns = new Map<string, RegExp>();

/** Patterns that are remembered. They come from the configuration, which a reload replaces. */
const mostPatterns = 10_000;

/** Whether one of the globs matches the id of a workflow. `*` is any text; every other character is itself, in its case. */
export function matchesWorkflow(globs: readonly string[], id: string): boolean {
  return globs.some((glob) => patternOf(glob).test(id));
}

function patternOf(glob: string): RegExp {
  const known = patterns.get(glob);
  if (known !== undefined) return known;
  const pattern = new RegExp(
    `^${glob
      .split('*')
      .map((text) => RegExp.escape(text))
      .join('.*')}$`,
    'su',
  );
  if (patterns.size >= mostPatterns) patterns.clear();
  patterns.set(glob, pattern);
  return pattern;
}
