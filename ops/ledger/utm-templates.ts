import type { UtmTemplateEvent } from '../../schemas/events/catalogue.js';
import type { DeletedUtmTemplate, UtmTemplate } from '../../schemas/folds/utm-template.js';
import { utmNames } from '../../schemas/utm.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import { tableOfTerms } from './rows.js';

const table = tableOfTerms<UtmTemplate, DeletedUtmTemplate, UtmTemplateEvent>(
  'utm_templates',
  'deleted',
  ['name', ...utmNames],
);

export const utmTemplates = table.rows;

/** The templates of an account by name. Their number is bounded. */
export const readUtmTemplates = async (
  postgres: Queryable,
  account: string,
): Promise<readonly UtmTemplate[]> => {
  const { rows } = await postgres.query<Parameters<typeof table.activeOf>[0]>({
    name: 'utm-templates-read',
    text: `SELECT ${table.columns()} FROM ledger.utm_templates
           WHERE account = $1 AND status = 'saved' ORDER BY name`,
    values: [account],
  });
  return rows.map((row) => table.activeOf(row));
};

export const countUtmTemplates = async (tx: Client, account: string): Promise<number> => {
  const { rows } = await tx.query<{ count: number }>({
    name: 'utm-templates-count',
    text: `SELECT count(*) AS count FROM ledger.utm_templates WHERE account = $1 AND status = 'saved'`,
    values: [account],
  });
  return rows[0]?.count ?? 0;
};
