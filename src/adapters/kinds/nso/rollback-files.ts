import type { FoundCommit, Stamps } from '../../commit-stamps.ts';
import { entriesIn, memberNamed, readTreeInSteps, textIn } from './dry-run-answer.ts';

/** tailf-rollback. NSO keeps the last ones (`rollback/history-size`). */
const path = 'restconf/data/tailf-rollback:rollback-files/file';

export const rollbackWithLabel: Stamps['find'] = async (label, read): Promise<FoundCommit> => {
  const { status, body } = await read(path, 'application/yang-data+json');
  if (status !== 200 && status !== 204) return { unknown: `NSO answered ${status} to the list of its rollback files.` };
  const tree = body.length === 0 ? undefined : await readTreeInSteps(body);
  if (tree === undefined && status === 200) return { unknown: 'NSO answered something else than a list of rollback files.' };
  const files = entriesIn(memberNamed(tree, 'file'));
  // NACM hides files without a word, and each commit makes one.
  if (files.length === 0)
    return { unknown: 'NSO shows no rollback file at all: it keeps none, or the account of the gateway may not read them.' };
  const file = files.find((one) => textIn(one, 'label') === label);
  if (file === undefined)
    return {
      found: false,
      text: `NSO has no rollback file with the label ${label}: the call changed nothing, or NSO does not keep the file any more.`,
    };
  const date = textIn(file, 'date');
  const when = date === undefined ? '' : ` of ${date}`;
  return { found: true, text: `NSO has a rollback file with the label ${label}${when}: the call was made.` };
};
