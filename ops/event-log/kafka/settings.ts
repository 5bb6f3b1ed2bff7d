/** TLS to the brokers, with the contents of PEM files. */
export interface KafkaTls {
  /** Certification authorities; `null` for those of Node.js. */
  readonly ca: string | null;
  /** The client certificate and its private key. */
  readonly client: { readonly cert: string; readonly key: string } | null;
}

/** Connection to a Kafka cluster and configuration of its topics. Plain data, which is cloned into other threads. */
export interface KafkaSettings {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  readonly ssl: KafkaTls | false;
  readonly sasl: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    readonly username: string;
    readonly password: string;
  } | null;
  /** Prefix of topics and groups, so that several installations can share a cluster. */
  readonly prefix: string;
  /** Replication factor; `null` for the number of brokers, at most 3. */
  readonly replicas: number | null;
  /** `min.insync.replicas`; `null` for `replicas` - 1. */
  readonly minInsyncReplicas: number | null;
  /** The compression of new record batches. */
  readonly compression: 'gzip' | 'none';
}
