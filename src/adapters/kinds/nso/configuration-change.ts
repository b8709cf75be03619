import { xmlRootName } from '#xml/xml-document.ts';
import type { ChangeCall } from '../../dry-runs.ts';
import { beforeQuery, pathReadings } from '../../paths/path-readings.ts';
import { localName } from './dry-run-answer.ts';
import { dryRunActions } from './dry-run-request.ts';

/** Also by the datastores of RFC 8527, and below any path in front of RESTCONF. */
const configuration = /(?:^|\/)restconf\/(?:data|ds\/[^/]+)(?:\/|$)/u;

/** A commit of configuration and no action, in some reading of the path; also where the path has too many readings. */
export function isConfigurationChange({ method, path, body }: ChangeCall): boolean {
  if (method === 'GET' || (method === 'POST' && isActionBody(body))) return false;
  const readings = pathReadings(beforeQuery(path));
  if (readings === undefined) return true;
  return readings.some((reading) => configuration.test(reading) && !(method === 'POST' && namesAction(reading)));
}

/** One of the actions whose input may come without its wrapper. An entry of a list is no action. */
function namesAction(reading: string): boolean {
  const last = reading.slice(reading.lastIndexOf('/') + 1);
  return !last.includes('=') && dryRunActions.has(localName(last));
}

/** Characters in front of the end of the first name. */
const maxHead = 65_536;

/** `input`, or nothing. Every other POST creates a child. */
function isActionBody(body: Buffer | undefined): boolean {
  if (body === undefined) return true;
  const head = body.toString('utf8', 0, maxHead).replace(/^\uFEFF/u, '');
  if (/^\s*\{\s*\}\s*$/u.test(head)) return true;
  const name = /^\s*</u.test(head) ? xmlRootName(head) : firstMember(head);
  return name !== undefined && localName(name).toLowerCase() === 'input';
}

function firstMember(head: string): string | undefined {
  const [, name] = /^\s*\{\s*("(?:[^"\\]|\\.)*")\s*:/su.exec(head) ?? [];
  try {
    return name === undefined ? undefined : (JSON.parse(name) as string);
  } catch {
    return undefined;
  }
}
