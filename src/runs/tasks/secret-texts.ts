/** Characters that a member other than `password` and `token` has at least: a shorter one may be a region, or a number of seconds. */
const shortest = 8;

/**
 * The texts that give a secret away: the whole of it, and the parts that a workflow may use by themselves. These are the password of
 * `username:password`, and of the JSON text of an object its `password`, its `token` and its longer members. A user name is no secret:
 * people would miss it in what far sides say.
 */
export function secretTexts(text: string): readonly string[] {
  if (!/^\s*\{/u.test(text)) return [text, text.slice(text.indexOf(':') + 1)];
  const values = valuesIn(text);
  const of = (wanted: string): readonly string[] => values.flatMap(({ name, value }) => (name === wanted ? [value] : []));
  const sent = of('username').flatMap((user) => of('password').map((password) => `${user}:${password}`));
  const long = values.filter(({ name, value }) => name !== 'username' && value.length >= shortest);
  return [text, ...sent, ...of('password'), ...of('token'), ...long.map(({ value }) => value)];
}

/** Strings and numbers, and the string before a colon, which is a name. */
const tokens = /("(?:[^"\\]|\\.)*")\s*(:?)|[^\s{}[\]:,"]+/gsu;

/** The strings and numbers of a JSON text, each with the last name before it. As jq does, it takes texts that JSON does not allow. */
function valuesIn(text: string): readonly { readonly name: string; readonly value: string }[] {
  let name = '';
  return [...text.matchAll(tokens)].flatMap(([word, string, colon]) => {
    if (string === undefined) return [{ name, value: word }];
    const value = unescaped(string);
    if (colon === '') return [{ name, value }];
    name = value;
    return [];
  });
}

/** As written, where the string has an escape that JSON does not know. */
function unescaped(token: string): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    return token.slice(1, -1);
  }
}
