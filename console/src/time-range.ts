import { timeText } from './texts.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** The ranges that people choose by name. Those of days begin at midnight of the reader's time zone. */
export const namedRanges = [
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['today', 'Today'],
  ['yesterday', 'Yesterday'],
] as const;

export type RangeName = (typeof namedRanges)[number][0];

/** A part of time: RFC 3339, open where a member is absent. */
export interface TimeRange {
  readonly title: string;
  readonly since?: string;
  readonly until?: string;
}

/**
 * The range of an address: `range` has a name, so that the page stays up to date. `since` and `until` have times, so that a
 * colleague sees the same. Without any of them it is the range `byDefault`, or all of time.
 */
export function rangeOf(query: URLSearchParams, byDefault: RangeName | '' = '', now = Date.now()): TimeRange {
  const times = { ...given(query, 'since'), ...given(query, 'until') };
  const words = [times.since && `from ${timeText(times.since)}`, times.until && `until ${timeText(times.until)}`];
  const said = words.filter((part) => part !== undefined).join(' ');
  if (said !== '') return { title: said, ...times };
  const named = namedRanges.find(([name]) => name === (query.get('range') || byDefault));
  if (named === undefined) return { title: 'Any time' };
  const [name, title] = named;
  return { title, ...timesOf(name, now) };
}

function given(query: URLSearchParams, name: 'since' | 'until'): Omit<TimeRange, 'title'> {
  const value = query.get(name);
  return value === null || value === '' ? {} : { [name]: value };
}

function timesOf(name: RangeName, now: number): Omit<TimeRange, 'title'> {
  // A whole minute, so that two questions of one minute are the same.
  const before = (span: number): string => new Date(Math.floor((now - span) / 60_000) * 60_000).toISOString();
  if (name === 'today') return { since: midnight(now, 0) };
  if (name === 'yesterday') return { since: midnight(now, -1), until: midnight(now, 0) };
  const spans = { '1h': hour, '24h': day, '7d': 7 * day, '30d': 30 * day };
  return { since: before(spans[name]) };
}

function midnight(now: number, days: number): string {
  const date = new Date(now);
  date.setHours(0, 0, 0, 0);
  date.setDate(date.getDate() + days);
  return date.toISOString();
}

/** A step of statistics with which the range has some twenty to fifty of them. */
export function stepOf({ since, until }: TimeRange, now = Date.now()): string {
  const span = (until === undefined ? now : Date.parse(until)) - (since === undefined ? now - day : Date.parse(since));
  if (span <= 8 * hour) return '15m';
  if (span <= 2 * day) return '1h';
  if (span <= 9 * day) return '6h';
  return span <= 60 * day ? '1d' : '7d';
}

/** What `<input type="datetime-local">` shows for a time, in the reader's time zone. */
export function localInput(at: string | undefined): string {
  return at === undefined ? '' : timeText(at).replace(' ', 'T').slice(0, 16);
}

/** The time of such an input as RFC 3339; empty where it has none. */
export function fromLocalInput(text: string): string {
  const date = new Date(text);
  return text === '' || Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
