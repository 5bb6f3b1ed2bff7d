/**
 * Checks the language of the project: fails on words that have a standard term. Comments, strings (test titles,
 * log lines, errors), documents and SQL are checked as prose; the names in TypeScript word by word.
 * `npm run lint` runs it.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** Prose: pattern and the term to use instead. */
const prose = [
  [/\b(told|tells|hears|heard)\b/i, 'notified, reports, receives'],
  [
    /\b(whoever|somebody|someone|nobody|anybody|anyone)\b/i,
    'the noun: the client, the reader, the caller',
  ],
  [/\b(what nobody|that which|one that)\b/i, 'the noun'],
  [/\b(goes|went|going) by\b/i, 'uses'],
  [/\b(is|are|was|were|be|been) asked\b/i, 'is queried, is requested'],
  [/\bsettl(e|es|ed|ing)\b/i, 'respond, record, resolve'],
  [
    /\b(steps?|stepped|stepping) back\b|\b(gives?|gave|giving) way\b|\bhurried\b/i,
    'thread priority, duty cycle',
  ],
  [/\b(warm|cold) (link|edge|cache|path|code|request)s?\b/i, 'cached, uncached'],
  [/\bsieve\b(?!=)/i, 'queue'],
  [/\bat once\b/i, 'immediately, in one transaction, concurrently'],
  [/\bkept answers?\b/i, 'idempotency record'],
  [/\breceipts?\b/i, 'outbox position'],
  [/\bin doubt\b/i, 'stale'],
  [/\b(by|in) turns\b/i, 'alternately'],
  [/\brooms\b/i, 'folders, capacity'],
  [/\bunasked\b/i, 'skipped'],
  [/\bminute later\b/i, 'the timeout: expiry, idle timeout'],
];

/** Names: words of an identifier, in lower case and separated by spaces. */
const names = [
  [/\b(told|tells|hears|whoever|nobody|somebody)\b/, 'notified, reports, receives'],
  [/\bsettle(s|d)?\b/, 'respond, record, resolve'],
  [/\b(rests|hurried|step back|give way)\b/, 'DutyCycle, thread priority'],
  [/\b(lane|warm|cold)\b(?! up)/, 'fast path, cached, uncached'],
  [/\bsieve\b/, 'queue'],
  [/\bat once\b/, 'combined, concurrent'],
  [/^held$/, 'logUnavailable, heldLocks'],
  [/\bkept\b/, 'stored'],
  [/\breceipts?\b|\bnothing recorded\b|^logged$/, 'outbox position, published'],
  [/\b(place|places|stretch|stretches)\b/, 'cursor, offset range, position'],
  [
    /(?<!dead )\bletters?\b|\bfresh records\b|\blearn marks\b/,
    'dead letters, Deduplicator, readHighWaterMarks',
  ],
  [/\bfacts?\b/, 'change'],
  [/\b(turn|turns|standing)\b/, 'mutex, queue, priority'],
  [/\bfurther\b/, 'additional'],
  [/\bbelieved?\b/, 'clampedNow'],
  [/\bdoubt\b/, 'stale'],
  [/\brooms\b/, 'folders, capacity'],
  [/\bunasked\b/, 'skipped'],
  [/\b(made link|free code|unmanaged|unrestrained|untouched)\b/, 'ExistingLink, initialState'],
];

/** Names of variables and parameters that say nothing. */
const empty = new Set([
  'of',
  'one',
  'all',
  'each',
  'told',
  'made',
  'them',
  'such',
  'both',
  'those',
  'these',
]);

/** Names of the contract, and of JavaScript. */
const standard = new Set(['EDGE_LANE', 'edgeLane', 'allSettled', 'PromiseSettledResult']);

const findings = [];

function checkProse(file, text, firstLine) {
  // Code spans are not prose; `nobody` is an account of the system.
  const lines = text === 'nobody' ? [] : text.replace(/`[^`\n]*`/g, '').split('\n');
  for (const [index, line] of lines.entries()) {
    for (const [pattern, instead] of prose) {
      const word = pattern.exec(line)?.[0];
      if (word) findings.push(`${file}:${firstLine + index}: "${word}": use ${instead}`);
    }
  }
}

function checkName(file, line, name) {
  if (standard.has(name)) return;
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_$]/g, ' ')
    .trim()
    .toLowerCase();
  for (const [pattern, instead] of names) {
    if (pattern.test(words)) findings.push(`${file}:${line}: ${name}: use ${instead}`);
  }
}

function checkTypeScript(file, text) {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kind);
  const lineAt = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const comments = new Set();
  const visit = (node) => {
    for (const comment of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      if (comments.has(comment.pos)) continue;
      comments.add(comment.pos);
      checkProse(file, text.slice(comment.pos, comment.end), lineAt(comment.pos));
    }
    if (
      ts.isStringLiteralLike(node) ||
      ts.isJsxText(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node)
    ) {
      checkProse(file, node.text, lineAt(node.getStart()));
    }
    if (ts.isIdentifier(node)) {
      const declares =
        node.parent.name === node &&
        (ts.isVariableDeclaration(node.parent) ||
          ts.isParameter(node.parent) ||
          ts.isBindingElement(node.parent));
      if (declares && empty.has(node.text)) {
        findings.push(`${file}:${lineAt(node.getStart())}: ${node.text}: name the thing`);
      }
      checkName(file, lineAt(node.getStart()), node.text);
    }
    node.getChildren(source).forEach(visit);
  };
  visit(source);
}

const listed = execFileSync('git', ['ls-files'], { encoding: 'utf8' });
const folders = process.argv.slice(2);
for (const file of listed.trim().split('\n')) {
  // Files without an extension are scripts, such as hooks, and Dockerfiles.
  if (!/\.(tsx?|md|sql|yml|sh)$/.test(file) && path.basename(file).includes('.')) continue;
  // The changelog names what was renamed; the licence is not ours.
  if (file === 'CHANGELOG.md' || file === 'LICENSE') continue;
  if (folders.length > 0 && !folders.some((folder) => file.startsWith(folder))) continue;
  const text = readFileSync(file, 'utf8');
  if (/\.tsx?$/.test(file)) checkTypeScript(file, text);
  else checkProse(file, text, 1);
}

for (const finding of findings) console.log(finding);
console.log(`${findings.length} words that have a standard term`);
process.exitCode = findings.length > 0 ? 1 : 0;
