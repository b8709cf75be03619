import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type AccessAnswer, type AccessQuestion, type Operation, type OperationName, operations } from '#client/gateway.ts';
import { place } from '../address.ts';
import { useSending } from '../parts/action.tsx';
import { Empty, Facts, Panel, Table } from '../parts/basics.tsx';
import { Field, Input, Select, textOf } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { Failure } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Status } from '../parts/status.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { gateway, may, principal } from '../session.ts';
import { seenText } from '../texts.ts';
import { LeavingPerson } from './leaving-person.tsx';
import { PasswordHash } from './password-hash.tsx';

const roles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;
const names = Object.keys(operations).toSorted();

/** What the caller may do; and for who may ask: what others may, what ends when a colleague leaves, and what each role may call. */
export function Access(): JSX.Element {
  const view = place.value.query.get('view') ?? '';
  const isAsker = may('explainAccess');
  return (
    <>
      <Tabs
        label="Parts of access"
        of={[
          ['', isAsker ? 'May they?' : 'What you may do'],
          ...(isAsker ? [['you', 'What you may do'] as const] : []),
          ['roles', 'What each role may call'],
          ...(may('listAutomations') ? [['leaving', 'When a colleague leaves'] as const] : []),
          ['password', 'Your password hash'],
        ]}
      />
      {view === '' && isAsker && <Explain />}
      {(view === 'you' || (view === '' && !isAsker)) && <OwnRights />}
      {view === 'roles' && <RoleTable />}
      {view === 'leaving' && <LeavingPerson />}
      {view === 'password' && <PasswordHash />}
    </>
  );
}

/** Who the caller is to the gateway, and the operations that a role or a right lets them use. */
function OwnRights(): JSX.Element {
  const caller = principal.value;
  if (typeof caller === 'string') return <Empty>Log in first.</Empty>;
  const { username, roles: own, groups, issuer, subject, operations: allowed } = caller;
  return (
    <Panel title="What you may do">
      <Facts
        of={[
          ['Name', username],
          ['Roles', own.join(', ') || 'none'],
          ['Groups', groups.join(', ') || 'none'],
          ['Issuer', issuer],
          ['Subject', subject],
        ]}
      />
      <p>You may use these operations, each for some object at least:</p>
      <p>
        {allowed.map((name) => (
          <code key={name} class="tag">
            {name}
          </code>
        ))}
      </p>
      {!may('explainAccess') && <NeededRight of="explainAccess" to="ask what other people may do" />}
    </Panel>
  );
}

function RoleTable(): JSX.Element {
  const text = (place.value.query.get('find') ?? '').toLowerCase();
  const found = names.filter((name) => name.toLowerCase().includes(text));
  return (
    <>
      <Filters label="Filter the operations">
        <input type="hidden" name="view" value="roles" />
        <Input label="Contains" name="find" value={place.value.query.get('find') ?? ''} />
      </Filters>
      <Table isGrid label="Operations by role" columns={['Operation', ...roles]}>
        {found.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {roles.map((role) => (
              <td key={role}>
                <Allowed name={name} role={role} />
              </td>
            ))}
          </tr>
        ))}
      </Table>
      <p class="note">
        “depends”: on the automation, the run or the approval, and its groups. Roles of the configuration and path rights of an
        adapter decide further; “May they?” asks for all of it.
      </p>
    </>
  );
}

function Allowed({ name, role }: { readonly name: string; readonly role: string }): JSX.Element {
  const { roles: allowed, method }: Operation = operations[name as OperationName];
  // What changes something and is open to all roles is decided for each automation, run or approval.
  if (allowed === 'callers' && method !== 'GET' && name !== 'logout') return <span class="soft">depends</span>;
  return typeof allowed === 'string' || allowed.includes(role) ? (
    <Status of="allowed" label="yes" />
  ) : (
    <span class="none">no</span>
  );
}

function Explain(): JSX.Element {
  const [answer, setAnswer] = useState<AccessAnswer | undefined>(undefined);
  const { isBusy, error, submit } = useSending(async (form) => {
    setAnswer(undefined);
    setAnswer((await gateway.explainAccess({ body: questionOf(form) })).value);
  });
  return (
    <Panel title="May they?">
      <p>Ask about a call. Nothing is sent to an orchestrator.</p>
      <form aria-label="Explain a decision" onSubmit={submit}>
        <div class="filters">
          <Input label="User or client" name="principal" hint="Of the configuration; or give roles." />
          <Input label="Roles" name="roles" placeholder="noc, readonly" />
          <Field label="Operation">
            {(ids) => (
              <select {...ids} name="route">
                {names.map((name) => (
                  <option key={name} value={name} selected={name === 'restAction'}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Input label="Adapter" name="adapter" />
          <Select
            label="Method"
            name="method"
            options={[['', '–'], ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((one) => [one, one] as const)]}
          />
          <Input label="Path" name="path" placeholder="restconf/data/…" />
          <Select
            label="Entrance"
            name="via"
            options={[
              ['', 'HTTP'],
              ['run', 'a run'],
              ['mcp', 'MCP'],
            ]}
          />
        </div>
        <button type="submit" class="main" aria-disabled={isBusy}>
          Explain
        </button>
      </form>
      {error !== undefined && <Failure error={error} />}
      <div role="status">{answer !== undefined && <Answer of={answer} />}</div>
    </Panel>
  );
}

function questionOf(form: HTMLFormElement): AccessQuestion {
  const given = Object.fromEntries(
    ['principal', 'adapter', 'method', 'path', 'via'].flatMap((name) =>
      textOf(form, name).trim() === '' ? [] : [[name, textOf(form, name).trim()]],
    ),
  );
  const listed = textOf(form, 'roles')
    .split(/[\s,]+/u)
    .filter((role) => role !== '');
  return { ...given, route: textOf(form, 'route'), ...(listed.length === 0 ? {} : { roles: listed }) };
}

function Answer({ of: { allowed, rule, approvals, reason, actsAs } }: { readonly of: AccessAnswer }): JSX.Element {
  return (
    <>
      <p class="answer">
        <Status of={allowed ? 'allowed' : 'denied'} /> {seenText(reason)}
      </p>
      <Facts
        of={[
          ['Rule', rule],
          ['Approvals needed', approvals.length === 0 ? 'none' : approvals.join(', ')],
          ['At the orchestrator as', actsAs && `${actsAs.name} (${actsAs.groups.join(', ') || 'no group'})`],
        ]}
      />
    </>
  );
}
