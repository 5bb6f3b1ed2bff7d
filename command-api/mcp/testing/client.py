"""Lists and calls every tool of an address with a key, in each mode; prints what it saw as JSON."""

import asyncio
import json
import sys

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation


async def calls(url: str, key: str, mode: str) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(url, http_client=http)
        info = Implementation(name=f"python-{mode}", version="1")
        async with Client(transport, mode=mode, client_info=info) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            results: dict[str, object] = {}

            async def call(name: str, values: dict[str, object]) -> dict[str, object]:
                # The client compares the result with the schema of the tool.
                result = await client.call_tool(name, values)
                results[name] = result.is_error
                return result.structured_content

            link = await call("create_link", {"url": "https://example.com/", "tags": ["python"]})
            code = {"shortCode": link["shortCode"]}
            await call("find_links", {"tag": ["python"], "limit": 5})
            await call("get_link", code)
            await call("change_link", {**code, "title": "Python"})
            await call("link_statistics", {**code, "include": ["timeseries", "countries"]})
            await call("account_statistics", {"include": "all"})
            await call("qr_code", code)
            await call("usage", {})
            await call("list_domains", {})
            read = await client.read_resource(f"linklog://links/{code['shortCode']}")
            title = json.loads(read.contents[0].text)["title"]
            await call("delete_link", code)
            return {"tools": tools, "errors": results, "title": title, **code}


async def main() -> None:
    url, key = sys.argv[1:]
    print(json.dumps({mode: await calls(url, key, mode) for mode in ("legacy", "auto")}))


asyncio.run(main())
