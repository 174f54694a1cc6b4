/**
 * The S3-compatible server of the cluster's tests as a server of a container: `node bucket-main.ts` with MINIO_ROOT_USER_FILE. It
 * listens on every address at port 9000, and has its objects in files of /data, so that they outlive the container.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type StoredObject, startBucketServer } from "../../cluster/bucket-server.ts";
import { fileOf, readObjects } from "./bucket-files.ts";
import { forward } from "./forward.ts";

const FOLDER = "/data/objects";

/** Objects by their names; each is a file as well. */
class StoredObjects extends Map<string, StoredObject> {
  constructor() {
    super();
    mkdirSync(FOLDER, { recursive: true });
    for (const [key, object] of readObjects(FOLDER)) super.set(key, object);
  }

  override set(key: string, object: StoredObject): this {
    const path = join(FOLDER, fileOf(key));
    const head = JSON.stringify({ key, etag: object.etag, at: object.at });
    writeFileSync(`${path}.new`, Buffer.concat([Buffer.from(`${head}\n`), object.body]));
    renameSync(`${path}.new`, path);
    return super.set(key, object);
  }

  override delete(key: string): boolean {
    rmSync(join(FOLDER, fileOf(key)), { force: true });
    return super.delete(key);
  }
}

const accessKey = readFileSync(process.env["MINIO_ROOT_USER_FILE"] ?? "", "utf8").trim();
const { url } = await startBucketServer({ accessKey, objects: new StoredObjects() });
await forward("0.0.0.0", 9000, Number(new URL(url).port));
process.once("SIGTERM", () => process.exit(0));
process.stdout.write("listening\n");
