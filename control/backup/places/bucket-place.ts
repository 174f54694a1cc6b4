/**
 * Backups in an S3-compatible bucket, by path-style requests that are signed (AWS Signature Version 4). An object appears whole
 * or not at all: the request names the length and the hash of its body.
 */
import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { isBackupName } from "../backup-name.ts";
import { type BackupPlace, BackupPlaceError } from "./backup-place.ts";

/** A bucket, and the place of the backups in it. */
export interface BucketAddress {
  readonly bucket: string;
  /** Without slashes at its ends; "" for none. */
  readonly prefix: string;
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/** The backups below a prefix. */
export function bucketPlace(address: BucketAddress): BackupPlace {
  const { bucket, prefix, endpoint, region, accessKeyId, secretAccessKey, sessionToken } = address;
  const client = new AwsClient({
    service: "s3",
    // a backup that failed is tried again by its schedule
    retries: 0,
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
  });
  const root = `${endpoint}/${bucket}`;
  const folder = prefix === "" ? "" : `${prefix}/`;
  const urlOf = (name: string): string => `${root}/${folder}${name}`;

  const send = async (url: string, init: RequestInit, also: readonly number[] = []): Promise<Response> => {
    const response = await answered(async () => await client.fetch(url, { ...init, redirect: "manual" }));
    if (response.ok || also.includes(response.status)) return response;
    throw new BackupPlaceError(await refusal(response));
  };

  return {
    shown: `s3://${bucket}/${folder}`,
    names: async (signal) => {
      const names: string[] = [];
      for (let token: string | undefined = ""; token !== undefined; ) {
        const query = new URLSearchParams({ "list-type": "2", prefix: `${folder}gateway-backup-` });
        if (token !== "") query.set("continuation-token", token);
        const response = await send(`${root}?${query.toString()}`, { method: "GET", signal });
        const text = await answered(async () => await response.text());
        const keys = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => key.slice(folder.length));
        names.push(...keys.filter(isBackupName));
        token = unescaped(/<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(text)?.[1]);
      }
      return names;
    },
    store: async (name, content, signal) => {
      const digest = (algorithm: string): ReturnType<typeof createHash> => createHash(algorithm).update(content);
      const response = await send(urlOf(name), {
        method: "PUT",
        body: Buffer.from(content),
        signal,
        headers: {
          "content-type": "application/json",
          "content-md5": digest("md5").digest("base64"),
          "x-amz-content-sha256": digest("sha256").digest("hex"),
        },
      });
      await response.body?.cancel();
    },
    read: async (name, signal) => {
      const response = await send(urlOf(name), { method: "GET", signal });
      return new Uint8Array(await answered(async () => await response.arrayBuffer()));
    },
    remove: async (name, signal) => {
      const response = await send(urlOf(name), { method: "DELETE", signal }, [404]);
      await response.body?.cancel();
    },
  };
}

/** Of an error of the bucket only its code is told: its message may repeat the request. */
async function refusal(response: Response): Promise<string> {
  const text = await answered(async () => await response.text());
  const code = /<Code>(\w{1,60})<\/Code>/.exec(text)?.[1];
  return `the bucket answered ${response.status}${code === undefined ? "" : ` ${code}`}`;
}

async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const late = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
    throw new BackupPlaceError(late ? "the bucket is too slow" : `the bucket cannot be reached: ${rootCause(error)}`);
  }
}

function unescaped(text: string | undefined): string | undefined {
  return text?.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
