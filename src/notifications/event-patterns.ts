/** Whether one of the patterns matches an event type. */
export function wantsOf(patterns: readonly string[]): (type: string) => boolean {
  const matchers = patterns.map(matcherOf);
  return (type) => matchers.some((matcher) => matcher.test(type));
}

/** `**` is any text, `*` any text without a dot. */
function matcherOf(pattern: string): RegExp {
  const parts = pattern.split(/(\*+)/u).map((part) => {
    if (part === '*') return '[^.]*';
    return part.startsWith('*') ? '.*' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('')}$`, 'u');
}
