import type { Client } from '../../ops/platform/postgres/pool.js';
import type { ProjectionSchema } from './projection.js';

/**
 * The statements that give schema $2 the privileges of schema $1. Without the privileges of owners, which they have anyway,
 * and the default privileges of roles that the current role may not change.
 */
const differences = `
  WITH objects AS (
    SELECT nspname AS schema, 'SCHEMA %s' AS target, '' AS "column", nspowner AS owner, nspacl AS acl
    FROM pg_namespace
    UNION ALL
    SELECT nspname, 'TABLE %s.' || quote_ident(relname), '', relowner, relacl
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r'
    UNION ALL
    SELECT nspname, 'TABLE %s.' || quote_ident(relname), '(' || quote_ident(attname) || ')', relowner, attacl
    FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped
  ), privileges AS (
    SELECT schema, '' AS prefix, target, "column", grantee, privilege_type AS privilege, is_grantable
    FROM objects, aclexplode(acl) WHERE grantee <> owner
    UNION ALL
    SELECT nspname,
      'ALTER DEFAULT PRIVILEGES FOR ROLE ' || quote_ident(pg_get_userbyid(defaclrole)) || ' IN SCHEMA %s ',
      CASE defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS' ELSE 'TYPES' END,
      '', grantee, privilege_type, is_grantable
    FROM pg_default_acl JOIN pg_namespace n ON n.oid = defaclnamespace, aclexplode(defaclacl)
    WHERE pg_has_role(defaclrole, 'USAGE')
  ), wanted AS (
    SELECT prefix, target, "column", grantee, privilege, is_grantable FROM privileges WHERE schema = $1
  ), present AS (
    SELECT prefix, target, "column", grantee, privilege, is_grantable FROM privileges WHERE schema = $2
  ), changes AS (
    SELECT 1 AS step, 'REVOKE' AS verb, 'FROM' AS preposition, 'CASCADE' AS option, d.*
    FROM (SELECT * FROM present EXCEPT SELECT * FROM wanted) d
    UNION ALL
    SELECT 2, 'GRANT', 'TO', CASE WHEN is_grantable THEN 'WITH GRANT OPTION' ELSE '' END, d.*
    FROM (SELECT * FROM wanted EXCEPT SELECT * FROM present) d
  )
  SELECT replace(concat_ws(' ', prefix || verb, privilege, "column", 'ON', target, preposition,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, option), '%s', $2) AS statement
  FROM changes ORDER BY step`;

/** Gives a schema and its tables exactly the privileges that roles have on the schema `from`, which has the same tables. */
export const copyPrivileges = async (
  tx: Client,
  from: ProjectionSchema,
  to: ProjectionSchema,
): Promise<void> => {
  const { rows } = await tx.query<{ statement: string }>(differences, [from, to]);
  for (const { statement } of rows) await tx.query(statement);
};
