/**
 * `/v1/files` and `/v1/batches`, which Workers pass on with the caller's tenant and key (docs/rules/batches.md#routes). A row of
 * another tenant is not found. Bodies of files are read in pieces, so these routes are not bound by the limit of other bodies.
 */
import type { Context } from "hono";
import { z } from "zod";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { GatewayError } from "../../shared/errors.ts";
import { createBatchSchema, FILE_PURPOSES } from "../../shared/schema/batch.ts";
import { queryText } from "../../shared/schema/common.ts";
import { TenantCalls } from "../../shared/tenant-calls.ts";
import { CALLER_HEADERS, CLIENT_PATHS } from "../../shared/wire/batch-lines.ts";
import { limitBodyTo } from "../api/guard.ts";
import type { Api, ApiTypes } from "../api/types.ts";
import type { Bucket } from "../kernel/bucket/bucket.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { hasMoreParts } from "../kernel/json-parts.ts";
import { fieldError, parse, UUID } from "../kernel/parse.ts";
import { markCancelled } from "./batch-verbs.ts";
import { batchForm, fileForm } from "./client-forms.ts";
import { type Caller, createBatch, ownBatch, ownBatches, ownFile, ownFiles } from "./client-verbs.ts";
import { piecesOf } from "./files/contents.ts";
import { completeFile, deleteFile, storeUpload } from "./files/file-store.ts";
import { formParts } from "./files/multipart.ts";

const FIELD_MAX_BYTES = 4096;
const FILENAME_MAX = 255;
const PARTS_MAX = 16;
/** The body that makes a batch: 16 names and values in escapes are 54 KiB, and hardly 20 parts. */
const BATCH_BODY_MAX_BYTES = 128 * 1024;
const BATCH_BODY_PARTS = { parts: 4096, names: 1024 };
/** Of all Workers; each has fewer. */
const CALLS_MAX = { inAll: 4 * LIMITS.fileCalls, ofTenant: 4 * LIMITS.tenantFileCalls };
/** Others are thrown away unread. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(["purpose", "expires_after[anchor]", "expires_after[seconds]"]);

type Handler = (c: Context<ApiTypes>, caller: Caller) => Promise<Response>;

/** Adds the routes; whoever calls them has shown the token between the planes. `bucket`: that of contents; null: none. */
export function clientBatchRoutes(app: Api, bucket: Bucket | null): void {
  const calls = new TenantCalls(CALLS_MAX);
  const on = (method: "get" | "post" | "delete", path: string, handler: Handler): void => {
    app[method](`${CLIENT_PATHS}${path}`, async (c) => {
      const caller = callerOf(c);
      const onEnd = calls.begin(caller.tenantId);
      if (onEnd === null) throw new GatewayError("files_busy", { headers: { "retry-after": "1" } });
      try {
        const response = await withDatabaseErrors(async () => handler(c, caller));
        return c.req.method === "HEAD" ? await withoutBody(response, onEnd) : withEnd(response, onEnd);
      } catch (error) {
        onEnd();
        throw error;
      }
    });
  };
  on("post", "/v1/files", uploadFile(bucket));
  app.use(`${CLIENT_PATHS}/v1/batches`, limitBodyTo(BATCH_BODY_MAX_BYTES));
  on("get", "/v1/files", listFiles);
  on("get", "/v1/files/:id", async (c, caller) => c.json(fileForm(await ownFile(caller, c.req.param("id") ?? ""))));
  on("get", "/v1/files/:id/content", fileContent(bucket));
  on("delete", "/v1/files/:id", removeFile);
  on("post", "/v1/batches", makeBatch);
  on("get", "/v1/batches", listBatches);
  on("get", "/v1/batches/:id", async (c, caller) => c.json(batchForm(await ownBatch(caller, c.req.param("id") ?? ""))));
  on("post", "/v1/batches/:id/cancel", cancelBatch);
  app.all(`${CLIENT_PATHS}/*`, () => {
    throw new GatewayError("unknown_endpoint");
  });
}

