import { z } from 'zod';
import type { KafkaSettings } from '../event-log/kafka/settings.js';

/** `host:port`, an IPv6 address in brackets. */
const broker = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):\d{1,5}$/i;
const flag = z
  .enum(['0', '1'], { error: 'must be 0 or 1' })
  .default('0')
  .transform((value) => value === '1');
const copies = z
  .string()
  .regex(/^[1-9]\d?$/, 'must be a number from 1 to 99')
  .transform(Number)
  .optional();
const secret = z.string().max(1_000, 'must have at most 1000 characters').optional();

/** The variables that say where the log on Kafka is. */
export const kafkaVariables = {
  KAFKA_BROKERS: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .refine((all) => all.every((one) => broker.test(one)), {
      error: 'must be host:port, several separated by commas',
    })
    .optional(),
  KAFKA_SSL: flag,
  KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'], {
      error: 'must be plain, scram-sha-256 or scram-sha-512',
    })
    .optional(),
  KAFKA_SASL_USERNAME: secret,
  KAFKA_SASL_PASSWORD: secret,
  KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,100}$/, 'must have 1 to 100 letters, digits, dots, dashes')
    .default(''),
  KAFKA_REPLICAS: copies,
  KAFKA_MIN_INSYNC_REPLICAS: copies,
};

type KafkaVariables = z.infer<z.ZodObject<typeof kafkaVariables>>;

/** The variables that mean nothing without others, and the first of those that is missing. */
const lacking = (vars: KafkaVariables): readonly [variable: string, needs: string] | null => {
  const { KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD } = vars;
  // All variables come here, those that have nothing to do with Kafka too.
  const set = Object.entries(vars).filter(
    ([name, value]) =>
      name in kafkaVariables && name !== 'KAFKA_BROKERS' && value !== undefined && value !== false,
  );
  const [stray] = set.filter(([, value]) => value !== '');
  if (stray && vars.KAFKA_BROKERS === undefined) return [stray[0], 'KAFKA_BROKERS'];
  const sasl = { KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD };
  const given = Object.entries(sasl).find(([, value]) => value !== undefined);
  const missing = Object.entries(sasl).find(([, value]) => value === undefined);
  return given && missing ? [given[0], missing[0]] : null;
};

/** The settings, `null` for an embedded log; or, in `refuse`, one line that names the variable. */
export const kafkaSettings = (
  vars: KafkaVariables,
  refuse: (message: string) => never,
): KafkaSettings | null => {
  const incomplete = lacking(vars);
  if (incomplete) refuse(`${incomplete[0]} needs ${incomplete[1]} beside it`);
  const { KAFKA_BROKERS: brokers, KAFKA_REPLICAS: replicas = null } = vars;
  const { KAFKA_MIN_INSYNC_REPLICAS: minInsyncReplicas = null } = vars;
  if (brokers === undefined) return null;
  if (replicas !== null && minInsyncReplicas !== null && minInsyncReplicas > replicas) {
    refuse('KAFKA_MIN_INSYNC_REPLICAS must be at most KAFKA_REPLICAS');
  }
  return {
    brokers,
    ssl: vars.KAFKA_SSL,
    sasl:
      vars.KAFKA_SASL_MECHANISM === undefined
        ? null
        : {
            mechanism: vars.KAFKA_SASL_MECHANISM,
            username: vars.KAFKA_SASL_USERNAME ?? '',
            password: vars.KAFKA_SASL_PASSWORD ?? '',
          },
    prefix: vars.KAFKA_TOPIC_PREFIX,
    replicas,
    minInsyncReplicas,
  };
};
