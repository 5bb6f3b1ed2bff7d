import { blocksIn, pageOf } from './documented-code.js';

const [introduction = '', ...parts] = pageOf('runbook.md').split(/^## /m);
const [machine = '', container = '', compose = '', kubernetes = '', first = ''] = blocksIn(
  introduction,
  'sh',
);

/** The code of runbook.md. */
export const runbook = {
  /** The functions that the commands of all sections use. */
  forms: { machine, container, compose, kubernetes },
  first,
  sections: parts.map((section) => {
    const [alert = ''] = section.split('\n');
    const commands = blocksIn(section, 'sh').join('');
    if (commands === '') throw new Error(`runbook.md: ${alert} has no commands`);
    return { alert, commands };
  }),
};
