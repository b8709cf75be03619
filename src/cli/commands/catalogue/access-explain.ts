import { visible } from '#base/text/visible.ts';
import { type AccessAnswer, type AccessQuestion, GatewayError } from '#client/gateway.ts';
import { workflowSizeLimit } from '#workflows/read-workflow.ts';
import { answeringCommand, givenOptions } from '../../gateway-command.ts';
import { CommandFailed } from '../../gateway-session.ts';
import { readFile } from '../../input-files.ts';
import { problemExcerpt } from '../../texts/excerpt.ts';

export const accessExplain = answeringCommand({
  name: 'explain',
  summary: 'say whether people may do something, and by which rule',
  description: [
    'Ask a gateway for the decision that every operation takes. Print whether it is allowed, and why.',
    'Nothing is sent on. What is not given is not judged. Exit code 0 means allowed, 1 means denied.',
  ],
  options: {
    principal: { value: 'NAME', meaning: 'the user or client that asks' },
    roles: { value: 'NAMES', meaning: 'in place of a principal: its roles, with commas between them' },
    route: { value: 'ROUTE', meaning: 'the operationId of a route, such as restQuery', isRequired: true },
    adapter: { value: 'NAME', meaning: 'the adapter instance' },
    method: {
      value: 'METHOD',
      meaning: 'the method at the upstream, such as PATCH',
      values: ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'],
    },
    path: { value: 'PATH', meaning: 'the path at the orchestrator; for restCall the URI' },
    workflow: { value: 'FILE', meaning: 'for createWorkflow: the document to store' },
    via: { value: 'ENTRANCE', meaning: 'how it comes: http, run or mcp', values: ['http', 'run', 'mcp'] },
  },
  async answer({ context, gateway, given }) {
    const {
      roles,
      route = '',
      workflow: file,
      ...plain
    } = givenOptions<Partial<Record<(typeof names)[number], string>>>(given, names);
    const text = file === undefined ? undefined : await readFile(context, file, workflowSizeLimit);
    const question = {
      ...plain,
      route,
      ...(roles && { roles: roles.split(',') }),
      ...(text !== undefined && { workflow: text }),
    };
    const answer = await gateway.explainAccess({ body: question as AccessQuestion }).catch(asOptions);
    const { value } = answer;
    const excerpts = (value.errors ?? []).flatMap((error) => problemExcerpt(error, { file: file ?? '', text: text ?? '' }));
    return { value, lines: [...linesOf(value), ...excerpts], exitCode: value.allowed ? 0 : 1 };
  },
});

const names = ['principal', 'roles', 'route', 'adapter', 'method', 'path', 'workflow', 'via'] as const;

function linesOf({ allowed, rule, reason, approvals }: AccessAnswer): readonly string[] {
  const needed = approvals.length === 0 ? [] : [`approvals: ${approvals.join(', ')}`];
  return [`${allowed ? 'allowed' : 'denied'}: ${rule}`, reason, ...needed].map(visible);
}

/** The members of the question are the options. */
function asOptions(error: unknown): never {
  const errors = error instanceof GatewayError && error.code === 'invalid-request' ? (error.problem?.errors ?? []) : [];
  if (errors.length === 0) throw error;
  throw new CommandFailed(errors.map(({ pointer, detail }) => visible(`--${pointer.split('/')[1]} ${detail}`)).join('\n'), 2);
}
