/**
 * A small S3-compatible bucket in memory for clusters under test: what the runtime needs of S3 and no more, with the conditional
 * writes that ownership stands on (RFC 9110 section 13; the S3 API's PutObject, ListObjectsV2, DeleteObjects). A request must
 * name the access key; signatures are not verified, because nothing but the tests can reach it.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "../../infra/local/http/listen.ts";

export interface StoredObject {
  readonly body: Buffer;
  readonly etag: string;
  readonly at: Date;
}

export type BucketServer = Awaited<ReturnType<typeof startBucketServer>>;

/** Keys of one page of a list, as S3 has it. */
const PAGE = 1_000;
const ACCESS_KEY = "gateway-test";
/** Settings with which the gateway reaches the server at `url`. */
export const bucketOptions = (url: string): string =>
  `aws_endpoint=${url},aws_region=auto,aws_access_key_id=${ACCESS_KEY},aws_secret_access_key=secret,aws_allow_http=true`;

/** Deletes every object of the bucket `gateway` of the server at `url`; resolves with their number. */
export async function emptyBucket(url: string): Promise<number> {
  const headers = { authorization: `AWS4-HMAC-SHA256 Credential=${ACCESS_KEY}/` };
  let removed = 0;
  for (;;) {
    const listed = await (await fetch(`${url}/gateway?list-type=2`, { headers })).text();
    const keys = [...listed.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([key]) => `<Object>${key}</Object>`);
    if (keys.length === 0) return removed;
    removed += keys.length;
    await fetch(`${url}/gateway?delete`, { method: "POST", headers, body: `<Delete>${keys.join("")}</Delete>` });
  }
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const unescaped = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");

interface BucketServerOptions {
  readonly page?: number;
  /** The one that requests must name. */
  readonly accessKey?: string;
  /** Where the objects are kept, by bucket and key. */
  readonly objects?: Map<string, StoredObject>;
  /** Absent: a free one. */
  readonly port?: number;
}

/** Starts a server whose buckets exist from the first write on. */
export async function startBucketServer({
  page = PAGE,
  accessKey = ACCESS_KEY,
  objects = new Map<string, StoredObject>(),
  port = 0,
}: BucketServerOptions = {}) {
  // no tag of an earlier server on the same objects
  let writes = Date.now();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const url = new URL(request.url ?? "/", "http://bucket");
    const path = decodeURIComponent(url.pathname.slice(1));
    const send = (status: number, headers: Record<string, string> = {}, content: Buffer | string = ""): void => {
      response.writeHead(status, { "content-length": Buffer.byteLength(content), ...headers });
      response.end(request.method === "HEAD" ? undefined : content);
    };
    const xml = (status: number, text: string): void =>
      send(status, { "content-type": "application/xml" }, `<?xml version="1.0" encoding="UTF-8"?>${text}`);
    const failed = (status: number, code: string): void => xml(status, `<Error><Code>${code}</Code></Error>`);

    if (request.headers.authorization?.includes(`Credential=${accessKey}/`) !== true)
      return failed(403, "AccessDenied");
    if (request.method === "GET" && url.searchParams.has("list-type"))
      return xml(200, listing(objects, path, url, page));
    if (request.method === "POST" && url.searchParams.has("delete")) {
      const keys = [...body.toString("utf8").matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => unescaped(key));
      for (const key of keys) objects.delete(`${path.split("/")[0]}/${key}`);
      return xml(
        200,
        `<DeleteResult>${keys.map((key) => `<Deleted><Key>${escaped(key)}</Key></Deleted>`).join("")}</DeleteResult>`,
      );
    }
    const stored = objects.get(path);
    const ifMatch = request.headers["if-match"];
    if (request.method === "PUT") {
      if (request.headers["if-none-match"] === "*" && stored !== undefined) return failed(412, "PreconditionFailed");
      if (ifMatch !== undefined && stored === undefined) return failed(404, "NoSuchKey");
      if (ifMatch !== undefined && stored?.etag !== ifMatch) return failed(412, "PreconditionFailed");
      writes += 1;
      const etag = `"${createHash("md5").update(body).update(String(writes)).digest("hex")}"`;
      objects.set(path, { body, etag, at: new Date() });
      return send(200, { etag });
    }
    if (request.method === "DELETE") {
      if (ifMatch !== undefined && stored !== undefined && stored.etag !== ifMatch)
        return failed(412, "PreconditionFailed");
      objects.delete(path);
      return send(204);
    }
    if (stored === undefined) return failed(404, "NoSuchKey");
    const headers = { etag: stored.etag, "last-modified": stored.at.toUTCString(), "accept-ranges": "bytes" };
    if (request.headers["if-none-match"] === stored.etag) return send(304, headers);
    if (ifMatch !== undefined && ifMatch !== stored.etag) return failed(412, "PreconditionFailed");
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    if (range === null) return send(200, headers, stored.body);
    const from = Number(range[1]);
    const to = Math.min(range[2] ? Number(range[2]) : Number.POSITIVE_INFINITY, stored.body.length - 1);
    if (from > to) return failed(416, "InvalidRange");
    send(
      206,
      { ...headers, "content-range": `bytes ${from}-${to}/${stored.body.length}` },
      stored.body.subarray(from, to + 1),
    );
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const listening = await listen(server, "127.0.0.1", port);
  return {
    url: listening.url,
    /** The content of the first object whose key ends like this; null if there is none. */
    read: (end: string): string | null => {
      for (const [key, { body }] of objects) if (key.endsWith(end)) return body.toString("utf8");
      return null;
    },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await listening.close();
    },
  };
}

