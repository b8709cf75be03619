import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hrefOf, place } from './address.ts';
import { lastChange } from './change.ts';
import { Header } from './frame/menu.tsx';
import { Palette } from './frame/palette.tsx';
import { pageKey, pageSubject } from './frame/subject.ts';
import { useLoad } from './load.ts';
import { LoggedIn, Login } from './pages/login.tsx';
import { pageOf } from './pages.tsx';
import { Id } from './parts/copy.tsx';
import { Icon } from './parts/icon.tsx';
import { Failure } from './parts/loading.tsx';
import { principal, recogniseCaller } from './session.ts';
import { seenText } from './texts.ts';

/** The console: the login page, or the navigation and a page. */
export function App(): JSX.Element {
  const recognised = useLoad(recogniseCaller, []);
  useEffect(() => void pageOf(place.value).load?.(), []);
  const caller = principal.value;
  if (caller === 'unknown') {
    return (
      <main class="login" id="main">
        <h1>
          <span class="mark" /> Orchestration Gateway
        </h1>
        {recognised.error === undefined ? (
          <p role="status">Loading…</p>
        ) : (
          <Failure error={recognised.error} again={recognised.again} />
        )}
      </main>
    );
  }
  const [page] = place.value.segments;
  if (caller === 'none' && page !== 'api') return <Login />;
  if (page === 'login') return <LoggedIn />;
  return (
    <div class="console">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Header />
      <Page />
      <LastChange />
      {caller !== 'none' && <Palette />}
    </div>
  );
}

/**
 * The page of the address: the way back, what it is about, and its parts. Its heading gets the focus when the page changes, so that a
 * screen reader reads it.
 */
function Page(): JSX.Element {
  const { title: general, body, above } = pageOf(place.value);
  const subject = pageSubject();
  const title = seenText(subject?.title ?? general);
  const key = pageKey();
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [key]);
  useEffect(() => {
    document.title = `${title} · Orchestration Gateway`;
  }, [title]);
  const crumbs = [
    ...(above === undefined ? [] : [{ title: above.title, href: hrefOf([above.name]) }]),
    ...(subject?.above ?? []),
  ];
  return (
    <main id="main" tabIndex={-1}>
      {crumbs.length > 0 && (
        <nav class="crumbs" aria-label="The way back">
          <ol>
            {crumbs.map((crumb) => (
              <li key={crumb.href}>
                <a href={crumb.href}>{seenText(crumb.title)}</a> <Icon of="next" />
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="title">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {subject?.id !== undefined && <Id of={subject.id} />}
      </div>
      <div key={key}>{body()}</div>
    </main>
  );
}

/** The API call of the last change, as a program would send it. */
function LastChange(): JSX.Element | null {
  const made = lastChange.value;
  if (made === undefined) return null;
  return (
    <aside class={made.failed ? 'last-change failed' : 'last-change'} aria-label="The last change">
      <p role="status">
        <code>
          {made.method} {seenText(made.path)}
        </code>{' '}
        → <code>{made.result}</code>
      </p>
      {made.body !== '' && (
        <pre class="body" tabIndex={0} role="group" aria-label="The body of the change">
          {seenText(made.body.slice(0, 500))}
        </pre>
      )}
      <button
        type="button"
        onClick={() => {
          lastChange.value = undefined;
        }}
      >
        Hide
      </button>
    </aside>
  );
}
