/**
 * Deletes contents in the bucket whose files do not exist: they were deleted or expired, their tenant was erased, or whoever stored
 * them has died (docs/rules/batches.md#bucket). A bucket says in an object whose it is: of another gateway nothing is deleted.
 */
import { inArray } from "drizzle-orm";
import type { Database } from "../../db/connect.ts";
import { type Bucket, BucketError } from "../../kernel/bucket/bucket.ts";
import { files } from "../tables.ts";
import { fileOfObject } from "./contents.ts";

const OWNER = "gateway-files-owner";
/** Whoever stores an object may not have committed its file yet. */
const LEFT_MS = 3_600_000;
const PAGES_A_RUN = 10;
const REMOVED_AT_ONCE = 16;
const CALL_WITHIN_MS = 30_000;

const withinTime = (): AbortSignal => AbortSignal.timeout(CALL_WITHIN_MS);

interface ContentsSweepOptions {
  readonly db: Database;
  readonly bucket: Bucket;
  /** The identity of this gateway. */
  readonly identity: () => Promise<string>;
  readonly now: () => Date;
}

export class ContentsSweep {
  readonly #options: ContentsSweepOptions;
  /** Where the next run continues; null: at the beginning. */
  #token: string | null = null;

  constructor(options: ContentsSweepOptions) {
    this.#options = options;
  }

  /** One run of the job. Throws {@link BucketError}. */
  async run(): Promise<{ readonly contents_deleted: number }> {
    await this.#checkOwner();
    let deleted = 0;
    for (let pages = 0; pages < PAGES_A_RUN && (pages === 0 || this.#token !== null); pages += 1) {
      const names = await this.#leftOfNextPage();
      for (let at = 0; at < names.length; at += REMOVED_AT_ONCE)
        await Promise.all(
          names
            .slice(at, at + REMOVED_AT_ONCE)
            .map(async (name) => await this.#options.bucket.remove(name, withinTime())),
        );
      deleted += names.length;
    }
    return { contents_deleted: deleted };
  }

  async #checkOwner(): Promise<void> {
    const { bucket, identity } = this.#options;
    const own = await identity();
    const found = await bucket.read(OWNER, withinTime());
    const owner = found === null ? own : Buffer.from(found).toString("utf8").trim();
    if (found === null) await bucket.store(OWNER, Buffer.from(own), "text/plain", withinTime());
    if (owner !== own)
      throw new BucketError(
        `${bucket.shown} is the place of another gateway: set GATEWAY_FILES_TO to another prefix, or delete the object ${OWNER} if this gateway replaces that one`,
      );
  }

  async #leftOfNextPage(): Promise<readonly string[]> {
    const { db, bucket, now } = this.#options;
    const before = now().getTime() - LEFT_MS;
    const token = this.#token;
    // a token that the bucket does not know any more is not tried again
    this.#token = null;
    const page = await bucket.list({ start: "", token }, withinTime());
    this.#token = page.token;
    const old = page.objects.flatMap(({ name, modified }) => {
      const id = fileOfObject(name);
      return id === null || !(modified.getTime() < before) ? [] : [{ name, id }];
    });
    const ids = [...new Set(old.map(({ id }) => id))];
    const rows = ids.length === 0 ? [] : await db.select({ id: files.id }).from(files).where(inArray(files.id, ids));
    const known = new Set(rows.map(({ id }) => id));
    return old.flatMap(({ name, id }) => (known.has(id) ? [] : [name]));
  }
}
