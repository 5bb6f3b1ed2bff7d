import { expect } from 'chai';
import path from 'node:path';
import { defaultPlanTable } from '../../schemas/plans.js';
import { ConfigError } from '../platform/errors.js';
import { inheritedEnvironment, readConfig } from './config.js';
import { variables } from './variables.js';

const refusal = (env: NodeJS.ProcessEnv): string => {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError);
    expect(error).to.have.property('code', 'CONFIG');
    return (error as ConfigError).message;
  }
  throw new Error('readConfig() accepted the configuration');
};

describe('configuration', () => {
  it('uses the defaults of the contract', () => {
    const { trustedProxies, geoipFile, ...config } = readConfig({});
    expect(trustedProxies('127.0.0.1')).to.equal(false);
    expect(geoipFile).to.match(/country\.mmdb$/);
    expect(config).to.deep.equal({
      api: { host: '127.0.0.1', port: 8080 },
      edge: { host: '127.0.0.1', port: 8081 },
      admin: { host: '127.0.0.1', port: 8082, names: ['127.0.0.1'] },
      ...{ edgeLane: true, edgeProcesses: 1, edgeCacheBytes: 50_331_648 },
      ...{
        shortUrlHost: null,
        ownHosts: [],
        destinationSchemes: [],
        codeLength: 8,
        codesCase: 'sensitive',
        corsOrigins: [],
        console: true,
        mcp: true,
        drainDelayMs: 0,
      },
      ...{ upgradeUrl: 'https://example.com/billing', plansUrl: null, plans: defaultPlanTable },
      ...{ adminToken: null, metricsToken: null, makesFirstKey: true, sealKeyFile: null },
      backups: null,
      ...{ dataDir: path.resolve('.data'), maxImportBytes: 67_108_864, logLevel: 'info' },
      ...{ databaseUrl: null, kafka: null, redisUrl: null, eventStoreUrl: null, tracing: null },
      redirects: { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null },
      ...{ dnsServers: [], webhooks: { deliver: true, networks: null } },
      spool: { root: path.resolve('.data/spool'), maxBytes: 1_073_741_824, fsync: false },
      safety: { blocklistFile: null, safeBrowsing: null },
      ...{ signIn: { oidc: null, keys: true }, consoleOrigins: { api: null, admin: null } },
    });
  });

  it('reads every variable', () => {
    const { trustedProxies, webhooks, ...config } = readConfig({
      HOST: '0.0.0.0',
      API_HOST: '::1',
      API_PORT: '0',
      EDGE_PORT: '65535',
      EDGE_LANE: '0',
      EDGE_PROCESSES: '4',
      EDGE_CACHE_MB: '4096',
      ADMIN_HOST: 'admin.internal',
      ADMIN_HOSTS: 'OPS.example.com, command-api-1:8082',
      SHORT_URL_HOST: 'https://Kürz.example:8443/',
      OWN_HOSTS: 'api.example.com, [::1]:8080',
      DESTINATION_SCHEMES: 'MailTo, tel,my-app',
      CODE_LENGTH: '32',
      CODES_CASE: 'insensitive',
      UPGRADE_URL: 'https://example.org/pay',
      ADMIN_TOKEN: 'a-token-of-16-ch',
      METRICS_TOKEN: 'a-token-of-the-scraper',
      FIRST_KEY: 'none',
      CONSOLE: '0',
      MCP: '0',
      CONSOLE_URL: 'https://links.example.com:8443/',
      CORS_ORIGINS: 'https://APP.example.com:443, http://localhost:3000, https://faß.de',
      DATA_DIR: '/var/lib/linklog',
      DRAIN_DELAY_MS: '60000',
      DATABASE_URL: 'postgres://user:secret@db:5432/linklog',
      KAFKA_BROKERS: 'one:9092, [::1]:9093',
      KAFKA_SSL: '1',
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'linklog',
      KAFKA_SASL_PASSWORD: 'secret',
      KAFKA_TOPIC_PREFIX: 'staging.',
      KAFKA_REPLICAS: '3',
      KAFKA_MIN_INSYNC_REPLICAS: '2',
      KAFKA_COMPRESSION: 'none',
      REDIS_URL: 'rediss://user:secret@cache:6380/1',
      SEAL_KEY_FILE: '/etc/linklog/seal-key.pem',
      EVENTSTORE_URL: 'esdb://ops:secret@archive:2113?tls=false',
      GEOIP_FILE: 'none',
      ROOT_REDIRECT: 'https://example.org/home',
      NOT_FOUND_REDIRECT: 'https://example.org/404',
      EXPIRED_REDIRECT: 'https://example.org/over',
      DNS_SERVERS: '192.0.2.53,dns.example:5353,[2001:db8::53]:5300',
      WEBHOOKS: '0',
      WEBHOOK_NETWORKS: '10.1.0.0/16, fd00::/8, 192.0.2.1',
      IMPORT_MAX_BYTES: '1048576',
      ...{ BACKUP_DIR: '/backups', BACKUP_EVERY: '90m', BACKUP_KEEP: '7' },
      LOG_LEVEL: 'warn',
      SPOOL_DIR: '/mnt/spool',
      SPOOL_MAX_BYTES: '1048576',
      SPOOL_FSYNC: '1',
      TRUSTED_PROXIES: '10.0.0.0/8',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.internal:4318/',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.05',
      SOMETHING_ELSE: 'of another program',
    });
    expect([trustedProxies('10.1.2.3'), trustedProxies('11.1.2.3')]).to.deep.equal([true, false]);
    expect(webhooks.deliver).to.equal(false);
    expect(webhooks.networks?.rules).to.have.members([
      ...['Subnet: IPv4 10.1.0.0/16', 'Subnet: IPv6 fd00::/8', 'Subnet: IPv4 192.0.2.1/32'],
    ]);
    expect(config).to.deep.equal({
      api: { host: '::1', port: 0 },
      edge: { host: '0.0.0.0', port: 65_535 },
      ...{ edgeLane: false, edgeProcesses: 4, edgeCacheBytes: 4_294_967_296 },
      admin: {
        ...{ host: 'admin.internal', port: 8082 },
        names: ['admin.internal', 'ops.example.com', 'command-api-1'],
      },
      shortUrlHost: 'https://xn--krz-hoa.example:8443',
      ownHosts: ['http://api.example.com', 'http://[::1]:8080'],
      destinationSchemes: ['mailto', 'tel', 'my-app'],
      codeLength: 32,
      codesCase: 'insensitive',
      ...{ upgradeUrl: 'https://example.org/pay', plansUrl: 'https://example.org/pay' },
      ...{ adminToken: 'a-token-of-16-ch', metricsToken: 'a-token-of-the-scraper' },
      backups: { dir: '/backups', everyMs: 5_400_000, keep: 7 },
      ...{ maxImportBytes: 1_048_576, makesFirstKey: false, drainDelayMs: 60_000 },
      ...{ console: false, mcp: false },
      corsOrigins: ['https://app.example.com', 'http://localhost:3000', 'https://xn--fa-hia.de'],
      ...{ dataDir: '/var/lib/linklog', databaseUrl: 'postgres://user:secret@db:5432/linklog' },
      kafka: {
        brokers: ['one:9092', '[::1]:9093'],
        ssl: { ca: null, client: null },
        sasl: { mechanism: 'scram-sha-512', username: 'linklog', password: 'secret' },
        ...{ prefix: 'staging.', replicas: 3, minInsyncReplicas: 2, compression: 'none' },
      },
      redisUrl: 'rediss://user:secret@cache:6380/1',
      eventStoreUrl: 'esdb://ops:secret@archive:2113?tls=false',
      ...{ geoipFile: null, plans: defaultPlanTable, logLevel: 'warn' },
      sealKeyFile: '/etc/linklog/seal-key.pem',
      redirects: {
        rootRedirect: 'https://example.org/home',
        notFoundRedirect: 'https://example.org/404',
        expiredRedirect: 'https://example.org/over',
      },
      dnsServers: [
        { host: '192.0.2.53', port: 53 },
        { host: 'dns.example', port: 5353 },
        { host: '2001:db8::53', port: 5300 },
      ],
      tracing: { protocol: 'http/json' },
      spool: { root: '/mnt/spool', maxBytes: 1_048_576, fsync: true },
      safety: { blocklistFile: null, safeBrowsing: null },
      ...{
        signIn: { oidc: null, keys: true },
        consoleOrigins: { api: 'https://links.example.com:8443', admin: null },
      },
    });
  });

  it('accepts * for every origin', () => {
    expect(readConfig({ CORS_ORIGINS: ' * ' }).corsOrigins).to.equal('*');
  });

  it('does not apply HOST to the admin listener', () => {
    const { api, edge, admin } = readConfig({ HOST: '10.0.0.1', EDGE_HOST: '10.0.0.2' });
    expect([api.host, edge.host, admin.host]).to.deep.equal(['10.0.0.1', '10.0.0.2', '127.0.0.1']);
  });

  const bad: Readonly<Record<string, readonly string[]>> = {
    TRUSTED_PROXIES: ['10.0.0.0/33', 'somewhere'],
    SAFE_BROWSING_URL: ['ftp://example.com'],
    // Without KAFKA_BROKERS or another variable that they require.
    KAFKA_SSL: ['1', 'yes'],
    KAFKA_SSL_CA_FILE: ['ca.pem'],
    KAFKA_SSL_CERT_FILE: ['client.pem'],
    KAFKA_SSL_KEY_FILE: ['client.key.pem'],
    KAFKA_SASL_MECHANISM: ['plain', 'gssapi'],
    KAFKA_SASL_USERNAME: ['linklog'],
    KAFKA_SASL_PASSWORD: ['secret-of-kafka'],
    KAFKA_TOPIC_PREFIX: ['staging.', 'a b'],
    KAFKA_REPLICAS: ['3', '0', 'all'],
    KAFKA_MIN_INSYNC_REPLICAS: ['2', '-1'],
    KAFKA_COMPRESSION: ['gzip', 'zstd'],
    HOST: ['not a host', 'http://127.0.0.1'],
    API_HOST: ['a/b'],
    EDGE_HOST: ['[::1]'],
    ADMIN_HOST: [' '],
    ADMIN_HOSTS: ['http://ops', 'a b', 'a/b', 'a,'],
    API_PORT: ['65536', '-1', '80.5', 'http', '0x50', ' 80'],
    EDGE_PORT: ['100000'],
    ADMIN_PORT: ['1e3'],
    SHORT_URL_HOST: [
      ...['sho.rt', 'ftp://sho.rt', '//sho.rt', 'https://sho.rt/a', 'https://sho.rt?a'],
      ...['https://sho.rt#a', 'https://sho rt', 'https://user:secret@sho.rt'],
      ...['https://xn--a.example', 'https://sho.rt\\a'],
    ],
    OWN_HOSTS: ['http://sho.rt', 'sho.rt/a', 'sho.rt,', 'a@sho.rt', 'sho.rt:99999', 'a b'],
    DESTINATION_SCHEMES: [
      ...['javascript', 'mailto,Data', 'vbscript', 'file', 'blob', 'about', 'view-source'],
      ...['https', 'mailto,http', 'mailto:', 'mail to', 'mailto,', '1a', 'ä', 'x'.repeat(32)],
    ],
    CODES_CASE: ['Sensitive', 'none', '1'],
    CODE_LENGTH: ['3', '33', '-8', '8.5', 'x', '1e1'],
    UPGRADE_URL: ['javascript:alert(1)'],
    ADMIN_TOKEN: ['short', 'with a space in it', 'ümlaut-ümlaut-ümlaut', 'x'.repeat(257)],
    FIRST_KEY: ['0', 'None', 'a-key-of-mine'],
    CONSOLE: ['off', 'true'],
    MCP: ['off', 'true'],
    CONSOLE_URL: ['links.example.com', 'https://links.example.com/console', 'ftp://a.example'],
    CORS_ORIGINS: [
      ...['app.example.com', 'https://app.example.com/', 'https://app.example.com/a', 'null'],
      ...['*,https://app.example.com', 'https://*.example.com', 'https://a@app.example.com'],
      ...['https://app.example.com,', 'ftp://app.example.com', 'https://app.example.com?a', '**'],
    ],
    DRAIN_DELAY_MS: ['-1', '60001', '5s', '1e3'],
    DATABASE_URL: ['mysql://db/linklog', 'localhost:5432'],
    DNS_SERVERS: ['dns://192.0.2.53', '192.0.2.53:99999', 'a b'],
    WEBHOOKS: ['off', '2'],
    BACKUP_EVERY: ['24', '0h', '1w', '10000m', '1.5h'],
    BACKUP_KEEP: ['0', '-1', 'all', '10000'],
    IMPORT_MAX_BYTES: ['64 MiB', '0', '9'.repeat(16)],
    WEBHOOK_NETWORKS: ['10.0.0.0/33', 'receiver', 'fe80::1%eth0', '10.0.0.0/8,'],
    EXPIRED_REDIRECT: ['/home'],
    NOT_FOUND_REDIRECT: ['/home'],
    ROOT_REDIRECT: ['/home', 'https://@example.org', 'https://example.org\\@example.com'],
    LOG_LEVEL: ['verbose', 'INFO'],
    OTEL_EXPORTER_OTLP_ENDPOINT: ['collector:4318', 'grpc://collector:4317'],
    OTEL_EXPORTER_OTLP_PROTOCOL: ['grpc', 'http'],
    OTEL_TRACES_SAMPLER: ['sometimes', 'jaeger_remote'],
    OTEL_TRACES_SAMPLER_ARG: ['2', '-1', '50%', '.5'],
    SPOOL_MAX_BYTES: ['1GiB', '1048575', '-1', '9'.repeat(16)],
    SPOOL_FSYNC: ['yes', 'true', '2'],
    EDGE_LANE: ['off', 'false'],
    EDGE_PROCESSES: ['0', '100', '1.5', 'all'],
    EDGE_CACHE_MB: ['0', '4097', '1.5', '48 MB'],
    KAFKA_BROKERS: ['localhost', ',', 'kafka://localhost:9092', 'a:1,,b:2'],
    REDIS_URL: ['localhost:6379', 'http://localhost'],
    EVENTSTORE_URL: [
      'localhost:2113',
      'http://localhost:2113',
      'esdb://localhost:port',
      'esdb://ops:secret@localhost:2113?tls=false&retries=1',
      'esdb://localhost?tlsVerifyCert=false',
      'esdb://localhost?throwOnAppendFailure=false',
    ],
  };
  for (const [variable, values] of Object.entries(bad)) {
    it(`rejects an invalid ${variable} in one line without secrets`, () => {
      for (const value of values) {
        const message = refusal({ [variable]: value });
        expect(message).to.match(new RegExp(`^${variable} `));
        expect(message).to.not.include('\n');
        if (['ADMIN_TOKEN', 'DATABASE_URL', 'EVENTSTORE_URL'].includes(variable)) {
          expect(message).to.not.include(value);
        }
      }
    });
  }

  for (const name of ['ROOT_REDIRECT', 'NOT_FOUND_REDIRECT', 'EXPIRED_REDIRECT']) {
    it(`rejects a ${name} that leads to this installation`, () => {
      const env = { SHORT_URL_HOST: 'https://sho.rt', OWN_HOSTS: 'api.example' };
      for (const url of [
        'https://SHO.rt',
        'http://sho.rt/a',
        'https://api.example',
        'http://[::1]:8081',
      ]) {
        expect(refusal({ ...env, [name]: url }), url).to.match(
          new RegExp(`^${name} must not lead to`),
        );
      }
      expect(refusal({ [name]: 'http://localhost:8081/' })).to.match(new RegExp(`^${name} `));
      expect(() => readConfig({ ...env, [name]: 'https://home.example' })).not.to.throw();
    });
  }

  it('accepts the connection strings of EventStoreDB', () => {
    for (const url of [
      'esdb://localhost',
      'esdb://ops:changeit@localhost:2113?tls=false',
      'esdb+discover://cluster.example:2113',
      'kurrentdb://a:2113,b:2113?tls=true',
      'kdb+discover://cluster.example',
      'esdb://a:2113,b:2113,c:2113/?nodePreference=leader&tlsCAFile=%2Fetc%2Fca.pem',
    ]) {
      expect(readConfig({ EVENTSTORE_URL: url }).eventStoreUrl).to.equal(url);
    }
  });

  it('rejects incomplete settings of Kafka', () => {
    const brokers = { KAFKA_BROKERS: 'kafka:9092' };
    expect(refusal({ ...brokers, KAFKA_SASL_USERNAME: 'linklog' })).to.equal(
      'KAFKA_SASL_USERNAME requires KAFKA_SASL_MECHANISM',
    );
    expect(refusal({ ...brokers, KAFKA_REPLICAS: '1', KAFKA_MIN_INSYNC_REPLICAS: '2' })).to.equal(
      'KAFKA_MIN_INSYNC_REPLICAS must be at most KAFKA_REPLICAS',
    );
    expect(refusal({ KAFKA_SSL: '1' })).to.equal('KAFKA_SSL requires KAFKA_BROKERS');
  });

  it('passes absolute file paths to services in another folder', () => {
    const files = { PLANS_FILE: 'plans.json', BLOCKLIST_FILE: '', GEOIP_FILE: 'geo.mmdb' };
    const kafka = ['CA', 'CERT', 'KEY'].map((name) => [`KAFKA_SSL_${name}_FILE`, `${name}.pem`]);
    expect(inheritedEnvironment(Object.fromEntries(kafka) as NodeJS.ProcessEnv)).to.deep.equal({
      KAFKA_SSL_CA_FILE: path.resolve('CA.pem'),
      KAFKA_SSL_CERT_FILE: path.resolve('CERT.pem'),
      KAFKA_SSL_KEY_FILE: path.resolve('KEY.pem'),
    });
    expect(inheritedEnvironment({ ...files, HOST: 'a' })).to.deep.equal({
      PLANS_FILE: path.resolve('plans.json'),
      BLOCKLIST_FILE: '',
      GEOIP_FILE: path.resolve('geo.mmdb'),
      HOST: 'a',
    });
    expect(inheritedEnvironment({ GEOIP_FILE: 'none' })).to.deep.equal({ GEOIP_FILE: 'none' });
  });

  it('treats an empty variable as unset', () => {
    const env = Object.fromEntries(Object.keys(variables.shape).map((name) => [name, '']));
    expect(readConfig(env)).to.deep.equal(readConfig({}));
  });
});
