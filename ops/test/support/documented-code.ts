import { readFileSync } from 'node:fs';
import { projectFile } from '../../platform/files/project-file.js';

/** The blocks of code in a language in a Markdown text. */
export const blocksIn = (markdown: string, language: string): readonly string[] =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );

/** The text of a page of ops/docs, or its section with this heading. */
export const pageOf = (page: string, heading?: string): string => {
  const text = readFileSync(projectFile('ops', 'docs', page), 'utf8');
  if (heading === undefined) return text;
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${page} has no section ${heading}`);
  return section;
};

/** The first block of code in a language on a page of ops/docs, or in its section with this heading. */
export const codeIn = (page: string, language: string, heading?: string): string => {
  const [code] = blocksIn(pageOf(page, heading), language);
  if (code === undefined) throw new Error(`${page} has no block of ${language}`);
  return code;
};