/** The body; signed uploads in pieces (aws-chunked) are refused, because the runtime does not send them. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  if (String(request.headers["content-encoding"] ?? "").includes("aws-chunked")) throw new Error("aws-chunked");
  return await buffer(request);
}

/** A page of ListObjectsV2: keys in order, those below a delimiter as one prefix. */
function listing(objects: ReadonlyMap<string, StoredObject>, path: string, url: URL, page: number): string {
  const bucket = path.split("/")[0] ?? "";
  const prefix = url.searchParams.get("prefix") ?? "";
  const delimiter = url.searchParams.get("delimiter") ?? "";
  const after = url.searchParams.get("continuation-token") ?? url.searchParams.get("start-after") ?? "";
  const keys = [...objects.keys()]
    .filter((name) => name.startsWith(`${bucket}/${prefix}`))
    .map((name) => name.slice(bucket.length + 1))
    .filter((key) => key > after)
    .sort();
  const prefixes = new Set<string>();
  const contents: string[] = [];
  let last = "";
  let isTruncated = false;
  for (const key of keys) {
    const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    const common = end < 0 ? null : key.slice(0, end + delimiter.length);
    if (common !== null && (prefixes.has(common) || after.startsWith(common))) {
      last = key;
      continue;
    }
    if (contents.length + prefixes.size >= page) {
      isTruncated = true;
      break;
    }
    last = key;
    const stored = objects.get(`${bucket}/${key}`);
    if (common !== null) prefixes.add(common);
    else if (stored !== undefined)
      contents.push(
        `<Contents><Key>${escaped(key)}</Key><LastModified>${stored.at.toISOString()}</LastModified><ETag>${escaped(stored.etag)}</ETag><Size>${stored.body.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
      );
  }
  const next = isTruncated ? `<NextContinuationToken>${escaped(last)}</NextContinuationToken>` : "";
  const common = [...prefixes].map((each) => `<CommonPrefixes><Prefix>${escaped(each)}</Prefix></CommonPrefixes>`);
  return `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${escaped(bucket)}</Name><Prefix>${escaped(prefix)}</Prefix><KeyCount>${contents.length + prefixes.size}</KeyCount><MaxKeys>${page}</MaxKeys><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join("")}${common.join("")}</ListBucketResult>`;
}
