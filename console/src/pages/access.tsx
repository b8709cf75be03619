import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type AccessAnswer, type AccessQuestion, type Operation, type OperationName, operations } from '#client/gateway.ts';
import { useSending } from '../parts/action.tsx';
import { Facts, Panel, Table } from '../parts/basics.tsx';
import { Field, Input, Select, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway } from '../session.ts';

const roles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;
const names = Object.keys(operations).toSorted();

/** Whether a call is allowed, and by which rule; and what each role may call. */
export function Access(): JSX.Element {
  return (
    <>
      <Explain />
      <Panel title="What each role may call">
        <Table label="Operations by role" columns={['Operation', ...roles]}>
          {names.map((name) => (
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
          adapter decide further; the form above asks for all of it.
        </p>
      </Panel>
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

function Answer({ of: { allowed, rule, approvals, reason } }: { readonly of: AccessAnswer }): JSX.Element {
  return (
    <>
      <p class="answer">
        <Status of={allowed ? 'allowed' : 'denied'} /> {reason}
      </p>
      <Facts
        of={[
          ['Rule', rule],
          ['Approvals needed', approvals.length === 0 ? 'none' : approvals.join(', ')],
        ]}
      />
    </>
  );
}
