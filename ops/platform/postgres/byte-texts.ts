import type pg from 'pg';

const textType = 25;

/**
 * A statement whose columns are texts, all of them, and come as PostgreSQL's binary format has them: the same bytes,
 * whose length PostgreSQL knows. Where it sends a text as text, it looks for its end first, which took as long as to
 * read and decompress it.
 */
export const byteTexts = <Config extends pg.QueryConfig>(config: Config): Config => ({
  ...config,
  // Which the driver knows, and its types do not.
  binary: true,
});

interface RowDescription {
  readonly fields: { readonly dataTypeID: number; format: 'text' | 'binary' }[];
}

/** Lets a connection (of pg 8) read `byteTexts`. pg itself would make bytes again of each text that it has read. */
export const readsByteTexts = (connection: pg.Connection): void => {
  connection.on('rowDescription', ({ fields }: RowDescription) => {
    for (const field of fields) if (field.dataTypeID === textType) field.format = 'text';
  });
};
