import { expect } from 'chai';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defaultPlanTable } from '../../schemas/plans.js';
import { createAuthority } from '../test/support/certificates.js';
import { ConfigError } from '../platform/errors.js';
import { inheritedEnvironment, readConfig } from './config.js';
import { secretVariables } from './secrets.js';
import { folderFixture } from '../test/support/fixtures.js';
import { needs } from '../test/support/needs.js';

describe('configuration: PLANS_FILE', () => {
  const folder = folderFixture();

  const withFile = (content: string) => {
    const file = path.join(folder.path, 'plans.json');
    writeFileSync(file, content);
    return readConfig({ PLANS_FILE: file });
  };

  const pro = {
    ...{ requestsPerMinute: 10_000, monthlyCalls: null, monthlyLinks: null },
    ...{ monthlyQrCodes: 0, domains: 3, codeLength: 4 },
  };
  const customPlans = {
    plans: { ...defaultPlanTable.plans, PRO: pro },
    gates: { customAlias: 'FREE', passwordProtection: 'PRO' },
  };

  it('replaces the plans, whose number of domains may be absent', () => {
    expect(withFile(JSON.stringify(customPlans)).plans).to.deep.equal(customPlans);
    const { domains, ...withoutDomains } = pro;
    expect(domains).to.equal(3);
    const plans = { ...customPlans.plans, PRO: withoutDomains };
    const read = withFile(JSON.stringify({ ...customPlans, plans })).plans;
    expect(read.plans.PRO).to.deep.equal({ ...pro, domains: 50 });
  });

  it('is built in as `unlimited`: all features, no monthly limits, the other limits of PRO', () => {
    const { plans, gates } = readConfig({ PLANS_FILE: 'unlimited' }).plans;
    for (const plan of Object.values(plans)) {
      expect(plan).to.deep.equal({
        ...{ requestsPerMinute: 5_000, domains: 50 },
        ...{ monthlyCalls: null, monthlyLinks: null, monthlyQrCodes: null },
      });
    }
    expect(gates).to.deep.equal({ customAlias: 'FREE', passwordProtection: 'FREE' });
    const env = { PLANS_FILE: 'unlimited' };
    expect(inheritedEnvironment(env)).to.deep.equal(env);
  });

  it('is rejected in one line if it is invalid', () => {
    const withPro = (fields: object): string => {
      const plans = { ...customPlans.plans, PRO: { ...pro, ...fields } };
      return JSON.stringify({ ...customPlans, plans });
    };
    for (const [content, pattern] of [
      ['{\n  "plans": nope\n}', /JSON/],
      ['', /JSON/],
      ['[]', /object/],
      [withPro({ monthlyLinks: -1 }), /plans\.PRO\.monthlyLinks/],
      ...[3, 33, 4.5].map(
        (codeLength) => [withPro({ codeLength }), /plans\.PRO\.codeLength/] as const,
      ),
    ] as const) {
      expect(() => withFile(content))
        .to.throw(ConfigError, pattern)
        .with.property('message')
        .that.matches(/^PLANS_FILE[^\n]+$/)
        .and.does.not.include(': :');
    }
  });

  it('is rejected with its path if it does not exist', () => {
    const file = path.join(folder.path, 'missing.json');
    expect(() => readConfig({ PLANS_FILE: file })).to.throw(ConfigError, file);
  });
});

describe('configuration: secrets in files', () => {
  const folder = folderFixture();
  const fileWith = (content: string): string => {
    const file = path.join(folder.path, 'secret');
    writeFileSync(file, content);
    return file;
  };
  const token = 'a-token-of-an-operator';

  it('are the values of their variables, without one line end', () => {
    for (const end of ['', '\n', '\r\n']) {
      const env = { ADMIN_TOKEN_FILE: fileWith(`${token}${end}`), ADMIN_TOKEN: '' };
      expect(readConfig(env).adminToken).to.equal(token);
    }
    const values = {
      ADMIN_TOKEN: token,
      DATABASE_URL: 'postgres://linklog:secret@db:5432/linklog',
      EVENTSTORE_URL: 'esdb://ops:secret@archive:2113?tls=false',
      KAFKA_SASL_PASSWORD: 'secret',
      METRICS_TOKEN: 'a-token-of-the-scraper',
      OIDC_CLIENT_SECRET: 'the secret of the client',
      REDIS_URL: 'redis://:secret@cache:6379',
      SAFE_BROWSING_API_KEY: 'key',
    };
    const others = {
      KAFKA_BROKERS: 'kafka:9092',
      KAFKA_SASL_MECHANISM: 'plain',
      KAFKA_SASL_USERNAME: 'linklog',
      OIDC_ISSUER: 'https://id.example.com',
      OIDC_CLIENT_ID: 'linklog',
    };
    const files = Object.entries(values).map(([name, value]) => {
      const file = path.join(folder.path, name);
      writeFileSync(file, value);
      return [`${name}_FILE`, file] as const;
    });
    expect(files.map(([name]) => name)).to.deep.equal(
      secretVariables.map((name) => `${name}_FILE`),
    );
    // Functions differ.
    const comparable = (env: NodeJS.ProcessEnv) => ({ ...readConfig(env), trustedProxies: null });
    const expected = comparable({ ...values, ...others });
    expect(comparable({ ...Object.fromEntries(files), ...others })).to.deep.equal(expected);
  });

  it('are inherited as values, which the caller can override', () => {
    const env = { DATABASE_URL_FILE: fileWith('postgres://db/linklog\n') };
    expect(inheritedEnvironment(env)).to.deep.equal({ DATABASE_URL: 'postgres://db/linklog' });
  });

  it('are rejected in one line without the secret', () => {
    const missing = path.join(folder.path, 'missing');
    const rejected = [
      [{ ADMIN_TOKEN_FILE: missing }, /^ADMIN_TOKEN_FILE cannot be read: ENOENT.*missing/],
      [{ ADMIN_TOKEN_FILE: folder.path }, /^ADMIN_TOKEN_FILE cannot be read: EISDIR/],
      [{ ADMIN_TOKEN_FILE: fileWith('') }, /^ADMIN_TOKEN_FILE: .+secret is empty$/],
      [
        { ADMIN_TOKEN_FILE: missing, ADMIN_TOKEN: token },
        /^ADMIN_TOKEN and ADMIN_TOKEN_FILE are both set$/,
      ],
    ] as const;
    for (const [env, message] of rejected) {
      expect(() => readConfig(env)).to.throw(ConfigError, message);
      expect(() => readConfig(env)).to.not.throw(/\n|a-token/);
    }
    const env = { ADMIN_TOKEN_FILE: fileWith('short\n\n') };
    expect(() => readConfig(env)).to.throw(ConfigError, /^ADMIN_TOKEN must be 16 to 256 visible/);
  });
});

