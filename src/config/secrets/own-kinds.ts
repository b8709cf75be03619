import { join, resolve } from 'node:path';
import { entriesOf, type Place, report, scalarOf, wrongKind } from '../shapes/place.ts';
import { duration } from '../shapes/scalar-shapes.ts';
import { defaulted, list, mapping, required, type Shape } from '../shapes/shape.ts';
import { execSource } from './exec-source.ts';
import { fileSource } from './file-source.ts';
import { reportForm, type SourceKind, type SourceKinds } from './secret-reading.ts';
import type { ValueSource } from './value-source.ts';

/** A kind whose one key has a text. */
function textKind(form: string, read: (at: Place, text: string) => ValueSource | undefined): SourceKind {
  return {
    form,
    source({ place, at }) {
      const text = scalarOf(at);
      if (typeof text !== 'string' || entriesOf(place).length > 1) return reportForm(place, ownKinds);
      return read(at, text);
    },
  };
}

function environmentSource(at: Place, name: string): ValueSource | undefined {
  const { env } = at.reading;
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/u.test(name))
    return report(at, 'is no name of an environment variable (letters, digits and _)');
  const text = Object.hasOwn(env, name) ? env[name] : undefined;
  if (text === undefined) return report(at, `the environment variable ${name} is not set; set it before the start`);
  return { name: `env ${name}`, key: JSON.stringify(['env', name, text]), read: async () => ({ text }), stamp: async () => '' };
}

/** systemd's: `LoadCredential=` puts each into a file of its own. */
function credentialSource(at: Place, name: string): ValueSource | undefined {
  const folder = at.reading.env['CREDENTIALS_DIRECTORY'];
  if (!/^[^/\p{Cc}]{1,255}$/u.test(name) || name === '.' || name === '..')
    return report(at, 'is no name of a credential (a file name, without "/")');
  if (folder === undefined || folder === '')
    return report(at, 'needs the environment variable CREDENTIALS_DIRECTORY, which systemd sets with LoadCredential=');
  return { ...fileSource(join(folder, name)), name: `credential ${name}` };
}

const word: Shape<string> = {
  type: 'text',
  async read(place) {
    const text = scalarOf(place);
    if (typeof text !== 'string') return wrongKind(place, 'text, in quotes');
    return text.includes('\0') ? report(place, 'holds a zero byte') : text;
  },
};

const execMembers = mapping({
  exec: required(list(word, { atLeast: 1 }), 'The program and its arguments.'),
  ttl: defaulted(duration('365d'), '5m', 'How long its value is used before the program runs again.'),
  timeout: defaulted(duration('5m'), '5s', 'How long it may take.'),
});

const execKind: SourceKind = {
  form: '{ exec: [PROGRAM] }',
  async source({ place }) {
    const read = await execMembers.read(place);
    if (read === undefined) return undefined;
    const { env, directory } = place.reading;
    return execSource({ ...read, words: read.exec, env, directory });
  },
};

/** The kinds that need no other section. */
export const ownKinds: SourceKinds = {
  env: textKind('{ env: NAME }', environmentSource),
  file: textKind('{ file: PATH }', (at, path) => fileSource(resolve(at.reading.directory, path))),
  credential: textKind('{ credential: NAME }', credentialSource),
  exec: execKind,
};
