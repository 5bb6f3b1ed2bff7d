import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { secretVariables } from '../config/secrets.js';
import { packageVersion, projectFile } from '../platform/files/project-file.js';
import { knownVariables } from '../test/support/known-variables.js';
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
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  data: z.record(z.string(), z.string()).optional(),
  stringData: z.record(z.string(), z.string()).optional(),
  spec: z
    .looseObject({
      replicas: z.number().optional(),
      template: z.object({ spec: pod }).optional(),
      jobTemplate: z.object({ spec: z.object({ template: z.object({ spec: pod }) }) }).optional(),
    })
    .optional(),
});

const ingressSpec = z.object({
  ingressClassName: z.string(),
  tls: z.array(z.unknown()).max(10),
  rules: z
    .array(
      z.object({
        host: z.string(),
        http: z.object({
          paths: z
            .array(
              z.object({
                backend: z.object({
                  service: z.object({ name: z.string(), port: z.object({ name: z.string() }) }),
                }),
              }),
            )
            .max(10),
        }),
      }),
    )
    .max(10),
});

type Manifests = readonly z.infer<typeof manifest>[];
type Values = Readonly<Record<string, unknown>>;

const environment = {
  SHORT_URL_HOST: 'https://go.example.com',
  OWN_HOSTS: 'api.example.com',
  TRUSTED_PROXIES: '10.0.0.0/8',
};
const valuesOf = {
  single: { environment },
  distributed: { form: 'distributed', environment, kafka: { brokers: ['kafka-0.kafka:9092'] } },
} as const;
const forms = ['single', 'distributed'] as const;

/** Each optional value that adds something to the manifests. */
const options: Values = {
  image: { repository: 'registry.example.com/linklog', tag: 'v1_2.3' },
  imagePullSecrets: [{ name: 'registry-credentials' }],
  environment: { ...environment, PLANS_FILE: '/etc/linklog/plans.json' },
  filesConfigMap: 'linklog-files',
  optionalSecretKeys: [
    ...['ADMIN_TOKEN', 'EVENTSTORE_URL', 'OIDC_CLIENT_SECRET', 'SAFE_BROWSING_API_KEY'],
  ],
  drainDelaySeconds: 15,
  ingress: {
    ...{ enabled: true, className: 'nginx', annotations: { 'example.com/a': '1' } },
    ...{ edgeHosts: ['go.example.com'], apiHosts: ['api.example.com'] },
    tls: [{ hosts: ['go.example.com'], secretName: 'go-tls' }],
  },
  podMonitor: { enabled: true, labels: { release: 'prometheus' } },
};
const kafka = {
  brokers: ['kafka-0.kafka:9093', 'kafka-1.kafka:9093'],
  ssl: { enabled: true, secretName: 'kafka-tls', clientCertificate: true },
  sasl: { mechanism: 'scram-sha-512', username: 'linklog' },
};

const fullValuesOf = (form: (typeof forms)[number]): Values => ({
  ...valuesOf[form],
  ...options,
  ...(form === 'distributed' ? { kafka } : {}),
});

const run = promisify(execFile);
const chart = projectFile('ops', 'kubernetes', 'helm');
const helm = async (command: readonly string[], values: Values): Promise<string> => {
  const args = Object.entries(values).flatMap(([name, value]) => [
    ...['--set-json', `${name}=${JSON.stringify(value)}`],
  ]);
  const { stdout } = await run(projectFile('.helm', 'helm'), [...command, chart, ...args]);
  return stdout;
};
const template = (values: Values): Promise<string> => helm(['template', 'linklog'], values);

/** The error message of Helm, or an empty string if it accepts the values. */
const errorOf = (values: Values): Promise<string> =>
  template(values).then(
    () => '',
    (error: unknown) => (error as { readonly stderr: string }).stderr,
  );

const parseManifests = (text: string): Manifests =>
  parseAllDocuments(text).map((document) => manifest.parse(document.toJS()));
const render = async (values: Values): Promise<Manifests> => parseManifests(await template(values));
const podsOf = (manifests: Manifests) =>
  manifests.flatMap(({ kind, spec }) => {
    const podTemplate = spec?.jobTemplate?.spec.template ?? spec?.template;
    return podTemplate ? [{ kind, ...podTemplate.spec }] : [];
  });
const dataOf = (manifests: Manifests): Readonly<Record<string, string>> =>
  manifests.find(({ kind }) => kind === 'ConfigMap')?.data ?? {};