describe('configuration: TLS files of Kafka', () => {
  needs('openssl');
  const folder = folderFixture();
  let files: Readonly<Record<'ca' | 'cert' | 'key' | 'otherKey' | 'garbage' | 'missing', string>>;

  before(async () => {
    const authority = await createAuthority(folder.path, 'authority');
    const client = await authority.issue('client');
    const other = await authority.issue('other');
    const [garbage, missing] = [
      path.join(folder.path, 'garbage'),
      path.join(folder.path, 'missing'),
    ];
    writeFileSync(garbage, 'no PEM');
    files = { ca: authority.ca, ...client, otherKey: other.key, garbage, missing };
  });

  const withFiles = (names: Readonly<Record<string, keyof typeof files>>, ssl = '1') => {
    const env = Object.entries(names).map(([name, file]) => [
      ...[`KAFKA_SSL_${name}_FILE`, files[file]],
    ]);
    const settings = Object.fromEntries(env) as Record<string, string>;
    return readConfig({ KAFKA_BROKERS: 'kafka:9092', KAFKA_SSL: ssl, ...settings }).kafka?.ssl;
  };

  it('are read at startup', () => {
    const read = (file: string): string => readFileSync(file, 'utf8');
    expect(withFiles({})).to.deep.equal({ ca: null, client: null });
    expect(withFiles({ CA: 'ca' })).to.deep.equal({ ca: read(files.ca), client: null });
    expect(withFiles({ CA: 'ca', CERT: 'cert', KEY: 'key' })).to.deep.equal({
      ca: read(files.ca),
      client: { cert: read(files.cert), key: read(files.key) },
    });
  });

  const wrong = [
    [{ CA: 'missing' }, '1', /^KAFKA_SSL_CA_FILE cannot be read: ENOENT/],
    [{ CERT: 'cert', KEY: 'missing' }, '1', /^KAFKA_SSL_KEY_FILE cannot be read: ENOENT/],
    [{ CA: 'garbage' }, '1', /^KAFKA_SSL_CA_FILE has no certificate in PEM format: /],
    [{ CERT: 'garbage', KEY: 'key' }, '1', /^KAFKA_SSL_CERT_FILE has no certificate in PEM/],
    [{ CERT: 'cert', KEY: 'cert' }, '1', /^KAFKA_SSL_KEY_FILE has no unencrypted private key in/],
    [{ CERT: 'cert', KEY: 'otherKey' }, '1', /^KAFKA_SSL_KEY_FILE does not match KAFKA_SSL_CERT_F/],
    [{ CERT: 'cert' }, '1', /^KAFKA_SSL_CERT_FILE requires KAFKA_SSL_KEY_FILE$/],
    [{ KEY: 'key' }, '1', /^KAFKA_SSL_KEY_FILE requires KAFKA_SSL_CERT_FILE$/],
    [{ CA: 'ca' }, '0', /^KAFKA_SSL_CA_FILE requires KAFKA_SSL=1$/],
    [{ CERT: 'cert', KEY: 'key' }, '0', /^KAFKA_SSL_CERT_FILE requires KAFKA_SSL=1$/],
  ] as const;
  it('are rejected in one line', () => {
    for (const [variables, ssl, message] of wrong) {
      expect(() => withFiles(variables, ssl)).to.throw(ConfigError, message);
      expect(() => withFiles(variables, ssl)).to.not.throw(/\n/);
    }
  });
});
