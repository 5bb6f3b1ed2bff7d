import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { fixture } from './fixture.js';

const attribute = z.object({
  key: z.string(),
  value: z.object({
    stringValue: z.string().optional(),
    intValue: z.union([z.number(), z.string().transform(Number)]).optional(),
  }),
});

const attributes = z
  .array(attribute)
  .transform((list) =>
    Object.fromEntries(
      list.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? null]),
    ),
  );

const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  /** 2: server, 3: client, 4: producer, 5: consumer. */
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.object({ code: z.number().optional() }).optional(),
});

/** An ExportTraceServiceRequest of OTLP/HTTP with JSON. */
const exportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(span) })),
    }),
  ),
});

export type ExportedSpan = z.output<typeof span> & { readonly service: unknown };

/** A collector on loopback. @param isSilent the collector never responds */
const startCollector = async (isSilent: boolean) => {
  const spans: ExportedSpan[] = [];
  const requests: { path: string; contentType: string }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const contentType = request.headers['content-type'] ?? '';
      requests.push({ path: request.url ?? '', contentType });
      if (contentType === 'application/json') {
        for (const { resource, scopeSpans } of exportRequest.parse(JSON.parse(body))
          .resourceSpans) {
          const service = resource.attributes['service.name'];
          spans.push(
            ...scopeSpans.flatMap((scope) => scope.spans.map((found) => ({ ...found, service }))),
          );
        }
      }
      if (isSilent) return;
      response.writeHead(200, { 'Content-Type': contentType }).end('{}');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    /** All requests. Their spans are decoded from JSON only. */
    requests,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

export type Collector = Awaited<ReturnType<typeof startCollector>>;

export const collectorFixture = (isSilent = false): Collector =>
  fixture(
    () => startCollector(isSilent),
    (collector) => collector.close(),
  );
