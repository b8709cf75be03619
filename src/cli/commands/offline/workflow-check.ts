import { resolve } from 'node:path';
import { readRegularFile } from '#config/shapes/regular-file.ts';
import { createExpressionPool, type ExpressionPool } from '#workflows/jq/expression-pool.ts';
import { readWorkflow, workflowSizeLimit } from '#workflows/read-workflow.ts';
import type { Command, CommandContext } from '../../command.ts';
import { print } from '../../output.ts';
import { problemExcerpt } from '../../texts/excerpt.ts';

export const workflowCheck: Command = {
  name: 'check-workflow',
  summary: 'check workflow documents and print their problems',
  description: [
    'Read workflow documents (Serverless Workflow DSL 1.0, YAML or JSON) as the gateway does when it',
    'stores one. Print "FILE: ok" for each, or every problem with its line and column to standard error.',
    'Nothing is stored, and no expression is run.',
  ],
  options: {},
  operands: ['FILE…'],
  async run(context, { operands }) {
    const expressions = createExpressionPool({ threads: 1 });
    try {
      let isGood = true;
      for (const file of operands('FILE…')) isGood = (await checkFile(context, file, expressions)) && isGood;
      return isGood ? 0 : 1;
    } finally {
      await expressions.close();
    }
  },
};

async function checkFile({ cwd, stdout, stderr }: CommandContext, file: string, expressions: ExpressionPool): Promise<boolean> {
  const read = await readRegularFile(resolve(cwd, file), workflowSizeLimit);
  if ('fault' in read) {
    stderr.write(`${file}:1:1: the file ${read.fault}\n`);
    return false;
  }
  const reading = await readWorkflow({ text: read.text, known: {}, expressions });
  const { text } = read;
  const problems = 'problems' in reading ? reading.problems : [];
  const excerpts = [
    ...problems.flatMap((problem) => problemExcerpt(problem, { file, text })),
    ...reading.warnings.flatMap((warning) => problemExcerpt(warning, { file, text, end: '(warning)' })),
  ];
  stderr.write(excerpts.map((line) => `${line}\n`).join(''));
  if ('problems' in reading) return false;
  await print(stdout, `${file}: ok\n`);
  return true;
}
