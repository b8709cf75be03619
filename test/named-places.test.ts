import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const root = new URL('../', import.meta.url);
const readmes = globSync('src/*/README.md', { cwd: root });
const pages = [...globSync(['*.md', 'docs/**/*.md'], { cwd: root }), ...readmes];

function textOf(file: string): string {
  return readFileSync(new URL(file, root), 'utf8');
}

/** Files and folders of the repository that the text names by their whole path. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`((?:src|test|tools|console|client|demo|bench|deploy)\/[\w./-]+)`/gu)].map(([, path = '']) => path);
}

/** "`file`, `name`" and "`name` in `file`", where `name` is one of code. */
function namesIn(text: string): readonly { readonly file: string; readonly name: string }[] {
  const after = [...text.matchAll(/`(src\/[\w./-]+\.ts)`,\s`(#?[a-z]\w+)`(?!\sin\s`src)/gu)].map(([, file = '', name = '']) => ({
    file,
    name,
  }));
  const before = [...text.matchAll(/`(#?[a-z]\w+)`\sin\s`(src\/[\w./-]+\.ts)`/gu)].map(([, name = '', file = '']) => ({
    file,
    name,
  }));
  return [...after, ...before];
}

function declares(file: string, name: string): boolean {
  const declared = new RegExp(`(?:function|const|class) ${name}\\b|^\\s+(?:async )?${name}(?:\\(|: )`, 'mu');
  return existsSync(new URL(file, root)) && declared.test(textOf(file));
}

describe('the documents', () => {
  test('name only files and folders that exist', () => {
    const named = pages.flatMap((page) => pathsIn(textOf(page)).map((path) => ({ page, path })));
    assert.ok(named.length > 300, 'too few paths were found');
    assert.deepEqual(
      named.filter(({ path }) => !existsSync(new URL(path, root))),
      [],
    );
  });

  test('of a folder name only files of that folder by a short path', () => {
    const folders = globSync('src/*/', { cwd: root });
    assert.equal(readmes.length, folders.length, 'each folder of src has a README.md');
    const named = readmes.flatMap((page) =>
      [...textOf(page).matchAll(/`([\w./-]+(?:\.ts|\.pml|\/))`/gu)]
        .map(([, path = '']) => ({ page, path }))
        .filter(({ path }) => !/^(?:src|console|test|docs)\//u.test(path)),
    );
    assert.ok(named.length > 100, 'too few paths were found');
    assert.deepEqual(
      named.filter(({ page, path }) => !existsSync(new URL(path, new URL(page, root)))),
      [],
    );
  });

  test('name only functions and constants that their file declares', () => {
    const named = pages.flatMap((page) => namesIn(textOf(page)).map((place) => ({ page, ...place })));
    assert.ok(named.length > 20, 'too few names were found');
    assert.deepEqual(
      named.filter(({ file, name }) => !declares(file, name)),
      [],
    );
  });
});

/** As GitHub makes the anchors of headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gmu)].map(([, heading = '']) => heading.toLowerCase());
  return new Set(headings.map((heading) => heading.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')));
}

test('each link between the documents leads to a file, and to a heading of it', () => {
  const links = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/gu)].map(([, path = '', anchor]) => {
      const target = path === '' ? new URL(page, root) : new URL(path, new URL(page, root));
      return { page, path, anchor, target };
    }),
  );
  assert.ok(links.length > 100, 'too few links were found');
  const broken = links.filter(
    ({ anchor, target }) => !existsSync(target) || (anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).has(anchor)),
  );
  assert.deepEqual(
    broken.map(({ page, path, anchor }) => `${page}: ${path}#${anchor}`),
    [],
  );
});

test('each table of docs/reference/headers.md has the function that sets its headers', () => {
  const tables = textOf('docs/reference/headers.md')
    .split(/^## /mu)
    .filter((section) => section.includes('| header | who | when |'));
  assert.equal(tables.length, 14);
  for (const section of tables) {
    const places = /^Set in (.+?)\.\n\n/msu.exec(section)?.[1] ?? '';
    const names = namesIn(places);
    assert.ok(names.length > 0, section.slice(0, 40));
    assert.equal(names.length, pathsIn(places).length, 'a file without its function');
  }
});
