/** The value of a record. */
export type MmdbValue = string | number | { readonly [name: string]: MmdbValue };

const types = { text: 2, uint32: 6, map: 7 } as const;

/** The type in the upper three bits; the size in the lower five bits, or from 29 on in the next byte. */
const head = (type: number, size: number): Buffer =>
  Buffer.from(size < 29 ? [(type << 5) | size] : [(type << 5) | 29, size - 29]);

const encode = (value: MmdbValue): Buffer => {
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([head(types.uint32, 4), bytes]);
  }
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([head(types.text, bytes.length), bytes]);
  }
  const entries = Object.entries(value);
  return Buffer.concat([head(types.map, entries.length), ...entries.flat().map(encode)]);
};

/**
 * A file of the MaxMind DB format, version 2.0, with one record: for all IPv4 addresses below 128.0.0.0, or for all
 * addresses.
 */
export const mmdbFile = (
  record: MmdbValue,
  ipVersion: 4 | 6,
  covers: 'lowerIPv4' | 'all' = 'lowerIPv4',
): Buffer => {
  // A node for each leading bit 0: in an IPv6 tree, 96 precede the first bit of an IPv4 address.
  const nodes = ipVersion === 6 ? 97 : 1;
  const tree = Buffer.alloc(nodes * 6);
  for (let node = 0; node < nodes; node += 1) {
    const isLast = node === nodes - 1;
    // Offsets include the separator of 16 bytes.
    const leaf = nodes + 16;
    const empty = nodes;
    tree.writeUIntBE(isLast ? leaf : node + 1, node * 6, 3);
    tree.writeUIntBE(covers === 'all' ? leaf : empty, node * 6 + 3, 3);
  }
  const metadata = encode({
    node_count: nodes,
    record_size: 24,
    ip_version: ipVersion,
    database_type: 'Test',
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_750_000_000,
  });
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
  return Buffer.concat([tree, Buffer.alloc(16), encode(record), marker, metadata]);
};
