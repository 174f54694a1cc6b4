/**
 * Contents of files in a bucket: read, switched, deleted with their files, and swept (docs/rules/batches.md#bucket).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { envErrorText } from "../../../shared/env/env-fields.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { CALLER_HEADERS, CLIENT_PATHS } from "../../../shared/wire/batch-lines.ts";
import { bucketOptions, type StoredObject, startBucketServer } from "../../../test/cluster/bucket-server.ts";
import { INTERNAL_TOKEN, startControl, type TestControl } from "../../../test/harness/control.ts";
import { type Bucket, BucketError, bucketAt } from "../../kernel/bucket/bucket.ts";
import { finishBatch } from "../finish-batch.ts";
import { batches, batchLines, files } from "../tables.ts";
import { piecesOf } from "./contents.ts";
import { ContentsSweep } from "./contents-sweep.ts";
import { completeFile, deleteFile, deleteOldFiles, storeUpload } from "./file-store.ts";
import { filesBucket, fileVariables, requireFilesBucket } from "./files-env.ts";

const schema = z.object(fileVariables).superRefine(requireFilesBucket);
const objects = new Map<string, StoredObject>();
let server: Awaited<ReturnType<typeof startBucketServer>>;
let bucket: Bucket;
let control: TestControl;

beforeAll(async () => {
  // some pages of a list
  server = await startBucketServer({ objects, page: 3 });
  const variables = { GATEWAY_FILES_TO: "s3://gateway/files", GATEWAY_FILES_OPTIONS: bucketOptions(server.url) };
  bucket = filesBucket(schema.parse(variables)) as Bucket;
  control = await startControl({ filesBucket: bucket });
});
afterAll(async () => {
  await control.close();
  await server.close();
});
beforeEach(() => objects.clear());

const store = () => ({ db: control.ctx.db, bucket });
const newTenant = async (more: object = {}): Promise<string> =>
  (await control.must<Tenant>("POST", "/tenants", { name: `of-contents-${randomUUID()}`, ...more })).id;

async function upload(tenantId: string, content: string | Buffer, place: { bucket: Bucket | null } = { bucket }) {
  const { db } = control.ctx;
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(content);
  }
  const made = await storeUpload({ db, ...place }, { tenantId, purpose: "batch", filename: "a" }, body());
  return (await completeFile(db, made, null)).id;
}

async function contentOf(id: string, place: { bucket: Bucket | null } = { bucket }): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of piecesOf({ db: control.ctx.db, ...place }, id)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The sweep as it runs at a time, of a gateway. */
const sweepOf = (identity: string, afterMs: number): ContentsSweep =>
  new ContentsSweep({
    db: control.ctx.db,
    bucket,
    identity: async () => identity,
    now: () => new Date(Date.now() + afterMs),
  });
const LATER_MS = 3_700_000;

const asked = async (tenantId: string, path: string): Promise<Response> =>
  await control.app.request(`${CLIENT_PATHS}${path}`, {
    headers: {
      authorization: `Bearer ${INTERNAL_TOKEN}`,
      [CALLER_HEADERS.tenant]: tenantId,
      [CALLER_HEADERS.key]: randomUUID(),
    },
  });

it("a file in a bucket is read as it was uploaded, and counts for the quota", async () => {
  const tenantId = await newTenant({ files_bytes: 4_000_000 });
  const content = Buffer.alloc(3_500_000, `${"ä".repeat(500)}\n`);
  const id = await upload(tenantId, content);
  expect(content.equals(await contentOf(id))).toBe(true);
  expect([...objects.keys()].every((key) => key.startsWith(`gateway/files/${id}/`))).toBe(true);
  await expect(upload(tenantId, "x".repeat(600_000))).rejects.toMatchObject({ code: "file_quota_exceeded" });
});

it("files stay readable when contents go to another place than before", async () => {
  const tenantId = await newTenant();
  const inDatabase = await upload(tenantId, "in the database", { bucket: null });
  const inBucket = await upload(tenantId, "in the bucket");
  expect({ database: String(await contentOf(inDatabase)), bucket: String(await contentOf(inBucket)) }).toEqual({
    database: "in the database",
    bucket: "in the bucket",
  });
  expect(String(await contentOf(inDatabase, { bucket: null }))).toBe("in the database");
  await expect(contentOf(inBucket, { bucket: null })).rejects.toThrow("GATEWAY_FILES_TO is not set");
});

it("a file whose content cannot be read is an error before any byte", async () => {
  const tenantId = await newTenant();
  const [lost, kept] = [await upload(tenantId, "lost"), await upload(tenantId, "kept")];
  for (const key of objects.keys()) if (key.includes(lost)) objects.delete(key);
  const path = (id: string): string => `/v1/files/file-${id.replaceAll("-", "")}/content`;
  const failed = await asked(tenantId, path(lost));
  const read = await asked(tenantId, path(kept));
  expect({ failed: failed.status, read: read.status, text: await read.text() }).toEqual({
    failed: 500,
    read: 200,
    text: "kept",
  });
});