/** The answer to HEAD: nobody reads or cancels a body that is left in it. */
async function withoutBody(response: Response, onEnd: () => void): Promise<Response> {
  await response.body?.cancel();
  onEnd();
  return new Response(null, response);
}

/** The answer, with `onEnd` when its body has ended. */
function withEnd(response: Response, onEnd: () => void): Response {
  const { body } = response;
  if (body === null) onEnd();
  // the types of the browser do not know `cancel`
  const ends = { flush: onEnd, cancel: onEnd };
  const watch = new TransformStream<Uint8Array, Uint8Array>(ends);
  return new Response(body?.pipeThrough(watch), response);
}

function callerOf(c: Context<ApiTypes>): Caller {
  const tenantId = c.req.header(CALLER_HEADERS.tenant) ?? "";
  const keyId = c.req.header(CALLER_HEADERS.key) ?? "";
  if (!UUID.test(tenantId) || !UUID.test(keyId)) throw new GatewayError("unknown_endpoint");
  return { ctx: c.var.ctx, tenantId, keyId };
}

const expirySchema = z.object({
  anchor: z.literal("created_at", { error: "must be created_at" }).default("created_at"),
  seconds: z.coerce
    .number({ error: "must be from 3600 to 2592000" })
    .int()
    .min(3600, "must be from 3600 to 2592000")
    .max(2_592_000, "must be from 3600 to 2592000"),
});

const uploadFile =
  (bucket: Bucket | null): Handler =>
  async (c, { ctx, tenantId }) => {
    const { body } = c.req.raw;
    if (body === null) throw new GatewayError("invalid_multipart");
    const fields = new Map<string, string>();
    const pieces = received(body);
    let id: string | null = null;
    let parts = 0;
    try {
      for await (const part of formParts(c.req.header("content-type") ?? "", pieces)) {
        parts += 1;
        if (parts > PARTS_MAX) throw fieldError("file", `must be in a form of at most ${PARTS_MAX} fields`);
        if (part.filename === null) {
          if (KNOWN_FIELDS.has(part.name)) fields.set(part.name, await fieldText(part.body));
        } else if (part.name !== "file" || id !== null) throw fieldError("file", "must be the one file of the form");
        else
          id = await storeUpload(
            { db: ctx.db, bucket },
            { tenantId, purpose: "batch", filename: nameOf(part.filename) },
            part.body,
          );
      }
      if (id === null) throw fieldError("file", "must be a file");
      if (fields.get("purpose") !== FILE_PURPOSES[0]) throw fieldError("purpose", "must be batch");
      const seconds = fields.get("expires_after[seconds]");
      const expiry =
        seconds === undefined ? null : parse(expirySchema, { anchor: fields.get("expires_after[anchor]"), seconds });
      const expiresAt = expiry && new Date(ctx.now().getTime() + expiry.seconds * 1000);
      return c.json(fileForm(await completeFile(ctx.db, id, expiresAt)));
    } catch (error) {
      if (id !== null) await deleteFile(ctx.db, id);
      await discard(pieces);
      throw error;
    }
  };

/** Its pieces. An upload that is cut off is no form, and says nothing about the database. */
function received(body: ReadableStream<Uint8Array>): AsyncIterator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    try {
      return await pieces.next();
    } catch (error) {
      throw error instanceof GatewayError ? error : new GatewayError("invalid_multipart", { cause: error });
    }
  };
  return { next };
}

/** Most clients read no answer while they send. */
async function discard(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    for (let bytes = 0; bytes < LIMITS.fileBytes; ) {
      const { done, value } = await pieces.next();
      if (done === true) return;
      bytes += value.byteLength;
    }
  } catch {
    // the client has closed the connection
  }
}

