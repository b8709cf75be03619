import { GatewayError } from '#base/gateway-error.ts';
import { pointerTo } from '../json-pointer.ts';
import { type JsonNode, readBodyTree } from '../json-tree.ts';
import { createProblemList, type ProblemList } from './problem-list.ts';

/** WHATWG URL standard, section 5.2, for a flat object. Numbers keep their text, null is empty, names stay repeated. Nested values: `invalid-request`, with pointers below `/body`. */
export function writeForm(object: Buffer): Buffer {
  const tree = readBodyTree(object);
  const list = createProblemList();
  const form = new URLSearchParams();
  if (tree.kind === 'object') {
    for (const [name, value] of tree.members) appendField(form, name, value, list);
  } else {
    list.add('/body', 'A form is made from an object: send an object.');
  }
  if (list.problems.length > 0) {
    throw new GatewayError('invalid-request', 'The body cannot be written as a form: correct what "errors" lists.', {
      errors: list.problems,
    });
  }
  return Buffer.from(form.toString());
}

function appendField(form: URLSearchParams, name: string, node: JsonNode, list: ProblemList): void {
  const pointer = pointerTo('/body', name);
  const value = fieldValue(node);
  if (value === undefined) {
    list.add(pointer, 'A form field is a string, a number, true, false or null: send one of these.');
  } else if (!name.isWellFormed() || !value.isWellFormed()) {
    list.add(pointer.toWellFormed(), 'Contains a lone surrogate, which UTF-8 cannot represent: leave it out.');
  } else {
    form.append(name, value);
  }
}

function fieldValue(node: JsonNode): string | undefined {
  if (node.kind === 'string') return node.value;
  if (node.kind === 'number') return node.text;
  if (node.kind === 'boolean') return String(node.value);
  return node.kind === 'null' ? '' : undefined;
}
