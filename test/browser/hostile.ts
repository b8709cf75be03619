/** Markup that would run a program: it has to show as text, everywhere. */
const markup = `</script><img src=x onerror="document.title='owned'">`;

/** As well a text that turns what follows it round, and a long word: 128 characters, as many as a name may have. */
export const hostile = `${markup} \u202Egnp.exe `.padEnd(128, 'W');

/** An URL that would run a program, were it ever a link. */
const address = 'javascript://x/%0Adocument.title=1';

const text = JSON.stringify(hostile);

/** Reads input with hostile names, waits for an approval of a hostile call, and faults with a hostile error. */
export const hostileWorkflow = `
document: { dsl: '1.0.3', namespace: hostile, name: text, version: '1.0.0', title: ${text}, summary: ${text} }
input:
  schema:
    document:
      type: object
      required: [${text}]
      properties:
        ${text}: { type: string, title: ${text}, description: ${text}, default: ${text}, pattern: '.*' }
        choice: { type: string, enum: [${text}, other], description: ${text} }
        list: { type: array, items: { type: string }, title: ${text} }
do:
  - ${text}: { set: { note: '\${ . }' } }
  - ask:
      call: orchestratorAction
      with:
        adapter: ${text}
        params: { path: core/a, accept: application/json }
        body: { note: ${text}, address: ${JSON.stringify(address)} }
  - fails:
      raise:
        error: { type: ${JSON.stringify(address)}, status: 500, title: ${text}, detail: ${text} }
`;

/** A form whose every text is hostile. */
export const hostileForm = {
  type: 'object',
  title: hostile,
  description: hostile,
  properties: {
    [hostile]: { type: 'string', title: hostile, description: hostile, default: hostile },
    [address]: { type: 'string', enum: [hostile, address], description: hostile, default: address },
    list: { type: 'array', items: { type: 'string', title: hostile }, title: hostile, description: hostile, default: [hostile] },
    pattern: { type: 'string', pattern: '.*<img src=x onerror=.*', default: '"><img src=x onerror=1>' },
  },
  required: [hostile],
};

/** An upstream that answers with a page. */
export const hostilePage = `<!doctype html><title>x</title><body onload="document.title='owned'">${hostile}\u0007\u0000`;
