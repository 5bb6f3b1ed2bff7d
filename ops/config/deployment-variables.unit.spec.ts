import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { projectFile } from '../platform/files/project-file.js';
import { secretVariables } from './secrets.js';
import { variables } from './variables.js';

const known = new Set([
  ...Object.keys(variables.shape),
  ...secretVariables.map((name) => `${name}_FILE`),
  'NODE_ENV',
]);

const read = (...names: readonly string[]): string => readFileSync(projectFile(...names), 'utf8');

const filesOf = (extension: string, ...folder: readonly string[]): string[] =>
  readdirSync(projectFile(...folder))
    .filter((name) => name.endsWith(extension))
    .map((name) => [...folder, name].join('/'));

interface Template {
  readonly spec: { readonly containers: readonly Container[] };
}
interface Document {
  readonly kind?: string;
  readonly data?: object;
  readonly spec?: {
    readonly template?: Template;
    readonly jobTemplate?: { readonly spec: { readonly template: Template } };
  };
}
interface Container {
  readonly env?: readonly { readonly name: string }[];
}

/** The variables of ConfigMaps and containers. */
const ofManifest = (file: string): string[] =>
  parseAllDocuments(read(file)).flatMap((document) => {
    const { kind, data = {}, spec } = document.toJS() as Document;
    const template = spec?.jobTemplate?.spec.template ?? spec?.template;
    const containers = template?.spec.containers ?? [];
    return [
      ...(kind === 'ConfigMap' ? Object.keys(data) : []),
      ...containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
    ];
  });

const ofUnit = (file: string): string[] =>
  [...read(file).matchAll(/^Environment=(\w+)=/gm)].map(([, name = '']) => name);

/** The variables of our services, which are built here; servers have their own. */
const ofCompose = (): string[] => {
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { build?: unknown; environment?: object }>;
  };
  return Object.values(services).flatMap(({ build, environment = {} }) =>
    build === undefined ? [] : Object.keys(environment),
  );
};

describe('variables of deployments', () => {
  const manifests = ['single', 'distributed'].flatMap((folder) =>
    filesOf('.yaml', 'ops', 'kubernetes', folder),
  );
  const sources: Readonly<Record<string, readonly string[]>> = {
    'docker-compose.yml': ofCompose(),
    'the systemd units': filesOf('.service', 'ops', 'systemd').flatMap(ofUnit),
    'the Kubernetes manifests': manifests.flatMap(ofManifest),
  };
  for (const [source, names] of Object.entries(sources)) {
    it(`of ${source} are known`, () => {
      expect(names).to.include('FIRST_KEY');
      expect(names.filter((name) => !known.has(name))).to.deep.equal([]);
    });
  }
});
