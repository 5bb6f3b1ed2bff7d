import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { projectFile } from '../platform/files/project-file.js';
import { knownVariables } from '../test/support/known-variables.js';

const read = (...names: readonly string[]): string => readFileSync(projectFile(...names), 'utf8');

const filesOf = (extension: string, ...folder: readonly string[]): string[] =>
  readdirSync(projectFile(...folder))
    .filter((name) => name.endsWith(extension))
    .map((name) => [...folder, name].join('/'));

const ofUnit = (file: string): string[] =>
  [...read(file).matchAll(/^Environment=(\w+)=/gm)].map(([, name = '']) => name);

/** The variables of our services, which are built here; servers have their own. */
const ofCompose = (): string[] => {
  const { services } = parse(read('docker-compose.yml'), { merge: true, maxAliasCount: 1_000 }) as {
    services: Record<string, { build?: unknown; environment?: object }>;
  };
  return Object.values(services).flatMap(({ build, environment = {} }) =>
    build === undefined ? [] : Object.keys(environment),
  );
};

describe('variables of deployments', () => {
  const sources: Readonly<Record<string, readonly string[]>> = {
    'docker-compose.yml': ofCompose(),
    'the systemd units': filesOf('.service', 'ops', 'systemd').flatMap(ofUnit),
  };
  for (const [source, names] of Object.entries(sources)) {
    it(`of ${source} are known`, () => {
      expect(names).to.include('FIRST_KEY');
      expect(names.filter((name) => !knownVariables.has(name))).to.deep.equal([]);
    });
  }
});
