import type { JSX } from 'preact';
import { type Operation, type OperationName, operations } from '#client/gateway.ts';

interface NeededRightProps {
  readonly of: OperationName;
  /** What the person cannot do: `change this automation`. */
  readonly to: string;
  /** What an automation or another object asks for in addition. */
  readonly groups?: readonly string[];
  /** Of an operation that is open to all callers, and whose object decides: roles that may in addition to admin. */
  readonly roles?: readonly string[];
}

/** What a person would need, where the console offers something to others alone. */
export function NeededRight({ of, to, groups = [], roles = [] }: NeededRightProps): JSX.Element {
  const { roles: allowed }: Operation = operations[of];
  const named = typeof allowed === 'string' ? roles : allowed.filter((role) => role !== 'admin');
  return (
    <p class="needed">
      You may not {to}. {named.length === 0 ? 'The role admin' : `The roles admin and ${named.join(', ')}`} may
      {groups.length > 0 && `, and members of the groups ${groups.join(', ')}`}; so may a role with a right to <code>{of}</code>.
    </p>
  );
}
