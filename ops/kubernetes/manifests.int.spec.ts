import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { projectFile } from '../platform/files/project-file.js';
import { needs } from '../test/support/needs.js';

const container = z.object({
  name: z.string(),
  image: z.string(),
  env: z
    .array(
      z.object({
        name: z.string(),
        valueFrom: z
          .object({ secretKeyRef: z.object({ name: z.string(), key: z.string() }) })
          .optional(),
      }),
    )
    .default([]),
  securityContext: z.unknown(),
  resources: z.object({ limits: z.object({ memory: z.string() }) }),
});
const pod = z.object({
  automountServiceAccountToken: z.boolean(),
  enableServiceLinks: z.boolean(),
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.record(z.string(), z.unknown()),
  initContainers: z.array(container).default([]),
  containers: z.array(container),
});
const manifest = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  data: z.record(z.string(), z.string()).optional(),
  stringData: z.record(z.string(), z.string()).optional(),
  spec: z.object({ template: z.object({ spec: pod }).optional() }).optional(),
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
    manifestsOf(folder).flatMap(({ kind, spec }) =>
      spec?.template ? [{ kind, ...spec.template.spec }] : [],
    );

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
          expect(image).to.equal('linklog:0.2.0');
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
        if (kind !== 'Job') expect(seconds * 1_000).to.be.greaterThan(delayMs + 10_000);
      }
    });
  }

  it('use Secrets and keys of the example', () => {
    const secrets = manifestsOf('distributed').filter(({ kind }) => kind === 'Secret');
    const used = podsOf('distributed')
      .flatMap(({ containers }) => containers.flatMap(({ env }) => env))
      .flatMap(({ valueFrom }) => (valueFrom ? [valueFrom.secretKeyRef] : []));
    const { stringData } = secrets.find(({ metadata }) => metadata.name === 'linklog') ?? {};
    expect(new Set(used.map(({ key }) => key))).to.deep.equal(
      new Set(Object.keys(stringData ?? {})),
    );
    for (const { name } of used) expect(name).to.equal('linklog');
  });
});