/** The name without what a database or a header cannot hold. */
function nameOf(given: string): string {
  return (
    given
      .replace(/[\p{Cc}"\\]/gu, "_")
      .toWellFormed()
      .slice(0, FILENAME_MAX) || "file"
  );
}

async function fieldText(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > FIELD_MAX_BYTES) throw new GatewayError("invalid_multipart");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8").trim();
}

const fileContent =
  (bucket: Bucket | null): Handler =>
  async (c, caller) => {
    const { id, bytes, filename } = await ownFile(caller, c.req.param("id") ?? "");
    const pieces = piecesOf({ db: caller.ctx.db, bucket }, id);
    // what cannot be read is said before a head
    let first: IteratorResult<Uint8Array> | null = await pieces.next();
    const stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = first ?? (await pieces.next());
        first = null;
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await pieces.return(undefined)),
    });
    return new Response(stream, {
      headers: {
        "content-type": "application/octet-stream",
        "content-length": String(bytes),
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(filename)}`,
      },
    });
  };

async function removeFile(c: Context<ApiTypes>, caller: Caller): Promise<Response> {
  const row = await ownFile(caller, c.req.param("id") ?? "");
  await deleteFile(caller.ctx.db, row.id);
  return c.json({ id: fileForm(row).id, object: "file", deleted: true });
}

const limitOf = (max: number, most: number) =>
  z.coerce
    .number({ error: `must be from 1 to ${most}` })
    .int(`must be from 1 to ${most}`)
    .min(1, `must be from 1 to ${most}`)
    .max(most, `must be from 1 to ${most}`)
    .default(max);
const filesQuery = z.object({
  limit: limitOf(1000, 10_000),
  after: z.string().optional(),
  order: z.enum(["asc", "desc"], { error: "must be asc or desc" }).default("desc"),
  purpose: queryText.optional(),
});
const batchesQuery = z.object({ limit: limitOf(20, 100), after: z.string().optional() });

async function listFiles(c: Context<ApiTypes>, caller: Caller): Promise<Response> {
  const { limit, after, order, purpose } = parse(filesQuery, c.req.query());
  const last = after === undefined ? null : await ownFile(caller, after);
  const parts = ownFiles(caller, { limit: limit + 1, lastId: last?.id ?? null, order, purpose });
  return await listAnswer(parts, fileForm, limit);
}

async function listBatches(c: Context<ApiTypes>, caller: Caller): Promise<Response> {
  const { limit, after } = parse(batchesQuery, c.req.query());
  const last = after === undefined ? null : await ownBatch(caller, after);
  const parts = ownBatches(caller, { limit: limit + 1, lastId: last?.id ?? null });
  return await listAnswer(parts, batchForm, limit);
}

/** A list, written in the parts in which it is read: a long one as a whole would hold the thread for some 20 ms. */
async function listAnswer<Row>(
  parts: AsyncIterable<readonly Row[]>,
  form: (row: Row) => { readonly id: string },
  limit: number,
): Promise<Response> {
  const pieces = [Buffer.from('{"object":"list","data":[')];
  const ends = { first_id: null as string | null, last_id: null as string | null, has_more: false };
  let shown = 0;
  for await (const part of parts) {
    const data = part.slice(0, limit - shown).map(form);
    ends.has_more = data.length < part.length;
    if (data.length === 0) continue;
    pieces.push(Buffer.from(`${shown === 0 ? "" : ","}${JSON.stringify(data).slice(1, -1)}`));
    shown += data.length;
    ends.first_id ??= data[0]?.id ?? null;
    ends.last_id = data.at(-1)?.id ?? null;
  }
  pieces.push(Buffer.from(`],${JSON.stringify(ends).slice(1)}`));
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

async function makeBatch(c: Context<ApiTypes>, caller: Caller): Promise<Response> {
  const body = new Uint8Array(await c.req.arrayBuffer());
  if (hasMoreParts(body, BATCH_BODY_PARTS)) throw new GatewayError("request_too_large");
  const row = await createBatch(caller, parse(createBatchSchema, jsonOf(body)));
  return c.json(batchForm(row));
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return null;
  }
}

async function cancelBatch(c: Context<ApiTypes>, caller: Caller): Promise<Response> {
  const row = await ownBatch(caller, c.req.param("id") ?? "");
  return c.json(batchForm((await markCancelled(caller.ctx.db, row.id, caller.ctx.now())) ?? row));
}
