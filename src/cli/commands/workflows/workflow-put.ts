import { GatewayError, type StoredWorkflow } from '#client/gateway.ts';
import { workflowSizeLimit } from '#workflows/read-workflow.ts';
import { gatewayCommand } from '../../gateway-command.ts';
import { print } from '../../output.ts';
import { readFile } from '../../read-file.ts';
import { storeDocument, tellRefusal } from './store-document.ts';

export const workflowPut = gatewayCommand({
  name: 'workflows store',
  summary: 'store versions of workflows',
  description: [
    'Store each document as a version of its workflow, and print its id and version. The same bytes may be',
    'stored again. Problems go to standard error as those of check-workflow do, also the calls for which',
    'you have no right.',
  ],
  flags: { json: 'print one JSON array of what was stored' },
  operands: ['FILE…'],
  async work(session) {
    const { context, given } = session;
    const files = given.operands('FILE…');
    const stored: StoredWorkflow[] = [];
    for (const file of files) {
      const document = { file, text: await readFile(context, file, workflowSizeLimit) };
      const workflow = await storeDocument(session, document);
      if (workflow instanceof GatewayError) {
        tellRefusal(session, document, workflow);
        continue;
      }
      stored.push(workflow);
      if (!given.flag('json')) await print(context.stdout, `${workflow.id} ${workflow.version}\n`);
    }
    if (given.flag('json')) await print(context.stdout, `${JSON.stringify(stored, undefined, 2)}\n`);
    return stored.length === files.length ? 0 : 1;
  },
});
