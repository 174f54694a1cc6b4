/** Backups in a bucket, over a front that checks signatures as the store of a provider does. */
import { createHash, createHmac } from "node:crypto";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listen } from "../../../infra/local/http/listen.ts";
import { bucketOptions, startBucketServer } from "../../../test/cluster/bucket-server.ts";
import type { BucketAddress } from "../../kernel/bucket/bucket.ts";
import { BackupPlaceError } from "./backup-place.ts";
import { bucketPlace } from "./bucket-place.ts";

const signal = new AbortController().signal;
const nameOf = (at: number): string => `gateway-backup-20260101T${String(at).padStart(6, "0")}Z.json`;
const SETTINGS = new Map(
  bucketOptions("http://unused")
    .split(",")
    .map((each) => each.split("=") as [string, string]),
);
const [KEY_ID, SECRET] = ["aws_access_key_id", "aws_secret_access_key"].map((name) => SETTINGS.get(name) ?? "") as [
  string,
  string,
];

let bucket: Awaited<ReturnType<typeof startBucketServer>>;
let front: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  bucket = await startBucketServer();
  front = await listen(
    createServer((request, response) => void checked(request, response)),
    "127.0.0.1",
    0,
  );
});
afterAll(async () => {
  await front.close();
  await bucket.close();
});

const placeAt = (more: Partial<BucketAddress> = {}) =>
  bucketPlace({
    bucket: "backups",
    prefix: "of/gateway-1",
    endpoint: front.url,
    region: "eu-test-1",
    accessKeyId: KEY_ID,
    secretAccessKey: SECRET,
    sessionToken: undefined,
    ...more,
  });

/** AWS Signature Version 4, as the S3 API documents it. */
function signatureOf(request: IncomingMessage, [, date = "", region = "", signed = ""]: readonly string[]): string {
  const url = new URL(request.url ?? "/", "http://front");
  const query = [...url.searchParams].map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const headers = signed.split(";").map((name) => `${name}:${String(request.headers[name] ?? "").trim()}\n`);
  const hash = String(request.headers["x-amz-content-sha256"]);
  const canonical = [request.method, url.pathname, query.sort().join("&"), headers.join(""), signed, hash].join("\n");
  const text = [
    "AWS4-HMAC-SHA256",
    String(request.headers["x-amz-date"]),
    `${date}/${region}/s3/aws4_request`,
    createHash("sha256").update(canonical).digest("hex"),
  ].join("\n");
  const hmac = (key: string | Buffer, part: string): Buffer => createHmac("sha256", key).update(part).digest();
  const key = [date, region, "s3", "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${SECRET}`);
  return createHmac("sha256", key).update(text).digest("hex");
}

async function checked(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const refuse = (code: string): void => void response.writeHead(403).end(`<Error><Code>${code}</Code></Error>`);
  const auth = /Credential=[^/]+\/(\d{8})\/([\w-]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
    request.headers.authorization ?? "",
  );
  if (auth === null || auth[4] !== signatureOf(request, auth)) return refuse("SignatureDoesNotMatch");
  if (request.method === "PUT") {
    if (request.headers["x-amz-content-sha256"] !== createHash("sha256").update(body).digest("hex"))
      return refuse("XAmzContentSHA256Mismatch");
    if (request.headers["content-md5"] !== createHash("md5").update(body).digest("base64")) return refuse("BadDigest");
  }
  const { method, headers } = request;
  forward(new URL(request.url ?? "/", bucket.url), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  }).end(body);
}

it("has what was stored, until it is removed, beside what others have stored", async () => {
  const place = placeAt();
  const other = placeAt({ prefix: "of/gateway-2" });
  const content = Buffer.from(JSON.stringify({ text: "ä€\u0000".repeat(100_000) }));
  await place.store(nameOf(1), content, signal);
  await other.store(nameOf(2), Buffer.from("other"), signal);
  expect(content.equals(await place.read(nameOf(1), signal))).toBe(true);
  expect({ placeNames: await place.names(signal), otherNames: await other.names(signal) }).toEqual({
    placeNames: [nameOf(1)],
    otherNames: [nameOf(2)],
  });
  expect(place.shown).toBe("s3://backups/of/gateway-1/");
  await place.remove(nameOf(1), signal);
  await place.remove(nameOf(1), signal);
  expect(await place.names(signal)).toEqual([]);
  await expect(place.read(nameOf(1), signal)).rejects.toThrow("the bucket has no such object");
});

it("lists more than a page", async () => {
  const key = (at: number): string => `<Contents><Key>of/gateway-1/${nameOf(at)}</Key></Contents>`;
  const more = "<NextContinuationToken>a&amp;b/+=</NextContinuationToken>";
  const pages = new Map([
    [null, `${key(1)}${key(2)}${more}`],
    ["a&b/+=", `${key(3)}<Contents><Key>of/gateway-1/notes.json</Key></Contents>`],
  ]);
  const paged = await listen(
    createServer(({ url = "" }, response) => {
      const token = new URL(url, "http://front").searchParams.get("continuation-token");
      response.end(`<ListBucketResult>${pages.get(token) ?? ""}</ListBucketResult>`);
    }),
    "127.0.0.1",
    0,
  );
  expect(await placeAt({ endpoint: paged.url }).names(signal)).toEqual([nameOf(1), nameOf(2), nameOf(3)]);
  await paged.close();
});

it.each([
  ["a wrong secret", { secretAccessKey: "wrong" }, "the bucket answered 403 SignatureDoesNotMatch"],
  ["a wrong key id", { accessKeyId: "nobody" }, "the bucket answered 403 AccessDenied"],
  ["nobody there", { endpoint: "http://127.0.0.1:9" }, "the bucket cannot be reached: bad port"],
])("says in its own words what is wrong: %s", async (_, more, message) => {
  const failure = placeAt(more).store(nameOf(1), Buffer.from("{}"), signal);
  await expect(failure).rejects.toThrow(new BackupPlaceError(message));
});

it("gives up a bucket that does not answer when its time is over", async () => {
  const silent = await listen(
    createServer(() => undefined),
    "127.0.0.1",
    0,
  );
  const time = new AbortController();
  const waiting = placeAt({ endpoint: silent.url }).names(time.signal);
  time.abort();
  await expect(waiting).rejects.toThrow("the bucket is too slow");
  await silent.close();
});