/** Compares the keys of the Secret that a pod mounts with those that its containers name. Returns these keys. */
const checkSecretKeys = (manifests: Manifests): ReadonlySet<string> => {
  const used = new Set<string>();
  for (const { containers, volumes } of podsOf(manifests)) {
    const secret = volumes.find(({ name }) => name === 'secrets')?.secret;
    expect(secret?.secretName).to.equal('linklog');
    const items = secret?.items ?? [];
    for (const { key, path: file } of items) {
      expect(file).to.equal(key);
      used.add(key);
    }
    for (const { name, env, volumeMounts } of containers) {
      const dir = volumeMounts.find((mount) => mount.name === 'secrets')?.mountPath ?? '';
      const files = env.flatMap(({ value }) => (value.startsWith(`${dir}/`) ? [value] : []));
      expect(files, name).to.have.members(items.map(({ path: file }) => `${dir}/${file}`));
    }
  }
  return used;
};

describe('Helm chart', function () {
  needs('.helm/helm');
  this.timeout(120_000);
  const rendered: Record<string, Manifests> = {};
  const manifestsOf = (form: string): Manifests => rendered[form] ?? [];
  before('render both forms', async () => {
    for (const form of forms) rendered[form] = await render(valuesOf[form]);
  });

  for (const form of forms) {
    const full = fullValuesOf(form);

    it(`passes helm lint for ${form}`, async () => {
      await helm(['lint', '--strict'], valuesOf[form]);
      await helm(['lint', '--strict'], full);
    });

    it(`of ${form} meets the restricted profile of Pod Security, with a limit of memory`, () => {
      const pods = podsOf(manifestsOf(form));
      expect(pods).to.not.be.empty;
      for (const { securityContext, containers, initContainers, ...rest } of pods) {
        expect(rest).to.include({ automountServiceAccountToken: false, enableServiceLinks: false });
        expect(securityContext).to.deep.include({
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        for (const { name, image, securityContext: own } of [...containers, ...initContainers]) {
          expect(image).to.equal(`linklog:${packageVersion()}`);
          expect(own, name).to.deep.equal({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        }
      }
    });

    it(`of ${form} gives services the time to drain after DRAIN_DELAY_MS`, async () => {
      for (const manifests of [manifestsOf(form), await render(full)]) {
        const delayMs = Number(dataOf(manifests)['DRAIN_DELAY_MS']);
        for (const { kind, terminationGracePeriodSeconds: seconds = 0 } of podsOf(manifests)) {
          if (kind !== 'Job' && kind !== 'CronJob')
            expect(seconds * 1_000).to.be.greaterThan(delayMs + 10_000);
        }
      }
    });

    it(`of ${form} sets only known variables`, async () => {
      const manifests = await render(full);
      const names = [
        ...Object.keys(dataOf(manifests)),
        ...podsOf(manifests).flatMap(({ containers }) =>
          containers.flatMap(({ env }) => env.map(({ name }) => name)),
        ),
      ];
      expect(names).to.include.members(['FIRST_KEY', 'PLANS_FILE', 'EVENTSTORE_URL_FILE']);
      expect(names.filter((name) => !knownVariables.has(name))).to.deep.equal([]);
    });

    it(`of ${form} has an Ingress and a PodMonitor only when they are enabled`, async () => {
      const optional = (manifests: Manifests) =>
        manifests.filter(({ kind }) => kind === 'Ingress' || kind === 'PodMonitor');
      expect(optional(manifestsOf(form))).to.be.empty;
      const manifests = await render(full);
      const [ingress, podMonitor] = optional(manifests);
      const { ingressClassName, tls, rules } = ingressSpec.parse(ingress?.spec);
      expect(ingress?.metadata.annotations).to.deep.equal({ 'example.com/a': '1' });
      expect(ingressClassName).to.equal('nginx');
      expect(tls).to.deep.equal([{ hosts: ['go.example.com'], secretName: 'go-tls' }]);
      const services = new Set(
        manifests.flatMap(({ kind, metadata }) => (kind === 'Service' ? metadata.name : [])),
      );
      const backends = rules.map(({ host, http }) => {
        const service = http.paths[0]?.backend.service;
        expect(services.has(service?.name ?? '')).to.be.true;
        return { host, port: service?.port.name };
      });
      expect(backends).to.have.deep.members([
        { host: 'go.example.com', port: 'edge' },
        { host: 'api.example.com', port: 'api' },
      ]);
      expect(podMonitor?.metadata.labels).to.include({ release: 'prometheus' });
      expect(podMonitor?.spec?.['podMetricsEndpoints']).to.deep.equal([
        {
          port: 'admin',
          authorization: { credentials: { name: 'linklog', key: 'METRICS_TOKEN' } },
        },
      ]);
    });
  }

  describe('for kubernetes-validate', () => {
    needs('kubernetes-validate');
    let dir: string;
    before('create folder', async () => {
      dir = await mkdtemp(path.join(tmpdir(), 'linklog-chart-'));
    });
    after('delete folder', () => rm(dir, { recursive: true, force: true }));

    it('renders valid manifests without unknown fields', async () => {
      const files = [projectFile('ops', 'kubernetes', 'secrets.example.yaml')];
      for (const form of forms) {
        // A PodMonitor is a custom resource, whose schema the program does not have.
        const full = { ...fullValuesOf(form), podMonitor: { enabled: false } };
        for (const values of [valuesOf[form], full]) {
          const file = path.join(dir, `${files.length}.yaml`);
          await writeFile(file, await template(values));
          files.push(file);
        }
      }
      await run('kubernetes-validate', ['--strict', '--quiet', ...files]);
    });
  });

  it('mounts the keys of the example Secret that each container names in a variable, and no other', async () => {
    const example = readFileSync(projectFile('ops', 'kubernetes', 'secrets.example.yaml'), 'utf8');
    const { stringData = {} } =
      parseManifests(example).find(({ metadata }) => metadata.name === 'linklog') ?? {};
    expect([...checkSecretKeys(manifestsOf('distributed'))]).to.have.members(
      Object.keys(stringData),
    );
    expect([...checkSecretKeys(manifestsOf('single'))]).to.deep.equal(['METRICS_TOKEN']);
    const full = await render(fullValuesOf('distributed'));
    expect(checkSecretKeys(full)).to.include('KAFKA_SASL_PASSWORD').and.include('EVENTSTORE_URL');
  });

  it('passes secrets as files', () => {
    const names = podsOf(manifestsOf('distributed')).flatMap(({ containers }) =>
      containers.flatMap(({ env }) => env.map(({ name }) => name)),
    );
    expect(names).to.include('DATABASE_URL_FILE');
    expect(names.filter((name) => secretVariables.some((secret) => secret === name))).to.be.empty;
  });

  it('names the image and the migrations by image.tag', async () => {
    const manifests = await render({ ...valuesOf.distributed, ...options });
    const [job, ...others] = manifests.filter(({ kind }) => kind === 'Job');
    expect(others).to.be.empty;
    expect(job?.metadata.name).to.equal('linklog-migrations-v1-2-3');
    expect(job?.metadata.annotations['helm.sh/hook']).to.equal('pre-install,pre-upgrade');
    for (const { containers } of podsOf(manifests)) {
      expect(containers[0]?.image).to.equal('registry.example.com/linklog:v1_2.3');
    }
  });

  it('passes the settings of Kafka to the services', async () => {
    const data = dataOf(await render({ ...valuesOf.distributed, kafka }));
    expect(data).to.include({
      KAFKA_BROKERS: 'kafka-0.kafka:9093,kafka-1.kafka:9093',
      KAFKA_REPLICAS: '3',
      KAFKA_SSL: '1',
      KAFKA_SSL_CERT_FILE: '/run/secrets/kafka/tls.crt',
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'linklog',
    });
    expect(dataOf(manifestsOf('single'))).to.not.have.property('KAFKA_BROKERS');
  });

  const { distributed } = valuesOf;
  const wrong: readonly (readonly [string, Values, RegExp])[] = [
    ['an unknown form', { form: 'distributd' }, /'\/form': value must be one of/],
    ['no brokers', { kafka: { brokers: [] } }, /'\/kafka\/brokers': minItems: got 0, want 1/],
    ['brokers in one pod', { form: 'single' }, /'\/kafka\/brokers': maxItems/],
    ['no replicas', { commandApi: { replicas: 0 } }, /'\/commandApi\/replicas': minimum: got 0/],
    ['an unknown key', { replicas: 2 }, /additional properties 'replicas' not allowed/],
    ['an unknown key', { backup: { days: 2 } }, /'\/backup': additional properties 'days'/],
    [
      'no SHORT_URL_HOST',
      { environment: {} },
      /'\/environment': missing property 'SHORT_URL_HOST'/,
    ],
    [
      'a number as variable',
      { environment: { ...environment, CODE_LENGTH: 7 } },
      /'\/environment\/CODE_LENGTH': got number, want string/,
    ],
    [
      'a variable that the chart sets',
      { environment: { ...environment, KAFKA_BROKERS: 'a:9092' } },
      /environment\.KAFKA_BROKERS: the chart sets this variable/,
    ],
    [
      'an Ingress without hosts',
      { ingress: { enabled: true } },
      /'\/ingress\/edgeHosts': minItems: got 0, want 1/,
    ],
  ];
  for (const [title, values, message] of wrong) {
    it(`refuses ${title}: ${Object.keys(values).join()}`, async () => {
      expect(await errorOf({ ...distributed, ...values })).to.match(message);
    });
  }

  it('refuses each secret as a variable', async () => {
    for (const name of secretVariables) {
      const values = { ...distributed, environment: { ...environment, [name]: 'x' } };
      expect(await errorOf(values)).to.include(`environment.${name}: `);
    }
  });
});
