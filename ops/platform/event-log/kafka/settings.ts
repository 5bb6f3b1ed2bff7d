/** How a Kafka cluster is reached, and how the log's topics are made there. */
export interface KafkaSettings {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  readonly ssl: boolean;
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
