/** The page of the AsyncAPI document, which runs no script, and the top bar of both pages. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly 'x-secret'?: boolean;
}

interface Reference {
  readonly $ref: string;
}

interface Message {
  readonly name: string;
  readonly description: string;
  readonly contentType?: string;
  readonly payload: Schema;
}

interface Channel {
  readonly address: string | null;
  readonly title: string;
  readonly description: string;
  readonly messages: Readonly<Record<string, Reference>>;
  readonly bindings?: { readonly kafka: { readonly partitions: number } };
}

interface Operation {
  readonly channel: Reference;
  readonly summary?: string;
  readonly bindings?: { readonly http: { readonly method: string; readonly query?: Schema } };
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly defaultContentType: string;
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly components: {
    readonly schemas: { readonly CloudEvent: Schema; readonly WebhookHeaders: Schema };
  };
}

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const pages = [
  ['docs', 'API'],
  ['docs/events', 'Events'],
  ['openapi.json', 'openapi.json'],
  ['asyncapi.json', 'asyncapi.json'],
] as const;

/**
 * The top bar of a page of the documentation.
 *
 * @param root the relative address of `/`, which is also correct behind a proxy
 * @param more HTML after the links
 */
export const bar = (
  current: 'docs' | 'docs/events',
  { root, hasConsole, more = '' }: { root: string; hasConsole: boolean; more?: string },
): string => {
  const links = [...(hasConsole ? ([['console', '← Console']] as const) : []), ...pages].map(
    ([path, name]) =>
      `<li><a href="${root}${path}"${path === current ? ' aria-current="page"' : ''}>${name}</a></li>`,
  );
  return `<header class="bar">
<nav aria-label="Documentation"><ul>
${links.join('\n')}
</ul></nav>
${more}</header>`;
};

/** Inline code is the only Markdown of the descriptions. */
const inline = (text: string): string => escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');

const paragraphs = (text: string): string =>
  text
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n');

const code = (text: string): string => `<code>${escape(text)}</code>`;

interface Row {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** @param source see `asyncApiDocument` */
export const eventsPage = (source: object, hasConsole: boolean): Buffer => {
  const document = JSON.parse(JSON.stringify(source)) as Document;
  const { schemas } = document.components;

  /** The part of the document at a JSON pointer. */
  const at = ($ref: string): unknown =>
    $ref
      .split('/')
      .slice(1)
      .reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], document);

  /** The schema that a reference names, also one with a description beside it (`allOf`). */
  const resolved = (schema: Schema): Schema => {
    const [only, ...others] = schema.allOf ?? [];
    const { $ref = others.length === 0 ? only?.$ref : undefined } = schema;
    return $ref === undefined ? schema : (at($ref) as Schema);
  };

  const typeOf = (schema: Schema): string => {
    const { type, const: value, enum: values, format, items, oneOf } = resolved(schema);
    if (value !== undefined) return JSON.stringify(value);
    if (values) return values.map((known) => JSON.stringify(known)).join(', ');
    if (oneOf) return oneOf.map(typeOf).join(' or ');
    const [first = 'any', ...others] = [type ?? []].flat();
    return [items ? `list of ${typeOf(items)}` : (format ?? first), ...others].join(' or ');
  };

  /** The fields of a schema and, by their paths, of the objects and lists in it. */
  const rowsOf = (schema: Schema, prefix = ''): readonly Row[] => {
    const { properties = {}, required = [], items, oneOf = [] } = resolved(schema);
    const own = Object.entries(properties).flatMap(([field, property]) => [
      { name: prefix + field, schema: property, isRequired: required.includes(field) },
      ...rowsOf(property, `${prefix + field}.`),
    ]);
    const inItems = items ? rowsOf(items, prefix.replace(/\.$/, '[].')) : [];
    const rows = [...own, ...inItems, ...oneOf.flatMap((part) => rowsOf(part, prefix))];
    return rows.filter(({ name }, index) => rows.findIndex((row) => row.name === name) === index);
  };

  const tableOf = (caption: string, schema: Schema): string => {
    const rows = rowsOf(schema).map(
      ({ name, schema: field, isRequired }) => `<tr>
<th scope="row">${code(name)}${isRequired ? '' : ' <small>optional</small>'}</th>
<td>${escape(typeOf(field))}</td>
<td>${field['x-secret'] ? '<strong>Secret.</strong> ' : ''}${inline(field.description ?? '')}</td>
</tr>`,
    );
    if (rows.length === 0) return '<p>No fields.</p>';
    return `<table>
<caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`;
  };

  const contentOf = ({ payload }: Message): string => {
    const [, event] = payload.allOf ?? [];
    if (event) return tableOf('Fields of <code>data</code>', event.properties?.['data'] ?? {});
    const isFeed = resolved(payload.items ?? payload).oneOf !== undefined;
    return isFeed
      ? '<p><a href="#stream">The events of the feed</a></p>'
      : tableOf('Fields', payload);
  };

  const messageOf = (channel: string, key: string, message: Message): string => {
    const { name, description, contentType = document.defaultContentType } = message;
    return `<details id="${channel}-${key}">
<summary>${code(name)} <span>${inline(description)}</span></summary>
<p>${code(contentType)}</p>
${contentOf(message)}
</details>`;
  };

  const channelOf = ([id, channel]: readonly [string, Channel]): string => {
    const { title, address, description, messages, bindings } = channel;
    const operation = Object.values(document.operations).find(
      ({ channel: { $ref } }) => $ref === `#/channels/${id}`,
    );
    const { method = '', query } = operation?.bindings?.http ?? {};
    const where = bindings
      ? `Topic ${code(address ?? '')}, partitions: ${bindings.kafka.partitions}, key: <code>subject</code>`
      : code(`${method} ${address ?? '(the URL of the webhook)'}`);
    return `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${escape(title)}</h2>
<p>${where}</p>
${operation?.summary === undefined ? '' : `<p>${inline(operation.summary)}</p>`}
${paragraphs(description)}
${query ? tableOf('Query parameters', query) : ''}
${address === null ? tableOf('Headers', schemas.WebhookHeaders) : ''}
<h3>Messages</h3>
${Object.entries(messages)
  .map(([key, { $ref }]) => messageOf(id, key, at($ref) as Message))
  .join('\n')}
</section>`;
  };

  const { title, version, description } = document.info;
  const channels = Object.entries(document.channels);
  return Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<link rel="icon" href="../favicon.ico">
<link rel="stylesheet" href="bar.css">
<link rel="stylesheet" href="events.css">
</head>
<body>
${bar('docs/events', { root: '../', hasConsole })}
<main>
<h1>${escape(title)} <small>${escape(version)}</small></h1>
${paragraphs(description)}
<nav aria-label="Channels"><ul>
${channels.map(([id, channel]) => `<li><a href="#${id}">${escape(channel.title)}</a></li>`).join('\n')}
</ul></nav>
<section id="envelope" aria-labelledby="envelope-title">
<h2 id="envelope-title">Every event</h2>
${tableOf('Attributes', schemas.CloudEvent)}
</section>
${channels.map(channelOf).join('\n')}
</main>
</body>
</html>
`);
};
