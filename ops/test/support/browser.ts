import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { chromium, type Browser } from 'playwright-core';

const run = promisify(execFile);

const names = ['chromium', 'chromium-browser', 'google-chrome'];

const find = async (): Promise<string> => {
  try {
    const looks = names.map((name) => `command -v ${name}`).join(' || ');
    return (await run('sh', ['-c', looks])).stdout.trim();
  } catch (cause) {
    const message = `No browser on PATH (${names.join(', ')}): apt-get install chromium`;
    throw new Error(message, { cause });
  }
};

/**
 * The system's Chromium, without a window and (playwright's default) without a sandbox, which root and
 * many containers cannot have: it is shown our own pages only.
 *
 * @throws where there is none: that fails a test
 */
export const launchBrowser = async (): Promise<Browser> =>
  chromium.launch({ executablePath: await find() });
