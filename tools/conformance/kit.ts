import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AstBuilder, GherkinClassicTokenMatcher, Parser } from '@cucumber/gherkin';
import { type Step as GherkinStep, IdGenerator } from '@cucumber/messages';
import { parse } from 'yaml';

/** A scenario of the conformance kit (specification, `ctk/README.md`). */
export interface Scenario {
  /** Feature and scenario. */
  readonly name: string;
  /** The document as it is written. */
  readonly definition: string;
  readonly input: unknown;
  readonly expectations: readonly Expectation[];
}

/** What a scenario expects of a run, in the words of its step. */
export interface Expectation {
  readonly text: string;
  /** The value below the step. */
  readonly value: unknown;
}

/** Reads the features in the folder, which may be the kit or its `features`. Throws where a step is not known. */
export async function readScenarios(directory: string): Promise<readonly Scenario[]> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.feature')).toSorted();
  if (names.length === 0) throw new Error(`${directory} has no *.feature file; name the folder of the conformance kit (ctk).`);
  const scenarios: Scenario[] = [];
  for (const name of names) scenarios.push(...scenariosOf(await readFile(join(directory, name), 'utf8')));
  return scenarios;
}

function scenariosOf(text: string): readonly Scenario[] {
  const parser = new Parser(new AstBuilder(IdGenerator.uuid()), new GherkinClassicTokenMatcher());
  const { feature } = parser.parse(text);
  return (feature?.children ?? []).flatMap(({ scenario }) =>
    scenario === undefined ? [] : [scenarioOf(`${feature?.name}: ${scenario.name}`, scenario.steps)],
  );
}

function scenarioOf(name: string, steps: readonly GherkinStep[]): Scenario {
  let definition: string | undefined;
  let input: unknown = {};
  const expectations: Expectation[] = [];
  for (const { text, docString } of steps) {
    const below = docString?.content;
    if (text === 'a workflow with definition:') definition = below;
    else if (text === 'given the workflow input is:') input = parse(below ?? '');
    else if (text !== 'the workflow is executed')
      expectations.push({ text, value: below === undefined ? undefined : parse(below) });
  }
  if (definition === undefined) throw new Error(`${name}: the scenario has no definition.`);
  return { name, definition, input, expectations };
}
