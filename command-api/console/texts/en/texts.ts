/** The catalogue of English texts, by the folder in `client/` that uses them. */
import type { FormatNumber } from '../../numbers.js';
import { app } from './app.js';
import { components } from './components.js';
import { domains } from './domains.js';
import { imports } from './imports.js';
import { keys } from './keys.js';
import { link } from './link.js';
import { links } from './links.js';
import { live } from './live.js';
import { make } from './make.js';
import { operators } from './operators.js';
import { overview } from './overview.js';
import { rules } from './rules.js';
import { sessions } from './sessions.js';
import { statistics } from './statistics.js';
import { tags } from './tags.js';
import { values } from './values.js';
import { webhooks } from './webhooks.js';

export const createTexts = (number: FormatNumber) => ({
  app,
  components,
  values,
  links: links(number),
  link: link(number),
  make: make(number),
  rules,
  tags: tags(number),
  statistics: statistics(number),
  overview,
  keys,
  imports: imports(number),
  domains: domains(number),
  webhooks: webhooks(number),
  live: live(number),
  operators: operators(number),
  sessions,
});

export type Texts = ReturnType<typeof createTexts>;
