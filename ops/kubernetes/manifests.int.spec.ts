import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { secretVariables } from '../config/secrets.js';
import { projectFile } from '../platform/files/project-file.js';
import { needs } from '../test/support/needs.js';

const container = z.object({
  name: z.string(),
  image: z.string(),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })).default([]),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })).default([]),
  securityContext: z.unknown(),
  resources: z.object({ limits: z.object({ memory: z.string() }) }),
});
const secretVolume = z.object({
  secretName: z.string(),
  items: z.array(z.object({ key: z.string(), path: z.string() })).default([]),
});
const pod = z.object({
  automountServiceAccountToken: z.boolean(),
  enableServiceLinks: z.boolean(),
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.record(z.string(), z.unknown()),
  initContainers: z.array(container).default([]),
  containers: z.array(container),
  volumes: z.array(z.object({ name: z.string(), secret: secretVolume.optional() })).default([]),
});
const manifest = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  data: z.record(z.string(), z.string()).optional(),
  stringData: z.record(z.string(), z.string()).optional(),
  spec: z
    .object({
      template: z.object({ spec: pod }).optional(),
      jobTemplate: z.object({ spec: z.object({ template: z.object({ spec: pod }) }) }).optional(),
    })
    .optional(),
});

const folders = ['single', 'distributed'] as const;
/** The operator creates the Secrets. */
const example = 'secrets.example.yaml';

const validate = (...files: readonly string[]) =>
  promisify(execFile)('kubernetes-validate', ['--strict', '--quiet', ...files]);

describe('Kubernetes manifests', function () {
  this.timeout(120_000);
  const names = (folder: string): readonly string[] =>
    readdirSync(projectFile('ops', 'kubernetes', folder)).filter(
      (name) => name !== 'kustomization.yaml',
    );
  const textOf = (folder: string, name: string): string =>
    readFileSync(projectFile('ops', 'kubernetes', folder, name), 'utf8');
  const manifestsOf = (folder: string) =>
    names(folder).flatMap((name) =>
      parseAllDocuments(textOf(folder, name)).map((document) => manifest.parse(document.toJS())),
    );
  const podsOf = (folder: string) =>
    manifestsOf(folder).flatMap(({ kind, spec }) => {
      const template = spec?.jobTemplate?.spec.template ?? spec?.template;
      return template ? [{ kind, ...template.spec }] : [];
    });

  describe('for kubernetes-validate', () => {
    needs('kubernetes-validate');

    for (const folder of folders) {
      it(`of ${folder} are valid, without unknown fields`, async () => {
        await validate(
          ...names(folder).map((name) => projectFile('ops', 'kubernetes', folder, name)),
        );
      });
    }
  });

  for (const folder of folders) {
    it(`of ${folder} are the resources of its kustomization`, () => {
      const { resources } = parse(textOf(folder, 'kustomization.yaml')) as { resources: string[] };
      expect(resources).to.have.members(names(folder).filter((name) => name !== example));
    });

    it(`of ${folder} meet the restricted profile of Pod Security, with a limit of memory`, () => {
      const pods = podsOf(folder);
      expect(pods).to.not.be.empty;
      for (const { securityContext, containers, initContainers, ...rest } of pods) {
        expect(rest).to.include({ automountServiceAccountToken: false, enableServiceLinks: false });
        expect(securityContext).to.deep.include({
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        for (const { name, image, securityContext: own } of [...containers, ...initContainers]) {
          expect(image).to.equal('linklog:0.3.0-dev');
          expect(own, name).to.deep.equal({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        }
      }
    });

    it(`of ${folder} give services the time to drain after DRAIN_DELAY_MS`, () => {
      const { data } = manifestsOf(folder).find(({ kind }) => kind === 'ConfigMap') ?? {};
      const delayMs = Number(data?.['DRAIN_DELAY_MS']);
      for (const { kind, terminationGracePeriodSeconds: seconds = 0 } of podsOf(folder)) {
        if (kind !== 'Job' && kind !== 'CronJob')
          expect(seconds * 1_000).to.be.greaterThan(delayMs + 10_000);
      }
    });
  }

  it('mount the keys of the example Secret that each container names in a variable, and no other', () => {
    const secrets = manifestsOf('distributed').filter(({ kind }) => kind === 'Secret');
    const { stringData } = secrets.find(({ metadata }) => metadata.name === 'linklog') ?? {};
    const used = new Set<string>();
    for (const { containers, volumes } of podsOf('distributed')) {
      const secret = volumes.find(({ name }) => name === 'secrets')?.secret;
      expect(secret?.secretName).to.equal('linklog');
      const items = secret?.items ?? [];
      for (const { key, path } of items) {
        expect(path).to.equal(key);
        used.add(key);
      }
      for (const { name, env, volumeMounts } of containers) {
        const dir = volumeMounts.find((mount) => mount.name === 'secrets')?.mountPath ?? '';
        const files = env.flatMap(({ value }) => (value.startsWith(`${dir}/`) ? [value] : []));
        expect(files, name).to.have.members(items.map(({ path }) => `${dir}/${path}`));
      }
    }
    expect([...used]).to.have.members(Object.keys(stringData ?? {}));
  });

  it('pass secrets as files', () => {
    const names = podsOf('distributed').flatMap(({ containers }) =>
      containers.flatMap(({ env }) => env.map(({ name }) => name)),
    );
    expect(names).to.include('DATABASE_URL_FILE');
    expect(names.filter((name) => secretVariables.some((secret) => secret === name))).to.be.empty;
  });
});
