import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hrefOf, pagePlace, place } from './address.ts';
import { lastChange } from './change.ts';
import { useLoad } from './load.ts';
import { LoggedIn, Login } from './pages/login.tsx';
import { menu, pageOf } from './pages.tsx';
import { Failure } from './parts/loading.tsx';
import { logOut, principal, recogniseCaller } from './session.ts';

/** The console: the login page, or the navigation and a page. */
export function App(): JSX.Element {
  const recognised = useLoad(recogniseCaller, []);
  const caller = principal.value;
  if (caller === 'unknown') {
    if (recognised.error !== undefined) {
      return (
        <main class="login" id="main">
          <h1>Orchestration Gateway</h1>
          <Failure error={recognised.error} again={recognised.again} />
        </main>
      );
    }
    return (
      <main class="login" id="main">
        <h1>Orchestration Gateway</h1>
        <p role="status">Loading…</p>
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
      <header>
        <a class="brand" href={hrefOf([])}>
          Orchestration Gateway
        </a>
        <Menu />
        <Caller />
      </header>
      <Page />
      <LastChange />
    </div>
  );
}

/** Who is logged in; a person who is not reads the reference of the API. */
function Caller(): JSX.Element {
  const caller = principal.value;
  if (typeof caller === 'string') {
    return (
      <div class="caller">
        <a class="button" href={hrefOf(['login'], { to: pagePlace() })}>
          Log in
        </a>
      </div>
    );
  }
  return (
    <div class="caller">
      <span>
        <strong>{caller.username}</strong> <span class="roles">{caller.roles.join(', ') || 'no role'}</span>
      </span>
      <button type="button" onClick={() => void logOut()}>
        Log out
      </button>
    </div>
  );
}

function Menu(): JSX.Element {
  const [current = ''] = place.value.segments;
  return (
    <nav aria-label="Pages">
      <ul>
        {menu()
          .filter(({ isOffered }) => isOffered)
          .map(({ name, title }) => (
            <li key={name}>
              <a href={hrefOf(name === '' ? [] : [name])} aria-current={name === current ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  );
}

/** The page of the address. Its heading gets the focus when the page changes, so that a screen reader reads it. */
function Page(): JSX.Element {
  const { title, body } = pageOf(place.value);
  const key = place.value.segments.join('/');
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Orchestration Gateway`;
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [key]);
  return (
    <main id="main" tabIndex={-1}>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <div key={key}>{body}</div>
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
          {made.method} {made.path}
        </code>{' '}
        → <code>{made.result}</code>
      </p>
      {made.body !== '' && <code class="body">{made.body.slice(0, 500)}</code>}
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
