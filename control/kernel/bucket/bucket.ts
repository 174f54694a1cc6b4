/**
 * Objects below a prefix of an S3-compatible bucket, by path-style requests that are signed (AWS Signature Version 4). An object
 * appears whole or not at all: the request names the length and the hash of its body.
 */
import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { rootCause } from "../../../shared/text/root-cause.ts";

/** A bucket, and a place in it. */
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

interface BucketObject {
  /** Its key without the prefix. */
  readonly name: string;
  readonly modified: Date;
}

/** Each call throws {@link BucketError}, and ends with its signal. Names need no escapes in a URL. */
export interface Bucket {
  /** Where it is, without credentials. */
  readonly shown: string;
  /** Objects in the order of their names, a page of them, and the token of the next page; null: it was the last one. */
  list(
    which: { readonly start: string; readonly token: string | null },
    signal: AbortSignal,
  ): Promise<{ readonly objects: readonly BucketObject[]; readonly token: string | null }>;
  store(name: string, content: Uint8Array, type: string, signal: AbortSignal): Promise<void>;
  /** Null if there is none. */
  read(name: string, signal: AbortSignal): Promise<Uint8Array | null>;
  /** A name that does not exist is not an error. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

/** Why a bucket cannot be used, in words of our own. */
export class BucketError extends Error {
  override readonly name = "BucketError";
}

export function bucketAt(address: BucketAddress): Bucket {
  const { bucket, prefix, endpoint, region, accessKeyId, secretAccessKey, sessionToken } = address;
  const client = new AwsClient({
    service: "s3",
    // the caller tries again what failed
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
    throw new BucketError(await refusal(response));
  };

  return {
    shown: `s3://${bucket}/${folder}`,
    list: async ({ start, token }, signal) => {
      const query = new URLSearchParams({ "list-type": "2", prefix: `${folder}${start}` });
      if (token !== null) query.set("continuation-token", token);
      const response = await send(`${root}?${query.toString()}`, { method: "GET", signal });
      const text = await answered(async () => await response.text());
      const objects = [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, each = ""]) => ({
        name: (unescaped(/<Key>([^<]*)<\/Key>/.exec(each)?.[1]) ?? "").slice(folder.length),
        modified: new Date(/<LastModified>([^<]*)<\/LastModified>/.exec(each)?.[1] ?? Number.NaN),
      }));
      const next = unescaped(/<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(text)?.[1]);
      return { objects, token: next ?? null };
    },
    store: async (name, content, type, signal) => {
      const digest = (algorithm: string): ReturnType<typeof createHash> => createHash(algorithm).update(content);
      const response = await send(urlOf(name), {
        method: "PUT",
        body: Buffer.from(content),
        signal,
        headers: {
          "content-type": type,
          "content-md5": digest("md5").digest("base64"),
          "x-amz-content-sha256": digest("sha256").digest("hex"),
        },
      });
      await response.body?.cancel();
    },
    read: async (name, signal) => {
      const response = await send(urlOf(name), { method: "GET", signal }, [404]);
      if (response.ok) return new Uint8Array(await answered(async () => await response.arrayBuffer()));
      const why = await refusal(response);
      if (!why.endsWith("NoSuchKey")) throw new BucketError(why);
      return null;
    },
    remove: async (name, signal) => {
      const response = await send(urlOf(name), { method: "DELETE", signal }, [404]);
      await response.body?.cancel();
    },
  };
}

/** Only the code of a bucket's error: its message may repeat the request. */
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
    throw new BucketError(late ? "the bucket is too slow" : `the bucket cannot be reached: ${rootCause(error)}`);
  }
}

function unescaped(text: string | undefined): string | undefined {
  return text?.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
