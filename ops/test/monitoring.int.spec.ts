import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../platform/files/project-file.js';
import { folderFixture } from './support/fixtures.js';
import { alertRules, monitoringFile } from './support/prometheus.js';
import { needs } from './support/needs.js';

const run = promisify(execFile);
const promtool = (...args: readonly string[]) => run('promtool', [...args]);

describe('ops: the monitoring files', () => {
  const folder = folderFixture();
  const alerts = alertRules().filter(({ alert }) => alert !== undefined);

  describe('for promtool', () => {
    needs('promtool');

    it('are valid', async () => {
      expect((await promtool('check', 'rules', monitoringFile('alerts.yml'))).stdout).to.match(
        new RegExp(`SUCCESS: ${alertRules().length} rules found`),
      );
      // The token file of the example is the operator's.
      await cp(monitoringFile(''), folder.path, { recursive: true });
      await writeFile(path.join(folder.path, 'linklog-token'), 'a token of 16 chars');
      const { stdout } = await promtool(
        ...['check', 'config', path.join(folder.path, 'prometheus.yml')],
      );
      expect(stdout).to.include('SUCCESS: 1 rule files found');
    });

    it('fire as the cases in alerts.test.yml specify', async () => {
      const { stdout } = await promtool('test', 'rules', monitoringFile('alerts.test.yml'));
      expect(stdout).to.include('SUCCESS');
    }).timeout(60_000);
  });

  it('have a severity, a summary, and a section of the runbook for each alert', async () => {
    const page = await readFile(projectFile('ops', 'docs', 'runbook.md'), 'utf8');
    const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).to.deep.equal(alerts.map(({ alert }) => alert));
    for (const { alert = '', labels, annotations } of alerts) {
      expect(labels?.['severity'], alert).to.be.oneOf(['critical', 'warning']);
      expect(annotations?.['summary'], alert).to.match(/\S/);
      const anchor = `ops/docs/runbook.md#${alert.toLowerCase()}`;
      expect(annotations?.['runbook'], alert).to.equal(anchor);
    }
    for (const section of page.split(/^## /m).slice(1)) {
      for (const part of ['**Meaning.**', '**Look.**', '**Do.**']) expect(section).to.include(part);
    }
  });
});
