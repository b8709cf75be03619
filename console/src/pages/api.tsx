import type { JSX } from 'preact';
import { hrefOf, pagePlace, place } from '../address.ts';
import { Subject } from '../frame/subject.ts';
import { useLoad } from '../load.ts';
import {
  type ApiDocument,
  type ApiOperation,
  operationsWith,
  type PlacedOperation,
  parametersOf,
  rowsOf,
  typeOf,
} from '../openapi.ts';
import { Empty, Panel, Prose, Table, Text } from '../parts/basics.tsx';
import { Input } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { gateway, principal } from '../session.ts';
import { callersText, Errors, Example, ReplyHeaders, Start } from './api-parts.tsx';
import { TryIt } from './try-it.tsx';

function useDocument() {
  return useLoad(async (signal) => (await gateway.openapi({ signal })).value as unknown as ApiDocument, []);
}

/** The reference of the API: every operation, with a search. */
export function Api(): JSX.Element {
  const loaded = useDocument();
  const search = place.value.query.get('q') ?? '';
  return (
    <>
      <Filters label="Search the operations">
        <Input label="Contains" name="q" value={search} />
      </Filters>
      <Loading of={loaded}>
        {(document) => (
          <>
            {search === '' && <Start document={document} />}
            <Operations document={document} search={search} />
            {search === '' && <Errors document={document} />}
          </>
        )}
      </Loading>
    </>
  );
}

function Operations({ document, search }: { readonly document: ApiDocument; readonly search: string }): JSX.Element {
  const found = operationsWith(document, search);
  if (found.length === 0) return <Empty>No operation has these words.</Empty>;
  return (
    <>
      {document.tags.map(({ name, description }) => {
        const inside = found.filter(({ operation }) => operation.tags.includes(name));
        if (inside.length === 0) return null;
        return (
          <Panel key={name} title={name}>
            <p class="soft">{description}</p>
            <Table label={name} columns={['Operation', 'Method and path', 'What it does', 'For']}>
              {inside.map(({ method, path, operation }) => (
                <tr key={operation.operationId}>
                  <td>
                    <a href={hrefOf(['api', operation.operationId])}>{operation.operationId}</a>
                  </td>
                  <td class="grow">
                    <code>
                      {method} {path}
                    </code>
                  </td>
                  <td class="grow">{operation.summary}</td>
                  <td>{callersText(operation['x-roles'])}</td>
                </tr>
              ))}
            </Table>
          </Panel>
        );
      })}
    </>
  );
}

/** One operation: its parameters, bodies and errors, and a form to try it. */
export function ApiOperationPage({ id: name }: { readonly id: string }): JSX.Element {
  const loaded = useDocument();
  return (
    <Loading of={loaded}>
      {(document) => {
        const placed = operationsWith(document, '').find(({ operation }) => operation.operationId === name);
        if (placed === undefined) return <Failure error={new Error(`There is no operation ${JSON.stringify(name)}.`)} />;
        return <OperationDetails document={document} placed={placed} />;
      }}
    </Loading>
  );
}

function OperationDetails({
  document,
  placed,
}: {
  readonly document: ApiDocument;
  readonly placed: PlacedOperation;
}): JSX.Element {
  const { method, path, operation } = placed;
  const [body] = Object.entries(operation.requestBody?.content ?? {});
  const parameters = parametersOf(document, operation);
  return (
    <>
      <Subject title={operation.operationId} />
      <p>
        <code>
          {method} {path}
        </code>
      </p>
      <p>{operation.summary}.</p>
      {operation.description.split('\n\n').map((paragraph) => (
        <p key={paragraph}>
          <Prose>{paragraph}</Prose>
        </p>
      ))}
      <TryIt placed={placed} parameters={parameters} />
      {principal.value === 'none' && operation['x-roles'] !== 'everyone' && (
        <p class="note">
          <a href={hrefOf(['login'], { to: pagePlace() })}>Log in</a> to try it.
        </p>
      )}
      {parameters.length > 0 && (
        <Panel title="Parameters">
          <Table label="Parameters" columns={['Name', 'In', 'Type', 'Meaning']}>
            {parameters.map(({ name, in: where, required, schema, description }) => (
              <tr key={`${where}${name}`}>
                <td>
                  <code>{name}</code> {required && <span class="soft">required</span>}
                </td>
                <td>{where}</td>
                <td>{typeOf(document, schema)}</td>
                <td class="grow">
                  <Prose>{description}</Prose>
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      {body !== undefined && (
        <Panel title={`Request body, ${body[0]}`}>
          <Members document={document} schema={body[1].schema} label="Members of the request body" />
          {body[1].example !== undefined && <Text of={exampleText(body[1].example)} label="An example of the request body" />}
        </Panel>
      )}
      <Replies document={document} operation={operation} />
      <Example document={document} placed={placed} />
    </>
  );
}

interface MembersProps {
  readonly document: ApiDocument;
  readonly schema: Parameters<typeof rowsOf>[1];
  readonly label: string;
}

function Members({ document, schema, label }: MembersProps): JSX.Element | null {
  const rows = rowsOf(document, schema);
  if (rows.length === 0) return null;
  return (
    <Table label={label} columns={['Member', 'Type', 'Meaning']}>
      {rows.map(({ name, type, isRequired, description }, at) => (
        <tr key={`${at}${name}`}>
          <td>
            <code>{name}</code> {isRequired && <span class="soft">always</span>}
          </td>
          <td>{type}</td>
          <td class="grow">
            <Prose>{description}</Prose>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function exampleText(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, undefined, 2);
}

function Replies({ document, operation }: { readonly document: ApiDocument; readonly operation: ApiOperation }): JSX.Element {
  const [first, ...others] = Object.entries(operation.responses).toSorted(([one], [other]) => Number(one) - Number(other));
  const [content] = Object.entries(first?.[1].content ?? {});
  const codes = others.flatMap(([status, { 'x-error-codes': list = [] }]) => list.map((code) => [status, code] as const));
  return (
    <>
      <Panel title={`Reply ${first?.[0] ?? ''}${content === undefined ? '' : `, ${content[0]}`}`}>
        <p>
          <Prose>{first?.[1].description}</Prose>
        </p>
        {content !== undefined && <Members document={document} schema={content[1].schema} label="Members of the reply" />}
        {content?.[1].example !== undefined && <Text of={exampleText(content[1].example)} label="An example of the reply" />}
        {first !== undefined && <ReplyHeaders document={document} reply={first[1]} />}
      </Panel>
      <Panel title="Errors">
        <Table label="Errors" columns={['Status', 'Code', 'Meaning', 'What to do']}>
          {codes.map(([status, code]) => (
            <tr key={`${status}${code}`}>
              <td>{status}</td>
              <td>
                <code>{code}</code>
              </td>
              <td class="grow">
                <Prose>{document['x-error-codes'][code]?.meaning}</Prose>
              </td>
              <td class="grow">
                <Prose>{document['x-error-codes'][code]?.remedy}</Prose>
              </td>
            </tr>
          ))}
        </Table>
      </Panel>
    </>
  );
}
