import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { OtherKinds } from '#automations/transfer/other-kinds.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { WorkflowCatalogue } from '#workflows/catalogue/workflow-catalogue.ts';
import type { FormCatalogue } from './form-catalogue.ts';

type DelegationOfImport = ReturnType<OtherKinds['beginImport']>['delegation'];

interface Catalogues {
  readonly forms: FormCatalogue;
  readonly workflows: WorkflowCatalogue;
  readonly rights: Rights;
}

/** Forms and workflows in imports and exports of the whole catalogue. */
export function createOtherKinds({ forms, workflows, rights }: Catalogues): OtherKinds {
  return {
    beginImport(principal) {
      const imported = workflows.beginImport(principal);
      const { writing, secretUse } = imported.delegation;
      const delegation: DelegationOfImport = {
        whyNotWriter: (...asked) => writing.whyNot(...asked),
        refuseAuthor: (...asked) => secretUse.refuseAuthor(...asked),
      };
      return {
        delegation,
        async read(line) {
          if (line.kind === 'workflow') {
            const workflow = await placed(imported.read(line), inText);
            return { store: (transaction) => placed(imported.store(transaction, workflow), inText) };
          }
          const form = await placed(forms.readGiven({ principal, id: line.id, bytes: line.document }), inDocument);
          return {
            async store(transaction) {
              requireForms(rights, principal);
              return await forms.putIn(transaction, form, { principal, ...delegation });
            },
          };
        },
      };
    },
    export: (kind, principal, moment) =>
      kind === 'form'
        ? formLines(moment, forms, rights.permits(principal, 'readForm', undefined))
        : workflowLines(workflows.all(principal, moment)),
  };
}

function requireForms(rights: Rights, principal: Principal): void {
  if (!rights.permits(principal, 'putForm', undefined))
    throw new GatewayError('forbidden', 'No role and no right lets you store a form (putForm).');
}

/** Rejects with problems that have their place in the line. */
async function placed<T>(work: Promise<T>, placeOf: (problem: PlacedProblem) => PlacedProblem): Promise<T> {
  return await work.catch((error: unknown) => {
    if (!(error instanceof GatewayError) || error.errors === undefined) throw error;
    throw new GatewayError(error.code, error.message, { errors: error.errors.map(placeOf) });
  });
}

type PlacedProblem = RequestProblem & Partial<Record<'line' | 'column', number>>;

function inDocument({ pointer, detail }: PlacedProblem): RequestProblem {
  return { pointer: `/document${pointer}`, detail };
}

/** A text has lines of its own. */
function inText({ pointer, detail, line, column }: PlacedProblem): RequestProblem {
  const place = line === undefined ? '' : ` (line ${line}, column ${column} of the text)`;
  return { pointer: '/text', detail: `${pointer === '' ? '' : `${pointer} `}${detail}${place}` };
}

type Lines = ReturnType<OtherKinds['export']>;

async function* formLines(moment: Parameters<FormCatalogue['all']>[0], forms: FormCatalogue, mayRead: boolean): Lines {
  if (!mayRead) return;
  for await (const some of forms.all(moment))
    yield some.map(({ id, text }) => `{"kind":"form","id":${JSON.stringify(id)},"document":${inOneLine(text)}}`);
}

/** A line break in JSON is white space: a string has none. */
function inOneLine(text: string): string {
  return text.trim().replaceAll(/\s*[\r\n]\s*/gu, ' ');
}

async function* workflowLines(all: ReturnType<WorkflowCatalogue['all']>): Lines {
  for await (const some of all)
    yield some.map(({ id, version, mediaType, text }) => JSON.stringify({ kind: 'workflow', id, version, mediaType, text }));
}