it("results are written behind those of before, whoever wrote them, each once", async () => {
  const { db } = control.ctx;
  const expires_at = new Date(Date.now() + 60_000);
  const made = { tenant_id: await newTenant(), key_id: randomUUID(), endpoint: "/v1/embeddings", expires_at };
  const lines_total = 250;
  const [batch] = await db
    .insert(batches)
    .values({ ...made, input_file_id: randomUUID(), status: "in_progress", lines_total, lines_completed: lines_total })
    .returning();
  if (batch === undefined) throw new Error("no batch");
  await db.insert(batchLines).values(
    Array.from({ length: lines_total }, (_, at) => ({
      batch_id: batch.id,
      n: at + 1,
      custom_id: `line-${at}`,
      model: "m",
      body: "",
      state: "completed" as const,
      status: 200,
      request_id: randomUUID(),
      answer: '{"a":1}',
    })),
  );
  await finishBatch({ db, bucket: null }, batch, new Date(), () => false);
  // two processes that both believe that they run batches
  const ended = await Promise.allSettled([
    finishBatch(store(), batch, new Date()),
    finishBatch(store(), batch, new Date()),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  const [row] = await db.select().from(batches).where(eq(batches.id, batch.id));
  const text = String(await contentOf(row?.output_file_id ?? ""));
  const ids = text
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
  expect(ids).toEqual(Array.from({ length: lines_total }, (_, at) => `line-${at}`));
  const [file] = await db
    .select()
    .from(files)
    .where(eq(files.id, row?.output_file_id ?? ""));
  expect(file).toMatchObject({ complete: true, bytes: Buffer.byteLength(text) });
});

it("contents are deleted with their files, with erased tenants and after failed uploads", {
  tags: ["check"],
}, async () => {
  const { db } = control.ctx;
  const [tenantId, erased] = [await newTenant(), await newTenant()];
  const [kept, deleted, expired] = [
    await upload(tenantId, "a".repeat(2_200_000)),
    await upload(tenantId, "b".repeat(2_200_000)),
    await upload(tenantId, "c"),
  ];
  await upload(erased, "d".repeat(2_200_000));
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(2_200_000, "e");
    throw new Error("the client has gone");
  }
  await expect(storeUpload(store(), { tenantId, purpose: "batch", filename: "e" }, broken())).rejects.toThrow();
  objects.set("gateway/files/notes.txt", { body: Buffer.from("ours"), etag: '"1"', at: new Date(0) });
  await deleteFile(db, deleted);
  await db
    .update(files)
    .set({ expires_at: new Date(0) })
    .where(eq(files.id, expired));
  await deleteOldFiles(db, new Date(), null);
  await control.request("DELETE", `/api/v1/tenants/${erased}`);
  expect(await sweepOf("one", 0).run()).toEqual({ contents_deleted: 0 });
  await sweepOf("one", LATER_MS).run();
  const left = [...objects.keys()].filter((key) => !key.startsWith(`gateway/files/${kept}/`));
  expect(left.toSorted()).toEqual(["gateway/files/gateway-files-owner", "gateway/files/notes.txt"]);
  expect(String(await contentOf(kept))).toBe("a".repeat(2_200_000));
});

it("contents in a bucket of another gateway are not deleted", async () => {
  await sweepOf("one", LATER_MS).run();
  const id = randomUUID();
  await bucket.store(`${id}/1`, Buffer.from("of one"), "text/plain", new AbortController().signal);
  await expect(sweepOf("two", LATER_MS).run()).rejects.toThrow(BucketError);
  expect([...objects.keys()]).toContain(`gateway/files/${id}/1`);
});

it("a bucket that is away fails an upload, and the file does not exist", async () => {
  const tenantId = await newTenant();
  const away = bucketAt({
    bucket: "gateway",
    prefix: "files",
    endpoint: "http://127.0.0.1:1",
    region: "auto",
    accessKeyId: "a",
    secretAccessKey: "b",
    sessionToken: undefined,
  });
  await expect(upload(tenantId, "{}", { bucket: away })).rejects.toThrow("the bucket cannot be reached");
  expect(await control.ctx.db.$count(files, eq(files.tenant_id, tenantId))).toBe(0);
});

it.each([
  ["a folder", { GATEWAY_FILES_TO: "/var/files" }, "GATEWAY_FILES_TO must be s3://bucket/prefix"],
  ["a bucket without credentials", { GATEWAY_FILES_TO: "s3://files" }, "GATEWAY_FILES_OPTIONS must have aws_access_"],
  ["settings without a bucket", { GATEWAY_FILES_OPTIONS: "aws_token=hidden" }, "GATEWAY_FILES_OPTIONS must be unset"],
])("refuses %s by its name, without its value", (_, variables, message) => {
  const { error } = schema.safeParse(variables);
  const text = error === undefined ? "" : envErrorText(error);
  expect(text).toContain(message);
  expect(text).not.toContain("hidden");
});
