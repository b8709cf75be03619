/** The names in a PromQL expression. */
interface PromqlNames {
  readonly series: readonly { readonly name: string; readonly matchers: readonly Matcher[] }[];
  /** Labels of `by`, `without`, `on` and their like. */
  readonly labels: readonly string[];
}

interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

const tokenPattern =
  /\s+|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<range>\[[^\]]*\])|(?<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?[a-z]*)|(?<word>[A-Za-z_:][\w:]*)|(?<mark>=~|!~|==|!=|<=|>=|[-+*/%^(){},=<>@])/gy;
const aggregations = 'sum min max avg count quantile topk bottomk stddev group count_values';
const functions =
  'rate irate increase changes delta deriv histogram_quantile abs ceil floor clamp_min clamp_max label_replace absent vector scalar time label_values max_over_time min_over_time avg_over_time';
const callable = new Set(`${aggregations} ${functions}`.split(' '));
const grouping = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const keywords = new Set(['and', 'or', 'unless', 'bool', 'offset']);

/**
 * Reads the names in an expression of a dashboard or an alert rule; does not check that the expression is valid. Throws for an
 * unknown character, an unknown function, and a word in a wrong place.
 */
export function readPromql(expression: string): PromqlNames {
  const tokens = tokenize(expression);
  const series: { name: string; matchers: Matcher[] }[] = [];
  const labels: string[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const [token, next] = [tokens[at] ?? '', tokens[at + 1] ?? ''];
    if (!/^[A-Za-z_:]/u.test(token) || keywords.has(token)) continue;
    if (grouping.has(token)) {
      if (next !== '(') continue;
      const end = tokens.indexOf(')', at);
      labels.push(...tokens.slice(at + 2, end).filter((word) => word !== ','));
      at = end;
    } else if (next === '(' || grouping.has(next)) {
      if (!callable.has(token)) throw new Error(`PromQL has no function ${token}, in: ${expression}`);
      // label_values(metric, label) of Grafana's variables: the second argument is a label.
      if (token === 'label_values') labels.push(tokens.splice(tokens.lastIndexOf(',') + 1, 1)[0] ?? '');
    } else {
      const end = next === '{' ? tokens.indexOf('}', at) : at;
      series.push({ name: token, matchers: matchersOf(tokens.slice(at + 2, end), expression) });
      at = end;
    }
  }
  return { series, labels };
}

function matchersOf(tokens: readonly string[], expression: string): Matcher[] {
  const matchers: Matcher[] = [];
  for (let at = 0; at < tokens.length; at += 4) {
    const [label = '', operator = '', value = '', comma = ','] = tokens.slice(at, at + 4);
    if (!/^\w+$/u.test(label) || !/^(?:=~|!~|!=|=)$/u.test(operator) || !/^["']/u.test(value) || comma !== ',')
      throw new Error(`the matchers cannot be read, in: ${expression}`);
    matchers.push({ label, operator, value: value.slice(1, -1) });
  }
  return matchers;
}

function tokenize(expression: string): string[] {
  const tokens: string[] = [];
  let end = 0;
  for (const match of expression.matchAll(tokenPattern)) {
    end = match.index + match[0].length;
    const { range } = match.groups ?? {};
    if (match[0].trim() !== '' && range === undefined) tokens.push(match[0]);
  }
  if (end !== expression.length) throw new Error(`what is "${expression.slice(end, end + 20)}", in: ${expression}`);
  return tokens;
}
