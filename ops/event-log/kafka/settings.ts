/** TLS to the brokers; the content of PEM files, not their paths. */
export interface KafkaTls {
  /** Certification authorities that may sign a broker's certificate; `null`: those of Node.js. */
  readonly ca: string | null;
  /** The client certificate and its private key; `null`: none. */
  readonly client: { readonly cert: string; readonly key: string } | null;
}

/**
 * How a Kafka cluster is reached, and how the log's topics are made there. Plain data, which is cloned
 * into other threads.
 */
export interface KafkaSettings {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  /** `false`: without TLS. */
  readonly ssl: KafkaTls | false;
  readonly sasl: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    readonly username: string;
    readonly password: string;
  } | null;
  /** Stands before the names of topics and groups, so that several installations share a cluster. */
  readonly prefix: string;
  /** Copies of each partition; `null`: as many as there are brokers, three at most. */
  readonly replicas: number | null;
  /** Copies that must have a record before it is acknowledged; `null`: one less than `replicas`. */
  readonly minInsyncReplicas: number | null;
  /** Of the record batches that are sent; consumers read either. */
  readonly compression: 'gzip' | 'none';
}
