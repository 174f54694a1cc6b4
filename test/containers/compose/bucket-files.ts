/** The objects of the bucket server as files: a line of JSON with what is not the content of the object, and its content. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredObject } from "../../cluster/bucket-server.ts";

/** The name of the file of an object, by its bucket and key. */
export function fileOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** Every object in a folder, by bucket and key. */
export function readObjects(folder: string): readonly (readonly [key: string, object: StoredObject])[] {
  return readdirSync(folder).flatMap((name) => {
    // what is not written to its end has another name, and one may be removed meanwhile
    const content = name.endsWith(".new") ? null : contentOf(join(folder, name));
    if (content === null) return [];
    const end = content.indexOf("\n");
    const { key, etag, at } = JSON.parse(content.toString("utf8", 0, end)) as Record<"key" | "etag" | "at", string>;
    return [[key, { body: content.subarray(end + 1), etag, at: new Date(at) }] as const];
  });
}

function contentOf(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
