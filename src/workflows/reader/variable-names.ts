import { shown } from '#yaml/wording.ts';
import { type ObjectMembers, readText } from './members.ts';
import type { DocumentReading } from './reading.ts';
import { reservedNames } from './scope.ts';

/** The name of a variable that a member gives, without `$`. */
export function variableName(reading: DocumentReading, members: ObjectMembers, member: string, standard: string): string {
  const node = members.get(member);
  const name = node === undefined ? standard : readText(reading, node, 'the name of a variable, without $');
  if (node === undefined || name === undefined) return standard;
  if (!/^(?!__)[a-z_]\w*$/iu.test(name) || name.length > 255)
    reading.problem(
      node,
      `${shown(name)} is no name of a variable; write letters, digits and _, without $ and not two _ at its beginning`,
    );
  else if (reservedNames.includes(name)) reading.problem(node, `$${name} has a meaning of its own; choose another name`);
  else return name;
  return standard;
}

/** Two variables of one task. */
export function variablePair(
  reading: DocumentReading,
  members: ObjectMembers,
  [first, second]: readonly [string, string],
): readonly [string, string] {
  const names = [variableName(reading, members, first, 'item'), variableName(reading, members, second, 'index')] as const;
  const node = members.get(second) ?? members.get(first);
  if (names[0] === names[1] && node !== undefined)
    reading.problem(node, `"${first}" and "${second}" have the same name $${names[0]}; choose another one`);
  return names;
}
