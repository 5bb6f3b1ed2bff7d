/** Encodes arrays in PostgreSQL's binary format, which saves the conversion of each number to text and back. */

/** Bytes of an array's header. */
export const headBytes = 20;

/** Writes the number of dimensions, whether there are nulls, the element type, the length and the first index. */
export const writeHead = (to: Buffer, oid: number, elements: number, hasNulls: boolean): void => {
  [1, hasNulls ? 1 : 0, oid, elements, 1].forEach((value, index) =>
    to.writeInt32BE(value, 4 * index),
  );
};

const two32 = 2 ** 32;

/** The epoch of PostgreSQL's timestamps. */
const year2000Ms = Date.UTC(2000, 0);

const writeBigint = (to: Buffer, value: number, at: number): void => {
  to.writeInt32BE(Math.floor(value / two32), at);
  to.writeUInt32BE(value >>> 0, at + 4);
};

/** SQL types of a fixed size, by name. */
const elementTypes = {
  smallint: {
    oid: 21,
    bytes: 2,
    write: (to: Buffer, value: number, at: number) => void to.writeInt16BE(value, at),
  },
  integer: {
    oid: 23,
    bytes: 4,
    write: (to: Buffer, value: number, at: number) => void to.writeInt32BE(value, at),
  },
  bigint: { oid: 20, bytes: 8, write: writeBigint },
  /** From milliseconds since 1970. */
  timestamptz: {
    oid: 1184,
    bytes: 8,
    write: (to: Buffer, value: number, at: number) => {
      // From the year 2286 on, a number cannot represent the microseconds exactly.
      to.writeBigInt64BE(BigInt(value - year2000Ms) * 1_000n, at);
    },
  },
  /** From PostgreSQL's text format `(block,offset)`. */
  tid: {
    oid: 27,
    bytes: 6,
    write: (to: Buffer, value: string, at: number) => {
      const comma = value.indexOf(',');
      to.writeUInt32BE(Number(value.slice(1, comma)), at);
      to.writeUInt16BE(Number(value.slice(comma + 1, -1)), at + 4);
    },
  },
} as const;

type ElementTypes = typeof elementTypes;
export type ElementType = keyof ElementTypes;
export type Element<Type extends ElementType> = Parameters<ElementTypes[Type]['write']>[1];

/** Encodes values and nulls. @throws RangeError if a value is out of the type's range */
export const binaryArray = <Type extends ElementType>(
  type: Type,
  values: readonly (Element<Type> | null)[],
): Buffer => {
  const { oid, bytes, write } = elementTypes[type];
  const array = Buffer.allocUnsafe(headBytes + values.length * (4 + bytes));
  let at = headBytes;
  let hasNulls = false;
  for (const value of values) {
    if (value === null) {
      hasNulls = true;
      at = array.writeInt32BE(-1, at);
      continue;
    }
    at = array.writeInt32BE(bytes, at);
    (write as (to: Buffer, value: Element<Type>, at: number) => void)(array, value, at);
    at += bytes;
  }
  writeHead(array, oid, values.length, hasNulls);
  return array.subarray(0, at);
};
