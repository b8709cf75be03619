/** The style of /docs. Its exact characters are hashed into the page's Content-Security-Policy. */
export const docsStyle = `
:root {
  color-scheme: light dark;
  --text: #1b2430; --soft: #566273; --ground: #fff; --panel: #f4f6f9; --line: #dde3ea; --link: #0b5cad;
  --get: #0a6b3d; --post: #0b5cad; --put: #8a5a00; --patch: #7a3fa3; --delete: #b3261e; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e3e8ef; --soft: #9aa7b8; --ground: #12171e; --panel: #1a212b; --line: #2c3644; --link: #7cb7ff;
    --get: #6fd39f; --post: #7cb7ff; --put: #f0bd5e; --patch: #cf9cf2; --delete: #ff9b92; --bad: #ff9b92;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; color: var(--text); background: var(--ground); font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; }
p code, dd code { background: var(--panel); border-radius: 4px; padding: .1em .2em; }
p { margin: .5rem 0; max-width: 46rem; }
header { padding: 1.75rem 1.25rem 1.25rem; border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; }
.version { color: var(--soft); font-size: 1rem; font-weight: 400; }
.lead { color: var(--soft); margin-bottom: 0; }
nav { padding: 1rem 1.25rem; border-bottom: 1px solid var(--line); font-size: .9rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav > ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
nav > ul > li > ul { display: none; }
nav li { margin: .2rem 0; }
main { padding: 0 1.25rem 4rem; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.35rem; }
h3 { margin: 0 0 .25rem; font-size: 1.1rem; }
h4 { margin: 1.25rem 0 .25rem; font-size: .9rem; }
h2 a, h3 a { color: inherit; }
.operation, .error { border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.1rem; margin: 1rem 0; }
.operation:target, .error:target { border-color: var(--link); box-shadow: 0 0 0 1px var(--link); }
.error { padding: .7rem 1.1rem; }
.error p { margin: .25rem 0; }
.address { margin: 0 0 .75rem; max-width: none; }
.address code { background: none; padding: 0; font-size: 1em; }
.method { display: inline-block; font: 600 .72rem/1.4 ui-monospace, Menlo, Consolas, monospace; letter-spacing: .03em; color: var(--post); }
.address .method { border: 1px solid currentColor; border-radius: 4px; padding: .05rem .35rem; }
.method.get { color: var(--get); } .method.put { color: var(--put); } .method.patch { color: var(--patch); } .method.delete { color: var(--delete); }
.type { color: var(--soft); font-weight: 400; font-size: .85rem; }
.required, .optional { color: var(--bad); font-size: .75rem; }
.optional { color: var(--soft); font-style: italic; }
.status { border: 1px solid var(--line); border-radius: 4px; padding: 0 .35rem; font: 600 .8rem/1.5 ui-monospace, Menlo, Consolas, monospace; white-space: nowrap; }
.or { color: var(--soft); font-size: .85rem; margin: .5rem 0 0; }
dl { margin: .25rem 0; }
.fields dt { padding-top: .45rem; border-top: 1px solid var(--line); margin-top: .45rem; }
.fields dt:first-child { border-top: 0; margin-top: 0; padding-top: 0; }
.fields dd { margin: 0; color: var(--soft); font-size: .92rem; max-width: 46rem; }
.errors dt { float: left; clear: left; }
.errors dd { margin: 0 0 .35rem 3.4rem; }
.errors code { display: inline-block; background: none; padding: 0; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem; overflow-x: auto; margin: .4rem 0; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: 1rem; }
summary { cursor: pointer; font-weight: 600; font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: center; font-weight: 400; white-space: nowrap; }
th:first-child { text-align: left; padding-left: 0; }
thead th { font-weight: 600; }
tbody a { color: inherit; }
tbody .method { min-width: 3.4rem; }
@media (min-width: 62rem) {
  body { display: grid; grid-template: auto 1fr / max-content minmax(0, 1fr); }
  header { grid-column: 1 / -1; padding: 2rem 2.5rem 1.5rem; }
  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.5rem 1rem 2rem 2.5rem; border-bottom: 0; border-right: 1px solid var(--line); align-self: start; }
  nav > ul { display: block; }
  nav > ul > li { margin: .45rem 0; }
  nav > ul > li > ul { display: block; padding-left: .6rem; white-space: nowrap; }
  nav .method { min-width: 2.6rem; font-size: .62rem; }
  main { padding: 0 2.5rem 6rem; max-width: 66rem; }
}
@media (max-width: 40rem) {
  table { font-size: .8rem; }
  thead th:not(:first-child) { writing-mode: vertical-rl; vertical-align: bottom; text-align: right; padding: .3rem .1rem; }
  td { padding: .35rem .25rem; }
  tbody th { white-space: normal; }
  tbody .method { display: block; }
}
@media print { nav { display: none; } details > * { display: block; } }
`;
