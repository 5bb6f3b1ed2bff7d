import kafkajs, { type AclEntry, type AclOperationTypes } from 'kafkajs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../local/process/server.js';
import { createAuthority } from './certificates.js';
import { codeIn, pageOf } from './documented-code.js';
import { startKafka } from './kafka.js';

/** The user that the documented ACLs are granted to. */
export const user = { name: 'linklog', password: 'secret-of-linklog' };

const plainLogin = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
const scramLogin = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';

const saslOf = (listener: string): Readonly<Record<string, string>> => ({
  [`listener.name.${listener}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
  [`listener.name.${listener}.plain.sasl.jaas.config`]: `${plainLogin} user_${user.name}="${user.password}";`,
  [`listener.name.${listener}.scram-sha-256.sasl.jaas.config`]: scramLogin,
  [`listener.name.${listener}.scram-sha-512.sasl.jaas.config`]: scramLogin,
});

const entryOf = (
  resource: 'Topic' | 'Group',
  resourceName: string,
  operation: string,
  principal: string,
): AclEntry => ({
  principal,
  host: '*',
  permissionType: kafkajs.AclPermissionTypes.ALLOW,
  resourceType:
    resource === 'Topic' ? kafkajs.AclResourceTypes.TOPIC : kafkajs.AclResourceTypes.GROUP,
  resourcePatternType: kafkajs.ResourcePatternTypes.PREFIXED,
  resourceName,
  operation: operationOf(operation),
});

/** The rows of the table of ACLs in the documentation, as entries for the topics and groups of a prefix. */
export const documentedAcls = (prefix: string): AclEntry[] => {
  const rows = pageOf('scaling.md').matchAll(
    /^\| `(Topic|Group)` +\| `KAFKA_TOPIC_PREFIX([a-z.-]+)` +\| ([^|]+?) +\|/gm,
  );
  return [...rows].flatMap(([, resource = '', name = '', operations = '']) =>
    [...operations.matchAll(/`(\w+)`/g)].map(([, operation = '']) =>
      entryOf(resource as 'Topic' | 'Group', prefix + name, operation, `User:${user.name}`),
    ),
  );
};

/** The entries that the commands of the documentation add. */
export const aclsOfCommands = (): AclEntry[] => {
  const code = codeIn('scaling.md', 'sh', 'Authentication, ACLs and TLS');
  const commands = code
    .replaceAll('\\\n', '')
    .matchAll(
      /^kafka-acls\.sh --bootstrap-server … --add --allow-principal (\S+) --resource-pattern-type prefixed +--(topic|group) (\S+)((?: --operation \w+)+)$/gm,
    );
  return [...commands].flatMap(([, principal = '', resource = '', name = '', operations = '']) =>
    [...operations.matchAll(/--operation (\w+)/g)].map(([, operation = '']) =>
      entryOf(resource === 'topic' ? 'Topic' : 'Group', name, operation, principal),
    ),
  );
};

const operationOf = (name: string): AclOperationTypes => {
  const constant = name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  const operation = Object.entries(kafkajs.AclOperationTypes).find(
    ([known]) => known === constant,
  )?.[1];
  if (typeof operation !== 'number') throw new Error(`Kafka has no operation ${name}`);
  return operation;
};

/**
 * Starts a broker that authorizes by ACLs, with a listener for each way to authenticate. `brokers` is an
 * unauthenticated listener whose user may do everything.
 */
export const startSecuredKafka = async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-secured-kafka-'));
  const authority = await createAuthority(dir, 'authority');
  const broker = await authority.issue('broker', ['subjectAltName=IP:127.0.0.1']);
  const client = await authority.issue(user.name);
  const keystore = path.join(dir, 'keystore.pem');
  const parts = [await readFile(broker.key, 'utf8'), await readFile(broker.cert, 'utf8')];
  await writeFile(keystore, parts.join(''));
  const ports = {
    SASL_PLAINTEXT: await freePort(),
    SASL_SSL: await freePort(),
    SSL: await freePort(),
  };
  const added = Object.entries(ports).map(([name, port]) => `${name}://127.0.0.1:${port}`);
  const protocols = ['PLAINTEXT', ...Object.keys(ports)].map((name) => `${name}:${name}`);
  const server = await startKafka({
    dataDir: path.join(dir, 'kafka'),
    change: ({ listeners = '', 'advertised.listeners': advertised = '', ...properties }) => ({
      ...properties,
      listeners: [listeners, ...added].join(','),
      'advertised.listeners': [advertised, ...added].join(','),
      'listener.security.protocol.map': [
        ...protocols,
        'INTERNAL:PLAINTEXT',
        'CONTROLLER:PLAINTEXT',
      ].join(','),
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
      ...saslOf('sasl_plaintext'),
      ...saslOf('sasl_ssl'),
      'listener.name.ssl.ssl.client.auth': 'required',
      'ssl.principal.mapping.rules': 'RULE:^CN=(.*)$/$1/',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keystore,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': authority.ca,
    }),
    scramUsers: ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map(
      (mechanism) => `${mechanism}=[name=${user.name},password=${user.password}]`,
    ),
  });
  const admin = new kafkajs.Kafka({
    brokers: [server.brokers],
    logLevel: kafkajs.logLevel.NOTHING,
  }).admin();
  await admin.connect();
  return {
    brokers: server.brokers,
    /** `host:port` of a listener. */
    at: (listener: keyof typeof ports): string => `127.0.0.1:${ports[listener]}`,
    ca: authority.ca,
    client,
    grant: async (acl: AclEntry[]): Promise<void> => {
      await admin.createAcls({ acl });
    },
    async stop(): Promise<void> {
      await admin.disconnect();
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
