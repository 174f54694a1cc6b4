/** Backups in an S3-compatible bucket. */
import { type BucketAddress, BucketError, bucketAt } from "../../kernel/bucket/bucket.ts";
import { isBackupName } from "../backup-name.ts";
import { type BackupPlace, BackupPlaceError } from "./backup-place.ts";

/** The backups below a prefix. */
export function bucketPlace(address: BucketAddress): BackupPlace {
  const bucket = bucketAt(address);
  return {
    shown: bucket.shown,
    names: async (signal) =>
      await told(async () => {
        const names: string[] = [];
        let token: string | null = null;
        do {
          const page = await bucket.list({ start: "gateway-backup-", token }, signal);
          names.push(...page.objects.map(({ name }) => name).filter(isBackupName));
          token = page.token;
        } while (token !== null);
        return names;
      }),
    store: async (name, content, signal) =>
      await told(async () => await bucket.store(name, content, "application/json", signal)),
    read: async (name, signal) =>
      await told(async () => {
        const content = await bucket.read(name, signal);
        if (content === null) throw new BackupPlaceError("the bucket has no such object");
        return content;
      }),
    remove: async (name, signal) => await told(async () => await bucket.remove(name, signal)),
  };
}

async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof BucketError ? new BackupPlaceError(error.message) : error;
  }
}
