/** Answers three questions about a link from the archive: `node archive.mjs URL CODE [MOMENT]`, MOMENT in ISO 8601. */
import { EventStoreDBClient } from '@eventstore/db-client';

const [url, code, moment = new Date().toISOString()] = process.argv.slice(2);
const client = EventStoreDBClient.connectionString(url);

async function* eventsOf(stream) {
  try {
    for await (const { event } of client.readStream(stream)) yield event;
  } catch (error) {
    if (error.type !== 'stream-not-found') throw error;
  }
}

// 1. What happened, in which order? The revision is the order; `created` of an event is the time of the copy.
const until = new Date(moment).toISOString();
let link = null;
let clicks = 0;
for await (const { revision, type, data, metadata } of eventsOf(`link-${code}`)) {
  const [, name] = type.split('.');
  console.log(`${revision} ${metadata.time} ${name} by ${metadata.actor ?? '-'}`);
  if (name === 'LinkImported') clicks += data.clicks;

  // 2. Where did the link lead at the moment? An absent field of an edit is unchanged.
  if (metadata.time > until) continue;
  if (name === 'LinkCreated' || name === 'LinkImported') link = { url: data.url, state: 'active' };
  else if (name === 'LinkEdited') link = { ...link, url: data.url ?? link.url };
  else if (name === 'LinkDeleted') link = { ...link, state: 'deleted' };
  else if (name === 'LinkRestored') link = { ...link, state: 'active' };
}
console.log(`at ${until}: ${link === null ? 'no link' : `${link.state}, ${link.url}`}`);

// 3. How many clicks has it? Bots do not count, and imported links bring clicks along.
for await (const { data } of eventsOf(`visits-${code}`)) if (!data.bot) clicks += 1;
console.log(`clicks: ${clicks}`);

await client.dispose();
