/**
 * Arrays as parameters in PostgreSQL's binary format. An array as text makes a string of each number here, and a number
 * of each string there.
 */

/** Bytes before an array's elements. */
export const headBytes = 20;

/** One dimension, whether there are nulls, the elements' type, how many, the index of the first. */
export const writeHead = (to: Buffer, oid: number, elements: number, hasNulls: boolean): void => {
  [1, hasNulls ? 1 : 0, oid, elements, 1].forEach((value, index) =>
    to.writeInt32BE(value, 4 * index),
  );
};

const two32 = 2 ** 32;

/** PostgreSQL counts microseconds since 2000. */
const year2000Ms = Date.UTC(2000, 0);

const writeBigint = (to: Buffer, value: number, at: number): void => {
  to.writeInt32BE(Math.floor(value / two32), at);
  to.writeUInt32BE(value >>> 0, at + 4);
};

/** By the name of their SQL type, elements that all have the same number of bytes. */
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
  /** Of milliseconds since 1970. */
  timestamptz: {
    oid: 1184,
    bytes: 8,
    write: (to: Buffer, value: number, at: number) => {
      // More microseconds than a number counts exactly, in the year 2286 and later.
      to.writeBigInt64BE(BigInt(value - year2000Ms) * 1_000n, at);
    },
  },
  /** Of texts as PostgreSQL writes the place of a row: `(block,offset)`. */
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

/** An array of numbers, times or places of rows, some of which may be null. @throws RangeError out of the type's range */
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
