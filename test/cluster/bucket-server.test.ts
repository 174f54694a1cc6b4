/** The bucket of the clusters under test, held to what ownership stands on: conditional writes, pages of a list, deletion. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BucketServer, startBucketServer } from "./bucket-server.ts";
import { openBucketWay } from "./bucket-way.ts";

let server: BucketServer;
beforeAll(async () => {
  server = await startBucketServer({ page: 10 });
});
afterAll(async () => await server.close());

const SIGNED = { authorization: "AWS4-HMAC-SHA256 Credential=gateway-test/20261124/auto/s3/aws4_request, Signature=x" };

const call = async (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  await fetch(`${server.url}/${path}`, { method, headers: { ...SIGNED, ...headers }, body: body ?? null });
const put = async (path: string, body: string, headers: Record<string, string> = {}): Promise<string> => {
  const response = await call("PUT", path, headers, body);
  await response.body?.cancel();
  return response.ok ? String(response.headers.get("etag")) : String(response.status);
};

it("creates an object only once, also when many try at the same time", async () => {
  const create = async (body: string) => await put("claims/own.json", body, { "if-none-match": "*" });
  const all = await Promise.all(Array.from({ length: 20 }, async (_, index) => await create(String(index))));
  const won = all.flatMap((etag, index) => (etag === "412" ? [] : [index]));
  expect(won).toHaveLength(1);
  expect(await (await call("GET", "claims/own.json")).text()).toBe(String(won[0]));
});

it("replaces an object only under its current ETag, even when the content is the same", async () => {
  const first = await put("leases/a.json", "same");
  const second = await put("leases/a.json", "same", { "if-match": first });
  expect(second).not.toBe(first);
  expect(await put("leases/a.json", "late", { "if-match": first })).toBe("412");
  expect(await put("leases/none.json", "x", { "if-match": first })).toBe("404");
  const all = await Promise.all(
    [1, 2, 3].map(async (body) => await put("leases/a.json", `${body}`, { "if-match": second })),
  );
  expect(all.filter((etag) => etag === "412")).toHaveLength(2);
});

it("reads an object, a part of it, and nothing when the reader has it", async () => {
  const etag = await put("reads/a", "0123456789");
  const read = async (headers: Record<string, string>) => {
    const response = await call("GET", "reads/a", headers);
    return [response.status, await response.text(), response.headers.get("content-range")];
  };
  expect(await read({})).toEqual([200, "0123456789", null]);
  expect(await read({ range: "bytes=2-4" })).toEqual([206, "234", "bytes 2-4/10"]);
  expect(await read({ range: "bytes=7-" })).toEqual([206, "789", "bytes 7-9/10"]);
  expect((await read({ range: "bytes=10-" }))[0]).toBe(416);
  expect(await read({ "if-none-match": etag })).toEqual([304, "", null]);
  expect((await read({ "if-match": '"other"' }))[0]).toBe(412);
  const head = await call("HEAD", "reads/a");
  expect({
    status: head.status,
    "content-length": head.headers.get("content-length"),
    body: await head.text(),
  }).toEqual({ status: 200, "content-length": "10", body: "" });
});

it("deletes one object, one that has not changed, and several", async () => {
  const etag = await put("gone/a", "a");
  expect((await call("DELETE", "gone/a", { "if-match": '"other"' })).status).toBe(412);
  expect((await call("DELETE", "gone/a", { "if-match": etag })).status).toBe(204);
  expect((await call("GET", "gone/a")).status).toBe(404);
  expect((await call("DELETE", "gone/a")).status).toBe(204);
  await Promise.all(["b", "c&<d>", "e"].map(async (name) => await put(`gone/${encodeURIComponent(name)}`, name)));
  const names = "<Delete><Object><Key>b</Key></Object><Object><Key>c&amp;&lt;d&gt;</Key></Object></Delete>";
  const answer = await (await call("POST", "gone?delete", {}, names)).text();
  expect(answer).toContain("<Key>c&amp;&lt;d&gt;</Key>");
  expect(await keysOf("gone")).toEqual([["e"]]);
});

/** The keys of each page of a list, and its common prefixes with a slash at their end. */
async function keysOf(bucket: string, query = ""): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  for (let token = ""; ; ) {
    const text = await (await call("GET", `${bucket}?list-type=2${query}${token}`)).text();
    pages.push([...text.matchAll(/<(?:Key|CommonPrefixes><Prefix)>([^<]*)</g)].map(([, key = ""]) => key));
    const next = /<NextContinuationToken>([^<]*)</.exec(text)?.[1];
    if (next === undefined) return pages;
    token = `&continuation-token=${encodeURIComponent(next)}`;
  }
}

it("lists every key once, in pages, and folders in place of what is in them", async () => {
  const keys = Array.from({ length: 23 }, (_, index) => `log/${String(index).padStart(2, "0")}`);
  await Promise.all([...keys, "do/a/1", "do/a/2", "do/b/1", "zz"].map(async (key) => await put(`lists/${key}`, "")));
  const pages = await keysOf("lists", "&prefix=log/");
  expect(pages.map(({ length }) => length)).toEqual([10, 10, 3]);
  expect(pages.flat()).toEqual(keys);
  expect(await keysOf("lists", "&delimiter=/")).toEqual([["zz", "do/", "log/"]]);
  expect(await keysOf("lists", "&delimiter=/&prefix=do/")).toEqual([["do/a/", "do/b/"]]);
  expect(await keysOf("lists", "&prefix=do/&start-after=do/a/1")).toEqual([["do/a/2", "do/b/1"]]);
});

it("refuses who names no known access key", async () => {
  expect((await fetch(`${server.url}/reads/a`)).status).toBe(403);
});

it("is reached by a way that a test cuts, makes silent and opens again", async () => {
  const way = await openBucketWay(server.url);
  const read = async () => await (await fetch(`${way.url}/ways/a`, { headers: SIGNED })).text();
  await put("ways/a", "through");
  expect(await read()).toBe("through");
  way.set("silent");
  const held = read();
  await put("ways/a", "changed");
  way.set("open");
  expect(await held).toBe("changed");
  way.set("refuses");
  await expect(read()).rejects.toThrow("fetch failed");
  way.set("open");
  expect(await read()).toBe("changed");
  await way.close();
});
